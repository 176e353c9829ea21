"""The schema of ms-swift from an unpacked wheel.

A file of arguments becomes the words of a command (`cli/main.py`), which `HfArgumentParser` parses: numbers and booleans may be strings.
The fields are those of the dataclasses of `swift sft`, then those that only `swift pt` and `swift rlhf` have; what they inherit from
`TrainingArguments` is transformers' and is read by `schema_huggingface`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import schema_history
import schema_huggingface
import tables_swift
from history_rows import Fact
from schema_merge import NOTES
from schema_source import Tree
from schema_trl import converted

from cfglint.frameworks.releases.history import NAME

Raw = dict[str, Any]

TYPES = {"int": "integer", "float": "number", "bool": "boolean"}
WORD = ["string", "number", "boolean", "object"]  # whatever is written becomes one word
COMMANDS = ("sft", "pt", "rlhf")


def find(path: Path) -> Tree:
    """The sources of the package in a folder, or the package itself."""
    return Tree(path / "swift" if (path / "swift").is_dir() else path, lenient=True)


def version(tree: Tree) -> str | None:
    """The release of the wheel, from the folder of its metadata next to the package."""
    names = sorted(path.name for path in tree.root.parent.glob("ms_swift-*.dist-info"))
    return names[-1].removeprefix("ms_swift-").removesuffix(".dist-info") if names else None


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it: the fields of TrainingArguments, then those of ms-swift's own classes."""
    notes = json.loads((NOTES / "huggingface.json").read_text(encoding="utf-8"))["keys"]
    found: dict[str, Raw] = {}
    for key, raw in schema_huggingface.next_to(tree.root.parent).items():
        kept = {word: value for word, value in notes.get(key, {}).items() if not word.startswith("x-")}
        found[key] = converted({word: value for word, value in {**raw, **kept}.items() if word != "x-checked-at"})
    own: dict[str, Fact] = {}
    for command in COMMANDS:
        fields = tables_swift.fields_of(tree, *tables_swift.CLASSES[command], tables_swift.FORMER)
        own.update({key: fact for key, fact in fields.items() if key not in own})
    for key, fact in own.items():
        described = {"description": found[key]["description"]} if "description" in found.get(key, {}) else {}
        found[key] = {**schema_of(fact), **described}
    found["ENV"] = {"type": "object"}
    return found


def schema_of(fact: Fact) -> Raw:
    """What a file may hold for a field."""
    kind, default = fact[0], fact[1]
    choices = fact[2] if len(fact) > 2 else ()
    several, name = kind.startswith("list:"), kind.removeprefix("list:").removesuffix("?")
    if choices:
        raw: Raw = {"enum": [*choices]}
    else:
        raw = converted({"type": TYPES[name]}) if name in TYPES else {"type": WORD}
    if several:
        types = [raw["type"]] if isinstance(raw.get("type", []), str) else raw.get("type", [])
        raw = (
            {"type": ["array", *(each for each in types if each != "object")]}
            if types
            else {"anyOf": [raw, {"type": "array", "items": raw}]}
        )
    return {**raw, "default": schema_history.listed(default)}


def histories() -> dict[tuple[str, ...], Raw]:
    """Key -> what the tables say of its releases and its default, for the fields that the newest release has."""
    tables = schema_history.tables_of("swift")
    made: dict[tuple[str, ...], Raw] = {}
    for command in reversed(COMMANDS):
        rows: dict[str, list[Any]] = {}
        for row in tables.FIELDS[command]:
            rows.setdefault(row[NAME], []).append(row)
        made.update(
            {(name,): schema_history.said(found) for name, found in rows.items() if not found[-1][-1 if len(found[-1]) == 5 else 4]}
        )
    return made
