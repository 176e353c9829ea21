"""Conversion of values by pydantic's lax mode, by the type of the field (pydantic 2.14).

Each loader returns the value that the model would hold, or raises Refused with pydantic's message. Values are
those of a JSON parser: None, bool, int, float, str, list, dict.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Loader = Callable[[Any], Any]

TRUE_WORDS = ("1", "on", "t", "true", "y", "yes")
FALSE_WORDS = ("0", "off", "f", "false", "n", "no")
LIMITS = {
    "minimum": "greater than or equal to",
    "exclusiveMinimum": "greater than",
    "maximum": "less than or equal to",
    "exclusiveMaximum": "less than",
}
INT64 = 9_223_372_036_854_775_808
COMPOSED: dict[Loader, tuple[Callable[..., Loader], tuple[Any, ...]]] = {}  # composed loaders: (function, arguments)


class Refused(Exception):
    """A value that the field does not accept, with pydantic's message."""


def boolean(value: Any) -> bool:
    """Parse a `bool`: booleans, 0 and 1 as numbers, and the usual words in any case."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        if value in (0, 1):
            return value == 1
    elif isinstance(value, str):
        word = value.lower()
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
    else:
        raise Refused("Input should be a valid boolean")
    if isinstance(value, float) and not value.is_integer():
        raise Refused("Input should be a valid boolean")
    raise Refused("Input should be a valid boolean, unable to interpret input")


def integer(value: Any) -> int:
    """Parse an `int`: integers, also as integral floats, booleans or decimal strings."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return integer_of_float(value)
    if isinstance(value, str):
        return parsed_integer(value)
    raise Refused("Input should be a valid integer")


def finite(value: float) -> bool:
    """Whether a float is neither infinite nor not a number."""
    return value - value == 0


def integer_of_float(value: float) -> int:
    """The integer value of an integral float."""
    if not finite(value):
        raise Refused("Input should be a finite number")
    if not value.is_integer():
        raise Refused("Input should be a valid integer, got a number with a fractional part")
    if not -INT64 <= value < INT64:
        raise Refused("Unable to parse input string as an integer, exceeded maximum size")
    return int(value)


def parsed_integer(text: str) -> int:
    """Parse the integer in a string: ` 5 `, `5_000`, `+5`, `5.0`, but neither `5e3` nor `5.5`."""
    digits = text.strip(" \t\n\r\v\f")
    head, dot, tail = digits.partition(".")
    if dot and tail and not tail.strip("0"):
        digits = head
    sign = digits[:1] if digits[:1] in ("+", "-") else ""
    bare = digits[len(sign) :]
    if bare[:1].isdigit() and "__" not in bare and not bare.endswith("_") and bare.isascii() and bare.replace("_", "").isdigit():
        if len(bare) > 4300:
            raise Refused("Unable to parse input string as an integer, exceeded maximum size")
        return int(sign + bare.replace("_", ""))
    raise Refused("Input should be a valid integer, unable to parse string as an integer")


def number(value: Any) -> float:
    """Parse a `float`: numbers, booleans, and strings that Python's float accepts."""
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            raise Refused("Input should be a valid number") from None
    if isinstance(value, str):
        try:
            return float(value if value.isascii() else "")
        except ValueError:
            raise Refused("Input should be a valid number, unable to parse string as a number") from None
    raise Refused("Input should be a valid number")


def broken_limit(value: float, limits: Iterable[tuple[str, Any]]) -> str:
    """The first limit that a number violates, in pydantic's wording: `greater than 0`; empty if it violates none."""
    broken = {name: limit for name, limit in limits if name in LIMITS and not keeps(name, value, limit)}
    return next((f"{words} {broken[name]}" for name, words in LIMITS.items() if name in broken), "")


def keeps(name: str, value: float, limit: float) -> bool:
    """Whether a number is within a bound."""
    if name == "minimum":
        return value >= limit
    if name == "maximum":
        return value <= limit
    return value > limit if name == "exclusiveMinimum" else value < limit


def text(value: Any) -> str:
    """Parse a `str`: only strings."""
    if isinstance(value, str):
        return value
    raise Refused("Input should be a valid string")


def path(value: Any) -> str:
    """Parse a `pathlib.Path`: only strings."""
    if isinstance(value, str):
        return value
    raise Refused("Input is not a valid path for <class 'pathlib.Path'>")


def items(value: Any) -> list[Any]:
    """Parse a `list`."""
    if isinstance(value, list):
        return value
    raise Refused("Input should be a valid list")


def items_of(loader: Loader) -> Loader:
    """A loader for `list[...]`, each item converted by `loader`."""

    def read(value: Any) -> list[Any]:
        return [loader(item) for item in items(value)]

    COMPOSED[read] = (items_of, (loader,))
    return read


def mapping(value: Any) -> dict[Any, Any]:
    """Parse a `dict`."""
    if isinstance(value, dict):
        return value
    raise Refused("Input should be a valid dictionary")


def anything(value: Any) -> Any:
    """Accept any `object`."""
    return value


def optional(loader: Loader) -> Loader:
    """A loader for `Optional[...]`: null, or any value that `loader` accepts."""

    def read(value: Any) -> Any:
        return None if value is None else loader(value)

    COMPOSED[read] = (optional, (loader,))
    return read


def one_of(*choices: str) -> Loader:
    """A loader for a string that is one of `choices`, spelled exactly."""

    def read(value: Any) -> str:
        if isinstance(value, str) and value in choices:
            return value
        quoted = [repr(choice) for choice in choices]
        raise Refused(f"Input should be {', '.join(quoted[:-1])} or {quoted[-1]}")

    COMPOSED[read] = (one_of, choices)
    return read


def text_or_integer(value: Any) -> str | int:
    """Parse a `Union[str, int]`: strings stay strings."""
    if isinstance(value, str):
        return value
    try:
        return integer(value)
    except Refused:
        raise Refused("Input should be a valid string") from None


def stage(value: Any) -> int:
    """Parse ZeRO's stage: 0 to 3, also as a boolean, an integral float or a string of one digit."""
    if isinstance(value, (int, float)) and value in (0, 1, 2, 3):
        return int(value)
    if isinstance(value, str):
        try:
            found = parsed_integer(value)
        except Refused:
            found = -1
        if 0 <= found <= 3:
            return found
    raise Refused("Input should be 0, 1, 2, 3 or 3")


def torch_type(value: Any) -> Any:
    """Parse a `torch.dtype`: refuse every value, because no file can contain such an object."""
    raise Refused("Input should be an instance of dtype")
