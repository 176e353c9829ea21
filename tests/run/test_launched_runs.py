"""Launch lines as runs: check, explain, fix and diff take scripts."""

from __future__ import annotations

import json

import pytest

import cfglint
from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery

SCRIPT = """\
#!/bin/bash
BATCH=8
torchrun --nproc_per_node 4 train.py \\
    --output_dir out --per_device_train_batch_size $BATCH \\
    --gradient_accumulation_steps 2 --bf16 True --save_strategy no \\
    --deepspeed ds.json
"""
AUTO = """\
{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "zero_optimization": {}}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.sh").write_text(SCRIPT)
    (tmp_path / "train.py").write_text("")
    (tmp_path / "ds.json").write_text(AUTO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(capsys, *arguments):
    main([*arguments, "--format", "json"])
    return json.loads(capsys.readouterr().out)


def test_a_launch_is_a_run_with_its_files(project, capsys):
    found = report(capsys, "check", "train.sh")
    [run] = found["runs"]
    assert (run["files"], run["kinds"]) == (["train.sh", "ds.json"], ["launch", "deepspeed"])
    assert run["resolved"]["global_batch"] == 64
    launch = run["launch"]
    assert (launch["line"], launch["processes"], launch["arguments"]["per_device_train_batch_size"]) == (3, 4, 8)


def test_a_file_of_a_launch_is_not_checked_on_its_own(project, capsys):
    assert [run["files"] for run in report(capsys, "check", ".")["runs"]] == [["./train.sh", "./ds.json"]]


def test_a_finding_points_into_the_script(project, capsys):
    (project / "ds.json").write_text(AUTO.replace('_gpu": "auto"', '_gpu": 4'))
    [found] = [each for each in report(capsys, "check", "train.sh")["diagnostics"] if each["code"] == "RUN001"]
    assert (found["file"], found["related"][0]["file"], found["related"][0]["line"]) == ("ds.json", "train.sh", 2)


ACCELERATE = "--output_dir out --per_device_train_batch_size 4 --save_strategy no --do_train --save_steps 5 --learning_rate 1e-5"
ACCELERATE += " --num_train_epochs 1"
ZERO = "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config: {zero_stage: 2}\n"


@each_case(
    ("flags", "arguments", "key"),
    [
        ("--use_deepspeed --zero_stage 3 --num_processes 8", "--gradient_accumulation_steps 2", None),
        (
            "--use_deepspeed --num_processes 8 --gradient_accumulation_steps 4",
            "--gradient_accumulation_steps 2",
            "--gradient_accumulation_steps",
        ),
        ("--use_deepspeed --num_processes 8 --gradient_clipping 0.5", "--max_grad_norm 1.0", "--gradient_clipping"),
        ("--use_deepspeed --num_processes 8 --mixed_precision bf16", "", "--mixed_precision"),
        ("--num_processes 8 --mixed_precision bf16", "", None),
        ("--config_file zero.yaml", "", "/mixed_precision"),
        ("--config_file zero.yaml", "--bf16 True", None),
        ("--config_file zero.yaml --mixed_precision no", "", None),
        ("--config_file zero.yaml --multi_gpu", "", None),
    ],
)
def test_flags_of_accelerate_count_over_its_file(project, capsys, flags, arguments, key):
    """Each as transformers 5.23.0 with accelerate 1.15.0 starts it, or refuses it in trainer_config_finalize."""
    (project / "zero.yaml").write_text(ZERO)
    (project / "train.sh").write_text(f"accelerate launch {flags} train.py {ACCELERATE} {arguments}\n")
    found = report(capsys, "check", "train.sh")
    # The program is not in the project, so that a run without errors has no verdict.
    assert [run["verdict"] for run in found["runs"]] == [None if key is None else "reject"]
    assert [each["key"] for each in found["diagnostics"] if each["code"] == "RUN001"] == ([] if key is None else [key])


def test_fix_edits_the_assignment_and_the_line(project, capsys):
    assert main(["fix", "train.sh", "--gpus", "8", "--global-batch", "32"]) == 0
    text = (project / "train.sh").read_text()
    assert text == SCRIPT.replace("BATCH=8", "BATCH=4").replace("node 4", "node 8").replace("steps 2", "steps 1") or (
        "--nproc_per_node 8" in text and report(capsys, "check", "train.sh")["runs"][0]["resolved"]["global_batch"] == 32
    )
    main(["fix", "train.sh", "--gpus", "8", "--global-batch", "32"])
    assert (project / "train.sh").read_text() == text


def test_fix_refuses_what_another_launch_shares(project, capsys):
    shared = (
        SCRIPT + "torchrun --nproc_per_node 4 train.py --output_dir p --per_device_train_batch_size $BATCH --bf16 True --save_strategy no\n"
    )
    (project / "train.sh").write_text(shared)
    assert main(["fix", "train.sh:3", "--gpus", "4", "--global-batch", "4", "--max-micro-batch", "1"]) == 2
    assert (project / "train.sh").read_text() == shared
    assert "line 7" in capsys.readouterr().err


def test_an_ellipsis_stands_for_more_arguments(project, capsys):
    (project / "README.md").write_text("```bash\nswift sft --model a --deepspeed zero2 --max_steps 10 \\\n    ...\n```\n")
    [run] = report(capsys, "check", "README.md")["runs"]
    assert (run["launch"]["arguments"]["max_steps"], run["launch"]["arguments"]["deepspeed"]) == (10, "zero2")


SWIFT = "swift sft --model org/model --per_device_train_batch_size 1 --gradient_accumulation_steps 16\n"
FACTORY = SWIFT.replace("swift sft --model", "llamafactory-cli train --do_train --dataset d --output_dir o --model_name_or_path")


@each_case(
    ("script", "after"),
    [
        (f"NPROC_PER_NODE=8 {SWIFT}", "NPROC_PER_NODE=4"),
        (f'export NPROC_PER_NODE="8"\n{SWIFT}', 'NPROC_PER_NODE="4"'),
        (f"N=8\nNPROC_PER_NODE=$N {SWIFT}", "N=4\n"),
        (f"FORCE_TORCHRUN=1 NPROC_PER_NODE=8 {FACTORY}", "NPROC_PER_NODE=4"),
        (f"NPROC_PER_NODE=${{N:-8}} NNODES=1 {SWIFT}", "{N:-4}"),
        (f"export NPROC_PER_NODE=8\n{SWIFT}{SWIFT.replace('sft', 'pt')}", "NPROC_PER_NODE=4"),
    ],
)
def test_fix_edits_the_variable_that_gives_the_processes(project, capsys, script, after):
    (project / "train.sh").write_text(script)
    assert main(["fix", "train.sh", "--gpus", "4", "--global-batch", "128"]) == 0
    assert (project / "train.sh").read_text() == script.replace(after.replace("4", "8"), after).replace("steps 16", "steps 32")


def test_fix_of_one_line_does_not_change_another_one(project, capsys):
    script = f"export NPROC_PER_NODE=8\n{SWIFT}{SWIFT.replace('sft', 'pt')}"
    (project / "train.sh").write_text(script)
    assert main(["fix", "train.sh:2", "--gpus", "4", "--global-batch", "128"]) == 2
    assert "the edit would change the launch of line 3 too" in capsys.readouterr().err
    assert (project / "train.sh").read_text() == script


@each_case(
    ("launch", "code"),
    [
        ("torchrun --nproc_per_node 8 --master_port --nnodes 1", "LCH013"),
        ("deepspeed --num_gpus 4 --include localhost:0,1", "LCH005"),
        ("accelerate launch --multi_gpu --num_processes 1", "LCH008"),
        ("accelerate launch --config_file absent.yaml", "LCH002"),
    ],
)
def test_what_the_launcher_refuses_does_not_hang_on_the_parser_of_the_program(project, capsys, launch, code):
    (project / "train.sh").write_text(f"{launch} train.py --output_dir out --per_device_train_batch_size 4 --own 3\n")
    [found] = report(capsys, "check", "train.sh")["diagnostics"]
    assert (found["code"], found["severity"]) == (code, "error")


@each_case("launch", ["torchrun --nproc_per_node 4 train.py", "NPROC_PER_NODE=4 swift sft", "NPROC_PER_NODE=4 llamafactory-cli train"])
def test_more_processes_than_visible_devices(project, capsys, launch):
    (project / "train.sh").write_text(f"export CUDA_VISIBLE_DEVICES=0,1\n{launch} --output_dir out --per_device_train_batch_size 4\n")
    found = [each for each in report(capsys, "check", "train.sh")["diagnostics"] if each["code"] == "LCH006"]
    assert [(each["line"], each["key"]) for each in found] == [(1, "CUDA_VISIBLE_DEVICES")]


READS = (
    "from transformers import HfArgumentParser, TrainingArguments, Trainer\n"
    "[arguments] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=arguments).train()\n"
)


@each_case(
    ("program", "more", "severity", "verdict"),
    [
        (READS, "", "error", "reject"),
        (READS, "--use_cpu True", "warning", None),
        (READS, "--ddp_backend gloo", "warning", None),
        ("import torch\n", "", "warning", None),
    ],
)
def test_processes_without_a_device_fail_where_the_trainer_is_known(project, capsys, program, more, severity, verdict):
    (project / "train.py").write_text(program)
    arguments = f"--output_dir out --per_device_train_batch_size 4 --learning_rate 1e-5 --save_strategy no --bf16 True {more}"
    (project / "train.sh").write_text(f"CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 4 train.py {arguments}\n")
    found = report(capsys, "check", "train.sh")
    assert [each["severity"] for each in found["diagnostics"] if each["code"] == "LCH006"] == [severity]
    assert found["runs"][0]["verdict"] == verdict
    main(["explain", "train.sh"])
    assert "It would start" not in capsys.readouterr().out


@each_case(
    ("launch", "gpus"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch --num_processes 1", 4),  # one process spreads its batch, as `python` does
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch --num_processes 1 --gpu_ids 0", 1),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch --num_processes 1 --cpu", 1),
        ("CUDA_VISIBLE_DEVICES=0 accelerate launch", 1),
        ("accelerate launch --num_processes 1", None),
    ],
)
def test_one_process_of_accelerate_has_each_visible_gpu(project, capsys, launch, gpus):
    (project / "train.py").write_text(READS)
    (project / "train.sh").write_text(f"{launch} train.py --output_dir out --per_device_train_batch_size 4\n")
    [run] = report(capsys, "check", "train.sh")["runs"]
    assert (run["gpus"], run["resolved"]["global_batch"]) == (gpus, None if gpus is None else 4 * gpus)


@each_case(("program", "batch"), [(READS, 32), ("", None)])  # one that is not in the project may have a loop of its own
def test_one_process_that_is_configured_is_no_mismatch_on_several_gpus(project, capsys, program, batch):
    (project / "train.py").write_text(program) if program else (project / "train.py").unlink()
    (project / "acc.yaml").write_text("compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_machines: 1\nnum_processes: 1\n")
    options = "--output_dir out --per_device_train_batch_size 4 --learning_rate 1e-4 --lr_scheduler_type linear --num_train_epochs 3"
    (project / "train.sh").write_text(f"accelerate launch --config_file acc.yaml train.py {options}\n")
    found = report(capsys, "check", "train.sh", "--gpus", "8")
    assert [each["code"] for each in found["diagnostics"]] == []
    assert found["runs"][0]["resolved"]["global_batch"] == batch


@each_case(("devices", "verdict"), [("0,1", "reject"), ("0", "accept")])
def test_llamafactory_refuses_one_process_on_several_gpus(project, capsys, devices, verdict):
    program = "from llamafactory.train.tuner import run_exp\nrun_exp()\n"
    (project / "train.py").write_text(program)
    words = "--stage sft --model_name_or_path m --do_train --dataset d --template default --output_dir o --finetuning_type full"
    (project / "train.sh").write_text(f"CUDA_VISIBLE_DEVICES={devices} python train.py {words}\n")
    [run] = report(capsys, "check", "train.sh", "--target", "llamafactory==0.9.3")["runs"]
    assert run["verdict"] == verdict


@each_case("devices", ["1,2,...", "0,…", "0, ... ,7"])
def test_dots_among_the_devices_are_a_placeholder(project, capsys, devices):
    line = f'CUDA_VISIBLE_DEVICES="{devices}" torchrun --nproc_per_node auto train.py --output_dir out --per_device_train_batch_size 4'
    (project / "README.md").write_text(f"```\n{line} --learning_rate 1e-5\n```\n")
    [run] = report(capsys, "check", "README.md")["runs"]
    assert (run["gpus"], run["launch"]["processes"]) == (None, None)


@each_case(
    ("before", "launch", "reason"),
    [
        ("", "torchrun", "add `--nproc_per_node 8`"),
        ("", "torchrun --nproc_per_node false", "write `--nproc_per_node 8`"),
        ("", "torchrun --nnodes 3 --nproc_per_node 8", None),
        ("", "CUDA_VISIBLE_DEVICES=GPU-8a torchrun --nproc_per_node gpu", "names devices that are not numbers"),
        ("", "CUDA_VISIBLE_DEVICES=0 python", "start the program with `torchrun --nproc_per_node 8`"),
        ("", "deepspeed --exclude localhost:0", "write `--include localhost:0,1"),
        ("", "torchrun --nnodes 2 --nproc_per_node 8", None),
        ("", "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node gpu", None),
        ("", "CUDA_VISIBLE_DEVICES=0,1 python", None),
        ("", "deepspeed --include a:0,1@b:2,3", None),
        ("", "torchrun --nproc_per_node gpu", None),
        ("", "torchrun --nproc_per_node $1", None),
        ("", "torchrun --nproc_per_node 4", None),
        ("N=4\n", "torchrun --nproc_per_node $N", None),
        ("", "accelerate launch", None),
        ("", "deepspeed", None),
        ("", "python", None),
    ],
)
def test_fix_reaches_no_target_on_gpus_that_the_launch_does_not_use(project, capsys, before, launch, reason):
    arguments = "--output_dir out --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --save_strategy no"
    (project / "train.sh").write_text(f"{before}{launch} train.py {arguments}\n")
    text = (project / "train.sh").read_text()
    status = main(["fix", "train.sh", "--gpus", "8", "--global-batch", "96", "--format", "json"])
    [entry] = json.loads(capsys.readouterr().out)["runs"]
    [run] = report(capsys, "check", "train.sh", "--gpus", "8")["runs"]
    assert (status, run["resolved"]["global_batch"] == 96) == ((0, True) if reason is None else (2, False))
    assert reason is None or (reason in entry["problem"] and (project / "train.sh").read_text() == text)


def test_an_unknown_batch_size_makes_no_number_and_no_error(project, capsys):
    (project / "train.sh").write_text(SCRIPT.replace("BATCH=8\n", ""))
    found = report(capsys, "check", "train.sh")
    assert found["runs"][0]["resolved"]["global_batch"] is None
    assert [each for each in found["diagnostics"] if each["severity"] == "error"] == []
    unknown = {each["field"]: each["reason"] for each in found["runs"][0]["launch"]["unknown"]}
    assert unknown["arguments.per_device_train_batch_size"] == "the variable `BATCH` (pass --env BATCH=VALUE)"
    assert report(capsys, "check", "train.sh", "--env", "BATCH=2")["runs"][0]["resolved"]["global_batch"] == 16


def test_runs_names_each_cause_once_with_the_flag_that_tells_it(project, capsys):
    text = 'torchrun --nproc_per_node $2 train.py --model $V --output_dir out/$V --run_name $V --stop_strings "<end>" --save "<path>"'
    (project / "train.sh").write_text(f"{text} --per_device_train_batch_size 4\n")
    main(["runs", "train.sh"])
    assert [line.strip() for line in capsys.readouterr().out.splitlines() if "unknown   " in line] == [
        "unknown       GPUs of a node: the argument `$2` of the script (pass --gpus N)",
        "unknown       --save: to be filled in",
        "unknown       --model, --output_dir, --run_name: V is not set in the script (pass --env V=VALUE)",
    ]


def test_runs_says_what_a_gpu_processes_where_their_number_is_not_known(project, capsys):
    (project / "train.sh").write_text(SCRIPT.replace("torchrun --nproc_per_node 4", "deepspeed"))
    main(["runs", "train.sh"])
    out = capsys.readouterr().out
    assert "GPUs          those of the machine (pass --gpus N)" in out
    assert "per GPU       8 samples x 2 accumulation steps" in out
    assert "unknown" not in out


@each_case(
    ("name", "text", "said"),
    [
        (
            "ds.json",
            AUTO,
            ["ds.json  (DeepSpeed config)", "GPUs          unknown (pass --gpus N)", "the program that loads this file sets it"],
        ),
        ("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 2\n", ["acc.yaml  (accelerate config)", "GPUs          2"]),
        (
            "run.sh",
            "accelerate launch --num_processes 2 train.py --lr 1\n",
            ["GPUs          2", "the arguments of `train.py`"],
        ),
    ],
)
def test_runs_names_the_kind_of_a_file_and_who_sets_its_batch(project, capsys, name, text, said):
    (project / "train.sh").unlink(missing_ok=True)  # it reads ds.json
    (project / name).write_text(text)
    main(["runs", name])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line]
    assert [each for each in said if not any(each in line for line in lines)] == []
    assert len(lines) == (3 if name != "acc.yaml" else 2)


def test_runs_lists_and_declares(project, capsys):
    assert main(["runs", "."]) == 0
    assert "global batch  64" in capsys.readouterr().out
    assert main(["runs", "--declare"]) == 0
    (project / "cfglint.toml").write_text(capsys.readouterr().out)
    assert main(["check"]) == 0
    (project / "cfglint.toml").write_text('[[run]]\nlaunch = "train.sh:3"\nglobal-batch = 65\n')
    capsys.readouterr()
    assert "expected 65" in str(report(capsys, "check"))


LOOP = "for b in 4 8; do torchrun --nproc_per_node 4 train.py --output_dir o --per_device_train_batch_size $b --max_steps 9{}; done\n"
LOOP = LOOP.format(" --save_strategy no --save_total_limit 2")


def test_a_declared_line_may_start_several_runs(project, capsys):
    (project / "train.sh").write_text(LOOP)
    (project / "cfglint.toml").write_text('[[run]]\nlaunch = "train.sh:1"\nglobal-batch = 16\n')
    found = report(capsys, "check")
    assert [run["resolved"]["global_batch"] for run in found["runs"]] == [16, 32]
    assert ["32" in each["message"] for each in found["diagnostics"] if each["code"] == "RUN100"] == [True]
    assert [run["resolved"]["global_batch"] for run in report(capsys, "check", "train.sh")["runs"]] == [16, 32]
    assert [run["resolved"]["global_batch"] for run in report(capsys, "explain", "train.sh")["runs"]] == [16, 32]


def test_runs_of_a_line_are_declared_once(project, capsys):
    (project / "train.sh").write_text(
        LOOP + LOOP.replace("4 8", "2 2") + LOOP.replace("for b in 4 8; do ", "").replace("4 train", "$1 train")[:-7]
    )
    main(["runs", "train.sh", "--gpus", "2", "--declare"])
    tables = capsys.readouterr().out.split("\n\n")
    assert [each.split("\n")[1:] for each in map(str.strip, tables)] == [
        ['launch = "train.sh:1"'],
        ['launch = "train.sh:2"', "global-batch = 8"],
        ['launch = "train.sh:3"', "gpus = 2", "global-batch = 4"],
    ]


def test_a_declared_script_with_several_lines_says_which_there_are(project, capsys):
    (project / "train.sh").write_text(SCRIPT * 2)
    (project / "cfglint.toml").write_text('[[run]]\nlaunch = "train.sh"\n')
    assert main(["check"]) == 2
    assert "2 launches; name one of them: train.sh:3, train.sh:9" in capsys.readouterr().err


def test_launches_that_are_alike_are_explained_once(project, capsys):
    (project / "train.sh").write_text(SCRIPT * 2)
    assert main(["explain", "train.sh"]) == 0
    assert capsys.readouterr().out.startswith("train.sh:3, train.sh:9\n")
    assert main(["explain", "train.sh:9"]) == 0


STRICT = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model=None, args=args).train()
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("--report_to wandb tensorboard", "LCH003"),
        ("--fsdp full_shard auto_wrap", "LCH003"),
        ("--warmup_ratio 0.03", "KEY202"),
        ("--label_names a b", None),
        ("--lr_scheduler_typ cosine", None),
    ],
)
def test_a_strict_program_takes_what_its_parser_takes(project, capsys, arguments, code):
    """Each as `parse_args_into_dataclasses` of transformers 5.23.0 takes or refuses it; an unknown program is only warned of."""
    (project / "requirements.txt").write_text("transformers==5.23.0\naccelerate==1.15.0\n")
    (project / "train.sh").write_text(f"torchrun --nproc_per_node 8 train.py {ACCELERATE} {arguments}\n")
    assert {each["severity"] for each in report(capsys, "check", "train.sh")["diagnostics"]} <= {"warning", "info"}
    (project / "train.py").write_text(STRICT)
    found = [each["code"] for each in report(capsys, "check", "train.sh")["diagnostics"] if each["severity"] == "error"]
    assert found == ([] if code is None else [code])


def test_a_short_argument_is_the_field_that_it_stands_for(project, capsys):
    (project / "train.sh").write_text(f"torchrun --nproc_per_node 8 train.py {ACCELERATE} --gradient_accum 4\n")
    assert report(capsys, "check", "train.sh")["runs"][0]["resolved"]["global_batch"] == 32
    (project / "train.py").write_text(STRICT)
    assert report(capsys, "check", "train.sh")["runs"][0]["resolved"]["global_batch"] == 128


def test_a_launch_line_may_override_the_processes_of_its_accelerate_config(project, capsys):
    accelerate = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 8\n"
    (project / "accelerate.yaml").write_text(accelerate)
    line = "accelerate launch --config_file accelerate.yaml --num_processes 2 train.py --output_dir out\n"
    (project / "train.sh").write_text(line)
    found = report(capsys, "check", "train.sh")
    assert found["runs"][0]["gpus"] == 2
    assert "ACC015" not in {each["code"] for each in found["diagnostics"]}
    assert "ACC015" in {
        each["code"] for each in report(capsys, "check", "accelerate.yaml", "--kind", "accelerate", "--gpus", "2")["diagnostics"]
    }


def test_a_launch_in_a_sourced_file_is_reported_there(project, capsys):
    (project / "lib.sh").write_text("# what every script does\nstart() { torchrun --nproc_per_node $1 train.py $COMMON; }\nN=$1\n")
    line = "COMMON='--output_dir out --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --save_strategy no'\n"
    (project / "train.sh").write_text(f"source lib.sh 4\n{line}start $N\n")
    [run] = report(capsys, "check", "train.sh")["runs"]
    launch = run["launch"]
    assert (run["files"], launch["file"], launch["line"], launch["processes"]) == (["lib.sh"], "lib.sh", 2, 4)
    assert run["resolved"]["global_batch"] == 32
    before = (project / "train.sh").read_text()
    assert main(["fix", "train.sh", "--gpus", "8", "--global-batch", "64"]) == 2
    assert ((project / "train.sh").read_text(), (project / "lib.sh").read_text().count("$1")) == (before, 2)


def test_a_program_that_may_not_use_the_trainer_is_not_held_to_its_defaults(project, capsys):
    line = "accelerate launch --use_deepspeed --mixed_precision bf16 --num_processes 2 tune.py --output_dir out --learning_rate 1e-5"
    (project / "train.sh").write_text(f"{line}\n")
    assert "RUN001" not in {each["code"] for each in report(capsys, "check", ".")["diagnostics"]}
    (project / "train.sh").write_text(
        f"{line} --bf16 False --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --save_strategy no\n"
    )
    messages = {each["code"]: each["message"] for each in report(capsys, "check", ".")["diagnostics"]}
    assert messages["RUN001"].startswith("`mixed_precision` is ")


OWN_CLASS = """\
from dataclasses import dataclass
from transformers import HfArgumentParser, Trainer, TrainingArguments

