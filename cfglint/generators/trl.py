"""Generates a YAML file for TRL's parser: the Trainer's keys, and those of the requested trainer."""

from __future__ import annotations

from functools import partial
from math import gcd

from cfglint.batch import steps
from cfglint.batch.solver import Split
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.training_data.generated import DROPS_INCOMPLETE
from cfglint.frameworks.trl import FRAMEWORK, NEWEST
from cfglint.frameworks.trl.batch import SMALLEST_FOR_KL
from cfglint.frameworks.trl.releases import HISTORY
from cfglint.generators import choices, deepspeed, huggingface, refuse_beyond
from cfglint.generators.choices import Chosen
from cfglint.generators.convert import Existing, of_trainer
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.huggingface import NAME, OUTPUT
from cfglint.generators.job_spec import TRAINING, Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Any

KIND = "trl"
TRAINERS = ("sft", "dpo", "kto", "reward", "grpo", "rloo")
TABLES = HISTORY.at(parse_version(NEWEST))
GENERATING: dict[str, int] = {name: TABLES[name]["num_generations"][DEFAULT] for name in ("grpo", "rloo")}  # completions per prompt
GROUPS = (8, 4, 2, 16, 6, 12, 3, 5, 7)  # completions per prompt, the usual numbers first
RATES: dict[str, float] = {name: TABLES[name]["learning_rate"][DEFAULT] for name in TRAINERS}
ADAPTER_RATE = 10  # times the default
TAKES = TRAINING | {"lora", "seed", "checkpointing", "save_steps", "output_dir", "min_learning_rate", "trainer"}
PRECISION_BY_DEFAULT = (0, 19)  # from here on bf16 is on by default, and a log entry comes every 10 steps
CHECKPOINTING_BY_DEFAULT = (0, 22)  # from here on gradient checkpointing is on by default, and RLOO trains as GRPO does
COMMAND_TAKES_FILE = (1,)  # from here on TRL's command takes the file for every trainer
LENGTH = 1024


