"""The exceptions that Python raises for operations on values of an unsuitable type."""

from __future__ import annotations

from cfglint.source.annotations import Any, Callable


def raised(operation: Callable[[], Any]) -> str | None:
    """The exception that an operation raises, as `Type: message`; None if it succeeds."""
    try:
        operation()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def is_integer(value: object) -> bool:
    return type(value) is int


def describe(value: object) -> str:
    """A value as a message shows it: as the file spells it, with the type if the spelling could hide it."""
    from cfglint.findings.wording import spelled

    if isinstance(value, str):
        return f"the string {spelled(value)}"
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    return spelled(value) if value is None or isinstance(value, (bool, int, float)) else f"a {type(value).__name__}"
