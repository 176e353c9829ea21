"""The schema of a kind for other tools: JSON Schema draft-07, with no keyword of our own, strict in ajv.

Editors and https://www.schemastore.org read draft-07. What our `x-` keywords say is left out, except where a
person wants to read it: the description says since when a key exists, that it was removed, or that it is deprecated.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Raw = dict[str, Any]

DRAFT_7 = "http://json-schema.org/draft-07/schema#"

PLAIN = frozenset(  # keywords that mean the same in both drafts and hold no schemas
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
ONE = frozenset(("additionalProperties", "items", "not"))  # hold a schema
SOME = frozenset(("allOf", "anyOf", "oneOf"))  # hold a list of schemas
NAMED = frozenset(("patternProperties", "properties"))  # hold schemas by name
NEEDED_TYPES = {  # ajv's strict mode wants the type named where one of these keywords is used
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
EVERY_TYPE = ["array", "boolean", "null", "number", "object", "string"]


RESTRICTIONS = (*NEEDED_TYPES, *SOME, *NAMED, "additionalProperties", "const", "enum", "not", "required", "type")
PLACEHOLDER = {"type": "string", "pattern": r"\$\{"}  # of an environment variable or of OmegaConf: filled before the values are read
NUMBER_AS_STRING = {"type": "string", "pattern": r"^\s*[+-]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"}
TRUTH = {"enum": [None, 0, 1, "true", "True"]}  # for a boolean that is only asked whether it is true: these mean what they say
MORE_VALUES: dict[str, dict[str, Raw]] = {  # what the framework takes for a key beyond the schema, which is what a person should write
    "accelerate": {
        "distributed_type": {"const": False},  # YAML 1.1 reads NO as false
        "dynamo_backend": {"const": False},
        "mixed_precision": {"const": False},
        "num_processes": {"const": "auto"},  # torchrun counts the GPUs
    },
    "llamafactory": {"resume_from_checkpoint": {"const": False}, "reward_model_type": {"type": "string"}},
    "trl": {"reward_funcs": {"type": "string"}},
}
MORE_BY_TYPE: dict[str, dict[str, tuple[Raw, ...]]] = {
    "axolotl": {  # pydantic 2 in lax mode
        "boolean": (PLACEHOLDER,),
        "integer": (PLACEHOLDER, {"type": "boolean"}, NUMBER_AS_STRING),
        "number": (PLACEHOLDER, {"type": "boolean"}, NUMBER_AS_STRING),
    },
    "huggingface": {"boolean": (TRUTH,)},
    "llamafactory": {"boolean": (PLACEHOLDER,), "integer": (PLACEHOLDER,), "number": (PLACEHOLDER,)},
}
PARTIAL = frozenset(("llamafactory",))  # with USE_MCA=1 the keys of Megatron-Core are read as well: an unknown key is for `check` to judge


def draft7(kind: str, schema: Raw) -> Raw:
    """The schema of a kind, as its file has it, as draft-07."""
    exported = {"$schema": DRAFT_7, **converted(schema)}
    for key, own in exported["properties"].items():
        types = own.get("type", ())
        named = {types} if isinstance(types, str) else set(types)
        more = [each for name, values in MORE_BY_TYPE.get(kind, {}).items() if name in named for each in values]
        if key in MORE_VALUES.get(kind, {}):
            more.append(MORE_VALUES[kind][key])
        if more:
            exported["properties"][key] = extended(own, more)
    if kind in PARTIAL:
        exported.pop("additionalProperties", None)
    if "$defs" in schema:
        exported["definitions"] = each_converted(schema["$defs"])
    return exported


def extended(own: Raw, more: list[Raw]) -> Raw:
    """A property that takes further values; its description and default stay where editors look for them."""
    unlike = [each for position, each in enumerate(more) if each not in more[:position]]
    restrictions = {keyword: value for keyword, value in own.items() if keyword in RESTRICTIONS}
    return {**{keyword: value for keyword, value in own.items() if keyword not in RESTRICTIONS}, "anyOf": [restrictions, *unlike]}


def converted(raw: Any) -> Any:
    """A schema, or a part of one, as draft-07."""
    if not isinstance(raw, dict):
        return raw
    found: Raw = {}
    for keyword, value in raw.items():
        convert = CONVERT.get(keyword)
        if convert is not None:
            found[keyword] = convert(value)
        elif keyword in PLAIN:
            found[keyword] = value
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
    """Schemas by name, converted."""
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
    """Name the types where a schema restricts none, and drop keywords that are about none of its types."""
    if "type" not in found:
        if any(keyword in found for keyword in NEEDED_TYPES):
            found["type"] = EVERY_TYPE
        return
    types = [found["type"]] if isinstance(found["type"], str) else found["type"]
    for keyword, needed in NEEDED_TYPES.items():
        if needed not in types and not (needed == "number" and "integer" in types):
            found.pop(keyword, None)


def notes_of(raw: Raw) -> list[str]:
    """What a person wants to read of the keywords that are left out."""
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
