"""The numbers of a run for its page: known ones, and unknown ones with the option that supplies them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from cfglint.findings.diagnostic import Outcome, ReportContext
from cfglint.frameworks.summary import GPUS
from cfglint.report.summary import spelled
from cfglint.source.annotations import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import SettingEntry

AXES = (
    ("tensor parallel", "tensor_parallel"),
    ("context parallel", "context_parallel"),
    ("sequence parallel", "sequence_parallel"),
    ("pipeline", "pipeline_parallel"),
)


@dataclass
class Number:
    """A number with its name; None with the option that supplies it, if there is one. `was`: the value before a change."""

    label: str
    value: int | None
    needs: str = ""
    was: str = ""


@dataclass
class Numbers:
    """The numbers of a run, and the lines of its summary by name; `before` are those of the run before a change."""

    resolved: dict[str, int | None]
    gpus: int | None
    settings: dict[str, SettingEntry] = field(default_factory=dict)
    marks: dict[str, list[int]] = field(default_factory=dict)
    before: dict[str, int | None] = field(default_factory=dict)

    def number(self, label: str, key: str) -> Number:
        value = self.gpus if key == "gpus" else self.resolved.get(key)
        needs = self.needs(label)
        if value is None and not needs and self.gpus is None and key in ("gpus", "data_parallel", "global_batch"):
            needs = GPUS
        before = self.before.get(key)
        was = f"{before:,}" if before is not None and before != value else ""
        return Number(label, value, "" if value is not None else needs, was)

    def needs(self, label: str) -> str:
        """The options that supply the number of a line."""
        return self.settings[label]["needs"] or "" if label in self.settings else ""

    def value(self, label: str) -> Any:
        """The value of a line; None without that line."""
        return self.settings[label]["value"] if label in self.settings else None

    @property
    def split(self) -> str:
        """How the GPUs are split among replicas of the model; empty where each GPU holds one."""
        axes = [(label, size) for label, key in AXES if (size := self.resolved.get(key) or 1) > 1]
        if not axes:
            return ""
        size = prod(size for _, size in axes)
        product = " \u00d7 ".join(f"{label} {number}" for label, number in axes)
        replica = f"{many(size, 'GPU')} ({product})"
        if self.gpus is None:
            return f"One replica of the model takes {replica}."
        if self.gpus % size:
            return f"{many(self.gpus, 'GPU')} cannot be split into replicas of {replica}."
        return f"{many(self.gpus, 'GPU')}: {many(self.gpus // size, 'replica')} of the model, each on {replica}."

    @property
    def steps(self) -> int | None:
        """The optimizer steps; of a refused file they may be 0 or less."""
        total = self.resolved.get("total_steps")
        return total if total is not None and total > 0 else None

    @property
    def course(self) -> list[tuple[str, str]]:
        """The run from its first step to its last, in words; empty if its length is unknown."""
        total, length = self.steps, self.resolved.get("steps_per_epoch")
        if total is None:
            return []
        counts = (self.value("schedule's warm-up"), self.resolved.get("warmup_steps"))  # DeepSpeed's own one takes precedence
        warmup = next((count for count in counts if type(count) is int), None)
        schedule, peak = self.value("schedule"), self.value("learning rate")
        rate = "warm-up unknown" if warmup is None else f"{many(warmup, 'step')} of warm-up" if warmup > 0 else "no warm-up"
        rate += f", then {schedule}" if schedule is not None else ""
        rate += f"; highest {spelled(peak).replace('e-0', 'e-')}" if peak is not None else ""
        rows = [("learning rate", rate)]
        if length is not None and length > 0:
            epochs = "1" if total == length else spelled(round(total / length, 1)).removesuffix(".0") if total < length * 10**9 else "many"
            rows.append(("epochs", f"{epochs}, {many(length, 'step')} each"))
        for label in ("evaluations", "checkpoints"):
            count, steps = self.value(label), self.marks.get(label)
            if isinstance(count, int):
                between = f", every {steps[0]:,} steps" if steps and len(steps) > 1 and steps[1] == 2 * steps[0] else ""
                rows.append((label, f"{count:,}{between}" if count else "none"))
        return rows

    @property
    def terms(self) -> list[Number]:
        return [self.number(label, label.replace(" ", "_")) for label in ("micro batch", "accumulation", "data parallel")]

    @property
    def total(self) -> Number:
        """The global batch that the framework computes, or that a file specifies."""
        return self.number("global batch", "global_batch")

    @property
    def product(self) -> int | None:
        """The product of the factors; None if one is unknown."""
        values = [term.value for term in self.terms]
        return None if None in values else prod(value for value in values if value is not None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing about the batch is known, and no option supplies it."""
        return all(number.value is None and not number.needs for number in (*self.terms, self.total))

    @property
    def at_odds(self) -> bool:
        """Whether the known global batch differs from the product of the factors."""
        return self.product is not None and self.total.value not in (None, self.product)

    @property
    def consumed(self) -> int | None:
        """The samples per optimizer step, if they differ from the global batch."""
        consumed = self.resolved.get("consumed_batch")
        return consumed if consumed != self.total.value else None


def many(count: int, thing: str) -> str:
    return f"{count:,} {thing if count == 1 else f'{thing}s'}"


def numbers(outcome: Outcome) -> Numbers:
    """The numbers of an outcome, with what its context adds."""
    context: ReportContext | None = outcome.context
    if context is None:
        return Numbers(outcome.resolved, outcome.gpus)
    settings: dict[str, SettingEntry] = {}
    for setting in context.settings:
        settings.setdefault(setting["name"], setting)
    launched = settings["GPUs"]["value"] if "GPUs" in settings else None
    return Numbers(outcome.resolved, launched if isinstance(launched, int) else outcome.gpus, settings, context.marks)
