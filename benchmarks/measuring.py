"""Commands measured in turn, round by round, and what the rounds come to."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

STOPWATCH = Path(__file__).with_name("stopwatch.py")


class Subject:
    """A command to measure in a folder, and what the rounds gave. `before` puts its files back, unmeasured."""

    def __init__(self, title: str, folder: Path, *command: str | Path, before: Callable[[], object] | None = None) -> None:
        self.title = title
        self.folder = folder
        self.command = [str(part) for part in command]
        self.before = before
        self.seconds: list[float] = []
        self.processor: list[float] = []
        self.longest: list[float] = []  # processor seconds of the process that took most
        self.kilobytes = 0

    def run(self) -> None:
        """Once more, by the clock."""
        _, seconds, processor, longest, _ = self._measured()
        self.seconds.append(seconds)
        self.processor.append(processor)
        self.longest.append(longest)

    def weigh(self) -> None:
        """Once for the memory; it warms the caches, too."""
        self.kilobytes = int(self._measured("--memory")[4])

    def _measured(self, *options: str) -> list[float]:
        if self.before:
            self.before()
        line = [sys.executable, "-I", "-S", str(STOPWATCH), *options, *self.command]
        told = subprocess.run(line, cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()
        if told[0] not in ("0", "1"):  # peers find things to say about any file
            raise SystemExit(f"{' '.join(self.command)[:200]}: exit status {told[0]}")
        return [float(number) for number in told]


def rounds(subjects: list[Subject], count: int) -> None:
    """Every subject once a round, in turn, so that a busy machine hurts all of them alike; the first weighs."""
    for subject in subjects:
        subject.weigh()
    for _ in range(count):
        for subject in subjects:
            subject.run()


def rows(subjects: Iterable[Subject], unit: Subject) -> list[dict[str, Any]]:
    """What the rounds came to. Ratios are to the unit in the same round; spreads are half the distance of the quartiles."""
    return [
        {
            "command": each.title,
            "seconds": statistics.median(each.seconds),
            "seconds_spread": spread(each.seconds),
            "ratio": statistics.median(ratios(each.seconds, unit.seconds)),
            "ratio_spread": spread(ratios(each.seconds, unit.seconds)),
            "processor_ratio": statistics.median(ratios(each.processor, unit.processor)),
            "megabytes": each.kilobytes / 1024,
        }
        for each in subjects
    ]


def ratios(values: list[float], units: list[float]) -> list[float]:
    """Round by round."""
    return [value / unit for value, unit in zip(values, units, strict=True)]


def spread(values: list[float]) -> float:
    """Half the distance between the quartiles; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2