@dataclass
class OwnArguments(TrainingArguments):
    fsdp: str = None

    def __post_init__(self):
        self.fsdp = PRESETS[self.fsdp]
        super().__post_init__()

args, = HfArgumentParser(OwnArguments).parse_args_into_dataclasses()
Trainer(model, args).train()
"""


def test_a_field_that_the_program_interprets_itself_is_not_checked(project, capsys):
    (project / "train.py").write_text(OWN_CLASS)
    launch = "torchrun --nproc_per_node 2 train.py"
    (project / "train.sh").write_text(f"{launch} --output_dir out --max_steps 9 --fsdp presets/two.json --label_names labels\n")
    assert report(capsys, "check", "train.sh")["diagnostics"] == []


MEGATRON = """\
torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \\
    --seq-length 2048 --micro-batch-size 4 --global-batch-size 128 --train-iters 1000 --lr-warmup-fraction .01 --lr 1e-4 --bf16
"""


def resolved(text, tmp_path, capsys):
    (tmp_path / "launch.sh").write_text(text)
    return report(capsys, "check", str(tmp_path / "launch.sh"))["runs"][0]["resolved"]


@each_case(
    ("arguments", "batch"),
    [
        ("--per_device_train_batch_size 4 --gradient_accumulation_steps 2", None),
        ("--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --learning_rate 1e-5 --max_steps 9 --seed 1", None),
        ("--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --bf16", 64),
        ("--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --save_total_limit 1", 64),
    ],
)
def test_two_names_of_the_trainer_make_no_trainer(tmp_path, capsys, arguments, batch):
    assert resolved(f"torchrun --nproc_per_node 8 train.py --output_dir o {arguments}\n", tmp_path, capsys)["global_batch"] == batch


def test_the_arguments_of_megatron_decide_the_batch(tmp_path, capsys):
    found = resolved(MEGATRON, tmp_path, capsys)
    batch = [found[name] for name in ("micro_batch", "accumulation", "data_parallel", "tensor_parallel", "global_batch")]
    assert batch == [4, 8, 4, 2, 128]
    assert (found["tokens_per_step"], found["total_steps"], found["warmup_steps"]) == (128 * 2048, 1000, 10)


@each_case(
    ("old", "new", "batch", "total", "warmup"),
    [
        ("--global-batch-size 128", "", 16, 1000, 10),  # one micro batch of every replica
        ("--micro-batch-size 4", "--micro-batch-size $M", 128, 1000, 10),
        ("--global-batch-size 128", "--global-batch-size 128 --rampup-batch-size 16 16 1000", None, 1000, 10),
        ("--train-iters 1000", "--train-samples 1000", 128, None, None),
        ("--lr-warmup-fraction .01", "--lr-decay-iters 500 --lr-warmup-fraction .01", 128, 1000, 5),
        ("--lr-warmup-fraction .01", "--lr-warmup-iters 7", 128, 1000, 7),
        ("--lr-warmup-fraction .01", "--lr-warmup-samples 7", 128, 1000, None),
        ("--lr-warmup-fraction .01", "", 128, 1000, 0),
    ],
)
def test_what_the_arguments_of_megatron_leave_open(tmp_path, capsys, old, new, batch, total, warmup):
    found = resolved(MEGATRON.replace(old, new), tmp_path, capsys)
    assert (found["global_batch"], found["total_steps"], found["warmup_steps"]) == (batch, total, warmup)


def test_fix_edits_the_batch_of_megatron(tmp_path, capsys):
    (tmp_path / "launch.sh").write_text(MEGATRON)
    main(["fix", str(tmp_path / "launch.sh"), "--gpus", "8", "--global-batch", "256"])
    assert (tmp_path / "launch.sh").read_text() == MEGATRON.replace("size 128", "size 256")


def test_a_program_with_a_parser_of_its_own_does_not_have_the_defaults_of_the_trainer(tmp_path, capsys):
    line = "torchrun --nproc_per_node 8 train.py --output_dir out --bf16 --seed 1 --weight_decay 0.1"
    found = resolved(line, tmp_path, capsys)
    assert (found["micro_batch"], found["global_batch"]) == (None, None)
    line += " --num_train_epochs 3 --per_device_eval_batch_size 4 --lr_scheduler_type linear"
    found = resolved(line, tmp_path, capsys)
    assert (found["data_parallel"], found["global_batch"]) == (8, None)
    assert resolved(f"{line} --per_device_train_batch_size 4", tmp_path, capsys)["global_batch"] == 32


BLOCK = "distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  gradient_accumulation_steps: 1\n  zero_stage: 2\n"
OWN_PROGRAM = "accelerate launch --config_file acc.yaml --num_processes 8 tune.py --bsz 4\n"
OWN_TRAINER = OWN_PROGRAM.replace("--bsz 4", ACCELERATE)


def test_fix_edits_the_processes_of_the_launcher_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acc.yaml").write_text(BLOCK)
    (tmp_path / "run.sh").write_text(OWN_TRAINER)
    main(["fix", "run.sh", "--gpus", "4", "--global-batch", "256"])
    first = (tmp_path / "run.sh").read_text(), (tmp_path / "acc.yaml").read_text()
    assert first[0].startswith(OWN_TRAINER.replace("--num_processes 8", "--num_processes 4").rstrip())
    assert first[1] == BLOCK.replace("steps: 1", "steps: 16")
    main(["fix", "run.sh", "--gpus", "4", "--global-batch", "256"])
    assert ((tmp_path / "run.sh").read_text(), (tmp_path / "acc.yaml").read_text()) == first


def test_the_processes_are_not_changed_alone_if_the_program_sets_the_batch(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acc.yaml").write_text(BLOCK)
    (tmp_path / "run.sh").write_text(OWN_PROGRAM)
    assert main(["fix", "run.sh", "--gpus", "16", "--global-batch", "256"]) == 2
    assert "`tune.py` is not in the project, so how it sets its batch is not known" in capsys.readouterr().err
    assert (tmp_path / "run.sh").read_text() == OWN_PROGRAM


def test_a_number_of_processes_that_the_script_computes_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = OWN_TRAINER.replace("--config_file acc.yaml --num_processes 8", "--multi_gpu --num_processes $((4*8)) --num_machines 4")
    (tmp_path / "run.sh").write_text(text)
    assert main(["fix", "run.sh", "--gpus", "8", "--global-batch", "256"]) == 2
    assert "`--num_processes` is 32, computed by the script: set it to 8 there by hand" in capsys.readouterr().err
    assert (tmp_path / "run.sh").read_text() == text


@each_case(("option", "codes"), [("", ["RUN002"]), ("--autotuning run", [])])
def test_the_autotuner_writes_the_section_that_a_trainer_requires(project, capsys, option, codes):
    (project / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto"}\n')
    (project / "train.py").write_text(
        "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    )
    (project / "train.sh").write_text(f"deepspeed {option} --num_gpus 8 train.py --deepspeed ds.json --output_dir out\n")
    found = {each["code"] for each in report(capsys, "check", "train.sh")["diagnostics"]}
    assert found & {"RUN002"} == {*codes}


OWN_ENGINE = """\
from dataclasses import dataclass
import deepspeed
from transformers import HfArgumentParser, Trainer, TrainingArguments

