"""Matches patterns of a script, in time proportional to pattern and string.

All positions at which a part of a pattern can end are followed together, without backtracking.
What POSIX leaves undefined, or what depends on the locale, is refused: nothing is guessed about it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Any, Callable, Result, Truth
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.reasons import UNCLEAR

# ("set", negated, characters, whether some are of a range or class), ("any",), ("start",), ("end",), ("all", nodes),
# ("either", nodes), ("repeat", node, least, most)
Node = tuple[Any, ...]

DEEPEST = 50
MOST_REPEATS = 255  # RE_DUP_MAX is 32767
PER_STEP = 16  # positions that are followed for one step of the budget
PATTERNS = 256  # number of cached patterns
RANGES = {"0": "9", "a": "z", "A": "Z"}  # the outermost ranges whose characters are those of ASCII in every locale
CLASSES = {
    "digit": "0123456789",
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "xdigit": "0123456789abcdefABCDEF",
    "space": " \t\n\r\f\v",
    "blank": " \t",
}
CLASSES["alpha"] = CLASSES["lower"] + CLASSES["upper"]
CLASSES["alnum"] = CLASSES["alpha"] + CLASSES["digit"]
CLASSES["punct"] = "".join(char for char in map(chr, range(33, 127)) if not char.isalnum())
STEPS_OF_MATCH = 2_000  # of a single match: a longer one is unknown, and the evaluation continues
GLOB_MARKS = "*?[\\(]-!^"  # characters that may have a meaning in a pattern of the shell
PLAIN = frozenset("*?[\\(").isdisjoint
SPECIAL = "\\.[]()*+?{}|^$"
EXTENDED = re.compile(r"(?<!\\)[?*+@!]\(").search  # patterns of `shopt -s extglob`, which `[[ ]]` always understands


class UnclearPattern(Exception):
    """Raised for a pattern whose meaning is not certain."""


def ends(node: Node, value: str, starts: set[int], budget: Budget) -> set[int]:
    """The positions at which a match of a node can end that begins at one of several positions.

    Raises UnclearPattern for a letter of another script in a set, whose class the locale decides.
    """
    kind = node[0]
    if kind == "all":
        for each in node[1]:
            starts = ends(each, value, starts, budget)
        return starts
    if kind == "either":
        return {end for each in node[1] for end in ends(each, value, starts, budget)}
    if kind == "repeat":
        _, inner, least, most = node
        for _ in range(least):
            starts = ends(inner, value, starts, budget)
        found = {*starts}
        while starts and (most is None or most > least):
            starts = ends(inner, value, starts, budget) - found  # from the others it goes on already
            found |= starts
            least += 1
        return found
    budget.spend(len(starts) + 1)
    if kind in ("start", "end"):
        return starts & {0 if kind == "start" else len(value)}
    inside = [at for at in starts if at < len(value)]
    if kind == "set":
        _, is_negated, characters, is_wide = node
        if is_wide and any(value[at] not in characters and not value[at].isascii() for at in inside):
            raise UnclearPattern
        inside = [at for at in inside if (value[at] in characters) != is_negated]
    return {at + 1 for at in inside}


@lru_cache(PATTERNS)
def expression(pattern: str) -> Node | None:
    """An extended regular expression of POSIX; None if its meaning is not certain."""
    try:
        parser = PatternParser(pattern)
        node = parser.alternatives(0)
        return node if parser.at == len(pattern) else None
    except (UnclearPattern, RecursionError):
        return None


@lru_cache(PATTERNS)
def glob(pattern: str, backwards: bool = False) -> Node | None:
    """A pattern of the shell, or that pattern read backwards; None if its meaning is not certain."""
    if EXTENDED(pattern):
        return None
    nodes: list[Node] = []
    parser = PatternParser(pattern)
    try:
        while parser.at < len(pattern):
            char = parser.take()
            if char == "*":
                nodes.append(("repeat", ("any",), 0, None))
            elif char == "?":
                nodes.append(("any",))
            elif char == "[" and "]" in pattern[parser.at + 1 :]:
                nodes.append(parser.bracket("!^", True))
            else:
                nodes.append(single(parser.take() if char == "\\" and parser.at < len(pattern) else char))
        return "all", nodes[::-1] if backwards else nodes
    except (UnclearPattern, RecursionError):
        return None


def single(char: str) -> Node:
    return "set", False, char, False


class PatternParser(Record):
    pattern: str
    at: int = 0

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self, depth: int) -> Node:
        """`a|b`."""
        if depth > DEEPEST:
            raise UnclearPattern
        found = [self.sequence(depth)]
        while self.peek() == "|":
            self.take()
            found.append(self.sequence(depth))
        if len(found) > 1 and any(each == ("all", []) for each in found):
            raise UnclearPattern  # an empty alternative is undefined
        return found[0] if len(found) == 1 else ("either", found)

    def sequence(self, depth: int) -> Node:
        """Repeated single expressions, one after the other."""
        found: list[Node] = []
        while self.peek() and self.peek() not in "|)":
            found.append(self.repeated(self.one(depth)))
        return "all", found

    def one(self, depth: int) -> Node:
        """A character, a bracket expression, a group or an anchor."""
        char = self.take()
        if char == "(":
            node = self.alternatives(depth + 1)
            if self.peek() != ")" or node == ("all", []):
                raise UnclearPattern
            self.take()
            return node
        if char == "[":
            return self.bracket("^", False)
        if char == "\\":
            if self.peek() not in SPECIAL or not self.peek():
                raise UnclearPattern  # `\d`, `\b` and `\1` are extensions, or undefined
            return single(self.take())
        if char in "*+?{":
            raise UnclearPattern  # nothing to repeat
        if char == ".":
            return ("any",)
        return ("start",) if char == "^" else ("end",) if char == "$" else single(char)

    def repeated(self, node: Node) -> Node:
        """A node with `*`, `+`, `?`, `{n}`, `{n,}` or `{n,m}` behind it."""
        char = self.peek()
        if not char or char not in "*+?{":
            return node
        if node[0] in ("start", "end"):
            raise UnclearPattern
        self.take()
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(char, (0, 0))
        if char == "{":
            close = self.pattern.find("}", self.at)
            first, comma, second = self.pattern[self.at : close].partition(",") if close >= 0 else ("", "", "")
            if not all(each.isascii() and each.isdigit() and len(each) < 4 for each in (first, second or "0")):
                raise UnclearPattern
            self.at = close + 1
            least = int(first)
            most = int(second) if second else None if comma else least
            if least > MOST_REPEATS or (most is not None and not least <= most <= MOST_REPEATS):
                raise UnclearPattern
        if self.peek() and self.peek() in "*+?{":
            raise UnclearPattern  # several in a row are undefined
        return "repeat", node, least, most

    def bracket(self, negations: str, escapes: bool) -> Node:
        """`[abc]`, after its opening bracket; a backslash in it is an escape in patterns of the shell only, else it may be a quoted one."""
        negated = bool(self.peek()) and self.peek() in negations
        self.at += negated
        found = ""
        wide = False
        begin = self.at
        while self.peek() and (self.peek() != "]" or self.at == begin):
            if self.pattern.startswith("[:", self.at):
                close = self.pattern.find(":]", self.at)
                name = self.pattern[self.at + 2 : close]
                if close < 0 or name not in CLASSES:
                    raise UnclearPattern
                found, wide, self.at = found + CLASSES[name], True, close + 2
                continue
            char = self.member(escapes)
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.take()
                last = self.member(escapes)
                if not any(low <= char <= last <= high for low, high in RANGES.items()):
                    raise UnclearPattern  # a locale may order it in another way
                found, wide = found + "".join(map(chr, range(ord(char), ord(last) + 1))), True
            else:
                found += char
        if not self.peek():
            raise UnclearPattern
        self.take()
        return "set", negated, found, wide

    def member(self, escapes: bool) -> str:
        """A character of a bracket expression."""
        char = self.take()
        if (char == "[" and self.peek() and self.peek() in ".=:") or (char == "\\" and not (escapes and self.peek())):
            raise UnclearPattern
        return self.take() if char == "\\" and escapes else char


def ends_of(pattern: str, value: str, budget: Budget, at_end: bool = False) -> list[int] | None:
    """The lengths of the matches of a pattern of the shell at one side of a string, in order; None if they are unknown."""
    node = glob(pattern, at_end)
    if node is None:
        return None
    return limited(budget, lambda part: sorted(ends(node, value[::-1] if at_end else value, {0}, part)))


def limited(budget: Budget, match: Callable[[Budget], Result]) -> Result | None:
    """The result of a match; None if it takes too many steps, or if its meaning is not certain."""
    part = Budget(STEPS_OF_MATCH * PER_STEP)
    try:
        return match(part)
    except (UnclearPattern, Exhausted):
        return None
    finally:
        budget.spend(part.spent // PER_STEP)


def trimmed(value: str, pattern: str, operator: str, budget: Budget) -> tuple[int, int] | None:
    """(start, end) of the part that remains after a pattern is removed at one side; None if that is unknown."""
    at_end = operator[0] == "%"
    lengths = ends_of(pattern, value, budget, at_end)
    if lengths is None:
        return None
    cut = 0 if not lengths else lengths[-1] if len(operator) > 1 else lengths[0]
    return (0, len(value) - cut) if at_end else (cut, len(value))


def replaced(value: str, pattern: str, replacement: str, operator: str, budget: Budget) -> str | None:
    """A string with the first match of a pattern replaced, or with `//` every match; None if that is unknown."""
    if not pattern:
        return replacement + value if operator == "/#" else value + replacement if operator == "/%" else value
    at_end = operator == "/%"
    node = glob(pattern)
    if node is None or (pattern.startswith("*") and pattern.endswith("\\*")):  # bash 5.2 does not find an asterisk at the end
        return None
    if at_end or operator == "/#" or not value:
        lengths = ends_of(pattern, value, budget, at_end)
        if not lengths:
            return None if lengths is None else value
        return value[: len(value) - lengths[-1]] + replacement if at_end else replacement + value[lengths[-1] :]

    def substituted(budget: Budget) -> str:
        found: list[str] = []
        at = kept = 0
        while at < len(value):
            end = max(ends(node, value, {at}, budget), default=at)  # the longest match counts
            if end == at:
                at += 1
                continue
            found += [value[kept:at], replacement]
            at = kept = end
            if operator != "//":
                break
        return "".join([*found, value[kept:]])

    return limited(budget, substituted)


def fits(pattern: Text, value: str, budget: Budget) -> Truth:
    known = pattern.value
    if known is None:
        return Unknown(*pattern.reasons)
    if PLAIN(known):
        return known == value
    lengths = ends_of(known, value, budget)
    return UNCLEAR if lengths is None else len(value) in lengths


def contains(pattern: str, value: str, budget: Budget) -> Truth:
    """Whether a part of a string matches an extended regular expression."""
    node = expression(pattern)
    if node is None:
        return UNCLEAR
    holds = limited(budget, lambda part: any(ends(node, value, {start}, part) for start in range(len(value) + 1)))
    return UNCLEAR if holds is None else holds


def escaped(text: str, marks: str = GLOB_MARKS) -> str:
    """A string as a pattern that matches nothing else."""
    return "".join(f"\\{char}" if char in marks else char for char in text)
