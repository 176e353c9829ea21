"""Rows of a history table: what a field is, from which release to which, from the facts of each release.

`cfglint/frameworks/history.py` describes a row and reads the tables that this module writes. A framework's generator hands over the
facts of every release, in order, and gets the rows of each section; values are constants, so lists are written as tuples.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Release = tuple[int, ...]
Fact = tuple[Any, ...]  # (type, default), then what the framework adds
Sections = dict[str, dict[str, Fact]]  # section -> field -> fact


def rows(releases: Mapping[Release, Sections]) -> dict[str, list[Fact]]:
    """Section -> its rows `(name, type, default, since, until, ...)`, by name and release.

    `()` as `since` means the first of the releases, `()` as `until` none: still there in the last one.
    """
    order = sorted(releases)
    found: dict[str, list[Fact]] = {}
    for section in dict.fromkeys(name for release in order for name in releases[release]):
        names = sorted({field for release in order for field in releases[release].get(section, {})})
        found[section] = [row for name in names for row in _of_field(name, section, order, releases)]
    return found


def _of_field(name: str, section: str, order: list[Release], releases: Mapping[Release, Sections]) -> list[Fact]:
    made: list[Fact] = []
    before: Fact | None = None
    since: Release = ()
    for release in order:
        fact = releases[release].get(section, {}).get(name)
        if fact is not None and same(fact, before):
            continue
        if before is not None:
            made.append((name, before[0], before[1], since, release, *before[2:]))
        before, since = fact, () if release == order[0] else release
    if before is not None:
        made.append((name, before[0], before[1], since, (), *before[2:]))
    return made


def same(fact: Fact, other: Fact | None) -> bool:
    """Whether two facts are equal: 1, 1.0 and true are not."""
    return other is not None and repr(fact) == repr(other)


def spans(releases: Mapping[Release, Sections]) -> dict[str, list[tuple[Release, Release]]]:
    """Section -> the releases that have it, as (since, until); sections that all of them have are left out."""
    order = sorted(releases)
    found: dict[str, list[tuple[Release, Release]]] = {}
    for section in dict.fromkeys(name for release in order for name in releases[release]):
        present = [section in releases[release] for release in order]
        if all(present):
            continue
        starts = [place for place, here in enumerate(present) if here and (not place or not present[place - 1])]
        ends = [next((place for place in range(start, len(order)) if not present[place]), None) for start in starts]
        found[section] = [
            (order[start] if start else (), order[end] if end is not None else ()) for start, end in zip(starts, ends, strict=True)
        ]
    return found


def steps(values: Mapping[Release, Any]) -> list[tuple[Release, Any]]:
    """A value of each release as its history: (first release, value) where it changes."""
    found: list[tuple[Release, Any]] = []
    for release in sorted(values):
        if not found or found[-1][1] != values[release]:
            found.append((release if found else (), values[release]))
    return found


def literal(value: Any) -> str:
    """A constant as the formatter writes it, with lists as tuples."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(literal, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(each)}" for key, each in value.items()) + "}"
    return repr(value)


def table(name: str, kind: str, found: Mapping[str, Sequence[Fact]]) -> list[str]:
    """The lines of a mapping of sections to rows."""
    lines = [f"{name}: {kind} = {{"]
    for section, of_section in found.items():
        lines.append(f"    {literal(section)}: (")
        lines += [f"        {literal(row)}," for row in of_section]
        lines.append("    ),")
    return [*lines, "}"]