@dataclass
class DataArguments:
    deepspeed_config: str = None

data, args = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
%strainer = Trainer(model, args)
trainer.model, *_ = deepspeed.initialize(model=model, config=data.deepspeed_config)
"""


@pytest.mark.parametrize(("handed_on", "codes"), [("", []), ("args.deepspeed = data.deepspeed_config\n", ["RUN001"])])
def test_a_deepspeed_file_of_the_programs_own_argument_is_not_the_trainers(handed_on, codes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(OWN_ENGINE % handed_on)
    (tmp_path / "ds.json").write_text('{"train_batch_size": "auto", "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1}}')
    (tmp_path / "run.sh").write_text("deepspeed --num_gpus 8 train.py --output_dir o --learning_rate 2e-5 --deepspeed_config ds.json\n")
    assert [each.code for each in cfglint.check("run.sh").diagnostics if each.severity == "error"] == codes


def test_a_file_that_the_program_reads_itself_is_not_the_trainers(tmp_path, monkeypatch, capsys):
    """It has keys of a trainer, but the program builds the arguments."""
    (tmp_path / "own.yaml").write_text("learning_rate: 1.0e-5\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n")
    (tmp_path / "run.sh").write_text("python train.py --config own.yaml\n")
    (tmp_path / "train.py").write_text(
        "import argparse, yaml\nfrom transformers import Trainer, TrainingArguments\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--config')\nown = yaml.safe_load(open(parser.parse_args().config))\n"
        "args = TrainingArguments('out', per_device_train_batch_size=2 * own['per_device_train_batch_size'])\n"
        "Trainer(model=None, args=args).train()\n"
    )
    monkeypatch.chdir(tmp_path)
    main(["check", "run.sh", "--gpus", "1", "--format", "json"])
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert (run["files"], run["resolved"]["global_batch"]) == (["run.sh", "train.py", "own.yaml"], 8)


@pytest.mark.parametrize(("named", "codes"), [("missing.json", []), ("", ["BAT003", "DSP080"])])
def test_the_files_of_an_unknown_program_that_names_a_config(named, codes, tmp_path, monkeypatch):
    """A trainer that takes the first file also fills the `"auto"` of the other."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.json").write_text(
        '{"output_dir": "o", "per_device_train_batch_size": 4, "learning_rate": 1e-5, "num_train_epochs": 1}'
    )
    (tmp_path / "ds.json").write_text('{"train_batch_size": "auto", "gradient_clipping": "auto", "optimizer": {"type": "AdamW"}}')
    (tmp_path / "run.sh").write_text(f"deepspeed --num_gpus 8 $1/train.py {named} --deepspeed --deepspeed_config ds.json\n")
    assert [each.code for each in cfglint.check("run.sh").diagnostics if each.severity == "error"] == codes


