"""The batch arithmetic of Megatron-SWIFT.

Source: ms-swift 4.6.0 megatron/arguments/megatron_args.py:996-1013 (_init_distributed), 1138-1156 (init_iters).
"""

from __future__ import annotations

from cfglint.findings.setting import Batch, Layout, derived
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.summary import EXAMPLES, LAUNCH, LENGTH, RATE, Summary, launched
from cfglint.frameworks.swift.batch import GENERATING, SIZE, STEPS

EPOCHS = ("num_train_epochs", "max_epochs")  # the second before 4.0


def data_parallel(config: MegatronSwiftConfig) -> int | None:
    """The replicas of the model; None where they are unknown."""
    gpus, size = config.facts.gpus, config.model_size
    return gpus // size if gpus and size and gpus % size == 0 else None


def batch(config: MegatronSwiftConfig) -> Batch:
    micro, total, replicas = config.integer("micro_batch_size"), config.integer("global_batch_size"), data_parallel(config)
    one = micro * replicas if micro and replicas else None
    accumulation = total // one if total is not None and one and total % one == 0 else None
    tensor, pipeline, context = (config.integer(f"{axis}_parallel_size") or 1 for axis in ("tensor_model", "pipeline_model", "context"))
    return Batch(
        Layout(config.facts.gpus, tensor, pipeline, context),
        config.field("micro_batch_size"),
        derived("accumulation", accumulation, "global batch / (micro batch x data parallel)"),
        derived("data_parallel", replicas, "GPUs / (tensor x pipeline x context parallel)"),
        config.field("global_batch_size"),
        total,
        gpus_per_replica=config.model_size or 1,
    )


def numbers(config: MegatronSwiftConfig) -> dict[str, int | None]:
    return {"total_steps": total_steps(config), "warmup_steps": warmup_steps(config), **generation(config)}


def generation(config: MegatronSwiftConfig) -> dict[str, int | None]:
    """The completions of a generation and the steps that it is for; one step where neither is given."""
    if config.own("rlhf_type") not in GENERATING or SIZE not in config.known:
        return {}
    size, steps, total = (config.integer(name) for name in (SIZE, STEPS, "global_batch_size"))
    if size is None and SIZE not in config.values and total:
        steps = steps if STEPS in config.values else 1
        size = total * steps if steps is not None else None
    elif STEPS not in config.values and size is not None and total:
        steps = size // total
    return {SIZE: size, STEPS: steps}


def total_steps(config: MegatronSwiftConfig) -> int | None:
    """The steps of the run: complete batches of all samples and epochs, else as given."""
    epochs = config.integer(*EPOCHS)
    if epochs is None:
        return config.integer("train_iters")
    one = (config.integer("micro_batch_size") or 0) * (data_parallel(config) or 0)
    total, examples = config.integer("global_batch_size"), config.facts.num_examples
    if not one or not total or examples is None or config.own("streaming") or config.own("packing") is not False:
        return None
    completions = config.integer("num_generations") if config.own("rlhf_type") == "grpo" else 1
    return examples // one * one * (completions or 1) * epochs // total


def warmup_steps(config: MegatronSwiftConfig) -> int | None:
    """The steps of warm-up; None if they are a fraction of unknown steps, or not a whole number."""
    fraction = config.own("lr_warmup_fraction")
    if fraction is None:
        return config.integer("lr_warmup_iters")
    decay = config.integer("lr_decay_iters") or total_steps(config)
    if not isinstance(fraction, (int, float)) or decay is None:
        return None
    steps = fraction * decay
    return round(steps) if abs(steps - round(steps)) < 1e-9 else None


def account(config: MegatronSwiftConfig) -> Summary:
    summary, tuner = launched(config.facts.launch), "tuner_type" if "tuner_type" in config.known else "train_type"
    for label, name in (
        ("trained part", tuner),
        ("tensor parallel", "tensor_model_parallel_size"),
        ("pipeline", "pipeline_model_parallel_size"),
        ("context parallel", "context_parallel_size"),
    ):
        summary.add(LAUNCH, label, config.field(name))
    needs = EXAMPLES if config.facts.num_examples is None and config.integer("train_iters") is None else ""
    because = "complete batches of all epochs" if config.integer(*EPOCHS) is not None else "train_iters"
    summary.derive(LENGTH, "total steps", "total_steps", total_steps(config), because, needs=needs)
    if "lr" in config.values:
        summary.add(RATE, "learning rate", config.field("lr"))
    else:
        rate, usual = config.own("lr"), {None: None, "full": 1e-5}.get(config.own(tuner), 1e-4)
        rate = usual if rate is None else rate if isinstance(rate, (int, float)) else None
        summary.derive(RATE, "learning rate", "lr", rate, "1e-5 for full training, 1e-4 for an adapter")
    for label, name in (("lowest rate", "min_lr"), ("schedule", "lr_decay_style"), ("weight decay", "weight_decay")):
        summary.add(RATE, label, config.field(name))
    return summary
