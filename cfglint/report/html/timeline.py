"""A run from its first step to its last: learning rate, epochs, evaluations and checkpoints as lanes with one scale."""

from __future__ import annotations

from math import cos, pi

from cfglint.report.html import svg
from cfglint.source.annotations import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

SCALE = 1000  # units for the whole run
HIGH = 24  # units for the highest learning rate
LOW = 10
MOST_TICKS = 50  # for more, a band is drawn
LINEAR = "linear"
COSINE = "cosine"
CONSTANT = "constant"
SHAPES = {  # schedules whose course is determined by warm-up, decay and lowest rate
    "linear": LINEAR,
    "WarmupDecayLR": LINEAR,
    "cosine": COSINE,
    "WarmupCosineLR": COSINE,
    "constant": CONSTANT,
    "constant_with_warmup": CONSTANT,
    "WarmupLR": CONSTANT,
}
POINTS = 12  # points of a curve


def rate(total: int, warmup: float, schedule: str | None, decay: int | None = None, floor: float = 0.0) -> Markup:
    """The course of the learning rate: up during the warm-up, then according to the schedule; `floor` is a fraction of the peak.

    A schedule of unknown course is dashed after its warm-up.
    """
    end = max(decay or total, 1)
    warmup = min(max(warmup, 0), total)
    shape = SHAPES.get(schedule or "")
    down = falling(shape, warmup, end, floor)
    turns = {warmup, min(max(end, warmup), total), total}
    if shape == COSINE:
        turns |= {warmup + (total - warmup) * place / POINTS for place in range(POINTS)}
    course = [(0.0, 0.0 if warmup else down(0)), *((step, down(step)) for step in sorted(turns))]
    points = [f"{svg.number(SCALE * step / total)} {svg.number(HIGH + 1 - HIGH * height)}" for step, height in course]
    if shape is None:
        return lane(HIGH + 2, stroke("rate", "M" + "L".join(points[:2])), stroke("rate unsure", "M" + "L".join(points[1:])))
    return lane(HIGH + 2, stroke("rate", "M" + "L".join(points)))


def falling(shape: str | None, warmup: float, end: int, floor: float) -> Callable[[float], float]:
    """The fraction of the peak at a step after the warm-up."""

    def at(step: float) -> float:
        done = min((step - warmup) / max(end - warmup, 1), 1.0)
        if shape == LINEAR:
            return floor + (1 - floor) * (1 - done)
        if shape == COSINE:
            return floor + (1 - floor) * (1 + cos(pi * done)) / 2
        return 1.0

    return at


def ticks(total: int, steps: Sequence[int] | None) -> Markup:
    """A stroke at each step; a band where the strokes would merge, or where the single steps are unknown."""
    if steps is None or len(steps) > MOST_TICKS:
        return lane(LOW, svg.element("path", class_="band", d=f"M0 1h{SCALE}v{LOW - 2}H0z"))
    if not steps:
        return lane(LOW)
    return lane(LOW, stroke("tick", "".join(f"M{svg.number(SCALE * step / total)} 1v{LOW - 2}" for step in steps)))


def stroke(name: str, path: str) -> Markup:
    """A line; the style sheet keeps its width when the lane is stretched."""
    return svg.element("path", class_=name, d=path)


def lane(height: int, *children: str) -> Markup:
    """One lane at full width; the words next to it describe it."""
    box = f"0 0 {SCALE} {height}"
    return svg.element("svg", *children, class_="lane", viewBox=box, height=height, preserveAspectRatio="none", aria_hidden="true")
