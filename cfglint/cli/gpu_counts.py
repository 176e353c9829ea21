"""Notes about launch lines that set another number of GPUs than the one of the command line."""

from __future__ import annotations

from cfglint.findings.diagnostic import Outcome
from cfglint.findings.wording import counted, first_few
from cfglint.run.checked import CheckedRun
from cfglint.source.annotations import Iterable

Counts = dict[str, int]  # the GPUs that launch lines set, by their places


def set_by_lines(outcomes: Iterable[Outcome]) -> Counts:
    """The GPUs of the launch lines among some outcomes."""
    lines = ((outcome.launch, outcome.gpus) for outcome in outcomes if not outcome.machine)
    return {f"{launch['file']}:{launch['line']}": gpus for launch, gpus in lines if launch is not None and gpus is not None}


def set_by_runs(runs: Iterable[CheckedRun]) -> Counts:
    """The GPUs of the launch lines among some runs."""
    lines = (run for run in runs if run.launch.line is not None and not run.launch.machine)
    return {line.written_at: line.facts.gpus for line in lines if line.facts.gpus is not None}


def other_than(gpus: int, counts: Counts) -> Counts:
    """The launch lines that set another number of GPUs."""
    return {place: number for place, number in counts.items() if number != gpus}


def unused(counts: Counts, gpus: int) -> list[str]:
    """The note that launch lines do not use `--gpus`, because they set another number; empty if none does."""
    others = other_than(gpus, counts)
    if not others:
        return []
    return [f"`--gpus {gpus}` is not used: {starting(others)}; for another number: cfglint plan {next(iter(others))} --gpus {gpus}"]


def starting(counts: Counts) -> str:
    """The GPU counts of launch lines: `train.sh:4 starts on 8 GPUs`."""
    first, *others = counts.values()
    if not others:
        return f"{first_few(counts)} starts on {counted(first, 'GPU')}"
    numbers = first_few(f"{place}: {number}" for place, number in counts.items())
    return f"{len(counts)} launch lines start on other numbers of GPUs ({numbers})"
