"""Conversion of values by pydantic 1, by the type of the field (pydantic 1.10, validators.py).

DeepSpeed's sections are models of pydantic 1 up to 0.14.5, through `pydantic.v1` if pydantic 2 is installed. Fractions are truncated
to integers, numbers are accepted as strings, but an enumeration is looked up by its value alone.
"""

from __future__ import annotations

from cfglint.frameworks.validation import pydantic
from cfglint.frameworks.validation.pydantic import BOOLEAN, CHOICE, INTEGER, NUMBER, Invalid, Loader, Path, Reading, exactly, is_simple
from cfglint.source.annotations import Any, Callable, ConfigMapping, Operand


def boolean(value: object) -> bool:
    try:
        return pydantic.boolean(value)
    except Invalid:
        raise Invalid("value could not be parsed to a boolean", BOOLEAN) from None


def by(convert: Callable[[Any], Operand], message: str, needed: str) -> Loader:
    """The loader of whatever a type of Python makes of a scalar: fractions are truncated to integers, numbers become strings."""

    def load(value: object) -> Operand:
        try:
            if isinstance(value, (int, float, str)):
                return convert(value)
        except (ValueError, OverflowError):
            pass
        raise Invalid(message, needed)

    return load


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
        loader = READERS.get(reads) if is_simple(reads) else None
        if value is None and (loader is not None or reads[0] == "enum"):
            raise null()
        return super().read(reads, value, path) if loader is None else loader(value)


def null() -> Invalid:
    return Invalid("none is not an allowed value", "another value")


READERS: dict[Any, Loader] = {
    "Path": exactly(str, "value is not a valid path", "a path"),
    "bool": boolean,
    "dict": mapping,
    "float": by(float, "value is not a valid float", NUMBER),
    "int": by(int, "value is not a valid integer", INTEGER),
    "list": exactly(list, "value is not a valid list", "a list"),
    "str": by(str, "str type expected", "a string"),
    ("enum", 0, 1, 2, 3): stage,
}
