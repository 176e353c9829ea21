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
    found = by_content(removed, added)
    taken = set(found.values())
    removed = {name: text for name, text in removed.items() if name not in taken}
    added = {name: text for name, text in added.items() if name not in found}
    compared = len(added) * sum(map(len, removed.values())) + len(removed) * sum(map(len, added.values()))
    if compared > MOST_COMPARED or len(removed) * len(added) > MOST_PAIRS:
        return found
    old = {name: parts_of(text) for name, text in removed.items()}
    new = {name: parts_of(text) for name, text in added.items()}
    lines = {name: lines_of(text) for name, text in (*removed.items(), *added.items())}
    pairs = ((likeness(old[was], new[name], was, name), in_lines(lines[was], lines[name]), name, was) for name in new for was in old)
    for alike, _, name, was in sorted(pairs, key=lambda pair: (-pair[0], -pair[1], pair[2:])):
        if alike >= SIMILAR and name not in found and was not in taken:
            found[name] = was
            taken.add(was)
    return found


def by_content(removed: dict[str, str], added: dict[str, str]) -> dict[str, str]:
    """New name -> old name of files with identical content; of several, those with the same base name first."""
    names: dict[str, list[str]] = {}
    for name, text in removed.items():
        names.setdefault(text, []).append(name)
    found: dict[str, str] = {}
    for name, text in added.items():
        left = names.get(text)
        if left:
            found[name] = next((was for was in left if os.path.basename(was) == os.path.basename(name)), left[0])
            left.remove(found[name])
    return found


def parts_of(text: str) -> Counter[str]:
    """The parts of a content, split at line ends, commas and brackets, with their counts."""
    from collections import Counter

    for mark in ",{}[]":
        text = text.replace(mark, "\n")
    return Counter(part for part in map(str.strip, text.splitlines()) if part)


def likeness(old: Counter[str], new: Counter[str], was: str, name: str) -> float:
    """The fraction of common parts, with a bonus for the same base name."""
    common, every = sum((old & new).values()), old.total() + new.total()
    bonus = SAME_NAME if os.path.basename(was) == os.path.basename(name) else 0.0
    return 2 * common / every + bonus if every else 0.0


def lines_of(text: str) -> Counter[str]:
    """The lines of a content with their ends and counts."""
    from collections import Counter

    return Counter(text.splitlines(keepends=True))


def in_lines(old: Counter[str], new: Counter[str]) -> float:
    """The fraction of characters in common lines, by which git ranks renamed files; it decides between equally similar ones."""
    sizes = [sum(len(line) * count for line, count in each.items()) for each in (old, new, old & new)]
    return sizes[2] / max(*sizes[:2], 1)
