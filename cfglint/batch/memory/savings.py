"""The memory that changes of a run's settings would save at its peak, and which of them together make it fit."""

from __future__ import annotations

from itertools import combinations

from cfglint.batch.memory.estimate import FITS, Estimate, estimate, largest_micro_batch, verdict
from cfglint.batch.memory.settings import ADAM_8BIT, ADAM_FUSED, EAGER, FSDP, FUSED, LOSS_FUSED, MASKED, NONE, UNFUSED, ZERO, Settings, Zero
from cfglint.batch.memory.shape import Shape
from cfglint.source.annotations import Callable, Iterator, Sequence
from cfglint.source.record import Record, changed

CHECKPOINTING, ATTENTION, LOSS = "gradient checkpointing", "flash or sdpa attention", "a fused loss (Liger)"
MICRO_BATCH, EIGHT_BIT, FUSED_ADAM, PARTITIONED = "micro batch", "an 8-bit optimizer", "the fused AdamW", "ZeRO stage 3 or FSDP"
MOST_TOGETHER = 4
ADAMS = (*UNFUSED, ADAM_FUSED)


def changes(run: Settings) -> Iterator[tuple[str, Settings]]:
    """Settings that need less memory and change the mathematics of the run not at all or very little."""
    for name in BY_THEMSELVES:
        after = CHANGES[name](run)
        if after is not run:
            yield name, after
    if run.micro_batch > 1:
        smaller = run.micro_batch // 2
        yield f"{MICRO_BATCH} {smaller}", changed(run, micro_batch=smaller, accumulation=run.accumulation * 2)
    if run.ranks > 1 and run.sharded not in (ZERO, "fsdp") and run.quantization == NONE:
        yield PARTITIONED, changed(run, strategy=ZERO, zero=Zero(3))
    if run.strategy == ZERO and run.zero is not None and run.zero.stage < 3 and run.ranks > 1:
        yield "ZeRO stage 3", changed(run, zero=changed(run.zero, stage=3))


def savings(shape: Shape, run: Settings) -> list[tuple[str, float]]:
    """(change, bytes that it saves at the peak), the largest first; changes that save nothing are left out."""
    total = estimate(shape, run).total
    found = [(name, total - estimate(shape, other).total) for name, other in changes(run)]
    return sorted(((name, saved) for name, saved in found if saved > 0), key=lambda pair: -pair[1])


class Together(Record):
    """Changes that together make a run fit, and the estimate with them."""

    changes: list[str]
    estimate: Estimate


def together(shape: Shape, runs: Sequence[Settings], available: float) -> Together | None:
    """The fewest changes with which a run surely fits into `available` GiB, in all of its possible settings; None if there are none.

    A smaller micro batch comes last, and is as large as it can be.
    """
    names = [name for name in CHANGES if any(CHANGES[name](run) is not run for run in runs)]
    for size in range(1, MOST_TOGETHER + 1):
        for chosen in combinations(names, size):
            after = [apply(run, chosen) for run in runs]
            if verdict(estimate(shape, *after), available) != FITS:
                continue
            told = [name for name in chosen if name != MICRO_BATCH]
            if MICRO_BATCH in chosen:
                micro_batch = min(largest_micro_batch(shape, available, after), runs[0].micro_batch - 1)
                after = [changed(run, micro_batch=micro_batch) for run in after]
                told.append(f"{MICRO_BATCH} {micro_batch}")
            return Together(told, estimate(shape, *after))
    return None


def apply(run: Settings, names: Sequence[str]) -> Settings:
    for name in names:
        run = CHANGES[name](run)
    return run


def partitioned(run: Settings) -> Settings:
    """The settings with weights, gradients and optimizer states divided among the ranks."""
    if run.ranks == 1 or run.sharded == FSDP or run.quantization != NONE:
        return run
    if run.zero is not None and run.zero.stage == 3:
        return run
    return changed(run, strategy=ZERO, zero=changed(run.zero, stage=3) if run.zero is not None else Zero(3))


# By name, the one that changes the least first; a change that is made already returns the same settings.
CHANGES: dict[str, Callable[[Settings], Settings]] = {
    CHECKPOINTING: lambda run: run if run.checkpointing else changed(run, checkpointing=True),
    ATTENTION: lambda run: changed(run, attention=FUSED) if run.attention in (EAGER, MASKED) else run,
    LOSS: lambda run: run if run.loss == LOSS_FUSED else changed(run, loss=LOSS_FUSED, fused_kernels=True),
    FUSED_ADAM: lambda run: changed(run, optimizer=ADAM_FUSED) if run.optimizer in UNFUSED and run.strategy != ZERO else run,
    MICRO_BATCH: lambda run: changed(run, micro_batch=1, accumulation=run.accumulation * run.micro_batch) if run.micro_batch > 1 else run,
    PARTITIONED: partitioned,
    EIGHT_BIT: lambda run: changed(run, optimizer=ADAM_8BIT) if run.optimizer in ADAMS and run.strategy != ZERO and not run.lora else run,
}
BY_THEMSELVES = (CHECKPOINTING, ATTENTION, LOSS, FUSED_ADAM, EIGHT_BIT)  # those of them that are offered alone, too
