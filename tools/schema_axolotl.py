"""The schema of axolotl from an unpacked wheel; `cfglint/frameworks/axolotl/source_fields.py` reads the models."""

from __future__ import annotations

import json
from typing import Any

from schema_source import Tree

from cfglint.frameworks.axolotl.source_fields import CLASS, MODULE, OLD_MODULE, SourceReading, find, plugins
from cfglint.source.annotations import Operand

__all__ = ["definitions", "facts", "find", "version"]

Raw = dict[str, Any]

JSON_TYPES = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
    "tuple": "array",
    "None": "null",
}


def version(tree: Tree) -> str | None:
    """The release of the wheel, from the folder of its metadata beside the package."""
    names = sorted(path.name for path in tree.root.parent.glob("axolotl-*.dist-info"))
    return names[-1].removeprefix("axolotl-").removesuffix(".dist-info") if names else None


def facts(tree: Tree) -> dict[str, Raw]:
    """Field -> what the source says of it: the top level in the order of the classes, then what plugins add."""
    return read(tree)[0]


def definitions(tree: Tree) -> dict[str, Raw]:
    """Model -> its JSON Schema, for the models that fields refer to."""
    found: dict[str, Raw] = {}
    for name, fields in read(tree)[1].items():
        policy = fields.pop("*", {"x-section-policy": "ignore"})
        found[name] = {"type": ["object", "null"], **policy, "properties": fields}
    return found


def read(tree: Tree) -> tuple[dict[str, Raw], dict[str, dict[str, Raw]]]:
    """(field -> what the source says of it, with JSON Schema keywords, model -> field -> the same)."""
    reading = SourceReading(tree)
    module = tree.file(MODULE if (tree.root / MODULE).exists() else OLD_MODULE)
    fields = reading.keys(module, module.class_named(CLASS))
    for plugin, (owner, definition) in plugins(tree).items():
        for name, raw in reading.keys(owner, definition).items():
            fields.setdefault(name, {**raw, "x-plugin": plugin})
    models = {model: {name: described(raw) for name, raw in found.items()} for model, found in reading.models.items()}
    return {name: described(raw) for name, raw in fields.items()}, models


def described(raw: Raw) -> Raw:
    """A field with the JSON Schema keywords and the description for editors."""
    if "x-reads" not in raw:
        return raw
    default = "required" if raw.get("x-required") else f"default {json.dumps(raw['default'], default=str)}"
    plugin = {"x-plugin": raw["x-plugin"]} if "x-plugin" in raw else {}
    kept = {key: value for key, value in raw.items() if key not in plugin}
    return {**shown(raw["x-reads"]), **kept, "description": f"{spelled(raw['x-reads'])}; {default}.", **plugin}


def spelled(reads: Operand) -> str:
    """An annotation as people write it: `int | None`."""
    if isinstance(reads, str):
        return {"None": "null", "Any": "anything"}.get(reads, JSON_TYPES.get(reads, reads))
    if reads[0] == "|":
        return " or ".join(spelled(part) for part in reads[1:])
    if reads[0] in ("literal", "enum"):
        return " or ".join(json.dumps(value) for value in reads[1 if reads[0] == "literal" else 2 :])
    if reads[0] in ("strict", "bounded"):
        return spelled(reads[1])
    if reads[0] == "pattern":
        return f"string matching {reads[1]}"
    if reads[0] == "list":
        return f"list of {spelled(reads[1])}"
    return "mapping" if reads[0] in ("dict", "model") else "list"


def shown(reads: Operand) -> Raw:
    """JSON Schema keywords for editors; what pydantic would also convert is not offered."""
    members = reads[1:] if isinstance(reads, list) and reads[0] == "|" else [reads]
    types: list[str] = []
    values: list[Operand] = []
    parts: list[Raw] = []
    models = [member for member in members if isinstance(member, list) and member[0] == "model"]
    if len(models) == 1 and len(members) == 1 + ("None" in members):
        return nested(models[0])  # a model's own schema takes null
    for member in members:
        if member == "Any":
            return {"x-any": True}
        if isinstance(member, str):
            types.append(JSON_TYPES[member])
        elif member[0] in ("literal", "enum"):
            values += member[1:] if member[0] == "literal" else member[2:]
        elif member[0] in ("strict", "bounded"):
            types.append(JSON_TYPES[member[1]])
        elif member[0] == "pattern":
            parts.append({"type": "string", "pattern": member[1]})
        else:
            parts.append(nested(member))
    if "number" in types and "integer" in types:
        types.remove("integer")
    if values and types == ["null"] and not parts:
        return {"enum": [*values, None]}
    if values:
        parts.append({"enum": values})
    if types:
        parts.insert(0, {"type": types[0] if len(types) == 1 else types})
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def nested(member: list[Operand]) -> Raw:
    if member[0] == "list":
        return {"type": "array", "items": shown(member[1])}
    if member[0] == "tuple":
        return {"type": "array"}
    if member[0] == "dict":
        return {"type": "object", "additionalProperties": shown(member[2])}
    return {"$ref": f"#/$defs/{member[1]}"}
