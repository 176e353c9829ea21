"""The steps of a GPT-NeoX run: total, warm-up and per epoch.

Source: gpt-neox 2026-05 megatron/training.py:180-212, 1117-1126; megatron/data/data_utils.py:29-60.
"""

from __future__ import annotations

from math import inf

from cfglint.batch.steps import neox_decay_iters, neox_train_iters, neox_warmup_iters
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.source.numbers import is_number


def numbers(config: NeoXConfig) -> dict[str, int | None]:
    length, steps = config.argument("seq_length"), warmup(config)
    return {
        "seq_length": length if type(length) is int else None,
        "steps_per_epoch": steps_of(config, 1),
        "total_steps": total_steps(config),
        "warmup_steps": int(steps) if steps is not None and steps % 1 == 0 else None,
    }


def total_steps(config: NeoXConfig) -> int | None:
    """The number of optimizer steps: train_iters, or the complete accumulations of the micro batches of all epochs together."""
    steps: int | None = config.argument("train_iters")
    if steps is not None:
        return steps if type(steps) is int else None
    epochs: int = config.argument("train_epochs")
    return steps_of(config, epochs) if type(epochs) is int else None


def steps_of(config: NeoXConfig, epochs: int) -> int | None:
    """The steps of a number of epochs; None where a batch size is not a positive integer."""
    samples, batch = config.facts.num_examples, config.batch
    micro, data_parallel, accumulation = (term.value for term in (batch.micro_batch, batch.data_parallel, batch.accumulation))
    if samples is None or not all(type(size) is int and size > 0 for size in (micro, data_parallel, accumulation)):
        return None
    return neox_train_iters(samples, micro, data_parallel, accumulation, epochs)


def decay_steps(config: NeoXConfig) -> int | None:
    written, fraction = config.argument("lr_decay_iters"), config.argument("lr_decay_fraction")
    total = total_steps(config)
    if written is not None:
        return neox_decay_iters(0, written) if type(written) is int else None
    if total is None or (fraction is not None and not is_number(fraction)):
        return None
    try:
        return neox_decay_iters(total, lr_decay_fraction=fraction)
    except (OverflowError, ValueError):  # more steps than a float can hold, or a fraction that is not finite
        return None


def warmup(config: NeoXConfig) -> float | None:
    """Steps of warm-up, not rounded: `warmup` is a fraction of the decay; None where that is not finite."""
    fraction, decay = config.argument("warmup"), decay_steps(config)
    if not is_number(fraction) or decay is None:
        return None
    try:
        steps = neox_warmup_iters(fraction, decay)
    except OverflowError:  # more steps than a float can hold
        return None
    return steps if abs(steps) < inf else None
