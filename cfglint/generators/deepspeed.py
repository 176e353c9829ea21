"""Generates a DeepSpeed config: the complete config of a run, or the part that the Trainer does not set."""

from __future__ import annotations

from math import ceil

from cfglint.findings.wording import amount
from cfglint.frameworks.deepspeed.models import model_of
from cfglint.generators import choices
from cfglint.generators.convert import Existing, read_optimizer_numbers
from cfglint.generators.generated import Generated, GeneratedFile, Generator, Keys, Row, path_in
from cfglint.generators.job_spec import TRAINING, Contradiction, JobSpec
from cfglint.source.annotations import Any

KIND = "deepspeed"
NAME = "ds_config.json"
AUTO = "auto"
OPTIMIZERS = {"adamw": "AdamW", "lion": "Lion", "sgd": "SGD"}
ON_CPU = ("adamw", "lion")  # DeepSpeed's CPU optimizers (ops/adam/cpu_adam.py, ops/lion/cpu_lion.py)
SCHEDULES = {"linear": "WarmupDecayLR", "cosine": "WarmupCosineLR", "constant": "WarmupLR"}
COSINE_FLOOR = 1.0e-4  # of the rate; deepspeed 0.19.8 runtime/lr_schedules.py:870
BETAS = {"adamw": [0.9, 0.999], "lion": [0.9, 0.99]}  # defaults
LEAST_WARMUP = 2  # lr_schedules.py:744, 878
SHARDS = {0: "nothing is split", 1: "splits optimizer states", 2: "splits optimizer states and gradients", 3: "splits the weights too"}
SMALLEST = 1, "smallest memory use, as neither --max-micro-batch nor --gpu-memory is given"


def standalone_config(job: JobSpec, folder: str = "") -> Generated:
    """The config of a run without the Trainer: `deepspeed.initialize` receives no other settings."""
    chosen = choices.batch(job, SMALLEST)
    split, (name, why) = chosen.split, choices.precision(job)
    total, _ = choices.total_steps(job, split.global_batch, job.seq_length)
    if total is None and job.epochs and job.num_examples:
        total = ceil(job.epochs * job.num_examples / split.global_batch)
    keys = Keys.of(
        ("train_batch_size", split.global_batch, f"{chosen.equation}; on other GPU counts the accumulation changes, and this stays"),
        ("train_micro_batch_size_per_gpu", split.micro_batch, chosen.why),
        (f"{name}.enabled", choices.unless("fp32", name) and True, why),
        ("gradient_clipping", *clipping(job, "the default since 0.19.3; before it was off")),
        *(zero(job) if job.zero else ()),
        *optimizer(job),
        ("steps_per_print", job.logging_steps),
        *schedule(job, total),
    )
    duties = []  # of the script, for which a DeepSpeed config has no key
    if total is not None or job.epochs is not None:
        duties.append(f"the script ends the run: stop it after {f'{job.epochs:g} epochs' if total is None else amount(total, 'step')}")
    if job.steps is not None or job.tokens is not None:
        duties += choices.epochs_of(job, split)
    elif job.num_examples is not None:
        duties.append(f"an epoch is {choices.length_of(ceil(job.num_examples / split.global_batch), job.num_examples)}")
    if job.seq_length is not None:
        duties.append(f"the script makes the samples: cut them to {job.seq_length:,} tokens")
    machines = choices.nodes(job)
    if machines > 1:
        duties.append(f"hostfile: a line `ADDRESS slots={(job.gpus or 1) // machines}` for each of {machines} machines")
    start = f"start it with: {choices.deepspeed_launcher(job)} your_script.py --deepspeed --deepspeed_config {path_in(folder, NAME)}"
    return Generated([GeneratedFile(NAME, KIND, keys)], split, (chosen.equation, *duties, start))


