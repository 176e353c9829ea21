"""Rules about the launch line itself: its launcher refuses it, or starts something other than the line says."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.releases import Releases
from cfglint.findings.rule import ARGUMENT, LAUNCH, Example, ExampleFacts, Finding, info, init_error, load_error, warning
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks import framework, is_trainer
from cfglint.frameworks._releases import RELEASES
from cfglint.frameworks.huggingface.cli_arguments import takes_one
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.launch_line import NO_DEVICE
from cfglint.frameworks.program import HF_PARSERS
from cfglint.source.annotations import Iterator
from cfglint.source.document import SCALAR, Node
from cfglint.source.shell.command import SHOWN

TRAINER = "--output_dir out --per_device_train_batch_size 4 --learning_rate 1e-5 --bf16 True --save_strategy no"
ZERO_3 = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nnum_processes: 8\n"
MULTI_GPU = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nmixed_precision: bf16\n"
READS = (
    "from transformers import HfArgumentParser, TrainingArguments, Trainer\n"
    "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
)
OWN = f"train.py {TRAINER}\n"
OFF_NCCL = ("use_cpu", "no_cuda", "ddp_backend")  # arguments of a training without CUDA, or without NCCL
NAMED: ExampleFacts = {"named": 1}  # only the script is named; the other files of an example are found through it


def problems(config: LaunchConfig, code: str) -> Iterator[Finding]:
    """The problems found while parsing the line, as findings of one rule."""
    command = config.command
    line = config.facts.launch.line
    for problem in line.problems if line is not None and command is not None else ():
        if problem.code != code or command is None or (problem.releases is not None and not of_release(problem.releases, config)):
            continue
        start, end = command.within(problem.word.place)
        name = problem.key.lstrip("-").replace("-", "_")
        command.flags.setdefault(name, problem.key)
        setting = Setting((name,), problem.word.string, WRITTEN, command, Node(SCALAR, start, end, problem.word.string))
        yield Finding(
            setting,
            problem.message,
            severity=problem.severity,
            exception=problem.exception or None,
            help=problem.remedy or None,
            for_any_parser=problem.of_launcher,
        )


def is_page(config: LaunchConfig) -> bool:
    """Whether the line stands in a page or a notebook."""
    return config.documents[0].path.lower().endswith(SHOWN)


def of_release(releases: Releases, config: LaunchConfig) -> bool:
    """Whether the run has one of some releases of a package."""
    return config.facts.version(releases.package, RELEASES[releases.package]) in releases


@load_error(
    "LCH001",
    source="bash 5.2; 19 of 689 recorded launch scripts lose arguments this way",
    bad=(
        "torchrun --nproc_per_node 8 train.py \\\n    --per_device_train_batch_size 4 \\ \n    --gradient_accumulation_steps 8\n",
        "torchrun --nproc_per_node 8 \\ \n    train.py --per_device_train_batch_size 4\n",
        "torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4 \\ \n",
        "llamafactory-cli train --stage sft \\  --do_train true --model_name_or_path m --dataset d --template qwen --output_dir o\n",
        f"torchrun --nproc_per_node 8 train.py {TRAINER} --weight_decay 0.1\\\n--lr_scheduler_type cosine\n",
    ),
    good="torchrun --nproc_per_node 8 train.py \\\n    --per_device_train_batch_size 4 \\\n    --gradient_accumulation_steps 8\n",
    about=ARGUMENT,
)
def broken_line_continuation(config: LaunchConfig) -> Iterator[Finding]:
    """A command ends earlier than its author intended.

    A space or a comment after the backslash, a comment line in the middle, a missing backslash or Windows line ends (`\\` before
    CR LF) end the command. The launcher starts with the arguments up to there, and the shell runs the rest as a command of its
    own: `--gradient_accumulation_steps: command not found`, status 127. Without `set -e` the script continues. A space, tab or
    carriage return behind a backslash is also passed to the program as an argument, which a strict parser refuses, in the middle of a
    line too: `--model m \\ --bf16`. A comment right behind such a space is further arguments: ` #`, `note`.

    Without a space before the backslash the value and the next option are one word: `0.03\\` and `--lr_scheduler_type` in the next
    line give `0.03--lr_scheduler_type`.

    It is an error where the program is known to refuse what is left, or the launcher gets no program. What follows from the broken
    continuation, such as an argument that is missing then, is not reported again.

    Run-time error: ValueError: Some specified arguments are not used by the HfArgumentParser: [' ']
    """
    return problems(config, "LCH001")


@load_error(
    "LCH002",
    about=LAUNCH,
    raises="FileNotFoundError: [Errno 2] No such file or directory",
    source="accelerate 1.15.0 commands/config/config_args.py (load_config_from_file), 1.15.0 utils/deepspeed.py:136-158 "
    "(HfDeepSpeedConfig), deepspeed 0.19.8 launcher/runner.py (fetch_hostfile), trl 1.16.0 scripts/utils.py (TrlParser), "
    "axolotl 0.21.0 cli/main.py (ConfigPath), LLaMA-Factory 0.9.5 hparams/parser.py (read_args), GPT-NeoX ea7aefd8 "
    "megatron/neox_arguments/arguments.py (from_ymls)",
    bad={
        "train.sh": "accelerate launch --config_file accelerate.yaml train.py --output_dir out --per_device_train_batch_size 4\n",
        "train.py": "\n",
    },
    good={
        "train.sh": "accelerate launch --config_file accelerate.yaml train.py --output_dir out --per_device_train_batch_size 4\n",
        "train.py": "\n",
        "accelerate.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n",
    },
    example=NAMED,
)
def missing_launch_file(config: LaunchConfig) -> Iterator[Finding]:
    """A launch line names a configuration file that does not exist.

    The file is searched relative to the folder in which the line's program is found, or from which the script names files that exist;
    only then is it an error. A file that the script itself writes, or that an earlier command mentions, is not reported. In a page it is
    a warning, for a config of the program's only where the project has the folder of the file: the reader may write others. A missing
    hostfile is not an error: the deepspeed launcher then uses the local machine alone.

    `--deepspeed` of the Trainer has no names for configurations: a word such as `zero3` is the name of a file too, unless it is JSON
    or base64-encoded JSON.

    Run-time errors: `FileNotFoundError: [Errno 2] No such file or directory`; for `--deepspeed` `ValueError: Expected a string path to
    an existing deepspeed config, or a dictionary, or a base64 encoded string. Received: ...`; for `axolotl train`
    `Error: Invalid value for 'CONFIG': Path '...' does not exist.`

    Fix: correct the path, or start the script from the folder that it expects.
    """
    return problems(config, "LCH002")


@warning(
    "LCH004",
    source="accelerate 1.15.0 utils/launch.py:216",
    about=LAUNCH,
    bad="accelerate launch --multi_gpu --num_processes 15 --num_machines 2 --machine_rank 0 train.py --per_device_train_batch_size 4\n",
    good="accelerate launch --multi_gpu --num_processes 16 --num_machines 2 --machine_rank 0 train.py --per_device_train_batch_size 4\n",
)
def dropped_processes(config: LaunchConfig) -> Iterator[Finding]:
    """`num_processes` is not a multiple of `num_machines`.

    `num_processes` is the total; each machine starts the quotient, and the remainder is dropped silently.

    Fix: make `num_processes` a multiple of `num_machines`.
    """
    return problems(config, "LCH004")


@load_error(
    "LCH005",
    source="deepspeed 0.19.8 launcher/runner.py:440-500",
    about=LAUNCH,
    bad="deepspeed --num_gpus 4 --include localhost:0,1 train.py --deepspeed ds.json --per_device_train_batch_size 4\n",
    good="deepspeed --include localhost:0,1 train.py --deepspeed ds.json --per_device_train_batch_size 4\n",
)
def conflicting_gpu_selection(config: LaunchConfig) -> Iterator[Finding]:
    """The deepspeed launcher gets two conflicting selections of GPUs, or more nodes than it knows.

    `--num_gpus` and `--num_nodes` cannot be combined with `--include` and `--exclude`; `--num_nodes` above 1 needs a hostfile. With
    CUDA_VISIBLE_DEVICES set and no flag that chooses GPUs, the launcher converts it to an `--include`, so that `--num_nodes 1` is
    refused, too.
    """
    return problems(config, "LCH005")


@init_error(
    "LCH006",
    source="deepspeed 0.19.8 launcher/runner.py:449-459; torch 2.13.0 distributed/run.py",
    about=LAUNCH,
    bad=(
        "CUDA_VISIBLE_DEVICES=2,3 deepspeed --num_gpus 2 train.py --deepspeed ds.json --per_device_train_batch_size 4\n",
        Example({"train.sh": f"CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 8 {OWN}", "train.py": READS}, facts=NAMED),
    ),
    good="deepspeed --include localhost:2,3 train.py --deepspeed ds.json --per_device_train_batch_size 4\n",
    example={"at": "CUDA_VISIBLE_DEVICES"},
)
def ignored_visible_devices(config: LaunchConfig) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES has no effect on this launch, or contradicts its number of processes.

    The deepspeed launcher deletes the variable and uses physical ids: with `--num_gpus N` the first N of the machine. torchrun does
    not look at it: more processes than visible devices start, and those without a device fail, or NCCL refuses two on one device. It is
    an error where the Trainer takes the arguments, and none of them asks for CPUs or another backend.
    """
    lacks_gpus = config.facts.launch.line is not None and bool(config.facts.launch.line.lacks_gpus) and trains_on_gpus(config)
    for finding in problems(config, "LCH006"):
        if lacks_gpus:
            finding.severity, finding.exception = ERROR, NO_DEVICE
        yield finding


