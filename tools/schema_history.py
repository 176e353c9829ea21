"""What a schema says of the releases of its keys, from the history tables that `rebuild_tables.py` has generated."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from cfglint.frameworks.releases.history import DEFAULT, SINCE, TYPE, UNTIL, Row, merged
from cfglint.frameworks.releases.versions import Version, dotted

Raw = dict[str, Any]
Path = tuple[str, ...]
BEFORE_ALL = "0"  # the release of what is older than the modelled ones


def tables_of(kind: str) -> ModuleType:
    """The generated tables of a framework, as they are now."""
    return importlib.reload(importlib.import_module(f"cfglint.frameworks.{kind}._tables"))


def said(rows: Iterable[Row], section: Iterable[Row] = ()) -> Raw:
    """The keywords for a key with these rows: its first release where it is not that of its section, the history of its default."""
    found = list(rows)
    since, until = releases(found)
    raw: Raw = {}
    if since and since != next((row[SINCE] for row in section), ()):
        raw["x-since"] = dotted(since)
    if until:
        raw.update({"x-removed": dotted(until), "default": listed(found[-1][DEFAULT])})
    history = steps(found, DEFAULT)
    return {**raw, "x-default-history": history} if len(history) > 1 else raw


def reads(rows: Iterable[Row]) -> Raw:
    """The keywords for the way in which a field is read, of a removed field or where that has changed."""
    found = list(rows)
    history = steps(found, TYPE)
    raw: Raw = {"x-reads-history": history} if len(history) > 1 else {}
    return {**raw, "x-reads": listed(found[-1][TYPE])} if found[-1][UNTIL] else raw


def releases(rows: list[Row]) -> tuple[Version, Version]:
    """The releases with a key, as (since, until); the last ones of a key that came back."""
    return merged([(row[SINCE], row[UNTIL]) for row in rows])[-1] if rows else ((), ())


def steps(rows: list[Row], column: int) -> list[Raw]:
    """The values of a column with the first release of each."""
    word = {DEFAULT: "default", TYPE: "reads"}[column]
    found: list[Raw] = []
    for row in rows:
        entry = {"since": dotted(row[SINCE]) or BEFORE_ALL, word: listed(row[column])}
        if not found or repr(found[-1][word]) != repr(entry[word]):
            found.append(entry)
    return found


def listed(value: Any) -> Any:
    """A constant of a table as JSON has it: tuples as lists, the bounds of a value as a mapping."""
    if isinstance(value, tuple):
        return ["bounded", listed(value[1]), dict(value[2])] if value[:1] == ("bounded",) else [listed(part) for part in value]
    return value
