"""The memory estimate: peak, uncertainty band, class, verdict and the largest micro batch."""

from __future__ import annotations

from typing import Literal

from cfglint.batch.cards import SIZES, USUAL
from cfglint.batch.memory.moments import TERMS, Moment, TrainingStep
from cfglint.batch.memory.settings import FSDP, LOSS_NONE, NONE, ZERO, Settings
from cfglint.batch.memory.shape import Shape
from cfglint.source.annotations import Callable, Sequence, TypeAlias
from cfglint.source.record import Record, changed

Fit: TypeAlias = Literal["fits", "close", "does-not-fit"]
Certainty: TypeAlias = Literal["A", "B", "C"]  # how well an estimate is known

GIB = 1 << 30
FITS: Fit = "fits"
CLOSE: Fit = "close"
DOES_NOT_FIT: Fit = "does-not-fit"
CLASS_A: Certainty = "A"
CLASS_B: Certainty = "B"
CLASS_C: Certainty = "C"
BANDS = {CLASS_A: (0.90, 1.10), CLASS_B: (0.80, 1.25), CLASS_C: (0.60, 1.50)}
FP32_STREAM_MARGIN = 1.10

CONTEXT = 0.55  # GiB: CUDA context and libraries
COMMUNICATION = 0.9  # GiB: NCCL, with more than one GPU
CERTAIN_CONTEXT = 0.6  # the part of both that is certainly used
FRAGMENTATION = 1.05  # reserved over allocated when memory is short
# What the allocator keeps in the end, as parts of a step's activations and logits: the least, usual and most, for rows of one length and
# for rows of many. Fitted to `nvidia-smi` beside allocated peaks of the runs in benchmarks/memory.py (A100, rows packed to 4096), and to
# the memory that ms-swift's documentation published for LoRA (rows of 91 to 19548 tokens, cut at 512 to 8192).
CACHED = {False: (0.4, 0.4, 1.0), True: (0.3, 1.7, 3.0)}
USABLE = 0.99
LARGEST = 1 << 16  # the largest micro batch that is tried


class Estimate(Record):
    """The estimated bytes of one rank: the moments, the highest of them, the band around it and its class of certainty.

    `shown`, from `shown_low` to `shown_high`, is what `nvidia-smi` shows: context, communication and cached blocks come on top.
    """

    moments: list[Moment]
    peak: Moment
    low: float
    high: float
    classification: Certainty
    overhead: float
    parameters: int
    shown: float = 0
    shown_low: float = 0
    shown_high: float = 0

    @property
    def total(self) -> float:
        return self.peak.total


def estimate(shape: Shape, run: Settings, *others: Settings) -> Estimate:
    """The memory of one rank of a run. If the files leave several settings possible (`others`), the band covers them all."""
    found = single(shape, run)
    for settings in others:
        other = single(shape, settings)
        found = changed(
            found,
            low=min(found.low, other.low),
            high=max(found.high, other.high),
            shown_low=min(found.shown_low, other.shown_low),
            shown_high=max(found.shown_high, other.shown_high),
            overhead=max(found.overhead, other.overhead),
            classification=max(found.classification, other.classification),
        )
    return found


def single(shape: Shape, run: Settings) -> Estimate:
    """The memory of one rank with the given settings."""
    moments = moments_of(shape, run)
    classification = certainty(shape, run)
    low, high = BANDS[classification]
    narrowest = widest = 0.0
    # FSDP with adapters and mixed precision: the residual stream is 16-bit or fp32, depending on release and adapter kernels.
    if run.sharded == FSDP and run.lora is not None and run.autocast is not None and run.residual is None:
        narrow, wide = (moments_of(shape, changed(run, residual=width)) for width in (2, 4))
        narrowest, widest = (max(moment.total for moment in moments) for moments in (narrow, wide))
        moments = [
            Moment(first.name, **{name: (getattr(first, name) + getattr(second, name)) / 2 for name in TERMS})
            for first, second in zip(narrow, wide, strict=True)
        ]
    peak = max(moments, key=lambda moment: moment.total)
    below = narrowest * low if narrowest else peak.total * low
    above = max(peak.total * high, widest * FP32_STREAM_MARGIN)
    overhead = GIB * (CONTEXT + (COMMUNICATION if run.ranks * run.tensor_parallel * run.pipeline_parallel > 1 else 0))
    freed = max(moment.activations + moment.logits for moment in moments)
    least, usual, most = (part * freed for part in CACHED[run.varying])
    return Estimate(
        moments,
        peak,
        below,
        above,
        classification,
        overhead,
        shape.parameters,
        shown=peak.total + overhead + usual,
        shown_low=below + CERTAIN_CONTEXT * overhead + least,
        shown_high=above + overhead + most,
    )


