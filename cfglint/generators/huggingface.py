"""Generates a Trainer config, or a consistent set of Trainer, DeepSpeed and accelerate configs."""

from __future__ import annotations

from math import ceil

from cfglint.batch import steps
from cfglint.frameworks.huggingface.fields import FIELDS, defaults, has_field
from cfglint.generators import accelerate, choices, deepspeed, refuse_beyond
from cfglint.generators.choices import Choice, Chosen
from cfglint.generators.convert import of_trainer
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import TRAINING, Contradiction, JobSpec
from cfglint.source.annotations import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.generators.job_spec import Scheduler

KIND = "huggingface"
NAME = "train.yaml"
OUTPUT = "output"
OPTIMIZERS = {"adamw": None, "adamw-8bit": "adamw_bnb_8bit", "adafactor": "adafactor", "lion": "lion_32bit", "sgd": "sgd"}
EPOCHS: float = FIELDS["num_train_epochs"][1]
ZERO = 2
USUAL = Choice(FIELDS["per_device_train_batch_size"][1], "transformers' own default")
TAKES = TRAINING | {"lora", "seed", "checkpointing", "save_steps", "output_dir", "min_learning_rate"}


def trainer(job: JobSpec, folder: str = "") -> Generated:
    """The Trainer config, with a DeepSpeed config if ZeRO is specified."""
    file, chosen = trainer_file(job, folder)
    files = [file] if job.zero is None else [file, deepspeed.trainer_config(job)]
    starter = choices.torch_launcher(job) if job.zero is None else choices.deepspeed_launcher(job)
    return Generated(files, chosen.split, notes(job, chosen, f"{starter} your_script.py {path_in(folder, NAME)}"))


def matching_set(job: JobSpec, folder: str = "") -> Generated:
    """Trainer, DeepSpeed and accelerate files for one launch."""
    why = "" if job.zero is not None else "accelerate's own default"
    job = job.replace(zero=ZERO) if why else job
    file, chosen = trainer_file(job, folder)
    files = [file, deepspeed.trainer_config(job, why), accelerate.trainer_launch_file(job, path_in(folder, deepspeed.NAME))]
    command = f"{accelerate.launcher(job, folder)} your_script.py {path_in(folder, NAME)}"
    return Generated(files, chosen.split, notes(job, chosen, command))


def notes(job: JobSpec, chosen: Chosen, command: str) -> tuple[str, ...]:
    """The facts that the files cannot contain."""
    lines = [chosen.equation, *choices.run_length(job, chosen, EPOCHS, predicted), f"start it with: {command}"]
    if job.lora:
        lines.append('set the adapter in the script, for example peft.LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")')
    if job.seq_length:
        lines.append(f"the Trainer has no sequence length: pass {job.seq_length} to the tokenizer, or to TRL as max_length")
    return tuple(lines)


def trainer_file(job: JobSpec, folder: str) -> tuple[GeneratedFile, Chosen]:
    """The Trainer config and its batch sizes."""
    refuse_beyond(job, KIND)
    chosen = choices.batch(job, USUAL)
    keys = Keys()
    keys.add("output_dir", job.output_dir or OUTPUT, "checkpoints go here")
    keys.add("per_device_train_batch_size", chosen.split.micro_batch, chosen.why)
    keys.add("gradient_accumulation_steps", chosen.split.accumulation, chosen.adjustable)
    total = length(keys, job, chosen)
    rates(keys, job, total)
    precision(keys, job)
    if job.lora or job.checkpointing:
        checkpointing(keys, job)
    logging(keys, job, total)
    keys.add_known("seed", job.seed, default=default(job, "seed"))
    if job.zero is not None:
        keys.add("deepspeed", path_in(folder, deepspeed.NAME), "looked up from where the script is started")
    return GeneratedFile(NAME, KIND, keys, (choices.made_for(job),)), chosen


def length(keys: Keys, job: JobSpec, chosen: Chosen) -> int | None:
    """Add epochs or steps; return the number of optimizer steps, if it is known."""
    return choices.length(keys, job, chosen, (EPOCHS, "transformers' own default"), predicted)


def predicted(job: JobSpec, chosen: Chosen, epochs: float) -> int:
    """The number of optimizer steps of a run in epochs."""
    batches = steps.batches_per_rank(job.num_examples or 0, chosen.split.micro_batch, chosen.split.data_parallel)
    return in_epochs(job, chosen, epochs, batches)


def in_epochs(job: JobSpec, chosen: Chosen, epochs: float, batches: int) -> int:
    """The number of optimizer steps of the Trainer in some epochs, each of which has a number of micro batches on each process."""
    version = job.version("transformers")
    return steps.total_steps(-1, epochs, steps.updates_per_epoch(batches, chosen.split.accumulation, version), version)


