"""Rows of a history table: what a field is, from which release to which, from the facts of each release; and back.

`cfglint/frameworks/releases/history.py` describes a row and reads the tables that this module writes. A framework's generator hands
over the facts of every release, in order, and gets the rows of each section; values are constants, so lists are written as tuples.
The tables determine the facts of each of their releases (`sections_at`, `present_at`, `value_at`), so that one more
release can be added to them without the sources of the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Release = tuple[int, ...]
Fact = tuple[Any, ...]  # (type, default), then what the framework adds
Sections = dict[str, dict[str, Fact]]  # section -> field -> fact
Span = tuple[Release, Release]  # from since to before until; () is no bound


class Facts:
    """What the tables have of one release.

    `sections` are the fields. `names` are sets of names that only some releases have, by what they are (classes, validators);
    `values` single values, by name. `lasting` is what the tables have once for all releases, such as further names of fields.
    """

    def __init__(
        self, sections: Sections, names: dict[str, set[str]] | None = None, values: dict[str, str] | None = None, lasting: Any = None
    ) -> None:
        self.sections = sections
        self.names = names or {}
        self.values = values or {}
        self.lasting = lasting


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
    """Whether two facts are equal: 1, 1.0 and true are not, a list and a tuple are."""
    return other is not None and (repr(fact) == repr(other) or literal(fact) == literal(other))


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


def spans_of(names: Mapping[Release, Iterable[str]]) -> dict[str, list[Span]]:
    """Name -> the releases that have it, as (since, until), also if all of them do."""
    found: dict[str, list[Span]] = {name: [((), ())] for each in names.values() for name in each}
    return {**found, **spans({release: {name: {} for name in each} for release, each in names.items()})}


def sections_at(release: Release, fields: Mapping[str, Sequence[Fact]], of_sections: Mapping[str, Sequence[Span]]) -> Sections:
    """The facts of a release by the rows and the spans of the sections."""
    return {
        section: {row[0]: (row[1], row[2], *row[5:]) for row in of_section if within(release, [(row[3], row[4])])}
        for section, of_section in fields.items()
        if section not in of_sections or within(release, of_sections[section])
    }


def present_at(release: Release, of_names: Mapping[str, Sequence[Span]]) -> set[str]:
    """The names that a release has."""
    return {name for name, each in of_names.items() if within(release, each)}


def within(release: Release, of_name: Sequence[Span]) -> bool:
    """Whether a release is in one of some spans."""
    return any(since <= release and (not until or release < until) for since, until in of_name)


def value_at(release: Release, history: Sequence[tuple[Release, Any]]) -> Any:
    """The value of a release by a history of steps."""
    return [value for since, value in history if since <= release][-1]


def steps(values: Mapping[Release, Any]) -> list[tuple[Release, Any]]:
    """A value of each release as its history: (first release, value) where it changes."""
    found: list[tuple[Release, Any]] = []
    for release in sorted(values):
        if not found or found[-1][1] != values[release]:
            found.append((release if found else (), values[release]))
    return found


def release_lines(found: Iterable[Release]) -> list[str]:
    """The lines of the releases that the rows of a module were taken from."""
    return [
        "# The releases that the rows were taken from.",
        "RELEASES: tuple[Version, ...] = (",
        *(f"    {literal(each)}," for each in sorted(found)),
        ")",
        "",
    ]


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
