"""Generates a Trainer config, or a consistent set of Trainer, DeepSpeed and accelerate configs."""

from __future__ import annotations

from cfglint.batch import steps
from cfglint.frameworks.huggingface.fields import FIELDS, defaults, has_field
from cfglint.generators import accelerate, choices, deepspeed
from cfglint.generators.choices import Chosen, unless
from cfglint.generators.convert import Existing
from cfglint.generators.generated import Generated, Generator, Row, main_file, path_in
from cfglint.generators.job_spec import TRAINING, Contradiction, JobSpec, Scheduler
from cfglint.source.annotations import Any, Callable

KIND = "huggingface"
NAME = "train.yaml"
REGULARIZATION = {  # the key of each fact
    "weight_decay": "weight_decay",
    "beta1": "adam_beta1",
    "beta2": "adam_beta2",
    "epsilon": "adam_epsilon",
    "clipping": "max_grad_norm",
}
# The Trainer's names of each optimizer, the one that is written first; AdamW is its default.
OPTIMIZERS = {
    "adamw": ("adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused", "paged_adamw_32bit"),
    "adamw-8bit": ("adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit"),
    "adafactor": ("adafactor",),
    "lion": ("lion_32bit", "paged_lion_32bit"),
    "sgd": ("sgd",),
}
SCHEDULES = {
    "linear": "linear",
    "cosine": "cosine",
    "cosine_with_min_lr": "cosine",
    "constant": "constant",
    "constant_with_warmup": "constant",
}
EPOCHS: float = FIELDS["num_train_epochs"][1]
USUAL_EPOCHS = EPOCHS, "transformers' own default"
USUAL = FIELDS["per_device_train_batch_size"][1], "transformers' own default"
TAKES = TRAINING | {"lora", "seed", "checkpointing", "save_steps", "output_dir", "min_learning_rate"}


def training(job: JobSpec, folder: str = "") -> Generated:
    """The Trainer config, with a DeepSpeed config if ZeRO is specified."""
    launcher = choices.torch_launcher if job.zero is None else choices.deepspeed_launcher
    return with_trainer_file(job, folder, launcher)


def matching_set(job: JobSpec, folder: str = "") -> Generated:
    """Trainer, DeepSpeed and accelerate files for one launch."""
    why = "" if job.zero is not None else "accelerate's own default"
    job = job.replace(zero=2) if why else job
    generated = with_trainer_file(job, folder, lambda job: accelerate.launcher(job, folder), why)
    generated.files.append(accelerate.trainer_launch_file(job, path_in(folder, deepspeed.NAME)))
    return generated


def with_trainer_file(job: JobSpec, folder: str, launcher: Callable[[JobSpec], str], why_stage: str = "") -> Generated:
    """The Trainer config and its DeepSpeed config, and the facts that they cannot contain."""
    chosen = choices.batch(job, USUAL)
    run_length, total = choices.length(job, chosen, USUAL_EPOCHS, predicted)
    rows = [
        ("output_dir", job.output_dir or "output", "checkpoints go here"),
        *batch(chosen),
        run_length,
        *rates(job, total),
        precision(job),
        *(checkpointing(job) if job.lora or job.checkpointing else ()),
        *logging(job, total),
        seed(job),
        deepspeed.named_by_trainer(job, folder),
    ]
    files = [main_file(KIND, NAME, job, rows), *deepspeed.trainer_files(job, why_stage)]
    start = f"start it with: {launcher(job)} your_script.py {path_in(folder, NAME)}"
    notes = [chosen.equation, *choices.run_length(job, chosen, EPOCHS, predicted), start]
    if job.lora:
        notes.append('set the adapter in the script, for example peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")')
    if job.seq_length:
        notes.append(f"the Trainer has no sequence length: pass {job.seq_length} to the tokenizer, or to TRL as max_length")
    return Generated(files, chosen.split, tuple(notes))


