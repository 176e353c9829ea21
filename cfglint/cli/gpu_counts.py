"""Notes about launch lines that set another number of GPUs than the one of the command line."""

from __future__ import annotations

import os

from cfglint.cli.argument_parser import Namespace
from cfglint.cli.options import first_few, runs_of
from cfglint.findings.diagnostic import Outcome
from cfglint.findings.wording import counted
from cfglint.project.settings_file import Configuration
from cfglint.run.checked import CheckedRun
from cfglint.run.readers import is_of_page
from cfglint.run.scan_stats import ScanStats
from cfglint.source.annotations import Iterable

Counts = dict[str, int]  # the GPUs that launch lines set, by their places


def set_by_lines(outcomes: Iterable[Outcome]) -> Counts:
    """The GPUs of the launch lines among some outcomes."""
    lines = ((each.launch, each.gpus) for each in outcomes if not each.machine)
    return {f"{launch['file']}:{launch['line']}": gpus for launch, gpus in lines if launch is not None and gpus is not None}


def set_by_runs(runs: Iterable[CheckedRun]) -> Counts:
    """The GPUs of the launch lines among some runs."""
    lines = (each for each in runs if each.launch.line is not None and not each.launch.machine)
    return {each.written_at: each.facts.gpus for each in lines if each.facts.gpus is not None}


def other_than(gpus: int, counts: Counts) -> Counts:
    """The launch lines that set another number of GPUs."""
    return {place: number for place, number in counts.items() if number != gpus}


def unused(counts: Counts, gpus: int) -> list[str]:
    """The note that launch lines do not use `--gpus`, because they set another number; empty if none does."""
    others = other_than(gpus, counts)
    if not others:
        return []
    return [f"`--gpus {gpus}` is not used: {starting(others)}; for another number: cfglint plan {next(iter(others))} --gpus {gpus}"]


def started_on_others(run: CheckedRun, gpus: int, arguments: Namespace, project: Configuration) -> list[str]:
    """The note that launch lines start the one named file on another number of GPUs than `fix` computes its batch sizes for."""
    is_one_file = len(arguments.paths) == 1 and os.path.isfile(arguments.paths[0])
    if not is_one_file or run.launch.line is not None or arguments.run or arguments.kind or arguments.section or arguments.args:
        return []
    found = [each for _, each in runs_of(arguments, project, ScanStats(), in_their_runs=True)]
    counts = set_by_runs(each for each in found if not is_of_page(each)) or set_by_runs(found)
    others = other_than(gpus, counts)
    if not others:
        return []
    batch = f" --global-batch {arguments.global_batch}" if arguments.global_batch else ""
    return [f"{starting(others, ' this file')}: cfglint fix {selected(others)} --gpus {gpus}{batch} changes both"]


def starting(counts: Counts, what: str = "") -> str:
    """The GPU counts of launch lines: `train.sh:4 starts on 8 GPUs`."""
    first, *others = counts.values()
    if not others:
        return f"{first_few(counts)} starts{what} on {counted(first, 'GPU')}"
    numbers = first_few(f"{place}: {number}" for place, number in counts.items())
    return f"{len(counts)} launch lines start{what} on other numbers of GPUs ({numbers})"


def selected(counts: Counts) -> str:
    """The path that selects the only launch line on a command line; of several, the script of the first one."""
    first, *others = counts
    return first.rpartition(":")[0] if others else first
