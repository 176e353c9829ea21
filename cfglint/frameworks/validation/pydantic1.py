"""Conversion of values by pydantic 1, by the type of the field (pydantic 1.10, validators.py).

DeepSpeed's sections are models of pydantic 1 up to 0.14.5, through `pydantic.v1` if pydantic 2 is installed. Fractions are truncated
to integers, numbers are accepted as strings, but an enumeration is looked up by its value alone.
"""

from __future__ import annotations

from cfglint.frameworks.validation.pydantic import (
    BOOLEAN,
    CHOICE,
    FALSE_WORDS,
    INTEGER,
    NUMBER,
    TRUE_WORDS,
    Invalid,
    Loader,
    Path,
    Reading,
    is_simple,
)
from cfglint.source.annotations import Any, ConfigMapping, Operand


def boolean(value: object) -> bool:
    """Parse a `bool`: booleans, 0 and 1 as numbers, and the usual words in any case."""
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return value == 1
    word = value.lower() if isinstance(value, str) else ""
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return word in TRUE_WORDS
    raise Invalid("value could not be parsed to a boolean", BOOLEAN)


def integer(value: object) -> int:
    """Parse an `int`: any value that int() accepts; fractions are truncated."""
    if isinstance(value, (int, float, str)):
        try:
            return int(value)
        except (ValueError, OverflowError):
            pass
    raise Invalid("value is not a valid integer", INTEGER)


def number(value: object) -> float:
    """Parse a `float`: any value that float() accepts."""
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise Invalid("value is not a valid float", NUMBER)


def text(value: object) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    raise Invalid("str type expected", "a string")


def file_path(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Invalid("value is not a valid path", "a path")


def items(value: object) -> list[Operand]:
    if isinstance(value, list):
        return value
    raise Invalid("value is not a valid list", "a list")


def mapping(value: Operand) -> ConfigMapping:
    """Parse a `dict`: any value that dict() accepts, so also an empty string and a list of pairs."""
    try:
        return dict(value)
    except (TypeError, ValueError):
        raise Invalid("value is not a valid dict", "a mapping") from None


def stage(value: object) -> int:
    """Parse ZeRO's stage: an enumeration of 0 to 3, which equal numbers and booleans select, but no strings."""
    if isinstance(value, (int, float)) and value in (0, 1, 2, 3):
        return int(value)
    raise Invalid("value is not a valid enumeration member; permitted: 0, 1, 2, 3", "0, 1, 2 or 3", CHOICE)


class EarlierReading(Reading):
    """The result of reading values by annotations with pydantic 1."""

    major = 1

    def read(self, reads: Operand, value: Operand, path: Path) -> Operand:
        """Convert a value by an annotation; raises Invalid."""
        loader = READERS.get(reads) if is_simple(reads) else None
        if value is None and (loader is not None or reads[0] == "enum"):
            raise null()
        return super().read(reads, value, path) if loader is None else loader(value)


def null() -> Invalid:
    return Invalid("none is not an allowed value", "another value")


READERS: dict[Any, Loader] = {
    "Path": file_path,
    "bool": boolean,
    "dict": mapping,
    "float": number,
    "int": integer,
    "list": items,
    "str": text,
    ("enum", 0, 1, 2, 3): stage,
}
