"""The diagrams of a run, each with its description."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from cfglint.frameworks.summary import GPUS
from cfglint.report.html import layout, step, timeline
from cfglint.report.html.figures import Numbers
from cfglint.report.summary import spelled
from cfglint.source.annotations import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from markupsafe import Markup

MOST = 10**15  # the largest number in a diagram


@dataclass
class Picture:
    """A drawing and its caption."""

    drawing: Markup
    caption: str


@dataclass
class Lane:
    """A line of the time line: its title, its drawing, and its content in words."""

    label: str
    drawing: Markup
    words: str


@dataclass
class Pictures:
    """The diagrams of a run; `lanes` are the time line, empty if its length is unknown: `needs` are the options that supply it."""

    gpus: Picture
    step: Picture
    lanes: list[Lane]
    total: int | None
    needs: str


def draw(numbers: Numbers) -> Pictures:
    """All diagrams of a run."""
    total = drawable(numbers.resolved.get("total_steps"))
    needs = numbers.needs("total steps") if total is None else ""
    return Pictures(gpu_picture(numbers), step_picture(numbers), lanes(numbers, total), total, needs)


def drawable(value: int | None) -> int | None:
    """A count that can be drawn; a count of a refused file may be 0 or less, or huge."""
    return value if value is not None and 0 < value <= MOST else None


def many(count: int, thing: str) -> str:
    """`1 pass`, `8 passes`."""
    plural = f"{thing}es" if thing.endswith("s") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"


# ---- GPUs


def gpu_picture(numbers: Numbers) -> Picture:
    """The GPUs in their replicas."""
    columns = numbers.replica // max(numbers.resolved.get("pipeline_parallel") or 1, 1)
    rows = numbers.replica // columns
    caption = gpu_caption(numbers)
    if numbers.gpus is not None and numbers.replicas is None:
        return Picture(layout.draw(drawable(numbers.gpus), 1, 1), caption)
    return Picture(layout.draw(drawable(numbers.replicas), columns, rows), caption)


def gpu_caption(numbers: Numbers) -> str:
    split = " \u00d7 ".join(f"{label} {size}" for label, size in numbers.model_axes)
    replica = f"{many(numbers.replica, 'GPU')} ({split})" if split else "1 GPU"
    if numbers.gpus is None:
        known = f"One replica of the model takes {replica}. " if split else ""
        return f"{known}The number of replicas is unknown: pass {GPUS}."
    if numbers.replicas is None:
        return f"{many(numbers.gpus, 'GPU')} cannot be split into replicas of {replica}."
    if numbers.replicas == 1:
        return f"{many(numbers.gpus, 'GPU')}, one replica of the model{f': {split}' if split else ''}."
    return f"{numbers.gpus:,} GPUs: {numbers.replicas:,} data-parallel replicas of {replica} each."


# ---- one step


def step_picture(numbers: Numbers) -> Picture:
    """One optimizer step of one replica."""
    micro, accumulation = (drawable(numbers.resolved.get(key)) for key in ("micro_batch", "accumulation"))
    caption = step_caption(numbers, micro, accumulation)
    return Picture(step.draw(micro, accumulation), caption)


def step_caption(numbers: Numbers, micro: int | None, accumulation: int | None) -> str:
    passes = "an unknown number of passes" if accumulation is None else many(accumulation, "pass")
    samples = "an unknown number of samples" if micro is None else many(micro, "sample")
    each = f"{passes} of {samples}"
    if micro is not None and accumulation is not None and accumulation > 1:
        each += f" = {micro * accumulation:,} samples"
    who = "The replica" if numbers.replicas == 1 else "Each replica"
    then = "then one update." if numbers.replicas == 1 else "then all replicas average their gradients and update once."
    return f"{who} in one optimizer step: {each}, {then}"


# ---- the time line


def lanes(numbers: Numbers, total: int | None) -> list[Lane]:
    """The run from first to last step; empty if its length is unknown."""
    if total is None:
        return []
    recurring = [label for label in ("evaluations", "checkpoints") if numbers.value(label) is not None]
    marks = [marks_lane(label, numbers.value(label), numbers.marks.get(label), total) for label in recurring]
    return [rate_lane(numbers, total), *epoch_lane(numbers, total), *marks]


def rate_lane(numbers: Numbers, total: int) -> Lane:
    """Warm-up and decay."""
    warmup = first(numbers.value("schedule's warm-up"), numbers.resolved.get("warmup_steps"))
    schedule, decay = numbers.value("schedule"), first(numbers.value("decay steps"), numbers.value("schedule's total"))
    peak = numbers.value("learning rate")
    name = str(schedule) if schedule is not None else None
    course = name if warmup is not None else None
    drawing = timeline.rate(total, warmup or 0, course, drawable(decay), lowest_fraction(numbers.value("lowest rate"), peak))
    words = (
        warming(warmup)
        + (f", then {name}" if name else "")
        + (f"; highest {spelled(peak).replace('e-0', 'e-')}" if peak is not None else "")
    )
    return Lane("learning rate", drawing, words)


def first(*values: object) -> int | None:
    """The first integer: the count of DeepSpeed's own schedule takes precedence over that of the run."""
    return next((value for value in values if type(value) is int), None)


def lowest_fraction(lowest: object, peak: object) -> float:
    """The lowest learning rate as a fraction of the highest; 0 where these numbers are unknown."""
    if type(lowest) is float and type(peak) is float and 0 < lowest <= peak < inf:
        return lowest / peak
    return 0.0


def warming(steps: int | None) -> str:
    """The warm-up in words."""
    if steps is None:
        return "warm-up unknown"
    return f"{many(steps, 'step')} of warm-up" if steps > 0 else "no warm-up"


def epoch_lane(numbers: Numbers, total: int) -> list[Lane]:
    """The ends of the epochs, if there are several."""
    length = drawable(numbers.resolved.get("steps_per_epoch"))
    if length is None:
        return []
    ends = range(length, total + 1, length)
    shown = f"{total / length:,.1f}".removesuffix(".0")
    return [Lane("epochs", timeline.ticks(total, ends), f"{shown}, {many(length, 'step')} each")]


def marks_lane(label: str, count: int, steps: Sequence[int] | None, total: int) -> Lane:
    """Steps at which an event recurs."""
    words = "none" if count == 0 else f"{count:,}"
    if steps and len(steps) > 1 and steps[1] - steps[0] == steps[0]:
        words += f", every {steps[0]:,} steps"
    return Lane(label, timeline.ticks(total, [] if count == 0 else steps), words)
