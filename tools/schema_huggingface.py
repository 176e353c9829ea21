"""The fields of `transformers.TrainingArguments` from an unpacked wheel.

A field is an annotated attribute of the dataclass in `training_args.py`. Values are not coerced on the way
from a YAML file, so a file should hold the annotated type; only the Enum fields are checked. Which releases
have which fields, defaults and values comes from the tables that `tables_huggingface.py` makes of all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import schema_history
from schema_merge import SCHEMAS, VALUE_KEYWORDS
from schema_source import Tree

from cfglint.frameworks.huggingface.source_fields import SourceReading, fields, find
from cfglint.frameworks.releases.history import NAME, Row
from cfglint.frameworks.releases.versions import dotted
from cfglint.source.annotations import Operand
from cfglint.source.python.class_fields import REQUIRED, members_of

Raw = dict[str, Any]

__all__ = ["facts", "find", "histories", "next_to", "version"]


JSON_TYPES = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "None": "null", "dict": "object", "list": "array"}


def facts(tree: Tree) -> dict[str, Raw]:
    """Field -> what the source says of it."""
    found: dict[str, Raw] = {}
    reading = SourceReading(tree)
    for name, field in fields(tree).items():
        raw = accepted(reading.reads(field))
        if field.choices is not None:  # the choices, and what the annotation takes beside texts
            names = [raw["type"]] if isinstance(raw["type"], str) else raw["type"]
            raw = {"enum": [*field.choices, *([None] if "null" in names else []), *([True, False] if "boolean" in names else [])]}
        default = reading.default(field)
        found[name] = raw if default is REQUIRED else {**raw, "default": default}
    return found


def accepted(form: Operand) -> Raw:
    """What a file should hold for an annotation: an Enum is checked, a `Literal` is not."""
    types: list[str] = []
    values: list[Operand] = []
    extra: Raw = {}
    for each in members_of(form):
        if each[0] == "enum":
            return {"enum": each[2:], "x-checked-at": "config"}
        if each[0] == "literal":
            values += each[1:]
            continue
        types.append(JSON_TYPES[each if isinstance(each, str) else each[0]])
        if each[0] == "list":
            extra["items"] = {"enum": each[1][2:]} if each[1][0] == "enum" else {"type": JSON_TYPES[each[1]]}
    raw: Raw = {"type": types[0] if len(types) == 1 else types, **extra}
    return {"anyOf": [raw, {"enum": values}]} if values else raw


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("__init__.py")


def next_to(folder: Path) -> dict[str, Raw]:
    """The fields of the transformers in a folder, else those of the release of the committed schema."""
    if (folder / "transformers").exists():
        return facts(find(folder))
    properties: dict[str, Raw] = json.loads((SCHEMAS / "huggingface.json").read_text(encoding="utf-8"))["properties"]
    kept = (*VALUE_KEYWORDS, "default", "x-checked-at")
    return {key: {word: raw[word] for word in kept if word in raw} for key, raw in properties.items() if "x-removed" not in raw}


def histories() -> dict[tuple[str, ...], Raw]:
    """Name of a field -> what the tables say of its releases, its defaults and its values."""
    tables = schema_history.tables_of("huggingface")
    rows: dict[str, list[Row]] = {}
    for row in tables.FIELDS:
        rows.setdefault(row[NAME], []).append(row)
    made: dict[tuple[str, ...], Raw] = {(name,): schema_history.said(found) for name, found in rows.items()}
    for (name, value), (since, until) in tables.CHOICE_HISTORY.items():
        for word, release in (("x-enum-since", since), ("x-enum-removed", until)):
            if release:
                made[name,].setdefault(word, {})[value] = dotted(release)
    return made
