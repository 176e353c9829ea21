"""Matches the launches of a script with those of its earlier state."""

from __future__ import annotations

from itertools import zip_longest

from cfglint.launch.scripts import MOST as MOST_CHECKED
from cfglint.review.settings import unknown_sizes
from cfglint.run.checked import CheckedRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import LaunchEntry

Pair = tuple[CheckedRun | None, CheckedRun | None]

MOST_PAIRS = 2_000  # beyond, launches are matched by their order
ALIKE = 3.25  # the likeness of two launches by one launcher of one program, with three quarters of their arguments


def paired(before: list[CheckedRun], after: list[CheckedRun]) -> list[Pair]:
    """(before, after) for the launches of a script, the most similar first; those without a counterpart have None.

    Of a script with more launches than are checked, before and after, only those are given that are alike: another one may be left out.
    """
    if len(before) * len(after) > MOST_PAIRS:
        return [*zip_longest(before, after)]
    scores = [
        (
            -likeness(old.launch.entry, new.launch.entry),
            unknown_sizes(old.launch) != unknown_sizes(new.launch),
            abs(first - second),
            first,
            second,
        )
        for first, old in enumerate(before)
        for second, new in enumerate(after)
    ]
    is_cut = bool(before and after) and max(len(before), len(after)) >= MOST_CHECKED
    least = ALIKE if is_cut else 0.0
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for score, *_, first, second in sorted(scores):
        if score < -least and first not in taken and second not in partner:
            partner[second] = first
            taken.add(first)
    if is_cut:
        return [(before[first], after[second]) for second, first in sorted(partner.items())]
    found: list[Pair] = [(before[partner[index]] if index in partner else None, new) for index, new in enumerate(after)]
    found.extend((old, None) for index, old in enumerate(before) if index not in taken)
    return found


def likeness(old: LaunchEntry | None, new: LaunchEntry | None) -> float:
    """The similarity of two launches: the last part of their program's name first, then their launcher and arguments."""
    if old is None or new is None:
        return 3.0 if old is new else 0.5
    one, other = old["arguments"], new["arguments"]
    common = sum(key in other and other[key] == value for key, value in one.items())
    every = len({*one, *other})
    names = [(launch["program"] or "").rpartition("/")[2] for launch in (old, new)]
    return (common / every if every else 0.5) + 2.0 * (names[0] == names[1]) + 0.5 * (old["launcher"] == new["launcher"])
