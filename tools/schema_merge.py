"""Facts from a source tree and hand-kept notes -> the text of a schema.

The notes (`tools/notes/<kind>.json`) hold what no source tells: descriptions, histories, and what a key
takes where the framework does not check it. They are never written by a program.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schema_source import SourceError

Raw = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / "tools" / "notes"
SCHEMAS = ROOT / "schemas"
WIDTH = 120
DIALECT = "https://json-schema.org/draft/2020-12/schema"
OTHER_PACKAGE = "package:"  # a key that another package reads, which the tree cannot confirm
VALUE_KEYWORDS = ("type", "enum", "const", "anyOf", "not", "$ref", "pattern", "items")
ORDER = (
    "$schema",
    "$id",
    "title",
    "description",
    "$comment",
    "x-framework",
    "x-reader",
    *VALUE_KEYWORDS,
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "default",
    "examples",
    "deprecated",
)
LAST = ("$defs", "properties", "patternProperties", "additionalProperties", "required")


def build(kind: str, version: str, facts: dict[str, Raw], mentioned: Any, definitions: dict[str, Raw] | None = None) -> str:
    """The schema's text. `mentioned(file, key)` tells whether a source file has a key as a text.

    SourceError when notes and facts do not fit: a key without description or type, a note on a key that
    the source no longer has, a key read elsewhere that is not there any more.
    """
    notes = json.loads((NOTES / f"{kind}.json").read_text(encoding="utf-8"))
    problems: list[str] = []
    properties = _copy(facts)
    for path, note in notes["keys"].items():
        problems += _apply(properties, path.split("."), note, mentioned)
    problems += _incomplete(properties, "")
    if problems:
        raise SourceError("\n".join(problems))
    head = {
        "$schema": DIALECT,
        "$id": f"urn:cfglint:schema:{kind}",
        **notes["head"],
        "x-framework": {**notes["head"]["x-framework"], "version": version},
    }
    if definitions:
        head["$defs"] = {**head.get("$defs", {}), **definitions}
    return written(_ordered({**head, "properties": properties})) + "\n"


def written(value: Any, margin: str = "") -> str:
    """JSON text in which whatever fits stands on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(margin) + len(line) <= WIDTH:
        return line
    inner = margin + " "
    if isinstance(value, list):
        parts = [inner + written(one, inner) for one in value]
    else:
        parts = [f"{inner}{json.dumps(name, ensure_ascii=False)}: {written(one, inner)}" for name, one in value.items()]
    return ("[\n%s\n%s]" if isinstance(value, list) else "{\n%s\n%s}") % (",\n".join(parts), margin)


def _copy(facts: dict[str, Raw]) -> dict[str, Raw]:
    copied: dict[str, Raw] = json.loads(json.dumps(facts))
    return copied


def _apply(properties: dict[str, Raw], path: list[str], note: Raw, mentioned: Any) -> list[str]:
    """Lay a note over its key; what is wrong with it."""
    name = ".".join(path)
    for section in path[:-1]:
        if section not in properties:
            return [f"{name}: a note, but the source has no {section}"]
        properties = properties[section].setdefault("properties", {})
    key = path[-1]
    if "x-removed" in note:
        if key in properties and "not" not in properties[key]:
            return [f"{name}: noted as removed, but the source has it"]
        properties.setdefault(key, {})
    elif key not in properties:
        if "x-read-in" not in note:
            return [f"{name}: a note, but the source no longer has the key: say x-removed"]
        if not note["x-read-in"].startswith(OTHER_PACKAGE) and not mentioned(note["x-read-in"], key):
            return [f"{name}: {note['x-read-in']} does not read it any more"]
        properties[key] = {}
    raw = properties[key]
    if any(keyword in note for keyword in VALUE_KEYWORDS):
        for keyword in VALUE_KEYWORDS:
            raw.pop(keyword, None)
    raw.update(note)
    return []


def _incomplete(properties: dict[str, Raw], above: str) -> list[str]:
    """Keys that nobody has described, or whose values nobody has."""
    problems = []
    for key, raw in properties.items():
        if "description" not in raw:
            problems.append(f"{above}{key}: not described in the notes")
        if not any(keyword in raw for keyword in (*VALUE_KEYWORDS, "x-any")):
            problems.append(f"{above}{key}: neither the source nor the notes say what it takes (x-any for anything)")
        problems += _incomplete(raw.get("properties", {}), f"{above}{key}.")
    return problems


def _ordered(raw: Any) -> Any:
    """Keywords in a fixed order, so that a rebuilt schema differs only where the facts do."""
    if isinstance(raw, list):
        return [_ordered(item) for item in raw]
    if not isinstance(raw, dict):
        return raw

    def rank(keyword: str) -> tuple[int, str]:
        if keyword in ORDER:
            return ORDER.index(keyword), ""
        return (1001 + LAST.index(keyword), "") if keyword in LAST else (1000, keyword)

    ordered = {}
    for keyword in sorted(raw, key=rank):
        value = raw[keyword]
        if keyword in ("properties", "$defs", "patternProperties"):
            ordered[keyword] = {name: _ordered(one) for name, one in value.items()}
        else:
            ordered[keyword] = value if keyword in ("default", "enum") else _ordered(value)
    return ordered
