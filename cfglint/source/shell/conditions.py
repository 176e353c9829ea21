"""Evaluates the tests of a script: `[ ... ]`, `[[ ... ]]`, `(( ... ))`."""

from __future__ import annotations

from cfglint.source.annotations import Callable, SyntaxNode
from cfglint.source.shell.arithmetic import NotArithmetic
from cfglint.source.shell.expansion import Expander, Unknowable
from cfglint.source.shell.matching import SPECIAL
from cfglint.source.shell.patterns import contains, fits
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
BINARY = (*COMPARISONS, "=", "==", "!=", "<", ">", "=~", "-nt", "-ot", "-ef")
NESTED = ("binary_expression", "unary_expression", "parenthesized_expression")
DEEPEST = 60


class Condition:
    """A test in a state; `exists(path)` tells whether a path of the project is a file or folder, None if that is unknown.

    The grammar groups the operands wrongly where `=` and `&&` are in one test, so that only its words and operators are used.
    """

    def __init__(self, expander: Expander, exists: Callable[[str], bool | None]) -> None:
        self.expander = expander
        self.text = expander.script.text
        self.exists = exists
        self.patterns = False  # whether the right side of `=` is a pattern
        self.tokens: list[SyntaxNode] = []
        self.at = 0

    def holds(self, node: SyntaxNode) -> bool | None:
        """Whether a test command succeeds; None if that is unknown."""
        if self.text.startswith("((", node.start_byte):
            return self.arithmetic(node.start_byte + 2, node.end_byte - 2)
        self.patterns = self.text.startswith("[[", node.start_byte)
        self.tokens = tokens_of(node)
        if not self.tokens or any(token.type == "ERROR" for token in self.tokens):
            return None
        value = self.any_of(0)
        return value if self.at == len(self.tokens) else None

    def arithmetic(self, start: int, end: int) -> bool | None:
        """Whether an arithmetic expression is not 0."""
        try:
            return self.expander.number(start, end) != 0
        except (Unknowable, NotArithmetic, RecursionError):
            return None

    def peek(self, ahead: int = 0) -> str:
        """The source of a token that is not taken yet, empty after the last one."""
        at = self.at + ahead
        return self.text[self.tokens[at].start_byte : self.tokens[at].end_byte] if at < len(self.tokens) else ""

    def take(self) -> SyntaxNode:
        """The next token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def any_of(self, depth: int) -> bool | None:
        """`a || b`."""
        value = self.all_of(depth)
        while self.peek() in ("||", "-o") and self.peek(1):
            self.take()
            value = either(value, self.all_of(depth))
        return value

    def all_of(self, depth: int) -> bool | None:
        """`a && b`, which binds closer than `||`."""
        value = self.negated(depth)
        while self.peek() in ("&&", "-a") and self.peek(1):
            self.take()
            value = both(value, self.negated(depth))
        return value

    def negated(self, depth: int) -> bool | None:
        negations = 0
        while self.peek() == "!" and self.peek(1):
            self.take()
            negations += 1
        value = self.primary(depth)
        return value if value is None or negations % 2 == 0 else not value

    def primary(self, depth: int) -> bool | None:
        """An expression in parentheses, a comparison, a test of one operand, or a string."""
        if self.peek() in ("(", "\\(") and depth < DEEPEST:
            self.take()
            value = self.any_of(depth + 1)
            if self.peek():
                self.take()
            return value
        if self.peek(1) in BINARY and self.peek(2):
            return self.compared(self.take(), self.take(), self.take())
        operator = self.peek()
        if len(operator) == 2 and operator[0] == "-" and self.peek(1):
            self.take()
            return self.unary(operator, self.operand(self.take()))
        return filled(self.operand(self.take()))

    def operand(self, node: SyntaxNode) -> Text:
        """The string value of an operand."""
        return self.expander.string(node.start_byte, node.end_byte)

    def unary(self, operator: str, operand: Text) -> bool | None:
        """`-z a`, `-v a`, `-f a`."""
        if operator in ("-z", "-n"):
            value = filled(operand)
            return value if value is None or operator == "-n" else not value
        if operator in ("-v", "-R") and operand.value:
            return self.is_set(operand.value)
        if operator in FILES and operand.value is not None:
            return self.exists(operand.value)
        return None

    def is_set(self, name: str) -> bool | None:
        """Whether a variable is set; None if that is unknown, as after a branch that sets it."""
        found = self.expander.found(name)
        if found is not None:
            return True if found.known else None
        return False if self.expander.absent(name).known else None

    def compared(self, first: SyntaxNode, between: SyntaxNode, second: SyntaxNode) -> bool | None:
        """Whether a comparison is true."""
        operator = self.text[between.start_byte : between.end_byte]
        left, right = self.operand(first).value, self.operand(second).value
        if left is None or right is None:
            return None
        if operator in COMPARISONS:
            try:
                numbers = self.expander.computed(left or "0"), self.expander.computed(right or "0")
            except (NotArithmetic, Unknowable):
                return False
            return bool(COMPARISONS[operator](*numbers))
        if operator in ("=", "==", "!="):
            equal = self.equal(left, right, second)
            return equal if equal is None or operator != "!=" else not equal
        if operator in ("<", ">"):
            return left < right if operator == "<" else left > right
        return self.matches(left, second) if operator == "=~" else None

    def equal(self, left: str, right: str, second: SyntaxNode) -> bool | None:
        """`a = b`, where `b` is a pattern in `[[ ]]`."""
        if not self.patterns:
            return left == right
        return fits(self.expander.pattern(second.start_byte, second.end_byte), left, self.expander.budget)

    def matches(self, value: str, second: SyntaxNode) -> bool | None:
        """`a =~ b`; what is quoted in `b` stands for itself."""
        pattern = self.expander.pattern(second.start_byte, second.end_byte, SPECIAL).value
        return contains(pattern, value, self.expander.budget) if pattern is not None else None


def tokens_of(node: SyntaxNode) -> list[SyntaxNode]:
    """The words, operators and parentheses of a test, in order."""
    found: list[SyntaxNode] = []
    left = node.children[-2:0:-1]
    while left:
        each = left.pop()
        if each.type in NESTED and each.children[0].type != "-":  # `-1` is one word
            left.extend(reversed(each.children))
        else:
            found.append(each)
    return found


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