def trains_on_gpus(config: LaunchConfig) -> bool:
    """Whether the Trainer takes the arguments, and none of them asks for CPUs or another backend, so that each process needs a GPU."""
    launch = config.facts.launch
    given = launch.line.options.given if launch.line is not None else {}
    asks_for_others = any(name in given or document.find((name,))[1] is not None for document in config.documents for name in OFF_NCCL)
    return launch.is_main and not launch.doubts and is_trainer(launch.consumer) and not is_page(config) and not asks_for_others


@warning(
    "LCH025",
    source="torch 2.13.0 distributed/run.py, which starts a process whether it has a device or not",
    about=LAUNCH,
    bad=f"torchrun --nproc_per_node 8 train.py {TRAINER}\n",
    good=f"torchrun --nproc_per_node 4 train.py {TRAINER}\n",
    example={"gpus": 4},
)
def more_processes_than_gpus(config: LaunchConfig) -> Iterator[Finding]:
    """The launch line starts more processes than `--gpus`, or `gpus` of the configuration, offers.

    Its own number counts: the numbers of the run are those of the line. A process without a device fails. For a command
    that starts here and now (`cfglint start -- COMMAND`) the GPUs are those that are visible, and it is an error.
    """
    fails = config.facts.here and trains_on_gpus(config)
    for finding in problems(config, "LCH025"):
        if fails:
            finding.severity, finding.fails_at = ERROR, "init"
        yield finding


