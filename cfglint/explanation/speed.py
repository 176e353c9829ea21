"""The speed of a training, from its log: what a step took, with evaluations and checkpoints.

Source: transformers 5.23.0 trainer_utils.py (speed_metrics), trainer_pt_utils.py (log_metrics); Megatron-LM and GPT-NeoX training.py.
"""

from __future__ import annotations

import re

from cfglint.source.annotations import Iterable
from cfglint.source.record import Record

RUNTIME = re.compile(r"['\"]?train_runtime['\"]?\s*[:=]\s*['\"]?(?:(\d+):(\d+):)?(\d+(?:\.\d+)?)")  # seconds, or hours, minutes and seconds
BAR = re.compile(r"(\d+)/(\d+) \[(?:(\d+):)?(\d+):(\d+)<")
ITERATION = re.compile(r"elapsed time per iteration \((m?s)\): (\d+(?:\.\d+)?)")
RESUMED = re.compile(r"Continuing training from global step (\d+)")
UNITS = (3600, 60, 1)  # seconds of an hour, a minute, a second
WORDS = ("train_runtime", "it]", "it/s]", "elapsed time per iteration", "global step")


class Speed(Record):
    """The seconds of a step, how many steps they were measured on, and whether the training came to its end."""

    seconds_per_step: float
    steps: int
    is_whole: bool = False

    @property
    def text(self) -> str:
        """`2.31 seconds per step`."""
        return f"{self.seconds_per_step:.4g} seconds per step"


def speed_in(lines: Iterable[str], total: int | None) -> Speed | None:
    """The speed that a log shows for a run of so many steps: of all of it, else of its last progress bar or iterations."""
    runtime, bar, begun, each = 0.0, (0, 0), 0, list[float]()
    for line in lines:
        if not any(word in line for word in WORDS):
            continue
        if match := RUNTIME.search(line):
            hours, minutes, seconds = match.groups(default="0")
            runtime = int(hours) * UNITS[0] + int(minutes) * UNITS[1] + float(seconds)
        for done, of, *clock in BAR.findall(line):
            if int(of) == total and int(done):
                bar = int(done), sum(int(part or 0) * unit for part, unit in zip(clock, UNITS, strict=True))
        if match := RESUMED.search(line):
            begun = int(match[1])
        each += [float(size) / (1000 if unit == "ms" else 1) for unit, size in ITERATION.findall(line)]
    if runtime and total is not None and total > begun:
        return Speed(runtime / (total - begun), total - begun, is_whole=True)
    if bar[0] > begun and bar[1]:
        return Speed(bar[1] / (bar[0] - begun), bar[0] - begun)
    if each:
        steady = sorted(each[len(each) // 2 :])  # the first ones are slow
        return Speed(steady[len(steady) // 2], len(each))
    return None