def moments_of(shape: Shape, run: Settings) -> list[Moment]:
    """The moments of the ranks that may need the most: with pipeline parallelism the first (most in flight) and last stage (the loss)."""
    part = shape.divided(run.tensor_parallel, run.pipeline_parallel)
    if run.pipeline_parallel == 1:
        return TrainingStep(part, run).moments()
    part = changed(part, tied=True)  # one of embedding and head
    first = changed(run, loss=LOSS_NONE, in_flight=min(run.pipeline_parallel, run.accumulation))
    return [*TrainingStep(part, first).moments(), *TrainingStep(part, run).moments()]


def certainty(shape: Shape, run: Settings) -> Certainty:
    """The class of a run's estimate, as validated on recorded and measured runs."""
    if not shape.known or run.own_code or (run.unmeasured and run.lora is None):
        return CLASS_C
    return CLASS_B if run.unmeasured or run.strategy in (FSDP, ZERO) or run.quantization != NONE or shape.experts else CLASS_A


def verdict(found: Estimate, available: float) -> Fit:
    """Whether the run fits into `available` GiB: certainly, possibly or certainly not. Class C never answers certainly not."""
    capacity = available * GIB
    if found.high * FRAGMENTATION + found.overhead <= capacity * USABLE:
        return FITS
    return CLOSE if found.classification == CLASS_C or possible(found, available) else DOES_NOT_FIT


def possible(found: Estimate, available: float) -> bool:
    """Whether the lower end of the band fits into `available` GiB."""
    return found.low + CERTAIN_CONTEXT * found.overhead <= available * GIB


def surely_fits(found: Estimate, available: float) -> bool:
    return verdict(found, available) == FITS


def largest_micro_batch(
    shape: Shape, available: float, runs: Sequence[Settings], condition: Callable[[Estimate, float], bool] = surely_fits
) -> int:
    """The largest micro batch that certainly fits, or that satisfies another condition; 0 if there is none. Memory only grows with it."""
    return largest(lambda size: condition(estimate(shape, *(changed(run, micro_batch=size) for run in runs)), available))


def longest_row(shape: Shape, available: float, runs: Sequence[Settings]) -> int:
    """The tokens per row that certainly fit; 0 if there are none."""
    return largest(lambda length: surely_fits(estimate(shape, *(changed(run, sequence=length) for run in runs)), available))


def largest(holds: Callable[[int], bool]) -> int:
    """The largest number that satisfies a condition which holds up to some number and for none above it."""
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


def with_article(size: str) -> str:
    return f"{'an' if size.startswith('8') else 'a'} {size}"


def smallest_card(found: Estimate) -> str | None:
    """The smallest usual card that the run surely fits on, as a size like `80GB`."""
    return next((size for size in USUAL if surely_fits(found, SIZES[size])), None)


def on_cards(found: Estimate) -> str:
    """The smallest usual card that the run surely fits on, and the largest that is too small for it."""
    fitting = smallest_card(found)
    too_small = [size.removesuffix("GB") for size in USUAL if not probably_fits(found.total / GIB, SIZES[size])]
    if fitting is None:
        return f"more than {with_article(too_small[-1])} GB card" if too_small else "no usual card for sure"
    named = f"{with_article(fitting.removesuffix('GB'))} GB card"
    return f"{named}, not {with_article(too_small[-1])}" if too_small else named


PROBABLY_FITS = "probably fits"
PROBABLY_NOT = "probably does not fit"


def in_words(verdict: Fit, peak: float | None, available: float | None) -> str:
    if verdict != CLOSE or peak is None or available is None:
        return verdict.replace("-", " ")
    return PROBABLY_FITS if probably_fits(peak, available) else PROBABLY_NOT


def probably_fits(peak: float, available: float) -> bool:
    """Where the band does not decide: whether the estimated peak fits together with the CUDA context, all in GiB."""
    return peak + CONTEXT <= available


def largest_in_words(surely: int, possibly: int | None, classification: Certainty) -> str:
    """The largest micro batch that surely fits, and the one that possibly fits."""
    if surely:
        return f"largest micro batch {surely}" + (f", possibly {possibly}" if possibly != surely else "")
    if possibly:
        return f"no micro batch surely fits, {f'up to {possibly}' if possibly > 1 else 'only 1'} may"
    return "not even a micro batch of 1 " + (PROBABLY_FITS if classification == CLASS_C else "fits")