@warning(
    "LCH007",
    source="accelerate 1.15.0 commands/launch.py (launch_command, simple_launcher)",
    about=LAUNCH,
    bad={
        "train.sh": "accelerate launch --config_file one.yaml --num_processes 8 train.py --per_device_train_batch_size 4\n",
        "one.yaml": 'compute_environment: LOCAL_MACHINE\ndistributed_type: "NO"\nnum_machines: 1\nnum_processes: 1\n',
    },
    good={
        "train.sh": "accelerate launch --config_file one.yaml --multi_gpu --num_processes 8 train.py --per_device_train_batch_size 4\n",
        "one.yaml": 'compute_environment: LOCAL_MACHINE\ndistributed_type: "NO"\nnum_machines: 1\nnum_processes: 1\n',
    },
    example={**NAMED, "at": "--num_processes"},
)
def single_process_config(config: LaunchConfig) -> Iterator[Finding]:
    """`distributed_type: "NO"` starts one process and ignores `--num_processes`.

    Only `--multi_gpu`, `--use_deepspeed` or `--use_fsdp` override the file's type.
    """
    return problems(config, "LCH007")


@load_error(
    "LCH008",
    source="accelerate 1.15.0 commands/launch.py (_validate_launch_command), utils/launch.py (prepare_multi_gpu_env); 0.33.0 "
    "commands/config/config_args.py:175",
    about=LAUNCH,
    releases=(
        Releases(until=(0, 34, 0), package="accelerate", of="the class that requires it in the file"),
        Releases((0, 34, 0), package="accelerate", of="the launcher's own check"),
    ),
    bad=(
        {"train.sh": "accelerate launch --config_file multi.yaml train.py --per_device_train_batch_size 4\n", "multi.yaml": MULTI_GPU},
        Example(
            {
                "train.sh": "accelerate launch --config_file multi.yaml --num_processes 8 train.py --per_device_train_batch_size 4\n",
                "multi.yaml": MULTI_GPU,
            },
            facts={"target": {"accelerate": "0.33.0"}},
            exception="TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'num_processes'",
        ),
    ),
    good={
        "train.sh": "accelerate launch --config_file multi.yaml --num_processes 8 train.py --per_device_train_batch_size 4\n",
        "multi.yaml": MULTI_GPU,
    },
    example=NAMED,
)
def missing_process_count(config: LaunchConfig) -> Iterator[Finding]:
    """`accelerate launch` does not know how many processes to start.

    A config file without `num_processes` needs `--num_processes` on the line; before accelerate 0.34 the file has to have it, whatever
    the line says. `--multi_gpu` needs at least two processes; more than one machine needs `--machine_rank` where no file gives it.
    """
    return problems(config, "LCH008")


