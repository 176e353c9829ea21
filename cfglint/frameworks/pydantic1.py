"""Conversion of values by pydantic 1, by the type of the field (pydantic 1.10, validators.py).

DeepSpeed's sections are models of pydantic 1 up to 0.14.5, through `pydantic.v1` if pydantic 2 is installed. `earlier`
returns the loader that replaces one of pydantic 2: fractions are truncated to integers, numbers are accepted as
strings, but an enumeration is looked up by its value alone.
"""

from __future__ import annotations

from cfglint.frameworks import pydantic
from cfglint.frameworks.pydantic import FALSE_WORDS, TRUE_WORDS, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.pydantic import Loader

NULL = "none is not an allowed value"
MEMBERS = "value is not a valid enumeration member; permitted: "


def boolean(value: Any) -> bool:
    """Parse a `bool`: booleans, 0 and 1 as numbers, and the usual words in any case."""
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return value == 1
    word = value.lower() if isinstance(value, str) else ""
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return word in TRUE_WORDS
    raise Refused("value could not be parsed to a boolean")


def integer(value: Any) -> int:
    """Parse an `int`: any value that int() accepts; fractions are truncated."""
    if isinstance(value, (int, float, str)):
        try:
            return int(value)
        except (ValueError, OverflowError):
            pass
    raise Refused("value is not a valid integer")


def number(value: Any) -> float:
    """Parse a `float`: any value that float() accepts."""
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise Refused("value is not a valid float")


def text(value: Any) -> str:
    """Parse a `str`: strings, and numbers and booleans as Python prints them."""
    if isinstance(value, (str, int, float)):
        return str(value)
    raise Refused("str type expected")


def path(value: Any) -> str:
    """Parse a `pathlib.Path`: only strings."""
    if isinstance(value, str):
        return value
    raise Refused("value is not a valid path")


def items(value: Any) -> list[Any]:
    """Parse a `list`."""
    if isinstance(value, list):
        return value
    raise Refused("value is not a valid list")


def mapping(value: Any) -> dict[Any, Any]:
    """Parse a `dict`: any value that dict() accepts, so also an empty string and a list of pairs."""
    try:
        return dict(value)
    except (TypeError, ValueError):
        raise Refused("value is not a valid dict") from None


def stage(value: Any) -> int:
    """Parse ZeRO's stage: an enumeration of 0 to 3, which equal numbers and booleans select, but no strings."""
    if isinstance(value, (int, float)) and value in (0, 1, 2, 3):
        return int(value)
    raise Refused(MEMBERS + "0, 1, 2, 3")


EARLIER: dict[Loader, Loader] = {
    pydantic.boolean: boolean,
    pydantic.integer: integer,
    pydantic.number: number,
    pydantic.text: text,
    pydantic.path: path,
    pydantic.items: items,
    pydantic.mapping: mapping,
    pydantic.stage: stage,
}


def earlier(loader: Loader) -> Loader:
    """The loader of pydantic 1 for the type that `loader` parses with pydantic 2; other loaders are kept.

    Null is refused with a message of its own if the type is not optional.
    """
    parts = pydantic.COMPOSED.get(loader)
    if parts is not None:
        combine, arguments = parts
        if combine is pydantic.one_of:
            return member(*arguments)
        return combine(*[earlier(part) for part in arguments])
    found = EARLIER.get(loader)
    return loader if found is None else not_null(found)


def not_null(loader: Loader) -> Loader:
    """Return `loader` with a check that refuses null first."""

    def read(value: Any) -> Any:
        if value is None:
            raise Refused(NULL)
        return loader(value)

    return read


def member(*choices: str) -> Loader:
    """A loader for an enumeration of strings."""

    def read(value: Any) -> str:
        if value is None:
            raise Refused(NULL)
        if isinstance(value, str) and value in choices:
            return value
        raise Refused(MEMBERS + ", ".join(repr(choice) for choice in choices))

    return read
