"""Generates a YAML file for TRL's parser: the Trainer's keys, and those of the requested trainer."""

from __future__ import annotations

from functools import partial
from math import gcd

from cfglint.batch import steps
from cfglint.batch.solver import Split
from cfglint.findings.wording import amount
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.history import DEFAULT
from cfglint.frameworks.releases.versions import parse_version
from cfglint.frameworks.training_data.generated import counted_prompts
from cfglint.frameworks.trl import FRAMEWORK, NEWEST
from cfglint.frameworks.trl.batch import SMALLEST_FOR_KL
from cfglint.frameworks.trl.releases import HISTORY
from cfglint.generators import choices, deepspeed, huggingface
from cfglint.generators.choices import Chosen
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, Row, main_file, path_in
from cfglint.generators.huggingface import NAME
from cfglint.generators.job_spec import Contradiction, JobSpec, Unreachable
from cfglint.source.annotations import Any

KIND = "trl"
TRAINERS = ("sft", "dpo", "kto", "reward", "grpo", "rloo")
TABLES = HISTORY.at(parse_version(NEWEST))
GENERATING: dict[str, int] = {name: TABLES[name]["num_generations"][DEFAULT] for name in ("grpo", "rloo")}  # completions per prompt
GROUPS = (8, 4, 2, 16, 6, 12, 3, 5, 7)  # completions per prompt, the usual numbers first
RATES: dict[str, float] = {name: TABLES[name]["learning_rate"][DEFAULT] for name in TRAINERS}
ADAPTER_RATE = 10  # times the default
PRECISION_BY_DEFAULT = (0, 19)  # from here on bf16 is on by default, and a log entry comes every 10 steps
CHECKPOINTING_BY_DEFAULT = (0, 22)  # from here on gradient checkpointing is on by default, and RLOO trains as GRPO does
COMMAND_TAKES_FILE = (1,)  # from here on TRL's command takes the file for every trainer


def training(job: JobSpec, folder: str = "") -> Generated:
    target = FRAMEWORK.completed(LaunchFacts(target=job.target or {})).target
    job = job.replace(target=target) if target else job
    name, version = job.trainer or TRAINERS[0], job.version(KIND)
    if name not in TRAINERS:
        raise Contradiction(f"--trainer {name}: files are made for {', '.join(TRAINERS)}")
    if name == "rloo" and version < CHECKPOINTING_BY_DEFAULT:
        raise Contradiction("--trainer rloo: made for TRL 0.22 and newer, where it trains as GRPO does")
    per_prompt = GENERATING.get(name)  # completions: a usual number that divides the global batch
    if per_prompt is not None and job.global_batch is not None:
        per_prompt = next((number for number in (per_prompt, *GROUPS) if job.global_batch % number == 0), None)
        if per_prompt is None:
            raise Unreachable(
                f"{name.upper()} compares completions of a prompt: a global batch of {job.global_batch} has no complete groups"
            )
    chosen = batch(job, name, per_prompt)
    split = chosen.split
    in_epochs = partial(predicted, per_prompt=per_prompt)
    run_length, total = choices.length(job, chosen, (1, "one pass is the usual start"), in_epochs)
    own_length = "" if job.seq_length else "TRL's own default; "
    rows = [
        ("output_dir", job.output_dir or "output", "checkpoints go here"),
        ("model_name_or_path", "org/model", "the model to train: a name on the hub, or a folder"),
        ("dataset_name", "org/dataset", "what to train on"),
        *huggingface.batch(chosen),
        ("num_generations", per_prompt, "completions of each prompt, which the trainer compares; must divide the global batch"),
        ("max_completion_length", None if per_prompt is None else job.seq_length),
        ("max_length", (job.seq_length or 1024) if per_prompt is None else None, f"{own_length}longer samples are cut"),
        ("beta", 0.1 if name in ("dpo", "kto") else None, "TRL's own default: how close the model stays to the reference"),
        run_length,
        *huggingface.rates(job, total, usual_rate),
        huggingface.precision(job),
        *adapter(job, name),
        *logging(job, total),
        huggingface.seed(job),
        deepspeed.named_by_trainer(job, folder),
    ]
    processes = f" --num_processes {job.gpus}" if (job.gpus or 1) > 1 else ""
    path = path_in(folder, NAME)
    command = f"accelerate launch{processes} -m trl.scripts.{name} --config {path}"
    # TRL's command, if it loads a file, and if TRL's own check of a single process passes
    if version >= COMMAND_TAKES_FILE and (per_prompt is None or split.micro_batch * split.accumulation % per_prompt == 0):
        command = f"trl {name} --config {path}{processes}"
    notes = [chosen.equation, *choices.run_length(job, chosen, 1, in_epochs, per_prompt or 1)]
    if per_prompt is not None:
        notes.append(f"the global batch counts completions: {amount(split.global_batch // per_prompt, 'prompt')} per step")
    notes.append(f"start it with: {command}")
    if name in GENERATING:
        notes.append("the script needs a reward: --reward_funcs, or --reward_model_name_or_path")
    return Generated([main_file(KIND, NAME, job, rows), *deepspeed.trainer_files(job)], split, tuple(notes))


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


