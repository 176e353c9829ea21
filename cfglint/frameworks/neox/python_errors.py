"""What Python itself raises for an operation on a value of the wrong type."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def raised(operation: Callable[[], Any]) -> str | None:
    """`Type: text` of what an operation raises, None when it works."""
    try:
        operation()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def hollow(value: Any) -> Any:
    """A value of the same type that costs nothing to multiply; numbers stay as they are."""
    if isinstance(value, (str, list, dict)):
        return type(value)()
    return value


def number(value: Any) -> bool:
    """Whether a value takes part in arithmetic: int, float or bool."""
    return isinstance(value, (int, float))


def whole(value: Any) -> bool:
    """Whether a value is an int and no bool."""
    return type(value) is int


def describe(value: Any) -> str:
    """A value as a message shows it: its type and, when short, itself."""
    if value is None:
        return "null"
    shown = repr(value)
    article = {"str": "text", "bool": "a boolean", "list": "a list", "dict": "a mapping", "float": "a float", "int": "a whole number"}
    kind = article.get(type(value).__name__, type(value).__name__)
    return f"{kind} ({shown})" if len(shown) <= 40 else kind
