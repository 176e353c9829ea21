"""Brace expansion: `{a,b}` and `{1..3}` as the pieces that each of the words consists of."""

from __future__ import annotations

from itertools import pairwise

from cfglint.source.budget import Budget
from cfglint.source.shell.delimiters import closing, closing_quote

Segment = tuple[int, int] | str  # a span of the script, or a computed string
Word = list[Segment]

MOST_WORDS = 200
SEARCHED = 64  # characters that are searched for the end of a brace in one step
DEEPEST = 10


def expanded(text: str, start: int, end: int, budget: Budget, depth: int = 0) -> list[Word]:
    """The words of a span after brace expansion; the span alone without braces.

    Quotes, `$(...)` and `${...}` are skipped, as bash does (GNU Bash manual, 3.5.1).
    """
    at = start
    while at < end and depth < DEEPEST:
        if text[at] == "{":
            close, commas = matching(text, at, end)
            budget.spend((close - at) // SEARCHED)
            choices = alternatives(text, at, close, commas, budget, depth) if close < end else []
            if choices:
                after = expanded(text, close + 1, end, budget, depth + 1)
                return [[(start, at), *choice, *rest] for choice in choices for rest in after][:MOST_WORDS]
        at = beyond(text, at, end)
    return [[(start, end)]]


def alternatives(text: str, opening: int, close: int, commas: list[int], budget: Budget, depth: int) -> list[Word]:
    """The alternatives of the braces at two places; empty where these are ordinary characters."""
    if not commas:
        return [[each] for each in sequence(text[opening + 1 : close])]
    bounds = [opening, *commas, close]
    return [word for first, last in pairwise(bounds) for word in expanded(text, first + 1, last, budget, depth + 1)]


def matching(text: str, at: int, end: int) -> tuple[int, list[int]]:
    """(the position where the brace at `at` is closed, or `end`; its commas)."""
    depth = 0
    commas: list[int] = []
    while at < end:
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            return at, commas
        if text[at] == "," and depth == 1:
            commas.append(at)
        at = beyond(text, at, end)
    return end, commas


def beyond(text: str, at: int, end: int) -> int:
    """The position of the next character that may be a brace or comma of the word itself."""
    char = text[at]
    if char == "\\":
        return at + 2
    if char == '"':
        return closing_quote(text, at + 1, end) + 1
    if char in "'`":
        found = text.find(char, at + 1, end)
        return found + 1 if found >= 0 else end
    if char == "$" and text[at + 1 : at + 2] in ("(", "{"):
        return closing(text, at + 1, end) + 1
    return at + 1


def sequence(inner: str) -> list[str]:
    """`1..3`, `01..10..2`, `a..e`; empty for anything else."""
    bounds = inner.split("..")
    if len(bounds) not in (2, 3):
        return []
    step = max(abs(int(bounds[2])), 1) if len(bounds) == 3 and is_whole(bounds[2]) else 1
    if len(bounds) == 3 and not is_whole(bounds[2]):
        return []
    if all(map(is_whole, bounds[:2])):
        padded = any(bound.lstrip("-").startswith("0") and len(bound.lstrip("-")) > 1 for bound in bounds[:2])
        width = max(map(len, bounds[:2])) if padded else 0
        return [f"{number:0{width}d}" if width else str(number) for number in numbers(int(bounds[0]), int(bounds[1]), step)]
    if all(len(bound) == 1 and bound.isascii() and bound.isalpha() for bound in bounds[:2]):
        return [chr(code) for code in numbers(ord(bounds[0]), ord(bounds[1]), step)]
    return []


def numbers(first: int, last: int, step: int) -> range:
    """From the first to the last number, upwards or downwards."""
    found = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return found[:MOST_WORDS]


def is_whole(text: str) -> bool:
    """Whether a bound of a sequence is an integer of reasonable size."""
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 7
