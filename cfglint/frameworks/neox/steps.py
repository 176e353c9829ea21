"""The steps of a GPT-NeoX run: how many, how many of them warm up, and how many make an epoch.

Source: gpt-neox 2026-05 megatron/training.py:180-212, 1117-1126; megatron/data/data_utils.py:29-60.
"""

from __future__ import annotations

from cfglint.frameworks.neox.refusals import number, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.neox.config import NeoXConfig


def numbers(config: NeoXConfig) -> dict[str, int | None]:
    """`seq_length`, `steps_per_epoch`, `total_steps` and `warmup_steps`, each None where it is not known."""
    length = config.argument("seq_length")
    total = total_steps(config)
    return {
        "seq_length": length if whole(length) else None,
        "steps_per_epoch": steps_per_epoch(config),
        "total_steps": total,
        "warmup_steps": warmup_steps(config),
    }


def total_steps(config: NeoXConfig) -> int | None:
    """Optimizer steps: train_iters, or whole accumulations of the micro batches of all epochs together."""
    steps: int | None = config.argument("train_iters")
    if steps is not None:
        return steps if whole(steps) else None
    epochs: int = config.argument("train_epochs")
    batches, accumulation = epoch_batches(config), accumulated(config)
    return batches * epochs // accumulation if batches is not None and accumulation and whole(epochs) else None


def steps_per_epoch(config: NeoXConfig) -> int | None:
    """Whole optimizer steps in one pass over the data."""
    batches, accumulation = epoch_batches(config), accumulated(config)
    return batches // accumulation if batches is not None and accumulation else None


def accumulated(config: NeoXConfig) -> int | None:
    """Micro batches to a step, where that is a positive number."""
    value: int = config.batch.accumulation.value
    return value if whole(value) and value > 0 else None


def epoch_batches(config: NeoXConfig) -> int | None:
    """Micro batches over all ranks in one pass; a last one that is not full is dropped."""
    samples, batch = config.facts.num_examples, config.batch
    micro: int = batch.micro_batch.value
    ways: int = batch.data_parallel.value
    if samples is None or not whole(micro) or not whole(ways) or micro < 1 or ways < 1:
        return None
    return samples // (micro * ways)


def decay_steps(config: NeoXConfig) -> int | None:
    """The steps that the learning rate decays over; 1 where it comes to less."""
    written, share = config.argument("lr_decay_iters"), config.argument("lr_decay_fraction")
    total = total_steps(config)
    if written is not None:
        return max(1, written) if whole(written) else None
    if total is None:
        return None
    if share is not None:
        return max(1, int(total * share // 1)) if number(share) else None
    return max(1, total)


def warmup_steps(config: NeoXConfig) -> int | None:
    """Steps of warm-up: `warmup` is a share of the decay; None where it is no whole number."""
    share, decay = config.argument("warmup"), decay_steps(config)
    if not number(share) or decay is None:
        return None
    steps = share * decay
    return int(steps) if steps % 1 == 0 else None
