"""Generates a DeepSpeed config: the complete config of a run, or the part that the Trainer does not set."""

from __future__ import annotations

from math import ceil

from cfglint.frameworks.deepspeed.models import model_of
from cfglint.generators import choices, refuse_beyond
from cfglint.generators.choices import Choice, Chosen
from cfglint.generators.convert import of_deepspeed
from cfglint.generators.generated import Generated, GeneratedFile, Keys, path_in
from cfglint.generators.generator import Generator
from cfglint.generators.job_spec import TRAINING, Contradiction, JobSpec

KIND = "deepspeed"
NAME = "ds_config.json"
AUTO = "auto"
OPTIMIZERS = {"adamw": "AdamW", "lion": "Lion", "sgd": "SGD"}
ON_CPU = ("adamw", "lion")  # DeepSpeed's CPU optimizers (ops/adam/cpu_adam.py, ops/lion/cpu_lion.py)
SCHEDULES = {"linear": "WarmupDecayLR", "cosine": "WarmupCosineLR", "constant": "WarmupLR"}
BETAS = {"adamw": [0.9, 0.999], "lion": [0.9, 0.99]}  # defaults
LEAST_WARMUP = 2  # lr_schedules.py:744, 878
SHARDS = {0: "nothing is split", 1: "splits optimizer states", 2: "splits optimizer states and gradients", 3: "splits the weights too"}
SMALLEST = Choice(1, "smallest memory use, as neither --max-micro-batch nor --gpu-memory is given")
TAKES = TRAINING | {"lora"}


def standalone_config(job: JobSpec, folder: str = "") -> Generated:
    """The config of a run without the Trainer: `deepspeed.initialize` receives no other settings."""
    refuse_beyond(job, KIND)
    chosen = choices.batch(job, SMALLEST)
    keys = Keys()
    batch(keys, chosen)
    precision_name, why = choices.precision(job)
    if precision_name != "fp32":
        keys.add(f"{precision_name}.enabled", True, why)
    clip = choices.CLIPPING if job.clipping is None else job.clipping
    keys.add("gradient_clipping", clip, "the default since 0.19.3; before it was off" if job.clipping is None else "")
    if job.zero:
        zero(keys, job)
    optimizer(keys, job)
    keys.add_known("steps_per_print", job.logging_steps)
    total = planned_steps(job, chosen)
    schedule(keys, job, total)
    start = f"start it with: {choices.deepspeed_launcher(job)} your_script.py --deepspeed --deepspeed_config {path_in(folder, NAME)}"
    return Generated([GeneratedFile(NAME, KIND, keys)], chosen.split, (chosen.equation, *script_duties(job, total, chosen), start))


def script_duties(job: JobSpec, total: int | None, chosen: Chosen) -> list[str]:
    """The tasks of the script for which a DeepSpeed config has no key."""
    lines = []
    if total is not None:
        lines.append(f"the script ends the run: stop it after {choices.amount(total, 'step')}")
    elif job.epochs is not None:
        lines.append(f"the script ends the run: stop it after {job.epochs:g} epochs")
    if job.steps is not None or job.tokens is not None:
        lines += choices.epochs_of(job, chosen.split)
    elif job.num_examples is not None:
        lines.append(f"an epoch is {choices.length_of(ceil(job.num_examples / chosen.split.global_batch), job.num_examples)}")
    if job.seq_length is not None:
        lines.append(f"the script makes the samples: cut them to {job.seq_length:,} tokens")
    machines = choices.nodes(job)
    if machines > 1:
        lines.append(f"hostfile: a line `ADDRESS slots={(job.gpus or 1) // machines}` for each of {machines} machines")
    return lines


def trainer_config(job: JobSpec, why_stage: str = "") -> GeneratedFile:
    """The DeepSpeed part of a Trainer run; `auto` for each value that the Trainer sets.

    `why_stage` is the reason for the stage if it is not specified.
    """
    keys = Keys()
    keys.add("train_batch_size", AUTO, "filled in by the trainer, from its own file")
    keys.add("train_micro_batch_size_per_gpu", AUTO)
    keys.add("gradient_accumulation_steps", AUTO)
    keys.add("gradient_clipping", AUTO, "the trainer's max_grad_norm; without this key it would not be read")
    name = choices.precision(job)[0]
    if name != "fp32":
        keys.add(f"{name}.enabled", AUTO)
    zero(keys, job, why_stage)
    if job.zero == 3:
        saved = "zero_optimization.stage3_gather_16bit_weights_on_model_save"
        keys.add(saved, True, "else a saved model is a folder of pieces")
    return GeneratedFile(NAME, KIND, keys)


