"""The schema of TRL from unpacked wheels.

A trainer's script parses one file into several dataclasses (`SFTConfig`, `ScriptArguments`, `ModelConfig`, ...), which
`cfglint/frameworks/trl/source_fields.py` reads; what they inherit from `TrainingArguments` is transformers' and is read by
`schema_huggingface`.
"""

from __future__ import annotations

import ast
import json
from typing import Any

import schema_huggingface
from schema_merge import NOTES
from schema_source import Tree

from cfglint.frameworks.trl.source_fields import REQUIRED, classes, fact, find, members, sections

__all__ = ["classes", "fact", "facts", "find", "requirement", "sections", "version"]

Raw = dict[str, Any]


def version(tree: Tree) -> str:
    """The release that the package states, in a file `VERSION` or in the metadata of the wheel."""
    stated = tree.root / "VERSION"
    if stated.exists():
        return stated.read_text(encoding="utf-8").strip()
    for folder in tree.root.parent.glob("trl-*.dist-info"):
        return folder.name.removeprefix("trl-").removesuffix(".dist-info")
    return str(tree.version("__init__.py"))


INTEGER = r"^\s*[+-]?[0-9]+\s*$"
NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
BOOLEAN = "^([Yy][Ee][Ss]|[Tt][Rr][Uu][Ee]|[TtYy1]|[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee]|[FfNn0])$"
PATTERNS = {"integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}  # of the strings that the parser converts
JSON_TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string", "dict": "object", "None": "null"}


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it: the fields of TrainingArguments, then those of TRL's classes.

    A default is there where all classes that have the field agree. The fields of TrainingArguments are those of transformers next to
    the package, as in site-packages, else those of the committed schema of transformers.
    """
    notes = json.loads((NOTES / "huggingface.json").read_text(encoding="utf-8"))["keys"]
    found: dict[str, Raw] = {}
    for key, raw in schema_huggingface.next_to(tree.root.parent).items():
        kept = {word: value for word, value in notes.get(key, {}).items() if not word.startswith("x-")}
        found[key] = converted({**raw, **kept})
    defaults: dict[str, list[Any]] = {}
    for table in classes(tree).values():
        for key, raw in table.items():
            if key not in found or "own" in found[key]:
                found[key] = {**schema_of(raw), "own": True}
            defaults.setdefault(key, []).append(raw["default"])
    for key, values in defaults.items():
        found[key].pop("own", None)
        found[key].pop("default", None)
        if all(value == values[0] and type(value) is type(values[0]) for value in values) and values[0] != REQUIRED:
            found[key]["default"] = values[0]
    return found


def schema_of(raw: Raw) -> Raw:
    """What a file may hold for a field of TRL's."""
    names = members(ast.parse(raw["annotation"], mode="eval").body)
    types = [JSON_TYPES.get(name.partition("[")[0], "array") for name in names]
    return converted({"type": list(dict.fromkeys(types)) if len(set(types)) > 1 else types[0]})


def converted(raw: Raw) -> Raw:
    """A schema that takes the strings that the parser converts, too."""
    names = [raw["type"]] if isinstance(raw.get("type"), str) else list(raw.get("type", ()))
    pattern = next((PATTERNS[name] for name in names if name in PATTERNS), None)
    if pattern is None or "string" in names:
        return raw
    return {**raw, "type": [*names, "string"], "pattern": pattern}


def requirement(tree: Tree, package: str) -> str:
    """The versions of a package that the metadata of the wheel asks for, such as `>=4.56.2`; empty if it names none."""
    for folder in tree.root.parent.glob("trl-*.dist-info"):
        for line in (folder / "METADATA").read_text(encoding="utf-8").splitlines():
            head, _, wanted = line.partition(":")
            name = wanted.strip().replace("(", "").replace(")", "").replace(" ", "").partition(";")[0]
            if head == "Requires-Dist" and name.startswith(package) and not name[len(package) :][:1].isalnum():
                return name.removeprefix(package)
    return ""
