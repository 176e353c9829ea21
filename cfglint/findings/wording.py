"""How messages write values: as a config file spells them, short enough for one line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

LONGEST_VALUE = 60  # characters of a value in a message
EXPECTATIONS = (
    ("a valid integer", "an integer"),
    ("a valid dictionary", "a mapping"),
    ("a dictionary or an instance of", "a mapping for"),
    ("a valid ", "a "),
    ("2, 3 or 3", "2 or 3"),
)


def spelled(value: Any) -> str:
    """A value as JSON and YAML spell it: `null`, `true`, `"auto"`, `[1, 2]`, never `None`, `True` or `'auto'`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + shortened(value) + '"'
    if isinstance(value, (list, tuple)):
        return shortened("[" + ", ".join(spelled(each) for each in value[:LONGEST_VALUE]) + "]")
    if isinstance(value, dict):
        pairs = [f"{spelled(key)}: {spelled(each)}" for key, each in list(value.items())[:LONGEST_VALUE]]
        return shortened("{" + ", ".join(pairs) + "}")
    return shortened(str(value))


def described(value: Any) -> str:
    """A value in a message about its type: `the string "1.0"`, else as the file spells it."""
    return ("the string " if isinstance(value, str) else "") + spelled(value)


def counted(number: object, noun: str) -> str:
    """`1 completion`, `2 completions`, `2 processes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def required(expected: str) -> str:
    """What pydantic expects, in the wording of cfglint's messages: `an integer` for `a valid integer`."""
    for words, ours in EXPECTATIONS:
        expected = expected.replace(words, ours)
    return expected


def shortened(text: str) -> str:
    """A string whose middle is left out if it is too long for a message."""
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def listed(values: Iterable[str], conjunction: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`."""
    *first, last = values
    return f"{', '.join(first)} {conjunction} {last}" if first else last
