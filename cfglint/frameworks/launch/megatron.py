"""The arguments of Megatron-LM's programs: batch, steps and learning rate of a launch without a config file.

Source: Megatron-LM core 0.16.1 training/arguments.py, validate_args (batch sizes, parallel sizes), _add_training_args and
_add_learning_rate_args (defaults); the same in the forks of bigcode-project and bigscience-workshop.
"""

from __future__ import annotations

from cfglint.findings.setting import DERIVED, Setting
from cfglint.frameworks.resolved_batch import Batch, Layout
from cfglint.frameworks.summary import LAUNCH, LENGTH, PRECISION, RATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.launch.config import LaunchConfig
    from cfglint.frameworks.summary import Summary
    from cfglint.source.shell.command import CommandDocument

REQUIRED = ("micro_batch_size", "num_layers", "hidden_size", "num_attention_heads")  # without these, Megatron-LM does not start
SIZES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "ds_sequence_parallel_size")
BATCH_KEYS = {"micro_batch": "micro_batch_size", "global_batch": "global_batch_size"}
DEFAULTS: dict[str, str | float] = {"lr_decay_style": "linear", "clip_grad": 1.0, "min_lr": 0.0}


def takes(command: CommandDocument) -> bool:
    """Whether the arguments of a command are Megatron-LM's."""
    return all(name in command.words for name in REQUIRED)


def integer(config: LaunchConfig, name: str, default: int | None = None) -> int | None:
    """The positive integer that an argument gives; the default if it is not on the line, None if it is unknown."""
    words = config.command.words
    if name not in words:
        return default
    text = " ".join(words[name] or ())
    return int(text) if text.isdecimal() and int(text) > 0 else None


def real(config: LaunchConfig, name: str) -> float | None:
    """The number that an argument gives, or its default."""
    words = config.command.words
    try:
        return float(" ".join(words[name] or ())) if name in words else float(DEFAULTS.get(name, "x"))
    except ValueError:
        return None


def batch(config: LaunchConfig) -> Batch:
    """The global batch size of the line, or one micro batch of every replica; unknown if it grows during the run."""
    tensor, pipeline, context, ulysses = (integer(config, name, 1) for name in SIZES)
    gpus = config.facts.gpus
    replica = tensor * pipeline * context * ulysses if tensor and pipeline and context and ulysses else None
    parallel = gpus // replica if gpus and replica and gpus % replica == 0 else None
    micro = integer(config, "micro_batch_size")
    total = integer(config, "global_batch_size", micro * parallel if micro and parallel else None)
    total_batch = config.setting("global_batch_size", value=total)
    if "rampup_batch_size" in config.command.words:
        total, total_batch = None, Setting(("global_batch_size",), None, DERIVED, because="rampup_batch_size changes it during the run")
    accumulation = total // (micro * parallel) if total and micro and parallel and total % (micro * parallel) == 0 else None
    return Batch(
        Layout(gpus, tensor or 1, pipeline or 1, context or 1, ulysses or 1),
        config.setting("micro_batch_size", value=micro),
        Setting(("accumulation",), accumulation, DERIVED, because="global batch / (micro batch x data parallel)"),
        Setting(("data_parallel",), parallel, DERIVED, because="GPUs / (tensor x pipeline x context parallel)"),
        total_batch,
        total,
        gpus_per_replica=replica or 1,
    )


def numbers(config: LaunchConfig) -> dict[str, int | None]:
    """`seq_length`, `total_steps` and `warmup_steps`, each None if it is unknown."""
    total = None if "train_samples" in config.command.words else integer(config, "train_iters")
    return {"seq_length": integer(config, "seq_length"), "total_steps": total, "warmup_steps": warmup_steps(config, total)}


def warmup_steps(config: LaunchConfig, total: int | None) -> int | None:
    """The warm-up steps: given, or a fraction of the decay, which is as long as the run by default."""
    if "lr_warmup_samples" in config.command.words:
        return None
    if "lr_warmup_fraction" not in config.command.words:
        return integer(config, "lr_warmup_iters", 0)
    decay, fraction = integer(config, "lr_decay_iters", total), real(config, "lr_warmup_fraction")
    steps = decay * fraction if decay is not None and fraction is not None else 0.5
    return round(steps) if abs(steps - round(steps)) < 1e-9 else None


def account(config: LaunchConfig, summary: Summary) -> None:
    """Add the lines about parallelism, length, learning rate and precision."""
    for label, name in (("tensor parallel", SIZES[0]), ("pipeline", SIZES[1])):
        summary.add(LAUNCH, label, config.setting(name, value=integer(config, name, 1)))
    lengths = numbers(config)
    summary.add(LENGTH, "total steps", config.setting("train_iters", value=lengths["total_steps"]))
    if lengths["warmup_steps"] is not None:
        warmup = next((name for name in ("lr_warmup_fraction", "lr_warmup_iters") if name in config.command.words), None)
        because = config.setting(warmup).place if warmup else "lr_warmup_iters is not set"
        summary.derive(LENGTH, "warm-up steps", "warmup_steps", lengths["warmup_steps"], because)
    for label, name in (("learning rate", "lr"), ("lowest rate", "min_lr"), ("gradient clipping", "clip_grad")):
        if real(config, name) is not None:
            summary.add(RATE, label, config.setting(name, value=real(config, name)))
    style = config.values.get("lr_decay_style", DEFAULTS["lr_decay_style"])
    summary.add(RATE, "schedule", config.setting("lr_decay_style", value=style))
    kind = next((name for name in ("bf16", "fp16") if name in config.command.words), None)
    because = config.setting(kind).place if kind else "neither --fp16 nor --bf16"
    summary.derive(PRECISION, "precision", "precision", kind or "fp32", because)
    summary.assumed.append("the program is Megatron-LM's, or a fork that computes the batch in the same way")