def rates(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add optimizer, learning rate and its schedule."""
    keys.add_known("optim", optimizer(job, "a trainer"))
    keys.add("learning_rate", *choices.rate(job))
    schedule(keys, job)
    warmup(keys, job, total)
    regularization(keys, job)


def optimizer(job: JobSpec, consumer: str) -> str:
    """The Trainer's name of the optimizer; only for AdamW accelerate uses an equivalent DeepSpeed optimizer on the CPU."""
    name = job.optimizer or "adamw"
    if job.offload and name != "adamw":
        raise Contradiction(f"--optimizer {name} does not support --offload: only adamw has a DeepSpeed CPU implementation")
    spelled: str = job.replace(optimizer=name).choose("optimizer", OPTIMIZERS, consumer)
    return spelled


def regularization(keys: Keys, job: JobSpec) -> None:
    """Add weight decay, Adam's constants and clipping, if they are not the Trainer's defaults."""
    settings = (
        ("weight_decay", job.weight_decay),
        ("adam_beta1", job.beta1),
        ("adam_beta2", job.beta2),
        ("adam_epsilon", job.epsilon),
        ("max_grad_norm", job.clipping),
    )
    for name, value in settings:
        keys.add_known(name, value, default=default(job, name))


def default(job: JobSpec, name: str) -> Any:
    """The Trainer's default in the release of the job."""
    return defaults(job.version("transformers"))[name]


def schedule(keys: Keys, job: JobSpec) -> None:
    """Add the schedule, with its minimum learning rate if that is not 0."""
    lowest = job.min_learning_rate
    if job.scheduler == "constant":
        keys.add("lr_scheduler_type", "constant_with_warmup" if job.warmup else "constant")
    elif not lowest:
        keys.add_known("lr_scheduler_type", job.scheduler)
    else:
        down_to(keys, "lr_scheduler_type", "cosine" if job.scheduler == "cosine" else "linear", lowest)


def down_to(keys: Keys, name: str, shape: Scheduler, lowest: float) -> None:
    """Add a schedule, under the name of its key, that ends at a minimum learning rate above 0."""
    if shape == "cosine":
        keys.add(name, "cosine_with_min_lr")
        keys.add("lr_scheduler_kwargs.min_lr", lowest)
    else:
        keys.add(name, "polynomial", "a straight line, as linear, but not down to 0")
        keys.add("lr_scheduler_kwargs.power", 1.0)
        keys.add("lr_scheduler_kwargs.lr_end", lowest)


def warmup(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add warm-up in steps or as a ratio, in the spelling of the release."""
    if not job.warmup:
        return
    steps_of_it = int(job.warmup) if job.warmup >= 1 else ceil(job.warmup * total) if total is not None else 0
    choices.fitting_warmup(steps_of_it, total)
    if job.warmup == 1 and job.version("transformers") < steps.ONE_STEP_TAKEN:
        raise Contradiction("--warmup 1: transformers before 4.44 does not accept a single warm-up step; use 2")
    if job.warmup >= 1:
        keys.add("warmup_steps", int(job.warmup))
    elif job.version("transformers") >= steps.RATIO_TAKEN:
        keys.add("warmup_steps", job.warmup, "below 1: a ratio of the total steps")
    else:
        keys.add("warmup_ratio", job.warmup, "a ratio of the total steps; from 5.0 on it is written as warmup_steps")


def precision(keys: Keys, job: JobSpec) -> None:
    """Add the number format; fp32 is the Trainer's default."""
    name, why = choices.precision(job)
    if name != "fp32":
        keys.add(name, True, why)


def checkpointing(keys: Keys, job: JobSpec) -> None:
    """Add gradient checkpointing: with an adapter, activations are most of the memory."""
    renamed = has_field("activation_checkpointing", job.version("transformers"))
    name = "activation_checkpointing" if renamed else "gradient_checkpointing"
    keys.add(name, True, "recomputes activations: less memory, about a third more compute")
    if job.lora:
        keys.add(f"{name}_kwargs.use_reentrant", False, "the reentrant one loses the gradients of an adapter over frozen weights")


def logging(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add log entries, and checkpoints if an interval is specified."""
    keys.add("logging_steps", choices.log_interval(job, total), "" if job.logging_steps else "the default, 500, is too coarse for a curve")
    keys.add_known("save_steps", job.save_steps)


GENERATOR = Generator(
    makes="TrainingArguments for a script with `HfArgumentParser`",
    takes=TAKES,
    generate=trainer,
    files_of_run=matching_set,
    read=of_trainer,
)
