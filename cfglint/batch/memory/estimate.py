"""The estimate: peak, band, class, verdict and the largest micro batch."""

from __future__ import annotations

from cfglint.batch.memory.moments import Moment, TrainingStep
from cfglint.batch.memory.settings import FSDP, LOSS_NONE, NONE, ZERO
from cfglint.record import changed, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cfglint.batch.memory.settings import Settings
    from cfglint.batch.memory.shape import Shape

GIB = 1 << 30
FITS, CLOSE, DOES_NOT_FIT = "fits", "close", "does-not-fit"
CLASS_A, CLASS_B, CLASS_C = "A", "B", "C"
BANDS = {CLASS_A: (0.90, 1.10), CLASS_B: (0.80, 1.25), CLASS_C: (0.60, 1.50)}
ADAPTERS_SHARDED = (0.75, 1.25)  # FSDP with adapters: releases differ in the dtype of the residual stream
FP32_STREAM_MARGIN = 1.10

CONTEXT = 0.55  # GiB: CUDA context and libraries
COMMUNICATION = 0.9  # GiB: NCCL, with more than one GPU
CERTAIN_CONTEXT = 0.6  # the part of these that is there for sure
FRAGMENTATION = 1.05  # reserved over allocated when memory is short
USABLE = 0.99
LARGEST = 1 << 16  # micro batches are not searched beyond


@record
class Estimate:
    """What a rank needs in bytes: the moments, the peak among them, the band around it and how sure it is."""

    moments: list[Moment]
    peak: Moment
    low: float
    high: float
    classification: str
    overhead: float
    parameters: int

    @property
    def total(self) -> float:
        """Bytes at the peak."""
        return self.peak.total


def estimate(shape: Shape, run: Settings, *others: Settings) -> Estimate:
    """The memory of one rank of a run. Where the files leave `others` possible, the band covers them too."""
    found = single(shape, run)
    for each in others:
        other = single(shape, each)
        found = changed(
            found,
            low=min(found.low, other.low),
            high=max(found.high, other.high),
            overhead=max(found.overhead, other.overhead),
            classification=max(found.classification, other.classification),
        )
    return found


def single(shape: Shape, run: Settings) -> Estimate:
    """The memory of one rank with the given settings."""
    moments = [moment for part, settings in stages(shape, run) for moment in TrainingStep(part, settings).moments()]
    peak = max(moments, key=lambda moment: moment.total)
    classification, (low, high) = certainty(shape, run)
    above = peak.total * high
    if run.sharded == FSDP and run.lora is not None and run.autocast and run.residual is None:
        above = max(above, single(shape, changed(run, residual=4)).total * FP32_STREAM_MARGIN)
    overhead = CONTEXT + (COMMUNICATION if run.ranks * run.tensor_parallel * run.pipeline_parallel > 1 else 0)
    return Estimate(moments, peak, peak.total * low, above, classification, overhead * GIB, shape.parameters)


def stages(shape: Shape, run: Settings) -> list[tuple[Shape, Settings]]:
    """The ranks that can need most: with pipeline parallelism the first stage (most micro batches in flight) and the last (the loss)."""
    part = shape.divided(run.tensor_parallel, run.pipeline_parallel)
    if run.pipeline_parallel == 1:
        return [(part, run)]
    part = changed(part, tied=True)  # one of embedding and head
    in_flight = min(run.pipeline_parallel, run.accumulation)
    return [(part, changed(run, loss=LOSS_NONE, in_flight=in_flight)), (part, run)]


def certainty(shape: Shape, run: Settings) -> tuple[str, tuple[float, float]]:
    """The class of a run and the factors of its band, as validated on recorded and measured runs."""
    if not shape.known or run.own_code:
        return CLASS_C, BANDS[CLASS_C]
    if run.strategy == FSDP and run.lora is not None and (run.quantization != NONE or run.autocast):
        return CLASS_B, ADAPTERS_SHARDED
    if run.strategy in (FSDP, ZERO) or run.quantization != NONE or shape.experts:
        return CLASS_B, BANDS[CLASS_B]
    return CLASS_A, BANDS[CLASS_A]


def verdict(found: Estimate, available: float) -> str:
    """Whether it fits into `available` GiB: surely, not surely, surely not. Class C never says that it does not."""
    capacity = available * GIB
    if found.high * FRAGMENTATION + found.overhead <= capacity * USABLE:
        return FITS
    if found.classification != CLASS_C and found.low + CERTAIN_CONTEXT * found.overhead > capacity:
        return DOES_NOT_FIT
    return CLOSE


def largest_micro_batch(shape: Shape, available: float, verdicts: Sequence[str], *runs: Settings) -> int:
    """The largest micro batch with one of some verdicts, 0 where there is none; memory only grows with it."""

    def holds(size: int) -> bool:
        return verdict(estimate(shape, *(changed(run, micro_batch=size) for run in runs)), available) in verdicts

    return largest(holds)


def largest(holds: Callable[[int], bool]) -> int:
    """The largest number for which something holds that holds up to some number only."""
    if not holds(1):
        return 0
    above = 2
    while above < LARGEST and holds(above):
        above *= 2
    below = above // 2
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if holds(middle) else (below, middle)
    return below
