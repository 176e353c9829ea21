"""A consequence of a change, and how its numbers are written."""

from __future__ import annotations

from math import isclose, isfinite

from cfglint.frameworks.summary import Item
from cfglint.review.snapshot import Side
from cfglint.source.annotations import Any, ConfigValue

NAMES = {  # label of a line -> name of its consequence, if it differs from the label
    "optimizer offload": "offload",
    "weights offload": "offload",
    "lowest rate": "lowest_rate",
}
ABSENT = {  # the value that the absence of a line means
    "optimizer offload": "off",
    "weights offload": "off",
    "FSDP": "off",
    "tensor parallel": 1,
    "pipeline": 1,
    "context parallel": 1,
    "sequence parallel": 1,
}
LEFT_OPEN = {  # lines whose absence means that these files do not determine the value
    "schedule": "not in these files",
    "ZeRO stage": "without DeepSpeed",
}
ABOUT = 0.01  # relative tolerance of "about doubled"
HUGE = 1e300  # larger numbers are not divided
NOTEWORTHY = 0.02  # relative change from which a rounded number counts as changed


class Consequence:
    """A sentence with its data: the name of the quantity, the values before and after, and their ratio.

    A missing value is None. `factor` is the ratio, which may be known if the
    values are not. `known` is False if a value cannot be known from the files.
    """

    def __init__(
        self, what: str, text: str, before: ConfigValue = None, after: ConfigValue = None, factor: float | None = None, known: bool = True
    ) -> None:
        self.what = what
        self.text = text
        self.before = before
        self.after = after
        self.factor = factor if factor is not None else relation(before, after)
        self.known = known

    def __repr__(self) -> str:
        return f"Consequence({self.what!r}, {self.text!r})"

    @property
    def headline(self) -> str:
        """The sentence without its explanation."""
        return self.text.partition(": ")[0]


def relation(before: object, after: object) -> float | None:
    """The ratio of a number to the one before; None where it is unknown."""
    numbers = [value for value in (before, after) if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return quotient(numbers[1], numbers[0]) if len(numbers) == 2 and numbers[0] else None


def on_gpus(side: Side) -> str:
    """` on 8 GPUs`; empty if the count is unknown."""
    gpus = side.outcome.gpus
    return "" if gpus is None else f" on {gpus} GPU{'s' if gpus > 1 else ''}"


def quotient(above: float, below: float) -> float | None:
    try:
        return above / below
    except OverflowError:
        return None


def line_of(side: Side, label: str) -> Any:
    """The value of a line; without the line, the value that its absence means; None if it is unknown."""
    value = side.line(label) if label in side.lines else ABSENT.get(label)
    return "off" if value == "none" and ABSENT.get(label) == "off" else value


def name_of(label: str) -> str:
    """The name of the consequence of a line: `zero_stage` for `ZeRO stage`."""
    return NAMES.get(label, label.replace(" ", "_").replace("-", "").lower())


def plain(label: str, value: ConfigValue) -> ConfigValue:
    """A value in the wording of the report: precisions have one name each, rates are numbers."""
    if label == "precision":
        return {"no": "fp32", "bfloat16": "bf16", "half": "fp16", "float32": "fp32"}.get(str(value).lower(), value)
    if label in ("learning rate", "lowest rate", "gradient clipping"):
        return number(value)
    return value


def changed(what: str, name: str, before: float | None, after: float | None) -> list[Consequence]:
    """`total steps 1,512 -> 3,024 (doubled)`, if both are known and differ."""
    if before is None or after is None or before == after:
        return []
    return [Consequence(what, f"{name} {before:,} -> {after:,} ({ratio(before, after)})", before, after)]


def ratio(before: float, after: float) -> str:
    """The relative change, as `doubled`, `3 times as much` or `-66.7 %`."""
    if not (abs(before) < HUGE and abs(after) < HUGE):
        return "too large to compare"
    times = after / before if before else 0
    if times <= 0:
        return f"{after - before:+g}"
    if isclose(times, 2, rel_tol=ABOUT) or isclose(times, 0.5, rel_tol=ABOUT):
        about = "" if isclose(times, 2) or isclose(times, 0.5) else "about "
        return about + ("doubled" if times > 1 else "halved")
    if times >= 2:
        return f"{times:.3g} times as much"
    if times * HUGE < 1:
        return "beyond comparison"
    parts = round(1 / times)
    if parts > 1 and isclose(1 / times, parts, rel_tol=ABOUT):
        return f"{'' if isclose(1 / times, parts) else 'about '}1/{parts} of the previous value"
    return f"{100 * (times - 1):+.3g} %"


def percent(percentage: float) -> str:
    """`6.6 %`, `12 %`."""
    return f"{percentage:.0f} %" if percentage >= 10 else f"{percentage:.2g} %"


def approximate_ratio(times: float) -> str:
    text = ratio(1, times)
    return text if text.startswith("about") else f"about {text}"


def number(value: Any) -> float | None:
    """A value as a finite number, also from a string; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def as_written(item: Item) -> str:
    """A value, a number in the spelling of its file."""
    node, value = item.setting.node, item.setting.known
    is_spelled = item.setting.written and node is not None and node.kind == "scalar" and number(value) is not None
    return node.raw if is_spelled and node is not None else spelled(value)


def spelled(value: object, label: str = "") -> str:
    """A value as people write it; None is the meaning of a missing line."""
    if value is None:
        return LEFT_OPEN.get(label, "unknown (set by the trainer)")
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
