"""Matches the launches of a script, and renamed files, with those of the earlier state."""

from __future__ import annotations

import os
from itertools import zip_longest

from cfglint.launch.program import BEYOND_LIMIT
from cfglint.launch.scripts import MOST as MOST_CHECKED
from cfglint.review.settings import size_texts
from cfglint.run.checked import CheckedRun
from cfglint.run.paths import is_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter

    from cfglint.findings.entries import LaunchEntry

    Parts = tuple[Counter[str], Counter[str]]

Pair = tuple[CheckedRun | None, CheckedRun | None]

MOST_LAUNCHES = 2_000  # pairs; beyond, launches are matched by their order
SAME_LINE = 3.5  # the likeness of two launches with the same words
ALIKE = 3.25  # the likeness of two launches by one launcher of one program, with three quarters of their arguments
SIMILAR = 0.5  # minimum fraction of common parts for two versions of the same file
SAME_NAME = 0.2  # bonus to that fraction for the same base name
MOST_FILES = 10_000  # pairs; beyond, only equal files match
MOST_COMPARED = 50_000_000  # characters of all pairs of files, about a second; beyond, only equal files match


def paired(before: list[CheckedRun], after: list[CheckedRun]) -> list[Pair]:
    """(before, after) for the launches of a script, the most similar first; those without a counterpart have None.

    Of a script with more launches than are checked, before and after, only those are given that are alike: another one may be left out.
    """
    if len(before) * len(after) > MOST_LAUNCHES:
        return [*zip_longest(before, after)]
    scores = [
        (
            -launch_likeness(old.launch.entry, new.launch.entry),
            program_of(old) != program_of(new),
            len(files_of(old) ^ files_of(new)),
            class_of(old) != class_of(new),
            sizes_of(old) != sizes_of(new),
            caller_of(old) != caller_of(new),
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


def is_cut_off(run: CheckedRun) -> bool:
    """Whether the evaluation of its program ended before all of its code, so that what a side lacks may only not have been reached."""
    return any(reason.why == BEYOND_LIMIT for reason in run.not_read)


def may_be_there(run: CheckedRun, others: list[CheckedRun]) -> bool:
    """Whether a run may be one of the other side: its line is there, and the evaluation of the program did not reach all of its runs."""
    entry = run.launch.entry
    lines = [other.launch.entry for other in others if is_cut_off(run) or is_cut_off(other)]
    return entry is not None and any(line is not None and launch_likeness(line, entry) >= SAME_LINE for line in lines)


def program_of(run: CheckedRun | None) -> set[str]:
    """The program of a run, in whose module the first document may be."""
    launch = run.launch if run is not None else None
    line, program = (launch.line, launch.program) if launch is not None else (None, None)
    path = program.path if program is not None else line.program_path if line is not None else None
    return {os.path.normpath(path)} if path else set()


def files_of(run: CheckedRun) -> set[str]:
    """The configs that a line names."""
    line = run.launch.line
    return {os.path.normpath(file.path or file.word.string) for file in line.files} if line is not None else set()


def class_of(run: CheckedRun) -> str:
    """The class of arguments that a program builds; it may build several, of which a condition chooses."""
    return run.launch.program.arguments if run.launch.program is not None else ""


def sizes_of(run: CheckedRun) -> list[tuple[str, str]]:
    """What sets or limits the processes of a launch, as it is written."""
    return [(name, text.source) for name, text in size_texts(run.launch).items()]


def caller_of(run: CheckedRun) -> str:
    """The script that calls the one of a launch; empty if none does."""
    line = run.launch.line
    return line.call.called_from[0] if line is not None and line.call.called_from else ""


def launch_likeness(old: LaunchEntry | None, new: LaunchEntry | None) -> float:
    """The similarity of two launches: the last part of their program's name first, then their launcher and arguments."""
    if old is None or new is None:
        return 3.0 if old is new else 0.5
    one, other = old["arguments"], new["arguments"]
    common = sum(key in other and other[key] == value for key, value in one.items())
    every = len({*one, *other})
    names = [(launch["program"] or "").rpartition("/")[2] for launch in (old, new)]
    return (common / every if every else 0.5) + 2.0 * (names[0] == names[1]) + 0.5 * (old["launcher"] == new["launcher"])


def renamed(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """New name -> old name, for contents by their names; each name is used once, the most similar pair first."""
    removed = {name: text for name, text in before.items() if name not in after}
    added = {name: text for name, text in after.items() if name not in before}
    # Files with identical content; of several, those with the same base name first.
    of_content: dict[str, list[str]] = {}
    for name, text in removed.items():
        of_content.setdefault(text, []).append(name)
    names: dict[str, str] = {}
    for name, text in added.items():
        left = of_content.get(text)
        if left:
            names[name] = next((was for was in left if os.path.basename(was) == os.path.basename(name)), left[0])
            left.remove(names[name])
    taken = set(names.values())
    removed = {name: text for name, text in removed.items() if name not in taken}
    added = {name: text for name, text in added.items() if name not in names}
    compared = len(added) * sum(map(len, removed.values())) + len(removed) * sum(map(len, added.values()))
    if compared > MOST_COMPARED or len(removed) * len(added) > MOST_FILES:
        return names
    old, new = ({name: parts_of(text) for name, text in contents.items()} for contents in (removed, added))
    pairs = ((*file_likeness(old[was], new[name], was, name), name, was) for name in new for was in old)
    for alike, lines, name, was in sorted(pairs, key=lambda pair: (-pair[0], -pair[1], pair[2:])):
        # Launch lines have many options in common: of two scripts half of the lines are the same, as git asks for.
        is_other = is_script(name) and lines < SIMILAR and os.path.basename(name) != os.path.basename(was)
        if alike >= SIMILAR and not is_other and name not in names and was not in taken:
            names[name] = was
            taken.add(was)
    return names


def parts_of(text: str) -> Parts:
    """The parts of a content, split at line ends, commas and brackets, and its lines with their ends, with their counts."""
    from collections import Counter

    lines = Counter(text.splitlines(keepends=True))
    for mark in ",{}[]":
        text = text.replace(mark, "\n")
    return Counter(part for part in map(str.strip, text.splitlines()) if part), lines


def file_likeness(old: Parts, new: Parts, was: str, name: str) -> tuple[float, float]:
    """The fraction of common parts, with a bonus for the same base name, and that of characters in common lines, by which git ranks
    renamed files; it decides between equally similar ones.
    """
    common, every = sum((old[0] & new[0]).values()), old[0].total() + new[0].total()
    bonus = SAME_NAME if os.path.basename(was) == os.path.basename(name) else 0.0
    sizes = [sum(len(line) * count for line, count in lines.items()) for lines in (old[1], new[1], old[1] & new[1])]
    return 2 * common / every + bonus if every else 0.0, sizes[2] / max(*sizes[:2], 1)
