"""Finds the ends of names, quotes and brackets in a word; brace expansion: `{a,b}` and `{1..3}`."""

from __future__ import annotations

import re
from itertools import pairwise

from cfglint.source.budget import Budget

Segment = tuple[int, int] | str  # of a word after brace expansion: a span of the script, or a computed string

NAME = re.compile(r"[A-Za-z0-9_]+").match
CLOSING = {"(": ")", "{": "}", "[": "]"}
IN_BRACKETS = {each: re.compile(rf"""[\\'"{re.escape(each + close)}]""").search for each, close in CLOSING.items()}
MOST_WORDS = 200
BLANKS = " \t\n"
SEARCHED = 64  # characters that are searched for the end of a brace in one step
DEEPEST = 10
IN_STRING = re.compile(r"""[\\"$]""").search


def name_end(text: str, at: int, end: int) -> int:
    """The end of the variable name that begins at `at`; `at` itself if there is none."""
    name = NAME(text, at, end)
    return name.end() if name is not None else at


def closing(text: str, at: int, end: int, *, in_quotes: bool = False) -> int:
    """The position where the bracket at `at` is closed, or `end`; quoted strings are skipped unless it is itself in quotes."""
    opening, close = text[at], CLOSING[text[at]]
    depth = 0
    special = IN_BRACKETS[opening]
    while (following := special(text, at, end)) is not None:
        at = following.start()
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == opening:
            depth += 1
        elif char == close:
            depth -= 1
            if not depth:
                return at
        elif char == "'" and opening != "{" and not in_quotes:
            found = text.find("'", at + 1, end)
            at = found if found >= 0 else at
        elif char == '"' and (not in_quotes or opening == "{"):  # quotes in braces are of their own, also in a string
            at = closing_quote(text, at + 1, end)
        at += 1
    return end


def closing_quote(text: str, at: int, end: int) -> int:
    """The position where a string in double quotes that begins before `at` is closed, or `end`."""
    while (following := IN_STRING(text, at, end)) is not None:
        at = following.start()
        char = text[at]
        if char == '"':
            return at
        if char == "\\":
            at += 2
        elif char == "$" and text[at + 1 : at + 2] in ("(", "{"):
            at = closing(text, at + 1, end, in_quotes=True) + 1
        else:
            at += 1
    return end


def expanded(text: str, start: int, end: int, budget: Budget, depth: int = 0) -> list[list[Segment]]:
    """The words of a span after brace expansion, else itself; quotes, `$(...)`, `${...}` are skipped (GNU Bash manual, 3.5.1)."""
    at = start
    while at < end and depth < DEEPEST:
        if text[at] == "{":
            close, commas = matching(text, at, end)
            budget.spend((close - at) // SEARCHED)
            choices: list[list[Segment]] = []  # none where these are ordinary characters
            if close < end and not commas:
                choices = [[item] for item in sequence(text[at + 1 : close])]
            elif close < end:
                spans = pairwise([at, *commas, close])
                choices = [word for first, last in spans for word in expanded(text, first + 1, last, budget, depth + 1)]
            if choices:
                after = expanded(text, close + 1, end, budget, depth + 1)
                return [[(start, at), *choice, *rest] for choice in choices for rest in after][:MOST_WORDS]
        at = beyond(text, at, end)
    return [[(start, end)]]


def matching(text: str, at: int, end: int) -> tuple[int, list[int]]:
    """(the position where the brace at `at` is closed, or `end`; its commas). A blank, in a span that a page shows, ends its word."""
    depth = 0
    commas: list[int] = []
    while at < end and text[at] not in BLANKS:
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
    found = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return found[:MOST_WORDS]


def is_whole(text: str) -> bool:
    """Whether a bound of a sequence is an integer of reasonable size."""
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 7
