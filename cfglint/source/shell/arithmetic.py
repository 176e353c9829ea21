"""Integer arithmetic of bash: the expression between `$((` and `))`."""

from __future__ import annotations

import re

from cfglint.source.annotations import Callable
from cfglint.source.record import Record

Read = Callable[[str], int]
Write = Callable[[str, int], None]

OPERATORS = ("**", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=")
LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
PRECEDENCE = {operator: number for number, level in enumerate(LEVELS) for operator in level}
TOKENS = re.compile("|".join((r"\w[\w#]*", *map(re.escape, OPERATORS), r"""[^\s"'\\]"""))).findall
CHANGES = re.compile(r"(\+\+|--)?\s*\b([A-Za-z_]\w*)\s*(\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))?").findall
LARGEST = 1 << 62
DEEPEST = 50


class NotArithmetic(Exception):
    """A string that is not an expression, or an expression that divides by zero or leaves the range."""


def evaluate(text: str, read: Read, write: Write | None = None) -> int:
    """The value of an expression; `read` returns the number of a variable and may raise, `write` is called for assignments."""
    if text.isdigit() and text.isascii() and len(text) < 10 and text[0] != "0":
        return int(text)
    parser = _Parser(TOKENS(text), read, write)
    value = parser.assignment()
    while parser.peek() == ",":
        parser.take()
        value = parser.assignment()
    if parser.peek():
        raise NotArithmetic(text)
    return value


def assigned(text: str) -> set[str]:
    """The variables that an expression may change."""
    return {name for before, name, after in CHANGES(text) if before or after}


class _Parser(Record):
    tokens: list[str]
    read: Read
    write: Write | None
    at: int = 0
    depth: int = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def assignment(self) -> int:
        """`name = value`, `name += value`, else a choice."""
        following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""
        if is_name(self.peek()) and following in ("=", "+=", "-=", "*=", "/=", "%="):
            name, operator = self.take(), self.take()
            value = self.assignment()
            if operator != "=":
                value = applied(operator[0], self.read(name), value)
            self.assign(name, value)
            return value
        return self.choice()

    def assign(self, name: str, value: int) -> None:
        if self.write is None:
            raise NotArithmetic(name)
        self.write(name, value)

    def choice(self) -> int:
        """`a ? b : c`."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotArithmetic("nested too deeply")
        value = self.level(0)
        if self.peek() == "?":
            self.take()
            first = self.assignment()
            if self.take() != ":":
                raise NotArithmetic("?")
            second = self.choice()
            value = first if value else second
        self.depth -= 1
        return value

    def level(self, number: int) -> int:
        """Operators of one precedence and of higher ones, left-associative."""
        value = self.power()
        while (found := PRECEDENCE.get(self.peek(), -1)) >= number:
            operator = self.take()
            value = applied(operator, value, self.level(found + 1))
        return value

    def power(self) -> int:
        value = self.unary()
        if self.peek() == "**":
            self.take()
            exponent = self.power()
            if not 0 <= exponent <= 64 or abs(value) > 1_000_000:
                raise NotArithmetic("**")
            value = checked(value**exponent)
        return value

    def unary(self) -> int:
        token = self.take()
        if token in ("-", "+", "!", "~"):
            value = self.unary()
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[token]
        if token in ("++", "--"):
            name = self.take()
            value = self.read(name) + (1 if token == "++" else -1)
            self.assign(name, value)
            return value
        if token == "(":
            value = self.assignment()
            if self.take() != ")":
                raise NotArithmetic("(")
            return value
        if is_name(token):
            value = self.read(token)
            if self.peek() in ("++", "--"):
                self.assign(token, value + (1 if self.take() == "++" else -1))
            return value
        return number_of(token)


def applied(operator: str, left: int, right: int) -> int:
    """One operator applied to two numbers; division truncates towards zero, as in C."""
    if operator in ("/", "%"):
        if not right:
            raise NotArithmetic("division by 0")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        if not 0 <= right < 63:
            raise NotArithmetic(operator)
        return checked(left << right) if operator == "<<" else left >> right
    simple = {
        "+": left + right, "-": left - right, "*": left * right, "<": int(left < right), ">": int(left > right),
        "<=": int(left <= right), ">=": int(left >= right), "==": int(left == right), "!=": int(left != right),
        "&": left & right, "|": left | right, "^": left ^ right, "&&": int(bool(left and right)), "||": int(bool(left or right)),
    }  # fmt: skip
    return checked(simple[operator])


def checked(value: int) -> int:
    if abs(value) > LARGEST:
        raise NotArithmetic("out of range")
    return value


def number_of(token: str) -> int:
    """A number literal: decimal, `0x`, a leading zero for octal, `base#digits`."""
    try:
        base, mark, digits = token.partition("#")
        if mark:
            return checked(int(digits, int(base)))
        if token.lower().startswith("0x"):
            return checked(int(token, 16))
        return checked(int(token, 8 if len(token) > 1 and token.startswith("0") else 10))
    except ValueError as error:
        raise NotArithmetic(token) from error


def is_name(token: str) -> bool:
    return bool(token) and token.replace("_", "a").isalnum() and not token[0].isdigit()