@warning(
    "LCH009",
    source="accelerate 1.15.0 commands/launch.py (launch_command)",
    about=LAUNCH,
    bad="accelerate launch --num_processes 8 --deepspeed_config_file ds.json train.py --per_device_train_batch_size 4\n",
    good="accelerate launch --num_processes 8 --use_deepspeed --deepspeed_config_file ds.json train.py --per_device_train_batch_size 4\n",
    example={"at": "--deepspeed_config_file"},
)
def unread_deepspeed_file(config: LaunchConfig) -> Iterator[Finding]:
    """`--deepspeed_config_file` is given to a launch that does not use DeepSpeed.

    Without `--use_deepspeed` or a config file of type DEEPSPEED the launch is plain multi-GPU, and the file is never read.
    """
    return problems(config, "LCH009")


@warning(
    "LCH010",
    source="deepspeed 0.19.8 launcher/runner.py (parse_args, argparse.REMAINDER), torch 2.13.0 distributed/run.py",
    about=LAUNCH,
    bad="deepspeed train.py --num_gpus 4 --deepspeed ds.json --per_device_train_batch_size 4\n",
    good="deepspeed --num_gpus 4 train.py --deepspeed ds.json --per_device_train_batch_size 4\n",
    example={"at": "--num_gpus"},
    old_names=("option-behind-program",),
)
def option_after_program(config: LaunchConfig) -> Iterator[Finding]:
    """A launcher option is placed after the program and is passed to the program instead.

    What follows the program's name belongs to the program: `deepspeed train.py --num_gpus 4` uses every GPU of the machine.
    """
    return problems(config, "LCH010")


@warning(
    "LCH011",
    source="deepspeed 0.19.8 launcher/runner.py (fetch_hostfile)",
    about=LAUNCH,
    bad={"train.sh": "deepspeed --hostfile hosts train.py --deepspeed ds.json --per_device_train_batch_size 4\n", "train.py": "\n"},
    good={
        "train.sh": "deepspeed --hostfile hosts train.py --deepspeed ds.json --per_device_train_batch_size 4\n",
        "train.py": "\n",
        "hosts": "worker-0 slots=8\nworker-1 slots=8\n",
    },
    example={**NAMED, "at": "--hostfile"},
)
def missing_hostfile(config: LaunchConfig) -> Iterator[Finding]:
    """The hostfile of a deepspeed launch does not exist.

    The launcher warns and continues with the local machine and all its GPUs.
    """
    return problems(config, "LCH011")


