"""The schema of a kind for other tools: JSON Schema draft-07, without cfglint's own keywords, valid in ajv's strict mode.

    python tools/schema_draft7.py [--check]

writes `schemas/draft7/KIND.json` of every kind; `--check` compares only, and exits 1 when a file would change. Editors and
https://www.schemastore.org use draft-07. The `x-` keywords are left out, but the facts in them that a person wants to know are in the
description: since when a key exists, that it was removed, or that it is deprecated.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schema_strict import strict

from cfglint.frameworks.validation.schema import file_of, kinds

Raw = dict[str, Any]

FOLDER = Path(__file__).resolve().parent.parent / "schemas" / "draft7"


@dataclass
class Additions:
    """What a framework accepts beyond the schema of its kind, which describes only recommended values: by key, and by a type.

    `placeholders`: the loader fills `${...}` before the values are parsed. `more_keys`: keys beyond the schema depend on
    something outside the file, so that only `check` can judge an unknown key.
    """

    values: dict[str, Raw] = field(default_factory=dict)
    by_type: dict[str, tuple[Raw, ...]] = field(default_factory=dict)
    placeholders: bool = False
    more_keys: bool = False


TRUTH = {"enum": [None, 0, 1, "true", "True"]}  # for a boolean that is only tested for truth: the values whose meaning is obvious
AS_NUMBER: tuple[Raw, ...] = (  # pydantic 2 accepts a boolean or a numeric string as a number
    {"type": "boolean"},
    {"type": "string", "pattern": r"^\s*[+-]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"},
)
READ_AS_FALSE = ("distributed_type", "dynamo_backend", "mixed_precision")  # keys with the possible value `NO`
ADDITIONS = {
    # YAML 1.1 parses `NO` as false, and torchrun counts the GPUs for "auto".
    "accelerate": Additions({**{key: {"const": False} for key in READ_AS_FALSE}, "num_processes": {"const": "auto"}}),
    # The diffusion plugin accepts a fraction as warm-up.
    "axolotl": Additions(
        {"warmup_steps": {"type": "number", "minimum": 0, "maximum": 1}},
        {"integer": AS_NUMBER, "number": AS_NUMBER},
        placeholders=True,
    ),
    "huggingface": Additions(by_type={"boolean": (TRUTH,)}),
    # With USE_MCA=1 the keys of Megatron-Core are read as well.
    "llamafactory": Additions(
        {"resume_from_checkpoint": {"const": False}, "reward_model_type": {"type": "string"}}, placeholders=True, more_keys=True
    ),
    "trl": Additions({"reward_funcs": {"type": "string"}}),  # a single reward function instead of a list
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

PLAIN = frozenset(  # keywords with the same meaning in both drafts that contain no schemas
    (
        "$id",
        "const",
        "default",
        "description",
        "enum",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "title",
        "type",
        "uniqueItems",
    )
)
ONE = frozenset(("additionalProperties", "items", "not"))  # contain a schema
SOME = frozenset(("allOf", "anyOf", "oneOf"))  # contain a list of schemas
NAMED = frozenset(("patternProperties", "properties"))  # contain schemas by name
NEEDED_TYPES = {  # ajv's strict mode requires the type with each of these keywords
    "exclusiveMaximum": "number",
    "exclusiveMinimum": "number",
    "items": "array",
    "maxItems": "array",
    "maximum": "number",
    "minItems": "array",
    "minimum": "number",
    "pattern": "string",
    "properties": "object",
}
OF_PROPERTIES = "#/properties/"
EVERY_TYPE = ["array", "boolean", "null", "number", "object", "string"]


RESTRICTIONS = ("$ref", *NEEDED_TYPES, *SOME, *NAMED, "additionalProperties", "const", "enum", "not", "required", "type")
PLACEHOLDER = {"type": "string", "pattern": r"\$\{"}  # of an environment variable or of OmegaConf: filled before the values are parsed


def draft7(kind: str, schema: Raw) -> Raw:
    """The schema of a kind, as stored in its file, converted to draft-07."""
    exported = {"$schema": DRAFT_7, **converted(schema)}
    additions = ADDITIONS.get(kind, Additions())
    for key, own in exported["properties"].items():
        exported["properties"][key] = widened(additions, own, additions.values.get(key))
    if additions.more_keys:
        exported.pop("additionalProperties", None)
    if "$defs" in schema:
        exported["definitions"] = {name: widened_section(additions, each) for name, each in each_converted(schema["$defs"]).items()}
    for pointer in sorted(set(references(exported))):
        exported.setdefault("definitions", {})[definition_name(pointer)] = found_at(exported, pointer)
    found: Raw = strict(named_by_definition(exported))
    return found


def text_of(kind: str, schema: Raw) -> str:
    """The text of the draft-07 schema of a kind, by its own schema: for editors, and so in one line, which keeps the wheel small."""
    return json.dumps(draft7(kind, schema), separators=(",", ":"), ensure_ascii=False) + "\n"


def references(raw: Any) -> Iterator[str]:
    """The references of a schema to properties: their owners are split by type, so the properties need names of their own."""
    if isinstance(raw, dict):
        if str(raw.get("$ref", "")).startswith(OF_PROPERTIES):
            yield raw["$ref"]
        for each in raw.values():
            yield from references(each)
    elif isinstance(raw, list):
        for each in raw:
            yield from references(each)


def definition_name(pointer: str) -> str:
    """The name of the definition that replaces a reference to a property."""
    return "-".join(part for part in pointer.split("/")[2:] if part != "properties")


def found_at(raw: Any, pointer: str) -> Any:
    """The schema that a reference refers to."""
    for part in pointer.split("/")[1:]:
        raw = raw[part]
    return raw


def named_by_definition(raw: Any) -> Any:
    """A schema with its references to properties replaced by references to definitions."""
    if isinstance(raw, list):
        return [named_by_definition(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    if str(raw.get("$ref", "")).startswith(OF_PROPERTIES):
        return {**raw, "$ref": f"#/definitions/{definition_name(raw['$ref'])}"}
    return {keyword: named_by_definition(value) for keyword, value in raw.items()}


def widened(additions: Additions, own: Raw, another: Raw | None = None) -> Raw:
    """A property, and those in it, with the values that the framework accepts beyond the schema; `another` are further ones of the key."""
    own = {**own, "anyOf": [widened_section(additions, each) for each in own["anyOf"]]} if "anyOf" in own else own
    own = widened_section(additions, own)
    named = types_of(own).union(*(types_of(each) for each in own.get("anyOf", ())))
    more = [each for name, values in additions.by_type.items() if name in named for each in values]
    if additions.placeholders and not any(map(takes_every_string, (own, *own.get("anyOf", ())))):
        more.append(PLACEHOLDER)
    more += [another] if another is not None else []
    return extended(own, more) if more else own


def widened_section(additions: Additions, own: Raw) -> Raw:
    """A schema with the properties in it widened."""
    if not isinstance(own.get("properties"), dict):
        return own
    return {
        **own,
        "properties": {key: widened(additions, each) if isinstance(each, dict) else each for key, each in own["properties"].items()},
    }


def types_of(raw: Raw) -> set[str]:
    """The types that a schema names; empty if it names all."""
    types = raw.get("type", ())
    return {types} if isinstance(types, str) else set(types if types != EVERY_TYPE else ())


def takes_every_string(raw: Raw) -> bool:
    """Whether a schema, without its alternatives, accepts strings whatever their content."""
    anything = not raw.keys() & {*RESTRICTIONS}
    return anything or ("string" in types_of(raw) and not raw.keys() & {"const", "enum", "pattern", "allOf"})


def extended(own: Raw, more: list[Raw]) -> Raw:
    """A property that accepts further values; its description and default stay where editors look for them."""
    unlike = [each for position, each in enumerate(more) if each not in more[:position]]
    restrictions = {keyword: value for keyword, value in own.items() if keyword in RESTRICTIONS}
    return {**{keyword: value for keyword, value in own.items() if keyword not in RESTRICTIONS}, "anyOf": [restrictions, *unlike]}


def converted(raw: Any) -> Any:
    """A schema, or a part of one, converted to draft-07."""
    if not isinstance(raw, dict):
        return raw
    found: Raw = {}
    for keyword, value in raw.items():
        convert = CONVERT.get(keyword)
        if convert is not None:
            found[keyword] = convert(value)
        elif keyword in PLAIN:
            found[keyword] = value
    if raw.get("x-checked-at") == "init":
        found.pop("not", None)  # refused only if the script passes no object of its own
    notes = notes_of(raw)
    if notes:
        found["description"] = f"{found.get('description', '')} ({'; '.join(notes)})".strip()
    if "$ref" in raw:  # draft-07 ignores every keyword next to `$ref`
        target = {"$ref": raw["$ref"].replace("#/$defs/", "#/definitions/")}
        found = {**found, "allOf": [target, *found.get("allOf", ())]} if found else target
    if "$ref" not in found:
        with_types(found)
    return found


def each_converted(schemas: dict[str, Any]) -> dict[str, Any]:
    """A mapping of schemas, converted."""
    return {name: converted(schema) for name, schema in schemas.items()}


def all_converted(schemas: list[Any]) -> list[Any]:
    """A list of schemas, converted."""
    return [converted(schema) for schema in schemas]


CONVERT: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(ONE, converted),
    **dict.fromkeys(SOME, all_converted),
    **dict.fromkeys(NAMED, each_converted),
}


def with_types(found: Raw) -> None:
    """Add the types to a schema that restricts none, and remove keywords that concern none of its types."""
    if "type" not in found:
        if any(keyword in found for keyword in NEEDED_TYPES):
            found["type"] = EVERY_TYPE
        return
    types = [found["type"]] if isinstance(found["type"], str) else found["type"]
    for keyword, needed in NEEDED_TYPES.items():
        if needed not in types and not (needed == "number" and "integer" in types):
            found.pop(keyword, None)


def notes_of(raw: Raw) -> list[str]:
    """The facts in the removed keywords that are useful to a person."""
    notes = []
    if "x-since" in raw:
        notes.append(f"since {raw['x-since']}")
    if "x-removed" in raw:
        notes.append(f"removed in {raw['x-removed']}")
    elif raw.get("deprecated"):
        notes.append("deprecated")
    successor = raw.get("x-renamed-to") or raw.get("x-replaced-by")
    if isinstance(successor, str):
        notes.append(f"use `{successor}`")
    return notes


def main() -> int:
    texts = {FOLDER / f"{kind}.json": text_of(kind, json.loads(Path(file_of(kind)).read_text(encoding="utf-8"))) for kind in kinds()}
    changed = {file: text for file, text in texts.items() if not file.exists() or file.read_text(encoding="utf-8") != text}
    for file, text in changed.items():
        if sys.argv[1:] != ["--check"]:
            FOLDER.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        print(file, file=sys.stderr)
    return 1 if changed and sys.argv[1:] == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main())