def batch(keys: Keys, chosen: Chosen) -> None:
    """Add global and micro batch; the accumulation follows from them, on other GPU counts too."""
    why = f"{chosen.equation}; on other GPU counts the accumulation changes, and this stays"
    keys.add("train_batch_size", chosen.split.global_batch, why)
    keys.add("train_micro_batch_size_per_gpu", chosen.split.micro_batch, chosen.why)


def zero(keys: Keys, job: JobSpec, why_stage: str = "") -> None:
    """Add the ZeRO section, with offloading to the CPU."""
    stage = job.zero or 0
    keys.add("zero_optimization.stage", stage, SHARDS[stage] + (f"; {why_stage}" if why_stage else ""))
    moved = {None: (), "optimizer": ("offload_optimizer",), "all": ("offload_optimizer", "offload_param")}[job.offload]
    for section in moved:
        keys.add(f"zero_optimization.{section}.device", "cpu")
        if not model_of(f"zero_optimization.{section}").fields["pin_memory"].default_at(job.version("deepspeed")):
            keys.add(f"zero_optimization.{section}.pin_memory", True, "copies do not block; the default of newer releases")


def optimizer(keys: Keys, job: JobSpec) -> None:
    """Add the optimizer with its learning rate; SGD is untested with ZeRO and requires `zero_allow_untested_optimizer`."""
    name = job.optimizer or "adamw"
    job.replace(optimizer=name).choose("optimizer", OPTIMIZERS, "DeepSpeed")
    if job.offload and name not in ON_CPU:
        raise Contradiction(f"--optimizer {name} does not support --offload: DeepSpeed's CPU optimizers are {', '.join(ON_CPU)}")
    keys.add("optimizer.type", OPTIMIZERS[name])
    keys.add("optimizer.params.lr", *choices.rate(job))
    if name in BETAS and job.beta1 is not None and job.beta2 is not None:
        keys.add_known("optimizer.params.betas", [job.beta1, job.beta2], default=BETAS[name])
    if name == "adamw":
        keys.add_known("optimizer.params.eps", job.epsilon, default=1.0e-8)
    keys.add_known("optimizer.params.weight_decay", job.weight_decay, default=0.0)
    if name == "sgd" and job.zero:
        keys.add("zero_allow_untested_optimizer", True, "ZeRO refuses optimizers that DeepSpeed has not tried with it")


def schedule(keys: Keys, job: JobSpec, total: int | None) -> None:
    """Add the schedule, if specified; warm-up is linear, not DeepSpeed's logarithmic default."""
    shape = job.scheduler or ("constant" if job.warmup else None)
    if shape is None or (shape == "constant" and not job.warmup):
        return
    if shape != "constant" and total is None:
        raise Contradiction(f"--scheduler {shape} requires the total steps: pass --steps, or --epochs with --num-examples")
    steps = max(choices.warmup_steps(job, total) or 0, LEAST_WARMUP)
    choices.fitting_warmup(steps, total)
    keys.add("scheduler.type", SCHEDULES[shape])
    if shape != "constant":
        keys.add("scheduler.params.total_num_steps", total)
    keys.add("scheduler.params.warmup_num_steps", steps, "" if job.warmup else "the minimum that DeepSpeed accepts; its default is 1000")
    if shape != "cosine":
        keys.add(
            "scheduler.params.warmup_max_lr",
            choices.rate(job)[0],
            "the optimizer's; the default is 0.001 regardless of that",
        )
    keys.add("scheduler.params.warmup_type", "linear", "the default is log, which is nearly up after a few steps")


def planned_steps(job: JobSpec, chosen: Chosen) -> int | None:
    """The number of optimizer steps of the run; None if its length is unknown."""
    total = choices.total_steps(job, chosen.split.global_batch, job.seq_length)
    if total is None and job.epochs and job.num_examples:
        total = ceil(job.epochs * job.num_examples / chosen.split.global_batch)
    return total


GENERATOR = Generator(
    makes="the DeepSpeed config of a script with `deepspeed.initialize`", takes=TAKES, generate=standalone_config, read=of_deepspeed
)