def test_a_flag_beside_a_file_of_arguments_is_the_programs_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.json").write_text(
        '{"output_dir": "o", "per_device_train_batch_size": 4, "learning_rate": 1e-5, "num_train_epochs": 1}'
    )
    (tmp_path / "ds.json").write_text('{"train_batch_size": "auto", "zero_optimization": {"stage": 1}}')
    (tmp_path / "run.sh").write_text("deepspeed --num_gpus 8 $1/train.py own.json --deepspeed --deepspeed_config ds.json\n")
    assert [each.code for each in cfglint.check("run.sh").diagnostics if each.severity == "error"] == []


@pytest.mark.parametrize(("given", "kept"), [("--deepspeed", False), ("--deepspeed $CONFIG", True)])
def test_a_deepspeed_argument_with_an_unknown_value_is_no_bare_flag(tmp_path, given, kept):
    own = "--output_dir out --num_train_epochs 3 --save_strategy no --logging_strategy no"
    (tmp_path / "run.sh").write_text(f"CONFIG=$1\ndeepspeed --num_gpus 8 $2/train.py {own} {given}\n")
    (run,) = cfglint.check(str(tmp_path / "run.sh")).runs
    assert ("deepspeed" in run.launch["arguments"]) == kept


SPREAD = """import os
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
device_map = "auto" if int(os.environ.get("WORLD_SIZE", 1)) == 1 else {"": int(os.environ["LOCAL_RANK"])}
model = AutoModelForCausalLM.from_pretrained("m", MAP)
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=4)).train()
"""


@each_case(
    ("given", "gpus"),
    [("device_map=device_map", 1), ("device_map=load()", None), ("**load()", None), ("device_map=None", 4), ("revision='x'", 4)],
)
def test_a_model_that_one_process_has_on_all_gpus_leaves_one_replica(given, gpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SPREAD.replace("MAP", given))
    (tmp_path / "run.sh").write_text("python train.py\n")
    (run,) = Discovery(LaunchFacts(gpus=4)).runs(["run.sh"])
    assert (run.facts.gpus, run.resolved["data_parallel"]) == (gpus, gpus)
