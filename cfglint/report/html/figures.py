"""The numbers of a run for its diagrams: known ones, and unknown ones with the option that supplies them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from cfglint.findings.diagnostic import Outcome, ReportContext
from cfglint.frameworks.summary import GPUS
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
ROWS = (  # the table below the diagrams
    ("GPUs", "gpus"),
    *AXES,
    ("data parallel", "data_parallel"),
    ("micro batch", "micro_batch"),
    ("accumulation", "accumulation"),
    ("global batch", "global_batch"),
    ("samples per step", "consumed_batch"),
    ("tokens per sample", "seq_length"),
    ("tokens per step", "tokens_per_step"),
    ("steps per epoch", "steps_per_epoch"),
    ("total steps", "total_steps"),
    ("warm-up steps", "warmup_steps"),
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
        """A number that the run resolves to."""
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
    def model_axes(self) -> list[tuple[str, int]]:
        """The sizes that split a replica of the model, by name."""
        return [(label, size) for label, key in AXES if (size := self.resolved.get(key) or 1) > 1]

    @property
    def replica(self) -> int:
        """The number of GPUs that hold one replica of the model."""
        return prod(size for _, size in self.model_axes)

    @property
    def replicas(self) -> int | None:
        """The number of replicas of the model; None if the GPUs are unknown or do not divide."""
        if self.gpus is not None:
            return self.gpus // self.replica if self.gpus % self.replica == 0 else None
        return self.resolved.get("data_parallel")

    @property
    def terms(self) -> list[Number]:
        """The factors of the global batch."""
        names = (("micro batch", "micro_batch"), ("accumulation", "accumulation"), ("data parallel", "data_parallel"))
        return [self.number(label, key) for label, key in names]

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
        return all(each.value is None and not each.needs for each in (*self.terms, self.total))

    @property
    def at_odds(self) -> bool:
        """Whether the known global batch differs from the product of the factors."""
        return self.product is not None and self.total.value not in (None, self.product)

    @property
    def consumed(self) -> int | None:
        """The samples per optimizer step, if they differ from the global batch."""
        consumed = self.resolved.get("consumed_batch")
        return consumed if consumed != self.total.value else None

    @property
    def table(self) -> list[Number]:
        """Every informative number: sizes of 1 are left out."""
        repeated = "samples per step" if self.consumed is None else ""  # the global batch
        numbers = [self.number(label, key) for label, key in ROWS if label != repeated]
        plain = {label for label, _ in AXES}
        shown = [each for each in numbers if each.value is not None or each.needs]
        return [each for each in shown if each.label not in plain or each.value != 1]


def numbers(outcome: Outcome) -> Numbers:
    """The numbers of an outcome, with what its context adds."""
    context: ReportContext | None = outcome.context
    if context is None:
        return Numbers(outcome.resolved, outcome.gpus)
    settings: dict[str, SettingEntry] = {}
    for each in context.settings:
        settings.setdefault(each["name"], each)
    launched = settings["GPUs"]["value"] if "GPUs" in settings else None
    return Numbers(outcome.resolved, launched if isinstance(launched, int) else outcome.gpus, settings, context.marks)
