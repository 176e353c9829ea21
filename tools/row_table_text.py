"""Rows of many releases as one table: equal rows once, each function as a list of rows for a span of releases."""

from __future__ import annotations

import bisect
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from history_rows import Release
from row_expressions import walk

from cfglint.frameworks.row_evaluation import cannot_fail

Row = dict[str, Any]


class Function(NamedTuple):
    """A function of a release: its name, when it is called, the field that it is for, and its rows."""

    name: str
    stage: str
    field: str
    rows: list[Row]


class Table:
    """The rows of releases, which are added in order."""

    def __init__(self) -> None:
        self.releases: list[Release] = []
        self.rows: dict[str, Row] = {}
        self.functions: dict[str, dict[str, dict[Release, list[str]]]] = {}  # stage -> function -> release -> rows
        self.orders: dict[str, dict[Release, list[str]]] = {}
        self.by_hand: dict[str, str] = {}

    @classmethod
    def read(cls, path: Path, releases: Iterable[Release]) -> Table:
        """The committed table with some of its releases."""
        made, known = cls(), json.loads(path.read_text(encoding="utf-8"))
        made.releases = sorted(releases)
        made.rows = known.pop("rows")
        orders = known.pop("orders")
        for stage, functions in known.items():
            made.functions[stage] = {name: dict(by_release(spans, made.releases)) for name, spans in functions.items()}
            ends = [*(since for since, _ in orders[stage][1:]), None]
            spans = [[since, until, order] for (since, order), until in zip(orders[stage], ends, strict=True)]
            made.orders[stage] = dict(by_release(spans, made.releases))
        return made

    def unread(self, release: Release, neighbour: Release) -> list[str]:
        """What has to be done by hand for a release that differs in it from another one."""
        changed = {
            name.partition(" ")[0]
            for functions in self.functions.values()
            for name, found in functions.items()
            if found.get(release) != found.get(neighbour)
        }
        return [f"{place}: {why}" for place, why in self.by_hand.items() if place.partition(":")[0] in changed]

    def add(self, release: Release, functions: Iterable[Function]) -> None:
        """Add the functions of a release."""
        bisect.insort(self.releases, release)
        for function in functions:
            name = " ".join(filter(None, (function.name, function.field)))
            self.orders.setdefault(function.stage, {}).setdefault(release, []).append(name)
            found = self.functions.setdefault(function.stage, {}).setdefault(name, {})
            found[release] = [self.known(row) for row in checked(function.rows)]
            for row in every(function.rows):
                if "todo" in row or "hand" in row:
                    self.by_hand[f"{function.name}:{row.get('line')}"] = str(row.get("todo") or row["hand"])

    def known(self, row: Row) -> str:
        """The name of a row, which is made of its content."""
        key = hashlib.sha1(json.dumps(row, sort_keys=True).encode()).hexdigest()[:7]
        if self.rows.setdefault(key, row) != row:
            raise ValueError(f"two rows with the name {key}")
        return key

    def text(self) -> str:
        """The table as JSON, each row and each function on a line."""
        used = {row for functions in self.functions.values() for found in functions.values() for rows in found.values() for row in rows}
        parts = [section("rows", {name: row for name, row in sorted(self.rows.items()) if name in used})]
        for stage, functions in sorted(self.functions.items()):
            parts.append(section(stage, {name: self.spans(found) for name, found in sorted(functions.items()) if any(found.values())}))
        parts.append(section("orders", {stage: self.merged(stage) for stage in sorted(self.orders)}))
        return "{" + ",\n".join(parts) + "}\n"

    def spans(self, found: dict[Release, Any]) -> list[Any]:
        """(first release, first release after it or null, value) of values by release."""
        made: list[Any] = []
        for release in self.releases:
            value = found.get(release)
            if made and made[-1][2] == value:
                continue
            if made:
                made[-1][1] = release
            made.append([release, None, value])
        return [each for each in made if each[2]]

    def merged(self, stage: str) -> list[Any]:
        """The order of a stage, one list for all releases that agree with it."""
        made: list[tuple[Release, list[str]]] = []
        for release in self.releases:
            order = self.orders[stage].get(release, [])
            known = woven(made[-1][1], order) if made else order
            if known is None or not made:
                made.append((release, order))
            else:
                made[-1] = (made[-1][0], known)
        return [[since, order] for since, order in made]


def section(title: str, entries: dict[str, Any]) -> str:
    """A mapping of the table, each entry on a line."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in entries.items()]
    return f"{json.dumps(title)}: {{\n" + ",\n".join(lines) + "\n}"


def by_release(spans: Iterable[Any], releases: Iterable[Release]) -> Iterator[tuple[Release, Any]]:
    """The releases with the value of their span."""
    spans = list(spans)
    for release in releases:
        for since, until, value in spans:
            if tuple(since) <= release and (until is None or release < tuple(until)):
                yield release, value


def woven(first: Sequence[str], second: Sequence[str]) -> list[str] | None:
    """A list with two others in their order; None if they contradict each other."""
    places = {name: place for place, name in enumerate(first)}
    common = [name for name in second if name in places]
    if [*common] != sorted(common, key=places.__getitem__):
        return None
    made: list[str] = []
    rest = list(first)
    for name in second:
        if name in places:
            at = rest.index(name)
            made += rest[: at + 1]
            del rest[: at + 1]
        else:
            made.append(name)
    return [*made, *rest]


def checked(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows without their places; of a warning only the conditions, which can fail; and no test that cannot."""
    for row in rows:
        kept = {key: [*checked(value)] if key == "rows" else value for key, value in row.items() if key not in ("line", "hand", "warn")}
        if "warn" in row:
            kept["try"] = None
        if "try" not in kept or not all(map(cannot_fail, [*kept["when"], kept["try"]])):
            yield kept


def every(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with those of their loops."""
    for row in rows:
        yield row
        yield from every(row.get("rows", ()))


def lists(part: Any) -> list[Any]:
    """The expressions in a part of a row."""
    parts = [part] if not isinstance(part, dict) else [*part.values()]
    return [each for one in parts for each in walk(one) if isinstance(each, (list, tuple)) and each and isinstance(each[0], str)]
