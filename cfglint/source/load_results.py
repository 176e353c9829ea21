"""The result of loading a document: its value, or the error that the library would raise."""

from __future__ import annotations

from cfglint.source.annotations import Any, ConfigValue, Item, ProblemKind
from cfglint.source.document import LIMIT, Node, Problem
from cfglint.source.limits import MOST_DIGITS
from cfglint.source.record import Record


class LoadResult(Record):
    """A document's value in plain Python, or the problems for which loading fails (then the value is None)."""

    value: ConfigValue
    problems: list[Problem]


class Unloadable(Exception):
    """Loading fails at a node, with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refused(node: Node, exception: str, kind: ProblemKind = "value") -> Unloadable:
    what = exception.split(": ", 1)[1]
    return Unloadable(Problem(node.head, node.end, what, kind, exception))


def too_long(node: Node) -> Unloadable:
    message = f"a number of {len(node.raw):,} digits; the limit is {MOST_DIGITS}"
    return Unloadable(Problem(node.head, node.end, message, LIMIT))


def constructor_error(text: str) -> str:
    return f"yaml.constructor.ConstructorError: {text}"


def copied(value: Item, made: dict[int, Any] | None = None) -> Item:
    """A copy of a loaded value, its lists and mappings; what is in it twice, through an alias, is copied once. Faster than `deepcopy`."""
    if not isinstance(value, (dict, list)):
        return value
    made = {} if made is None else made
    copy: Any = made.get(id(value))
    if copy is not None:
        return copy  # type: ignore[no-any-return]  # of the type of the value
    if isinstance(value, list):
        copy = made[id(value)] = []
        copy.extend([copied(each, made) if isinstance(each, (dict, list)) else each for each in value])
    else:
        copy = made[id(value)] = {}
        for key, each in value.items():
            copy[key] = copied(each, made) if isinstance(each, (dict, list)) else each
    return copy  # type: ignore[no-any-return]
