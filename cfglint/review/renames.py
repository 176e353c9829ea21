"""Renamed files: deleted under one name, added under another, with the same or similar content."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter

SIMILAR = 0.5  # minimum fraction of common parts for two versions of the same file
SAME_NAME = 0.2  # bonus to that fraction for the same base name
MOST_PAIRS = 10_000
MOST_COMPARED = 50_000_000  # characters of all pairs of files, about a second; beyond, only equal files match


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
    if compared > MOST_COMPARED or len(removed) * len(added) > MOST_PAIRS:
        return names
    old, new = ({name: parts_of(text) for name, text in contents.items()} for contents in (removed, added))
    pairs = ((*likeness(old[was], new[name], was, name), name, was) for name in new for was in old)
    for alike, _, name, was in sorted(pairs, key=lambda pair: (-pair[0], -pair[1], pair[2:])):
        if alike >= SIMILAR and name not in names and was not in taken:
            names[name] = was
            taken.add(was)
    return names


def parts_of(text: str) -> tuple[Counter[str], Counter[str]]:
    """The parts of a content, split at line ends, commas and brackets, and its lines with their ends, with their counts."""
    from collections import Counter

    lines = Counter(text.splitlines(keepends=True))
    for mark in ",{}[]":
        text = text.replace(mark, "\n")
    return Counter(part for part in map(str.strip, text.splitlines()) if part), lines


def likeness(old: tuple[Counter[str], Counter[str]], new: tuple[Counter[str], Counter[str]], was: str, name: str) -> tuple[float, float]:
    """The fraction of common parts, with a bonus for the same base name, and that of characters in common lines, by which git ranks
    renamed files; it decides between equally similar ones.
    """
    common, every = sum((old[0] & new[0]).values()), old[0].total() + new[0].total()
    bonus = SAME_NAME if os.path.basename(was) == os.path.basename(name) else 0.0
    sizes = [sum(len(line) * count for line, count in lines.items()) for lines in (old[1], new[1], old[1] & new[1])]
    return 2 * common / every + bonus if every else 0.0, sizes[2] / max(*sizes[:2], 1)
