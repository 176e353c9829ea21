"""What a reader makes of a document: its value, or the refusal that the library would raise."""

from __future__ import annotations

from cfglint.source.document import Node, Problem
from cfglint.source.limits import MOST_DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LoadResult:
    """A document's value in plain Python, or the problems for which its reader refuses it (the value is None then)."""

    __slots__ = ("problems", "value")

    def __init__(self, value: Any, problems: list[Problem]) -> None:
        self.value = value
        self.problems = problems


class Refused(Exception):
    """The reader stops at a node, for a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refused(node: Node, exception: str, kind: str = "value") -> Refused:
    """The refusal of a node with the exception that the library would raise."""
    what = exception.split(": ", 1)[1]
    return Refused(Problem(node.head, node.end, what, kind, exception))


def too_long(node: Node) -> Refused:
    """The refusal of an integer that only cfglint does not take."""
    message = f"a number of {len(node.raw):,} digits; the limit is {MOST_DIGITS}"
    return Refused(Problem(node.head, node.end, message, "digits"))


def constructor_error(text: str) -> str:
    """PyYAML's exception for a value that it cannot build."""
    return f"yaml.constructor.ConstructorError: {text}"
