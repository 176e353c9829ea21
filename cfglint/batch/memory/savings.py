"""The memory that a change of a run's settings would save at its peak."""

from __future__ import annotations

from cfglint.batch.memory.estimate import estimate
from cfglint.batch.memory.settings import ADAM_8BIT, ADAM_FOREACH, ADAM_FUSED, EAGER, FUSED, LOSS_FUSED, MASKED, NONE, ZERO, Zero
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.batch.memory.settings import Settings
    from cfglint.batch.memory.shape import Shape

CHECKPOINTING, ATTENTION, LOSS = "gradient checkpointing", "flash or sdpa attention", "a fused loss (Liger)"
MICRO_BATCH, EIGHT_BIT, FUSED_ADAM, PARTITIONED = "micro batch", "an 8-bit optimizer", "the fused AdamW", "ZeRO stage 3 or FSDP"


def changes(run: Settings) -> Iterator[tuple[str, Settings]]:
    """Settings that need less memory and change the mathematics of the run not at all or very little."""
    if not run.checkpointing:
        yield CHECKPOINTING, changed(run, checkpointing=True)
    if run.attention in (EAGER, MASKED):
        yield ATTENTION, changed(run, attention=FUSED)
    if run.loss != LOSS_FUSED:
        yield LOSS, changed(run, loss=LOSS_FUSED, fused_kernels=True)
    if run.micro_batch > 1:
        smaller = run.micro_batch // 2
        yield f"{MICRO_BATCH} {smaller}", changed(run, micro_batch=smaller, accumulation=run.accumulation * 2)
    if run.optimizer == ADAM_FOREACH and run.strategy != ZERO:
        yield FUSED_ADAM, changed(run, optimizer=ADAM_FUSED)
    if run.optimizer in (ADAM_FOREACH, ADAM_FUSED) and run.strategy != ZERO and run.lora is None:
        yield EIGHT_BIT, changed(run, optimizer=ADAM_8BIT)
    if run.ranks > 1 and run.sharded not in (ZERO, "fsdp") and run.quantization == NONE:
        yield PARTITIONED, changed(run, strategy=ZERO, zero=Zero(3))
    if run.strategy == ZERO and run.zero is not None and run.zero.stage < 3 and run.ranks > 1:
        yield "ZeRO stage 3", changed(run, zero=changed(run.zero, stage=3))


def savings(shape: Shape, run: Settings) -> list[tuple[str, float]]:
    """(change, bytes that it saves at the peak), the largest first; changes that save nothing are left out."""
    total = estimate(shape, run).total
    found = [(name, total - estimate(shape, other).total) for name, other in changes(run)]
    return sorted(((name, saved) for name, saved in found if saved > 0), key=lambda pair: -pair[1])
