"""What each release of a package changes in an answer, found by trying few of them, and recorded as a line for each change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

Answer = Callable[[str], Collection[str]]
STEP = 4  # releases between two that are tried in any case


def release_of(line: str) -> str:
    """The release of a recorded change."""
    return line.partition(": ")[0]


class ReleaseChanges:
    """The changes of an answer that depends on the release."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.answers: dict[str, Collection[str]] = {}

    def at(self, release: str) -> Collection[str]:
        """The answer in a release, which is asked for once."""
        if release not in self.answers:
            self.answers[release] = self.answer(release)
        return self.answers[release]

    def between(self, before: str, release: str) -> str:
        """A line about what a release changes; an empty string if it is nothing."""
        was, now = self.at(before), self.at(release)
        signed = [*(f"+{each}" for each in sorted({*now} - {*was})), *(f"-{each}" for each in sorted({*was} - {*now}))]
        return f"{release}: {'; '.join(signed)}" if signed else ""

    def lines(self, releases: Sequence[str], recorded: Iterable[str] = (), step: int = STEP) -> list[str]:
        """A line for each release that changes the answer; what comes and goes between two tried ones is seen where it is recorded."""
        changes = {releases.index(release_of(line)) for line in recorded}
        tried = sorted({*range(0, len(releases), step), len(releases) - 1, *changes, *(number - 1 for number in changes)})
        return [line for start, end in pairwise(tried) for line in self.halved(releases[start : end + 1])]

    def halved(self, releases: Sequence[str]) -> list[str]:
        """The changes within some releases: none if the answers at both ends are equal."""
        line, middle = self.between(releases[0], releases[-1]), len(releases) // 2
        if not line or len(releases) == 2:
            return [line] if line else []
        return [*self.halved(releases[: middle + 1]), *self.halved(releases[middle:])]

    def wrong(self, recorded: Iterable[str], releases: Sequence[str]) -> list[str]:
        """What is different at the releases of recorded changes."""
        found = []
        for line in recorded:
            release = release_of(line)
            before = releases[releases.index(release) - 1]
            came = self.between(before, release)
            if came != line:
                found.append(f"from {before} to {release}:\n  expected {line}\n  came     {came or 'no change'}")
        return found
