"""Operations on values of which some are unknown: what is unknown spreads, with its reasons, unless the result does not hang on it."""

from __future__ import annotations

import operator

from cfglint.evaluate import Unknown, distinct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any, TypeVar

    State = TypeVar("State")

PLAIN = (str, int, float, type(None))  # values with nothing inside
DEEPEST = 3  # containers that are looked into


def is_same(left: object, right: object) -> bool:
    """Whether two values are the same object for Python, as far as values of a file can tell."""
    return left is right or (type(left) is type(right) and left == right and not isinstance(left, list | dict))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
    "is": is_same,
    "is not": lambda a, b: not is_same(a, b),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "|": operator.or_,
    "&": operator.and_,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "//=": operator.ifloordiv,
}


def unknown(*values: object) -> Unknown | None:
    """One unknown value with the reasons of all that are unknown; None if every value is known."""
    unknowns = [value for value in values if isinstance(value, Unknown)]
    if len(unknowns) < 2:
        return unknowns[0] if unknowns else None
    return Unknown(*distinct(reason for value in unknowns for reason in value.reasons))


def inside(value: object, depth: int = 0) -> Unknown | None:
    if isinstance(value, Unknown):
        return value
    if depth < DEEPEST and isinstance(value, dict | list | tuple):
        parts: Iterable[object] = value.values() if isinstance(value, dict) else value
        return unknown(*(found for part in parts if (found := inside(part, depth + 1)) is not None))
    return None


def applied(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function, unknown if it gets anything unknown."""
    if all(isinstance(argument, PLAIN) for argument in arguments):
        return function(*arguments)
    doubt = unknown(*(found for argument in arguments if (found := inside(argument)) is not None))
    return function(*arguments) if doubt is None else doubt


def truth(value: object) -> bool | Unknown:
    return value if isinstance(value, Unknown) else bool(value)


def negated(value: object) -> bool | Unknown:
    return value if isinstance(value, Unknown) else not value


def either(doubt: Unknown, one: object, other: object) -> Any:
    """One of two values, and which is not known: the value if they are equal."""
    same = not isinstance(one, Unknown) and not isinstance(other, Unknown) and type(one) is type(other) and one == other
    return one if same else unknown(doubt, one, other)


def any_or_all(decisive: bool, items: Collection[Any]) -> bool | Unknown:
    if any(bool(item) == decisive for item in items if not isinstance(item, Unknown)):
        return decisive
    doubt = unknown(*items)
    return doubt if doubt is not None else not decisive


def all_of(tests: Sequence[Callable[[State], bool | Unknown]], wanted: bool, failure: type[Exception]) -> Callable[[State], bool | Unknown]:
    """Whether all tests hold, or, if `wanted` is false, any of them; those after one that decides are not looked at.

    After an unknown one Python may not get to the next one, which can fail.
    """
    if len(tests) == 1:
        return tests[0]

    def holds(state: State) -> bool | Unknown:
        doubt = None
        for test in tests:
            try:
                value = test(state)
            except failure:
                if doubt is None:
                    raise
                return doubt
            if isinstance(value, Unknown):
                doubt = value if doubt is None else unknown(value, doubt)
            elif value is not wanted:
                return value
        return wanted if doubt is None else doubt

    return holds
