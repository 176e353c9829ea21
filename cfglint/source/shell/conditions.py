"""Evaluates the tests of a script: `[ ... ]`, `[[ ... ]]`, `(( ... ))`."""

from __future__ import annotations

from cfglint.evaluate import Unknown, distinct
from cfglint.evaluate.operations import any_or_all, negated
from cfglint.source.annotations import Callable, SyntaxNode, Truth
from cfglint.source.shell.arithmetic import NotArithmetic
from cfglint.source.shell.expansion import Expander, Unknowable
from cfglint.source.shell.matching import SPECIAL
from cfglint.source.shell.patterns import contains, fits
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.reasons import UNCLEAR

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

    def holds(self, node: SyntaxNode) -> Truth:
        """Whether a test command succeeds."""
        if self.text.startswith("((", node.start_byte):
            return self.arithmetic(node.start_byte + 2, node.end_byte - 2)
        self.patterns = self.text.startswith("[[", node.start_byte)
        self.tokens = tokens_of(node)
        if not self.tokens or any(token.type == "ERROR" for token in self.tokens):
            return UNCLEAR
        value = self.any_of(0)
        return value if self.at == len(self.tokens) else UNCLEAR

    def arithmetic(self, start: int, end: int) -> Truth:
        """Whether an arithmetic expression is not 0."""
        try:
            return self.expander.number(start, end) != 0
        except (Unknowable, NotArithmetic, RecursionError):
            return UNCLEAR

    def peek(self, ahead: int = 0) -> str:
        """The source of a token that is not taken yet, empty after the last one."""
        at = self.at + ahead
        return self.text[self.tokens[at].start_byte : self.tokens[at].end_byte] if at < len(self.tokens) else ""

    def take(self) -> SyntaxNode:
        """The next token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def any_of(self, depth: int) -> Truth:
        """`a || b`."""
        value = self.all_of(depth)
        while self.peek() in ("||", "-o") and self.peek(1):
            self.take()
            value = any_or_all(True, (value, self.all_of(depth)))
        return value

    def all_of(self, depth: int) -> Truth:
        """`a && b`, which binds closer than `||`."""
        value = self.negated(depth)
        while self.peek() in ("&&", "-a") and self.peek(1):
            self.take()
            value = any_or_all(False, (value, self.negated(depth)))
        return value

    def negated(self, depth: int) -> Truth:
        negations = 0
        while self.peek() == "!" and self.peek(1):
            self.take()
            negations += 1
        value = self.primary(depth)
        return negated(value) if negations % 2 else value

    def primary(self, depth: int) -> Truth:
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

    def unary(self, operator: str, operand: Text) -> Truth:
        """`-z a`, `-v a`, `-f a`."""
        if operator in ("-z", "-n"):
            value = filled(operand)
            return value if operator == "-n" else negated(value)
        if operator in ("-v", "-R") and operand.value:
            return self.is_set(operand.value)
        if operator in FILES and operand.value is not None:
            exists = self.exists(operand.value)
            return UNCLEAR if exists is None else exists
        return UNCLEAR

    def is_set(self, name: str) -> Truth:
        """Whether a variable is set; unknown after a branch that sets it."""
        text = self.expander.found(name)
        value = self.expander.absent(name) if text is None else text
        return text is not None if value.known else Unknown(*value.reasons)

    def compared(self, first: SyntaxNode, between: SyntaxNode, second: SyntaxNode) -> Truth:
        """Whether a comparison is true."""
        operator = self.text[between.start_byte : between.end_byte]
        operands = self.operand(first), self.operand(second)
        left, right = (operand.value for operand in operands)
        if left is None or right is None:
            return Unknown(*distinct(reason for operand in operands for reason in operand.reasons))
        if operator in COMPARISONS:
            try:
                numbers = self.expander.computed(left or "0"), self.expander.computed(right or "0")
            except (NotArithmetic, Unknowable):
                return False
            return bool(COMPARISONS[operator](*numbers))
        if operator in ("=", "==", "!="):
            equal = self.equal(left, right, second)
            return negated(equal) if operator == "!=" else equal
        if operator in ("<", ">"):
            return left < right if operator == "<" else left > right
        return self.matches(left, second) if operator == "=~" else UNCLEAR

    def equal(self, left: str, right: str, second: SyntaxNode) -> Truth:
        """`a = b`, where `b` is a pattern in `[[ ]]`."""
        if not self.patterns:
            return left == right
        return fits(self.expander.pattern(second.start_byte, second.end_byte), left, self.expander.budget)

    def matches(self, value: str, second: SyntaxNode) -> Truth:
        """`a =~ b`; what is quoted in `b` stands for itself."""
        pattern = self.expander.pattern(second.start_byte, second.end_byte, SPECIAL)
        return contains(pattern.value, value, self.expander.budget) if pattern.value is not None else Unknown(*pattern.reasons)


def tokens_of(node: SyntaxNode) -> list[SyntaxNode]:
    """The words, operators and parentheses of a test, in order."""
    nodes: list[SyntaxNode] = []
    left = node.children[-2:0:-1]
    while left:
        each = left.pop()
        if each.type in NESTED and each.children[0].type != "-":  # `-1` is one word
            left.extend(reversed(each.children))
        else:
            nodes.append(each)
    return nodes


def filled(text: Text) -> Truth:
    """Whether a string is not empty; a known part is sufficient."""
    if any(part.text for part in text.parts):
        return True
    return False if text.known else Unknown(*text.reasons)