def predicted(job: JobSpec, chosen: Chosen, epochs: float, per_prompt: int | None) -> int:
    """The number of optimizer steps of a run in epochs."""
    if per_prompt is None:
        return huggingface.predicted(job, chosen, epochs)
    split, examples = chosen.split, job.num_examples or 0
    prompts = split.global_batch // per_prompt
    seen = counted_prompts(examples, prompts, job.version(KIND))
    repeated, loaded = seen * per_prompt * split.accumulation, split.micro_batch * split.accumulation
    return huggingface.in_epochs(job, chosen, epochs, steps.batches_per_rank(repeated, loaded, split.data_parallel))


def usual_rate(job: JobSpec) -> tuple[float, str]:
    """(learning rate, reason) of the trainer if none is specified."""
    rate = RATES[job.trainer or TRAINERS[0]]
    if job.lora:
        return float(f"{ADAPTER_RATE * rate:.6g}"), "ten times TRL's own default, as it advises for adapters"
    return rate, "TRL's own default"


def adapter(job: JobSpec, name: str) -> list[Row]:
    """What bf16 and gradient checkpointing are where they are not the default, and LoRA."""
    rows: list[Row] = []
    if choices.precision(job)[0] == "fp32" and job.version(KIND) >= PRECISION_BY_DEFAULT:
        rows.append(("bf16", False, "TRL turns bf16 on otherwise"))
    if job.lora:
        rows += [("use_peft", True), ("lora_r", 16), ("lora_alpha", 32), ("lora_target_modules", "all-linear")]
        if name == "reward":
            rows.append(("lora_task_type", "SEQ_CLS", "a reward model returns a number, not a string"))
    if (job.lora or job.checkpointing) and job.version(KIND) < CHECKPOINTING_BY_DEFAULT:
        rows += huggingface.checkpointing(job)
    return rows


def logging(job: JobSpec, total: int | None) -> list[Row]:
    """Log entries where they are not the default, and checkpoints if an interval is specified."""
    interval, by_default = choices.log_interval(job, total), job.version(KIND) >= PRECISION_BY_DEFAULT
    return [("logging_steps", choices.unless(choices.LOGGING, interval) if by_default else interval), ("save_steps", job.save_steps)]


def read(existing: Existing, config: Any) -> None:
    huggingface.read(existing, config)
    if len(config.trainers) == 1 and config.trainers[0] in TRAINERS:
        existing.facts["trainer"] = config.trainers[0]
    if config.get("use_peft") is True:
        existing.take("lora", config, "use_peft", value=True)
    existing.number("seq_length", config, "max_length", least=1)


GENERATOR = Generator(
    makes="the file of `trl sft` and TRL's other trainers",
    takes=huggingface.TAKES | {"trainer"},
    trainers=TRAINERS,
    generate=training,
    read=read,
    usual_rate=usual_rate,
)
