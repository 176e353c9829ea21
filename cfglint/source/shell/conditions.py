"""Evaluates the tests of a script: `[ ... ]`, `[[ ... ]]`, `(( ... ))`."""

from __future__ import annotations

from cfglint.source.shell.arithmetic import NotArithmetic
from cfglint.source.shell.expansion import Expander, Unknowable
from cfglint.source.shell.patterns import glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cfglint.source.shell.placed_text import Text

COMPARISONS = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
FILES = ("-e", "-f", "-s", "-r", "-x", "-d", "-L", "-h", "-w")
DEEPEST = 60


class Condition:
    """A test in a state; `exists(path)` tells whether a path of the project is a file or folder, None if that is unknown."""

    def __init__(self, expander: Expander, exists: Callable[[str], bool | None]) -> None:
        self.expander = expander
        self.text = expander.script.text
        self.exists = exists
        self.assumed = False  # whether the result depends on the current files of the project

    def holds(self, node: Any) -> bool | None:
        """Whether a test command succeeds; None if that is unknown."""
        inner = [child for child in node.children if child.is_named]
        if self.text.startswith("((", node.start_byte):
            return self.arithmetic(node.start_byte + 2, node.end_byte - 2)
        return self.expression(inner[0], 0) if len(inner) == 1 else None

    def arithmetic(self, start: int, end: int) -> bool | None:
        """Whether an arithmetic expression is not 0."""
        try:
            return self.expander.number(start, end) != 0
        except (Unknowable, NotArithmetic, RecursionError):
            return None

    def expression(self, node: Any, depth: int) -> bool | None:
        """Whether an expression is true."""
        if depth > DEEPEST:
            return None
        if node.type == "parenthesized_expression":
            inner = [child for child in node.children if child.is_named]
            return self.expression(inner[0], depth + 1) if len(inner) == 1 else None
        if node.type == "unary_expression":
            return self.unary(node, depth)
        if node.type == "binary_expression":
            return self.binary(node, depth)
        return filled(self.operand(node))

    def operand(self, node: Any) -> Text:
        """The string value of an operand."""
        return self.expander.string(node.start_byte, node.end_byte)

    def unary(self, node: Any, depth: int) -> bool | None:
        """`! a`, `-z a`, `-f a`."""
        operator = self.text[node.children[0].start_byte : node.children[0].end_byte]
        if operator == "!":
            value = self.expression(node.children[-1], depth + 1)
            return None if value is None else not value
        operand = self.operand(node.children[-1])
        if operator in ("-z", "-n"):
            value = filled(operand)
            return value if value is None or operator == "-n" else not value
        if operator in ("-v", "-R") and operand.value:
            return self.expander.value(operand.value).known
        if operator in FILES and operand.value is not None:
            self.assumed = True
            return self.exists(operand.value)
        return None

    def binary(self, node: Any, depth: int) -> bool | None:
        """Two operands, or two expressions."""
        operator = self.text[node.children[1].start_byte : node.children[1].end_byte]
        if operator in ("&&", "-a", "||", "-o"):
            left = self.expression(node.children[0], depth + 1)
            right = self.expression(node.children[2], depth + 1)
            return both(left, right) if operator in ("&&", "-a") else either(left, right)
        first = node.children[0]
        if first.type == "unary_expression" and first.children[0].type == "!":  # the grammar binds `!` to the next operand
            value = self.compared(first.children[-1], operator, node)
            return None if value is None else not value
        return self.compared(first, operator, node)

    def compared(self, first: Any, operator: str, node: Any) -> bool | None:
        """Whether a comparison with the left operand `first` is true."""
        left_text = self.operand(first)
        right_text = self.operand(node.children[2]) if len(node.children) > 2 else left_text
        left_value, right_value = left_text.value, right_text.value
        if left_value is None or right_value is None:
            return None
        if operator in COMPARISONS:
            try:
                numbers = self.expander.computed(left_value or "0"), self.expander.computed(right_value or "0")
            except (NotArithmetic, Unknowable):
                return False
            return bool(COMPARISONS[operator](*numbers))
        if operator in ("=", "==", "!="):
            equal = self.equal(node, left_value, right_value)
            return equal if operator != "!=" or equal is None else not equal
        if operator in ("<", ">"):
            return left_value < right_value if operator == "<" else left_value > right_value
        return self.matches(left_value, right_value) if operator == "=~" else None

    def equal(self, node: Any, left: str, right: str) -> bool | None:
        """Whether two strings are equal; between double brackets the right one is a pattern."""
        raw = self.text[node.children[2].start_byte : node.children[2].end_byte]
        if any(char in right for char in "*?[") and raw[:1] not in "\"'" and len(right) < 200 and right.count("*") < 4:
            import re

            return re.fullmatch(glob(right), left[:10_000], re.DOTALL) is not None
        return left == right

    @staticmethod
    def matches(value: str, pattern: str) -> bool | None:
        """`=~` for simple patterns."""
        import re

        if len(pattern) > 100 or len(value) > 1_000 or pattern.count("*") + pattern.count("+") > 3:
            return None
        try:
            return re.search(pattern, value) is not None
        except re.error:
            return None


def filled(text: Text) -> bool | None:
    """Whether a string is not empty; a known part is sufficient."""
    if any(part.text for part in text.parts):
        return True
    return False if text.known else None


def both(left: bool | None, right: bool | None) -> bool | None:
    """The `and` of two values that may be unknown."""
    if left is False or right is False:
        return False
    return True if left and right else None


def either(left: bool | None, right: bool | None) -> bool | None:
    """The `or` of two values that may be unknown."""
    if left or right:
        return True
    return False if left is False and right is False else None
