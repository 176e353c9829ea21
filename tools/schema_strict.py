"""Draft-07 schemas as ajv's strict mode accepts them: one type in each `type`, and patterns with a title that describes them."""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]

OF_TYPE = {  # the keywords that are about one type alone
    "additionalProperties": "object",
    "exclusiveMaximum": "number",
    "exclusiveMinimum": "number",
    "items": "array",
    "maxItems": "array",
    "maxLength": "string",
    "maximum": "number",
    "minItems": "array",
    "minLength": "string",
    "minimum": "number",
    "multipleOf": "number",
    "pattern": "string",
    "patternProperties": "object",
    "properties": "object",
    "required": "object",
    "uniqueItems": "array",
}
AUTO = "^auto$"
OR_AUTO = "|^auto$"
NUMBER = "a number as a string, such as '1e-5'"
INTEGER = "an integer as a string, such as '8'"
MESSAGES = {  # descriptions of the strings that match a pattern
    r"\$\{": "a placeholder that is filled before the values are read, such as ${NAME}",
    r"^tokenizer_default_fallback_": "tokenizer_default_fallback_ and the name of a chat template",
    r"^\s*\+?[0123]\s*$": "an integer from 0 to 3 as a string",
    r"^\s*[+-]?\d+(?:_\d+)*(?:\.0+)?\s*$": INTEGER,
    r"^\s*[+-]?\d+(?:_\d+)*\s*$": INTEGER,
    r"^\s*[+-]?[0-9]+\s*$": INTEGER,
    r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$": NUMBER,
    r"^\s*[+-]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$": NUMBER,
    r"^\s*[+-]?(?:\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)\s*$": NUMBER,
    r"^\s*[+-]?(?:\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
    r"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*$": NUMBER,
    r"^([Yy][Ee][Ss]|[Tt][Rr][Uu][Ee]|[TtYy1]|[Nn][Oo]|[Ff][Aa][Ll][Ss][Ee]|[FfNn0])$": "a boolean as a string, such as 'true' or 'no'",
    r".": "a string that is not empty",
}
LETTERS = "^(?:["  # the beginning of a case-insensitive pattern of words


def strict(raw: Any) -> Any:
    """A schema and its subschemas with one type each and with descriptions of the patterns."""
    if isinstance(raw, list):
        return [strict(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    found = {keyword: value if keyword in ("default", "examples", "enum", "const") else strict(value) for keyword, value in raw.items()}
    if isinstance(found.get("type"), list):
        found = separated(found)
    if isinstance(found.get("anyOf"), list):
        found["anyOf"] = flat(found["anyOf"])
    return with_message(found) if isinstance(found.get("pattern"), str) else found


def separated(found: Raw) -> Raw:
    """A schema of several types as an alternative for each type; if the values are listed, their types are used."""
    rest = {keyword: value for keyword, value in found.items() if keyword != "type" and keyword not in OF_TYPE}
    if "enum" in found:
        return rest
    types = [each for each in found["type"] if each != "integer" or "number" not in found["type"]]
    alternatives = [of_type(found, each) for each in types]
    if "anyOf" in rest:
        rest["allOf"] = [*rest.get("allOf", ()), {"anyOf": alternatives}]
    else:
        rest["anyOf"] = alternatives
    return rest


def of_type(found: Raw, name: str) -> Raw:
    """The restrictions of a schema on the values of one type."""
    family = "number" if name == "integer" else name
    own = {"type": name, **{keyword: value for keyword, value in found.items() if OF_TYPE.get(keyword) == family}}
    return with_message(own) if "pattern" in own else own


def flat(alternatives: list[Raw]) -> list[Raw]:
    """Alternatives without nesting and without repetitions."""
    found: list[Raw] = []
    for alternative in alternatives:
        for part in alternative["anyOf"] if isinstance(alternative, dict) and alternative.keys() == {"anyOf"} else [alternative]:
            if part not in found:
                found.append(part)
    return found


def with_message(found: Raw) -> Raw:
    """A schema with a pattern, with a description of the required string; a pattern of one word becomes that constant."""
    pattern = found["pattern"]
    if pattern == AUTO:
        return {**{keyword: value for keyword, value in found.items() if keyword != "pattern"}, "const": "auto"}
    return found if "description" in found else {**found, "description": message(pattern)}


def message(pattern: str) -> str:
    """The requirement of a pattern on a string, for people."""
    if pattern.endswith(OR_AUTO):
        return f'{message(pattern.removesuffix(OR_AUTO))}, or "auto"'
    return f"{words(pattern)}, in upper or lower case" if pattern.startswith(LETTERS) else MESSAGES[pattern]


def words(pattern: str) -> str:
    """The words of a pattern that has each letter in both cases: `^(?:[oO][nN]|0)$`."""
    plain = pattern.removeprefix("^(?:").removesuffix(")$")
    first, *parts = plain.split("[")
    return (first + "".join(part[0] + part.partition("]")[2] for part in parts)).replace("|", " or ")
