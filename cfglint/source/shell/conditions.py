"""Evaluates the tests of a script: `[ ... ]`, `[[ ... ]]`, `(( ... ))`."""

from __future__ import annotations

import operator

from cfglint.evaluate import Unknown, distinct
from cfglint.evaluate.operations import any_or_all, negated
from cfglint.source.annotations import Callable, Sequence, SyntaxNode, Truth
from cfglint.source.shell.arithmetic import NotArithmetic
from cfglint.source.shell.expansion import Expander, Unknowable
from cfglint.source.shell.matching import SPECIAL, contains, fits
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.reasons import UNCLEAR

Span = tuple[int, int]

COMPARISONS = {f"-{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
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
        if self.text.startswith("((", node.start_byte):
            try:
                return self.expander.number(node.start_byte + 2, node.end_byte - 2) != 0
            except (Unknowable, NotArithmetic, RecursionError):
                return UNCLEAR
        self.patterns = self.text.startswith("[[", node.start_byte)
        self.tokens = tokens_of(node)
        if not self.tokens or any(token.type == "ERROR" for token in self.tokens):
            return UNCLEAR
        value = self.any_of(0)
        return value if self.at == len(self.tokens) else UNCLEAR

    def peek(self, ahead: int = 0) -> str:
        """The source of a token that is not taken yet, empty after the last one."""
        at = self.at + ahead
        return self.text[self.tokens[at].start_byte : self.tokens[at].end_byte] if at < len(self.tokens) else ""

    def take(self) -> tuple[int, int]:
        """The span of the next token."""
        self.at += 1
        return self.tokens[self.at - 1].start_byte, self.tokens[self.at - 1].end_byte

    def any_of(self, depth: int, operators: Sequence[str] = ("||", "-o")) -> Truth:
        """`a || b`, whose operands are `a && b`."""
        is_any = "||" in operators

        def operand() -> Truth:
            if is_any:
                return self.any_of(depth, ("&&", "-a"))
            negations = 0
            while self.peek() == "!" and self.peek(1):
                self.take()
                negations += 1
            value = self.primary(depth)
            return negated(value) if negations % 2 else value

        value = operand()
        while self.peek() in operators and self.peek(1):
            self.take()
            value = any_or_all(is_any, (value, operand()))
        return value

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
        sign = self.peek()
        if len(sign) == 2 and sign[0] == "-" and self.peek(1):
            self.take()
            operand = self.expander.string(*self.take())
            name = operand.value
            if sign in ("-z", "-n"):
                value = filled(operand)
                return value if sign == "-n" else negated(value)
            if sign in ("-v", "-R") and name:
                text = self.expander.found(name)
                known = self.expander.absent(name) if text is None else text
                return text is not None if known.known else Unknown(*known.reasons)  # unknown after a branch that sets it
            exists = self.exists(name) if sign in FILES and name is not None else None
            return UNCLEAR if exists is None else exists
        return filled(self.expander.string(*self.take()))

    def compared(self, first: Span, between: Span, second: Span) -> Truth:
        sign = self.text[slice(*between)]
        operands = self.expander.string(*first), self.expander.string(*second)
        left, right = (operand.value for operand in operands)
        if left is None or right is None:
            return Unknown(*distinct(reason for operand in operands for reason in operand.reasons))
        if sign in COMPARISONS:
            try:
                numbers = self.expander.computed(left or "0"), self.expander.computed(right or "0")
            except (NotArithmetic, Unknowable):
                return False
            return bool(COMPARISONS[sign](*numbers))
        if sign in ("=", "==", "!="):
            pattern = self.expander.pattern(*second) if self.patterns else None  # in `[[ ]]`
            equal = left == right if pattern is None else fits(pattern, left, self.expander.budget)
            return negated(equal) if sign == "!=" else equal
        if sign in ("<", ">"):
            return left < right if sign == "<" else left > right
        if sign != "=~":
            return UNCLEAR
        pattern = self.expander.pattern(*second, SPECIAL)  # what is quoted stands for itself
        return contains(pattern.value, left, self.expander.budget) if pattern.value is not None else Unknown(*pattern.reasons)


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
