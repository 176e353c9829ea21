"""Finds the ends of names, quotes and brackets in a word."""

from __future__ import annotations

import re

NAME = re.compile(r"[A-Za-z0-9_]+").match
CLOSING = {"(": ")", "{": "}", "[": "]"}
IN_BRACKETS = {each: re.compile(rf"""[\\'"{re.escape(each + close)}]""").search for each, close in CLOSING.items()}
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