@warning(
    "LCH012",
    source="transformers 5.23.0 hf_argparser.py:158-260 (`label_names`, `include_for_metrics` and `debug` take several words)",
    about=LAUNCH,
    bad=(
        f"torchrun --nproc_per_node 8 train.py {TRAINER} --report_to wandb tensorboard\n",
        f'F="full_shard auto_wrap"\ntorchrun --nproc_per_node 8 train.py {TRAINER} --fsdp $F\n',
    ),
    good=f'F="full_shard auto_wrap"\ntorchrun --nproc_per_node 8 train.py {TRAINER} --fsdp "$F" --label_names a b\n',
)
def unquoted_list(config: LaunchConfig) -> Iterator[Finding]:
    """Several words follow an option of TrainingArguments that accepts one: the option gets only the first word.

    `--report_to wandb tensorboard` reports to wandb only, and `--fsdp full_shard auto_wrap` does not wrap. A variable without quotes
    is split in the same way. The words that are left over go to the program: `parse_args_into_dataclasses` refuses them (LCH003,
    where the program is known to do so), and a program that asks for the remaining strings drops them.

    Fix: quote the words (`--fsdp "full_shard auto_wrap"`); several trackers can only be given in a file, or as `all`.
    """
    command = config.command
    launch = config.facts.launch
    program = launch.parser
    others = program is not None and (program.is_strict or program.parser not in ("", *HF_PARSERS))
    if (
        command is None
        or others
        or launch.doubts
        or not (launch.is_main and is_trainer(launch.consumer))
        or framework(launch.consumer).parses_command
    ):
        return  # LCH003 reports the arguments that a strict program refuses
    own = {*program.fields, *program.defaults} if program is not None else ()
    release = config.facts.version("transformers", RELEASES["transformers"])
    for key, words in command.words.items():
        if words and len(words) > 1 and takes_one(key, release) and key not in own:
            left = " ".join(words[1:])
            yield Finding(
                config.setting(key),
                f"`--{key}` takes one value, `{words[0]}`: `{left}` is left over",
                on_key=True,
                note="the words that are left over go to the program, which refuses or drops them",
                help=f'quote the words: `--{key} "{" ".join(words)}"`' if key != "report_to" else "write one of them, or all",
            )


@load_error(
    "LCH013",
    source="torch 2.13.0 distributed/run.py, transformers 5.23.0 hf_argparser.py:158-260",
    about=LAUNCH,
    bad="torchrun --nproc_per_node 8 --master_port --nnodes 1 train.py --output_dir out --per_device_train_batch_size 4\n",
    good="torchrun --nproc_per_node 8 --master_port 29501 --nnodes 1 train.py --output_dir out --per_device_train_batch_size 4\n",
    example={"at": "--master_port"},
)
def missing_option_value(config: LaunchConfig) -> Iterator[Finding]:
    """An option that requires a value has none.

    argparse does not accept a word that begins with a dash as a value: `expected one argument`, exit status 2. That holds for
    the launchers, and for fields of TrainingArguments whose default is null, such as `--tf32` and `--greater_is_better`: they
    need `True` after them, unlike other booleans.
    """
    return problems(config, "LCH013")


@info(
    "LCH014",
    source="transformers 5.23.0 training_args.py (__post_init__), recorded with accelerate 1.15.0",
    about=LAUNCH,
    bad={
        "train.sh": "accelerate launch --config_file z3.yaml train.py --per_device_train_batch_size 4 --deepspeed ds.json\n",
        "z3.yaml": ZERO_3,
        "ds.json": '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}\n',
    },
    good={
        "train.sh": "accelerate launch --config_file z3.yaml train.py --output_dir out --per_device_train_batch_size 4\n",
        "z3.yaml": ZERO_3,
    },
    example={**NAMED, "at": "--deepspeed"},
)
def ignored_accelerate_block(config: LaunchConfig) -> Iterator[Finding]:
    """The program's `--deepspeed` file replaces the DeepSpeed block of the accelerate config.

    ZeRO stage and offloading of the accelerate config have no effect then.
    """
    return problems(config, "LCH014")


@warning(
    "LCH015",
    source="sbatch(1) 22.05; torch 2.13.0 distributed/run.py does not check the count",
    about=LAUNCH,
    bad={"train.sh": "#!/bin/bash\n#SBATCH --gres=gpu:4\ntorchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4\n"},
    good={"train.sh": "#!/bin/bash\n#SBATCH --gres=gpu:8\ntorchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4\n"},
)
def header_gpu_mismatch(config: LaunchConfig) -> Iterator[Finding]:
    """The Slurm header asks for fewer GPUs or nodes than the launch line starts processes for.

    A header that asks for more than the line uses is not reported: the job may use the rest for something else.
    """
    return problems(config, "LCH015")