def trainer_files(job: JobSpec, why_stage: str = "") -> list[GeneratedFile]:
    """The DeepSpeed part of a Trainer run, `auto` for each value that the Trainer sets; none without ZeRO."""
    if job.zero is None:
        return []
    name = choices.precision(job)[0]
    gathered = ("zero_optimization.stage3_gather_16bit_weights_on_model_save", True, "else a saved model is a folder of pieces")
    keys = Keys.of(
        ("train_batch_size", AUTO, "filled in by the trainer, from its own file"),
        ("train_micro_batch_size_per_gpu", AUTO),
        ("gradient_accumulation_steps", AUTO),
        ("gradient_clipping", AUTO, "the trainer's max_grad_norm; without this key it would not be read"),
        (f"{name}.enabled", choices.unless("fp32", name) and AUTO),
        *zero(job, why_stage),
        *([gathered] if job.zero == 3 else ()),
    )
    return [GeneratedFile(NAME, KIND, keys)]


def named_by_trainer(job: JobSpec, folder: str, started: str = "the script") -> Row:
    """The row of a Trainer config that names its DeepSpeed file."""
    return ("deepspeed", None if job.zero is None else path_in(folder, NAME), f"looked up from where {started} is started")


def clipping(job: JobSpec, why: str) -> tuple[float, str]:
    """(largest norm of the gradients, reason if none is specified)."""
    return (choices.CLIPPING, why) if job.clipping is None else (job.clipping, "")


def zero(job: JobSpec, why_stage: str = "") -> list[Row]:
    """The ZeRO section, with offloading to the CPU."""
    stage = job.zero or 0
    rows: list[Row] = [("zero_optimization.stage", stage, SHARDS[stage] + (f"; {why_stage}" if why_stage else ""))]
    moved = {None: (), "optimizer": ("offload_optimizer",), "all": ("offload_optimizer", "offload_param")}[job.offload]
    for section in moved:
        rows.append((f"zero_optimization.{section}.device", "cpu"))
        if not model_of(f"zero_optimization.{section}").fields["pin_memory"].default_at(job.version("deepspeed")):
            rows.append((f"zero_optimization.{section}.pin_memory", True, "copies do not block; the default of newer releases"))
    return rows


def optimizer(job: JobSpec) -> list[Row]:
    """The optimizer with its learning rate; SGD is untested with ZeRO and requires `zero_allow_untested_optimizer`."""
    name = job.optimizer or "adamw"
    spelled = job.replace(optimizer=name).choose("optimizer", OPTIMIZERS, "DeepSpeed")
    if job.offload and name not in ON_CPU:
        raise Contradiction(f"--optimizer {name} does not support --offload: DeepSpeed's CPU optimizers are {', '.join(ON_CPU)}")
    has_betas = name in BETAS and job.beta1 is not None and job.beta2 is not None
    untested = name == "sgd" and job.zero
    return [
        ("optimizer.type", spelled),
        ("optimizer.params.lr", *choices.rate(job)),
        ("optimizer.params.betas", choices.unless(BETAS[name], [job.beta1, job.beta2]) if has_betas else None),
        ("optimizer.params.eps", choices.unless(1.0e-8, job.epsilon) if name == "adamw" else None),
        ("optimizer.params.weight_decay", choices.unless(0.0, job.weight_decay)),
        ("zero_allow_untested_optimizer", True if untested else None, "ZeRO refuses optimizers that DeepSpeed has not tried with it"),
    ]


