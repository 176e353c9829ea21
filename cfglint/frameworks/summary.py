"""The summary of a run for display: its numbers with their origins, and the assumptions."""

from __future__ import annotations

from itertools import islice

from cfglint.findings.setting import Setting, derived
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch import Launch
from cfglint.source.annotations import Iterable
from cfglint.source.record import Record

LAUNCH = "Launch"
BATCH = "Batch"
LENGTH = "Length"
RATE = "Learning rate"
PRECISION = "Precision and memory"
FILLED = "Filled in"
GROUPS = (LAUNCH, BATCH, LENGTH, RATE, PRECISION, FILLED)

EXAMPLES = "--num-examples N"
GPUS = "--gpus N"
MOST_MARKS = 1000  # maximum number of steps of one kind in a diagram


class Item(Record):
    """One line: a setting with a label. `needs` names the fact without which a value is unknown."""

    group: str
    label: str
    setting: Setting
    needs: str = ""
    package: str = ""  # the package that has this default, with its version: `transformers 5.23.0`

    @property
    def unknown(self) -> bool:
        return bool(self.needs) and (self.setting.is_unknown or self.setting.value is None)


class Summary(Record):
    """The lines of one config in order, the assumptions about its launch, and the steps at which it evaluates and saves."""

    package: str  # with its version: `transformers 5.23.0`
    items: list[Item] = []
    assumed: list[str] = []
    marks: dict[str, list[int]] = {}

    def add(self, group: str, label: str, setting: Setting, needs: str = "") -> None:
        self.items.append(Item(group, label, setting, needs, self.package))

    def derive(self, group: str, label: str, name: str, value: object, because: str, *, needs: str = "") -> None:
        """Add a derived number; `because` explains how it is derived."""
        self.add(group, label, derived(name, value, because), needs)

    def mark(self, name: str, steps: Iterable[int]) -> None:
        """Record the steps that a line counts, if they are not too many."""
        kept = list(islice(steps, MOST_MARKS + 1))
        if len(kept) <= MOST_MARKS:
            self.marks[name] = kept


def one_gpu_each(world: int | None) -> str:
    """The assumption about the processes of a launch: `8 GPUs are 8 processes with one GPU each`."""
    return "1 GPU is 1 process" if world == 1 else f"{world or 'N'} GPUs are {world or 'N'} processes with one GPU each"


def nodes(facts: LaunchFacts) -> str:
    return "8xH100 nodes" if facts.gpu_memory is None else "nodes of 8 GPUs"


def launched(launch: Launch) -> Summary:
    summary, entry = Summary(""), launch.entry
    if entry is not None:
        summary.derive(LAUNCH, "launched as", "launcher", entry["launcher"], "")
        if entry["called_from"]:
            summary.derive(LAUNCH, "called from", "called_from", entry["called_from"], "")
    return summary
