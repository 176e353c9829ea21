"""The verdict on a run's memory, and the largest micro batch, in words."""

from __future__ import annotations

from cfglint.batch.memory.estimate import CLASS_C, CLOSE, CONTEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.memory.estimate import Certainty, Fit

PROBABLY_FITS = "probably fits"
PROBABLY_NOT = "probably does not fit"


def in_words(verdict: Fit, peak: float | None, available: float | None) -> str:
    """The verdict in words."""
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