def batch(chosen: Chosen) -> list[Row]:
    return [
        ("per_device_train_batch_size", chosen.split.micro_batch, chosen.why),
        ("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable),
    ]


def predicted(job: JobSpec, chosen: Chosen, epochs: float) -> int:
    batches = steps.batches_per_rank(job.num_examples or 0, chosen.split.micro_batch, chosen.split.data_parallel)
    return in_epochs(job, chosen, epochs, batches)


def in_epochs(job: JobSpec, chosen: Chosen, epochs: float, batches: int) -> int:
    """The number of optimizer steps of the Trainer in some epochs, each of which has a number of micro batches on each process."""
    version = job.version("transformers")
    return steps.total_steps(-1, epochs, steps.updates_per_epoch(batches, chosen.split.accumulation, version), version)


def rates(job: JobSpec, total: int | None, usual: Callable[[JobSpec], tuple[float, str]] = choices.usual_rate) -> list[Row]:
    name = optimizer(job, "a trainer")
    return [("optim", name), ("learning_rate", *choices.rate(job, usual)), *schedule(job), *warmup(job, total), *regularization(job)]


def optimizer(job: JobSpec, consumer: str) -> str | None:
    """The Trainer's name of the optimizer; only for AdamW accelerate uses an equivalent DeepSpeed optimizer on the CPU."""
    name = job.optimizer or "adamw"
    if job.offload and name != "adamw":
        raise Contradiction(f"--optimizer {name} does not support --offload: only adamw has a DeepSpeed CPU implementation")
    return None if name == "adamw" else job.choose("optimizer", OPTIMIZERS, consumer)[0]


def regularization(job: JobSpec) -> list[Row]:
    usual = defaults(job.version("transformers"))
    return [(key, unless(usual[key], getattr(job, fact))) for fact, key in REGULARIZATION.items()]


def seed(job: JobSpec) -> Row:
    return ("seed", unless(defaults(job.version("transformers"))["seed"], job.seed))


def schedule(job: JobSpec, name: str = "lr_scheduler_type", usual: Scheduler | None = None, why: str = "") -> list[Row]:
    """The schedule under the name of its key, with its lowest rate if not 0; `usual` is written, with `why`, if none is specified."""
    shape, lowest = job.scheduler or usual, job.min_learning_rate
    if shape == "constant":
        return [(name, "constant_with_warmup" if job.warmup else "constant")]
    if not lowest:
        return [(name, shape, "" if job.scheduler else why)]
    if shape == "cosine":
        return [(name, "cosine_with_min_lr"), ("lr_scheduler_kwargs.min_lr", lowest)]
    return [
        (name, "polynomial", "a straight line, as linear, but not down to 0"),
        ("lr_scheduler_kwargs.power", 1.0),
        ("lr_scheduler_kwargs.lr_end", lowest),
    ]


def warmup(job: JobSpec, total: int | None) -> list[Row]:
    """Warm-up in steps or as a ratio, in the spelling of the release."""
    if not job.warmup:
        return []
    choices.warmup_steps(job, total)
    if job.warmup == 1 and job.version("transformers") < steps.ONE_STEP_TAKEN:
        raise Contradiction("--warmup 1: transformers before 4.44 does not accept a single warm-up step; use 2")
    if job.warmup >= 1:
        return [("warmup_steps", int(job.warmup))]
    if job.version("transformers") >= steps.RATIO_TAKEN:
        return [("warmup_steps", job.warmup, "below 1: a ratio of the total steps")]
    return [("warmup_ratio", job.warmup, "a ratio of the total steps; from 5.0 on it is written as warmup_steps")]


def precision(job: JobSpec) -> Row:
    name, why = choices.precision(job)
    return (name, None if name == "fp32" else True, why)


def checkpointing(job: JobSpec) -> list[Row]:
    """Gradient checkpointing: with an adapter, activations are most of the memory."""
    renamed = has_field("activation_checkpointing", job.version("transformers"))
    name = "activation_checkpointing" if renamed else "gradient_checkpointing"
    reentrant = False if job.lora else None
    return [
        (name, True, "recomputes activations: less memory, about a third more compute"),
        (f"{name}_kwargs.use_reentrant", reentrant, "the reentrant one loses the gradients of an adapter over frozen weights"),
    ]


def logging(job: JobSpec, total: int | None) -> list[Row]:
    why = "" if job.logging_steps else "the default, 500, is too coarse for a curve"
    return [("logging_steps", choices.log_interval(job, total), why), ("save_steps", job.save_steps)]


def read(existing: Existing, config: Any) -> None:
    arguments = config.arguments

    def number(fact: str, field: str, least: float = 0) -> None:
        value = arguments[field]
        if type(value) in (int, float) and value >= least:
            existing.take(fact, config, arguments.written(field), value=value)

    def off_below_one(field: str) -> None:
        """Mark a field as understood whose value means that it is not used."""
        if type(arguments[field]) is int and arguments[field] < 1:
            existing.use(config, arguments.written(field))

    for fact, field in {"learning_rate": "learning_rate", **REGULARIZATION}.items():
        number(fact, field)
    number("seed", "seed", least=1)
    number("steps", "max_steps", least=1)
    if "steps" not in existing.facts:
        off_below_one("max_steps")
        if arguments["num_train_epochs"] != 0:
            number("epochs", "num_train_epochs")
    number("warmup", "warmup_ratio")
    if type(arguments["warmup_steps"]) in (int, float) and arguments["warmup_steps"] > 0:
        number("warmup", "warmup_steps")
    off_below_one("warmup_steps")
    existing.facts.setdefault("warmup", 0.0)
    for field in ("logging_steps", "save_steps"):
        if field in arguments and type(arguments[field]) is int:
            number(field, field, least=1)
    optimizers = {name: fact for fact, names in OPTIMIZERS.items() for name in names}
    for fact, field, value in (
        ("optimizer", "optim", optimizers.get(arguments["optim"])),
        ("scheduler", "lr_scheduler_type", SCHEDULES.get(arguments["lr_scheduler_type"])),
    ):
        key = arguments.written(field)
        replaced = config.get(key) not in (None, arguments[field])  # axolotl builds it itself, and passes the Trainer another name
        existing.take(fact, config, field if replaced else key, value=value)
    existing.number("min_learning_rate", config, "lr_scheduler_kwargs", "min_lr", default=0.0)
    for name in ("bf16", "fp16"):
        if arguments[name] is True:
            existing.take("precision", config, name, value=name)
        elif arguments[name] is False:
            existing.use(config, name)
    existing.facts.setdefault("precision", "fp32")
    for field in ("activation_checkpointing", "gradient_checkpointing"):
        if arguments[field] is True and field in arguments:
            existing.take("checkpointing", config, arguments.written(field), value=True)
    if isinstance(arguments["output_dir"], str) and "output_dir" in arguments:
        existing.take("output_dir", config, "output_dir", value=arguments["output_dir"])
    if config.uses_deepspeed:
        existing.use(config, "deepspeed")


GENERATOR = Generator(
    makes="TrainingArguments for a script with `HfArgumentParser`",
    takes=TAKES,
    generate=training,
    files_of_run=matching_set,
    read=read,
)