def trainer(job: JobSpec, folder: str = "") -> Generated:
    """The file of a trainer, with the DeepSpeed file that it names if ZeRO was requested."""
    target = FRAMEWORK.completed(LaunchFacts(target=job.target or {})).target
    job = job.replace(target=target) if target else job
    refuse_beyond(job, KIND)
    name = job.trainer or TRAINERS[0]
    if name not in TRAINERS:
        raise Contradiction(f"--trainer {name}: files are made for {', '.join(TRAINERS)}")
    if name == "rloo" and job.version(KIND) < CHECKPOINTING_BY_DEFAULT:
        raise Contradiction("--trainer rloo: made for TRL 0.22 and newer, where it trains as GRPO does")
    per_prompt = completions(job, name)
    chosen = batch(job, name, per_prompt)
    keys = Keys()
    keys.add("output_dir", job.output_dir or OUTPUT, "checkpoints go here")
    keys.add("model_name_or_path", "org/model", "the model to train: a name on the hub, or a folder")
    keys.add("dataset_name", "org/dataset", "what to train on")
    keys.add("per_device_train_batch_size", chosen.split.micro_batch, chosen.why)
    keys.add("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable)
    trainer_keys(keys, job, name, per_prompt)
    usual = (1, "one pass is the usual start")
    total = choices.length(keys, job, chosen, usual, partial(predicted, per_prompt=per_prompt))
    rates(keys, job, total)
    precision(keys, job)
    adapter(keys, job, name)
    logging(keys, job, total)
    keys.add_known("seed", job.seed, default=huggingface.default(job, "seed"))
    if job.zero is not None:
        keys.add("deepspeed", path_in(folder, deepspeed.NAME), "looked up from where the script is started")
    file = GeneratedFile(NAME, KIND, keys, (choices.made_for(job),))
    files = [file] if job.zero is None else [file, deepspeed.trainer_config(job)]
    return Generated(files, chosen.split, notes(job, name, chosen, per_prompt, folder))


def completions(job: JobSpec, name: str) -> int | None:
    """The number of completions per prompt: a usual number that divides the global batch; None for a trainer that generates nothing."""
    usual = GENERATING.get(name)
    if usual is None or job.global_batch is None:
        return usual
    fitting = [number for number in (usual, *GROUPS) if job.global_batch % number == 0]
    if not fitting:
        raise Unreachable(f"{name.upper()} compares completions of a prompt: a global batch of {job.global_batch} has no complete groups")
    return fitting[0]


def batch(job: JobSpec, name: str, per_prompt: int | None) -> Chosen:
    """The batch sizes that the trainer accepts for the global batch."""
    smallest = SMALLEST_FOR_KL if name == "kto" else 1
    if name == "kto" and (job.micro_batch or job.max_micro_batch or smallest) < smallest:
        raise Contradiction(f"--micro-batch {job.micro_batch or job.max_micro_batch}: KTO requires at least {smallest}")
    chosen = choices.batch(job, huggingface.USUAL)
    split = chosen.split
    if split.micro_batch < smallest:
        raise Unreachable(
            f"KTO requires a micro batch of at least {smallest}; a global batch of {split.global_batch} gives {split.micro_batch} on "
            f"{job.gpus} GPU{'s' if job.gpus != 1 else ''}"
        )
    if per_prompt is not None and split.global_batch % per_prompt:
        accumulation = per_prompt // gcd(per_prompt, split.micro_batch * split.data_parallel)
        chosen = Chosen(Split(split.micro_batch, accumulation, split.data_parallel), chosen.why)
    return chosen


def trainer_keys(keys: Keys, job: JobSpec, name: str, per_prompt: int | None) -> None:
    """Add the keys of the trainer's own class."""
    if per_prompt is not None:
        keys.add("num_generations", per_prompt, "completions of each prompt, which the trainer compares; must divide the global batch")
        keys.add_known("max_completion_length", job.seq_length)
    else:
        keys.add(
            "max_length",
            job.seq_length or LENGTH,
            "longer samples are cut" if job.seq_length else "TRL's own default; longer samples are cut",
        )
    if name in ("dpo", "kto"):
        keys.add("beta", 0.1, "TRL's own default: how close the model stays to the reference")


def predicted(job: JobSpec, chosen: Chosen, epochs: float, per_prompt: int | None) -> int:
    """The number of optimizer steps of a run in epochs."""
    split, examples = chosen.split, job.num_examples or 0
    if per_prompt is None:
        batches = steps.batches_per_rank(examples, split.micro_batch, split.data_parallel)
    else:
        prompts = split.global_batch // per_prompt
        seen = examples // prompts * prompts if job.version(KIND) >= DROPS_INCOMPLETE else examples
        repeated, loaded = seen * per_prompt * split.accumulation, split.micro_batch * split.accumulation
        batches = steps.batches_per_rank(repeated, loaded, split.data_parallel)
    return huggingface.in_epochs(job, chosen, epochs, batches)


def rates(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add optimizer, learning rate and its schedule, as in the Trainer's file."""
    if job.learning_rate is not None:
        huggingface.rates(keys, job, total)
        return
    rate, why = usual_rate(job)
    huggingface.rates(keys, job.replace(learning_rate=rate), total)
    keys.why["learning_rate"] = why


def usual_rate(job: JobSpec) -> tuple[float, str]:
    """(learning rate, reason) of the trainer if none is specified."""
    rate = RATES[job.trainer or TRAINERS[0]]
    if job.lora:
        return float(f"{ADAPTER_RATE * rate:.6g}"), "ten times TRL's own default, as it advises for adapters"
    return rate, "TRL's own default"


def precision(keys: Keys, job: JobSpec) -> None:
    """Add the number format; from 1.0 on bf16 is TRL's default."""
    name, why = choices.precision(job)
    if name != "fp32":
        keys.add(name, True, why)
    elif job.version(KIND) >= PRECISION_BY_DEFAULT:
        keys.add("bf16", False, "TRL turns bf16 on otherwise")


def adapter(keys: Keys, job: JobSpec, name: str) -> None:
    """Add LoRA, and gradient checkpointing if it is not the default."""
    if job.lora:
        keys.add("use_peft", True)
        keys.add("lora_r", 16)
        keys.add("lora_alpha", 32)
        keys.add("lora_target_modules", "all-linear")
        if name == "reward":
            keys.add("lora_task_type", "SEQ_CLS", "a reward model returns a number, not a string")
    if (job.lora or job.checkpointing) and job.version(KIND) < CHECKPOINTING_BY_DEFAULT:
        huggingface.checkpointing(keys, job)


def logging(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add log entries where they are not the default, and checkpoints if an interval is specified."""
    log_interval = choices.log_interval(job, total)
    if log_interval != choices.LOGGING or job.version(KIND) < PRECISION_BY_DEFAULT:
        keys.add("logging_steps", log_interval)
    keys.add_known("save_steps", job.save_steps)


def notes(job: JobSpec, name: str, chosen: Chosen, per_prompt: int | None, folder: str) -> tuple[str, ...]:
    """The facts that the files cannot contain."""
    steps_of_epochs = partial(predicted, per_prompt=per_prompt)
    lines = [chosen.equation, *choices.run_length(job, chosen, 1, steps_of_epochs, per_prompt or 1)]
    if per_prompt is not None:
        prompts = choices.amount(chosen.split.global_batch // per_prompt, "prompt")
        lines.append(f"the global batch counts completions: {prompts} per step")
    lines.append(f"start it with: {command(job, name, chosen.split, per_prompt, path_in(folder, NAME))}")
    if name in GENERATING:
        lines.append("the script needs a reward: --reward_funcs, or --reward_model_name_or_path")
    return tuple(lines)


def command(job: JobSpec, name: str, split: Split, per_prompt: int | None, path: str) -> str:
    """The launch line for the file: TRL's command if that loads a file, and if TRL's own check of a single process passes."""
    processes = f" --num_processes {job.gpus}" if (job.gpus or 1) > 1 else ""
    alone = split.micro_batch * split.accumulation
    if job.version(KIND) >= COMMAND_TAKES_FILE and (per_prompt is None or alone % per_prompt == 0):
        return f"trl {name} --config {path}{processes}"
    return f"accelerate launch{processes} -m trl.scripts.{name} --config {path}"


def read(found: Existing, config: Any) -> None:
    """Read the Trainer's facts, the trainer, the adapter and the length of a sample."""
    of_trainer(found, config)
    if len(config.trainers) == 1 and config.trainers[0] in TRAINERS:
        found.facts["trainer"] = config.trainers[0]
    if config.get("use_peft") is True:
        found.take("lora", config, "use_peft", value=True)
    found.number("seq_length", config, "max_length", least=1)


GENERATOR = Generator(
    makes="the file of `trl sft` and TRL's other trainers",
    takes=TAKES,
    trainers=TRAINERS,
    generate=trainer,
    read=read,
    usual_rate=usual_rate,
)
