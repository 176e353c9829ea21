"""The arguments of Megatron-LM's programs: batch, steps and learning rate of a launch without a config file.

Source: Megatron-LM core 0.16.1 training/arguments.py, validate_args (batch sizes, parallel sizes), _add_training_args and
_add_learning_rate_args (defaults); the same in the forks of bigcode-project and bigscience-workshop.
"""

from __future__ import annotations

from cfglint.findings.setting import Batch, Layout, derived
from cfglint.frameworks.megatron.config import MegatronConfig
from cfglint.frameworks.summary import LAUNCH, LENGTH, PRECISION, RATE, Summary, launched

SIZES = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "ds_sequence_parallel_size")
DEFAULTS: dict[str, str | float] = {"lr_decay_style": "linear", "clip_grad": 1.0, "min_lr": 0.0}


def real(config: MegatronConfig, name: str) -> float | None:
    """The number that an argument gives, or its default."""
    words = config.words
    try:
        return float(" ".join(words[name] or ())) if name in words else float(DEFAULTS.get(name, "x"))
    except ValueError:
        return None


def batch(config: MegatronConfig) -> Batch:
    """The global batch size of the line, or one micro batch of every replica; unknown if it grows during the run."""
    tensor, pipeline, context, ulysses = (config.integer(name, 1) for name in SIZES)
    gpus = config.facts.gpus
    replica = tensor * pipeline * context * ulysses if tensor and pipeline and context and ulysses else None
    parallel = gpus // replica if gpus and replica and gpus % replica == 0 else None
    micro = config.integer("micro_batch_size")
    total = config.integer("global_batch_size", micro * parallel if micro and parallel else None)
    total_batch = config.setting("global_batch_size", value=total)
    if "rampup_batch_size" in config.words:
        total, total_batch = None, derived("global_batch_size", None, "rampup_batch_size changes it during the run")
    accumulation = total // (micro * parallel) if total and micro and parallel and total % (micro * parallel) == 0 else None
    return Batch(
        Layout(gpus, tensor or 1, pipeline or 1, context or 1, ulysses or 1),
        config.setting("micro_batch_size", value=micro),
        derived("accumulation", accumulation, "global batch / (micro batch x data parallel)"),
        derived("data_parallel", parallel, "GPUs / (tensor x pipeline x context parallel)"),
        total_batch,
        total,
        gpus_per_replica=replica or 1,
    )


def numbers(config: MegatronConfig) -> dict[str, int | None]:
    """`seq_length`, `total_steps` and `warmup_steps`, each None if it is unknown."""
    total = None if "train_samples" in config.words else config.integer("train_iters")
    return {"seq_length": config.integer("seq_length"), "total_steps": total, "warmup_steps": warmup_steps(config, total)}


def warmup_steps(config: MegatronConfig, total: int | None) -> int | None:
    """The warm-up steps: given, or a fraction of the decay, which is as long as the run by default."""
    if "lr_warmup_samples" in config.words:
        return None
    if "lr_warmup_fraction" not in config.words:
        return config.integer("lr_warmup_iters", 0)
    decay, fraction = config.integer("lr_decay_iters", total), real(config, "lr_warmup_fraction")
    steps = decay * fraction if decay is not None and fraction is not None else 0.5
    return round(steps) if abs(steps - round(steps)) < 1e-9 else None


def account(config: MegatronConfig) -> Summary:
    summary = launched(config.facts.launch)
    for label, name in (("tensor parallel", SIZES[0]), ("pipeline", SIZES[1])):
        summary.add(LAUNCH, label, config.setting(name, value=config.integer(name, 1)))
    lengths = numbers(config)
    summary.add(LENGTH, "total steps", config.setting("train_iters", value=lengths["total_steps"]))
    if lengths["warmup_steps"] is not None:
        warmup = next((name for name in ("lr_warmup_fraction", "lr_warmup_iters") if name in config.words), None)
        because = config.setting(warmup).place if warmup else "lr_warmup_iters is not set"
        summary.derive(LENGTH, "warm-up steps", "warmup_steps", lengths["warmup_steps"], because)
    for label, name in (("learning rate", "lr"), ("lowest rate", "min_lr"), ("gradient clipping", "clip_grad")):
        if real(config, name) is not None:
            summary.add(RATE, label, config.setting(name, value=real(config, name)))
    style = config.values.get("lr_decay_style", DEFAULTS["lr_decay_style"])
    summary.add(RATE, "schedule", config.setting("lr_decay_style", value=style))
    kind = next((name for name in ("bf16", "fp16") if name in config.words), None)
    because = config.setting(kind).place if kind else "neither --fp16 nor --bf16"
    summary.derive(PRECISION, "precision", "precision", kind or "fp32", because)
    summary.assumed.append("the program is Megatron-LM's, or a fork that computes the batch in the same way")
    return summary