@load_error(
    "LCH018",
    source="torch 2.13.0 distributed/run.py (determine_local_world_size, parse_min_max_nnodes) and "
    "distributed/elastic/agent/server/api.py:107 (WorkerSpec), deepspeed 0.19.8 launcher/runner.py (parse_args), accelerate "
    "1.15.0 commands/launch.py (launch_command_parser)",
    about=LAUNCH,
    old_names=("unusable-process-count",),
    bad=(
        "torchrun --nproc_per_node false train.py --output_dir out --per_device_train_batch_size 4\n",
        "torchrun --nproc_per_node 0 train.py --output_dir out --per_device_train_batch_size 4\n",
        "torchrun --nproc_per_node 8 --nnodes 2.0 train.py --output_dir out --per_device_train_batch_size 4\n",
        "torchrun --nproc_per_node 8 --nnodes 2:1 train.py --output_dir out --per_device_train_batch_size 4\n",
        "deepspeed --num_gpus all train.py --output_dir out --per_device_train_batch_size 4 --deepspeed ds.json\n",
    ),
    good="torchrun --nproc_per_node gpu --nnodes 1:2 train.py --output_dir out --per_device_train_batch_size 4\n",
)
def invalid_process_or_node_count(config: LaunchConfig) -> Iterator[Finding]:
    """The launcher does not accept the number of processes or machines.

    `torchrun --nproc_per_node` accepts an integer above 0, `gpu`, `cpu`, `xpu` or `auto`; `--nnodes` a number or `MIN:MAX`.
    `deepspeed` and `accelerate launch` accept integers. A value such as `false` or `2.0` is refused before anything starts,
    and so is an empty variable.
    """
    return problems(config, "LCH018")


@warning(
    "LCH021",
    source="transformers 5.23.0 integrations/deepspeed.py reads whatever path is given; the limit is cfglint's own",
    about=LAUNCH,
    bad={"train.sh": f"torchrun --nproc_per_node 8 train.py --deepspeed ../shared/ds.json {TRAINER}\n", "train.py": "\n"},
    good={
        "train.sh": f"torchrun --nproc_per_node 8 train.py --deepspeed ds.json {TRAINER}\n",
        "train.py": "\n",
        "ds.json": '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}}\n',
    },
    example=NAMED,
)
def launch_file_outside_project(config: LaunchConfig) -> Iterator[Finding]:
    """A configuration file that a launch line names is outside the project, so cfglint did not read it.

    The root of the project is the top of its git work tree, else the folder of the cfglint configuration, else the working
    directory; links are resolved first. The content of such a file is neither read nor shown, because a script from elsewhere could
    name any file of the machine. The same holds for scripts that a script sources or calls: what they set is unknown.
    """
    return problems(config, "LCH021")


@load_error(
    "LCH022",
    source="torch 2.13.0 distributed/run.py (get_args_parser), deepspeed 0.19.8 launcher/runner.py (parse_args), accelerate 1.15.0 "
    "commands/launch.py (launch_command_parser)",
    about=LAUNCH,
    bad=(
        f"torchrun --num_gpus 8 train.py {TRAINER}\n",
        f"deepspeed --nproc_per_node=8 train.py --deepspeed ds.json {TRAINER}\n",
        f"accelerate launch --num_procesess 8 train.py {TRAINER}\n",
        f"accelerate launch --wandb --num_processes 8 train.py {TRAINER}\n",
        {"README.md": f"```sh\ntorchrun --num_gpus 8 train.py {TRAINER}\n```\n"},
    ),
    good=f"torchrun --nproc_per_node 8 train.py {TRAINER}\n",
)
def unknown_launcher_option(config: LaunchConfig) -> Iterator[Finding]:
    """The launcher does not have an option that the line passes to it.

    Each launcher has names of its own for the same thing: torchrun counts processes with `--nproc_per_node`, deepspeed with
    `--num_gpus`, and accelerate with `--num_processes`, which is the total of all machines. Options of the program come after it.

    torchrun and deepspeed accept the beginning of a name, accelerate does not; deepspeed does not accept dashes in a name. An option that
    any release of the launcher has is not reported. In a page, where a line may be shortened, it is a warning.
    """
    return problems(config, "LCH022")


@warning(
    "LCH023",
    source="bash 5.2, which looks for the file before it starts the command",
    about=LAUNCH,
    bad=f"torchrun --nproc_per_node 8 train.py --model_name_or_path <PATH_TO_MODEL> {TRAINER}\n",
    good=f"torchrun --nproc_per_node 8 train.py --model_name_or_path models/base {TRAINER}\n",
)
def unfilled_placeholder(config: LaunchConfig) -> Iterator[Finding]:
    """A script has a placeholder in angle brackets where a value has to be written.

    The shell reads `<NAME>` as a redirection from the file `NAME`, and the next word as the file for the output. It does not start the
    command: "NAME: No such file or directory". The rest of the line is checked as if a value stood there. Placeholders in pages are not
    reported.
    """
    return problems(config, "LCH023")