def schedule(job: JobSpec, total: int | None) -> list[Row]:
    """The schedule, if specified; warm-up is linear, not DeepSpeed's logarithmic default."""
    shape = job.scheduler or "constant"
    if shape == "constant" and not job.warmup:
        return []
    if shape != "constant" and total is None:
        raise Contradiction(f"--scheduler {shape} requires the total steps: pass --steps, or --epochs with --num-examples")
    if job.warmup and job.warmup < 1 and total is None:
        raise Contradiction(f"--warmup {job.warmup} is a ratio of the run: pass --steps, or --epochs with --num-examples")
    steps = max(choices.warmup_steps(job, total), LEAST_WARMUP)
    choices.fitting_warmup(steps, total)
    rate = choices.unless("cosine", shape) and choices.rate(job)[0]
    return [
        ("scheduler.type", SCHEDULES[shape]),
        ("scheduler.params.total_num_steps", None if shape == "constant" else total),
        ("scheduler.params.warmup_num_steps", steps, "" if job.warmup else "the minimum that DeepSpeed accepts; its default is 1000"),
        ("scheduler.params.warmup_max_lr", rate, "the optimizer's; the default is 0.001 regardless of that"),
        ("scheduler.params.warmup_type", "linear", "the default is log, which is nearly up after a few steps"),
    ]


def read(existing: Existing, config: Any) -> None:
    """Read the facts of a DeepSpeed config; under a trainer only those that the trainer does not set itself."""
    if config.has("zero_optimization") and config.stage is not None:
        existing.take("zero", config, "zero_optimization", "stage", value=config.stage)
    moved = config.get("zero_optimization", "offload_param", "device") == "cpu"
    if config.offload == "cpu" and config.stage:
        target = "all" if moved and config.stage == 3 else "optimizer"
        existing.take("offload", config, "zero_optimization", "offload_optimizer", value=target)
        existing.use(config, "zero_optimization", "cpu_offload")
    if moved and existing.facts.get("offload") == "all":
        existing.use(config, "zero_optimization", "offload_param")
    for path in (("fp16", "enabled"), ("bf16", "enabled"), ("gradient_clipping",), ("zero_allow_untested_optimizer",)):
        existing.use(config, *path)
    if config.trainer is not None:
        for section in ("optimizer", "scheduler"):
            if config.has(section):
                existing.use(config, section)
        return
    existing.take("precision", config, config.precision, "enabled", value=config.precision)
    existing.number_or_default("clipping", config, "gradient_clipping")
    existing.number("logging_steps", config, "steps_per_print", least=1)
    name = config.get("optimizer", "type")
    facts = {"adam": "adamw", **{spelled.lower(): fact for fact, spelled in OPTIMIZERS.items()}}
    existing.take("optimizer", config, "optimizer", "type", value=facts.get(name.lower()) if isinstance(name, str) else None)
    if name is not None:
        existing.number("learning_rate", config, "optimizer", "params", "lr", default=1.0e-3)
        read_optimizer_numbers(existing, config, weight_decay=0.0)
    read_schedule(existing, config)


def read_schedule(existing: Existing, config: Any) -> None:
    """Read the facts of the `scheduler` section; without one the rate is constant."""
    name = config.get("scheduler", "type")
    if name is None:
        existing.facts.update(scheduler="constant", warmup=0.0)
        return
    shape = next((fact for fact, spelled in SCHEDULES.items() if spelled == name), None)
    existing.take("scheduler", config, "scheduler", "type", value=shape)
    if shape is None:
        return
    existing.number("steps", config, "scheduler", "params", "total_num_steps", least=1)
    existing.number("warmup", config, "scheduler", "params", "warmup_num_steps", default=1000, least=1)
    existing.use(config, "scheduler", "params", "warmup_max_lr")
    existing.use(config, "scheduler", "params", "warmup_type")
    rate = existing.facts.get("learning_rate")
    if shape == "cosine" and rate is not None:
        ratio = config.get("scheduler", "params", "cos_min_ratio", default=COSINE_FLOOR)
        if type(ratio) in (int, float):
            existing.take("min_learning_rate", config, "scheduler", "params", "cos_min_ratio", value=ratio * rate)


GENERATOR = Generator(
    makes="the DeepSpeed config of a script with `deepspeed.initialize`",
    takes=TRAINING | {"lora"},
    generate=standalone_config,
    read=read,
)
