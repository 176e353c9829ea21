"""Finds the ends of names, quotes and brackets in a word."""

from __future__ import annotations

import re

NAME = re.compile(r"[A-Za-z0-9_]+").match
IN_BRACKETS = {both[0]: re.compile(rf"""[\\'"{re.escape(both)}]""").search for both in ("()", "{}", "[]")}
IN_STRING = re.compile(r"""[\\"$]""").search


def name_end(text: str, at: int, end: int) -> int:
    """The end of the variable name that begins at `at`; `at` itself if there is none."""
    name = NAME(text, at, end)
    return name.end() if name is not None else at


def closing(text: str, at: int, end: int, opening: str, close: str) -> int:
    """The position where the bracket at `at` is closed, or `end`; quoted strings are skipped."""
    depth = 0
    special = IN_BRACKETS[opening]
    while (following := special(text, at, end)) is not None:
        at = following.start()
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "'" and opening != "{":
            found = text.find("'", at + 1, end)
            at = found if found >= 0 else at
        elif char == '"':
            at = closing_quote(text, at + 1, end)
        elif char == opening:
            depth += 1
        elif char == close:
            depth -= 1
            if not depth:
                return at
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
            at = closing_flat(text, at + 1, end) + 1
        else:
            at += 1
    return end


def closing_flat(text: str, at: int, end: int) -> int:
    """Like `closing`, for a bracket inside of quotes; counts brackets and skips quoted strings without nesting."""
    opening = text[at]
    close = ")" if opening == "(" else "}"
    depth = 0
    inside = False
    while at < end:
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == '"':
            inside = not inside
        elif char == opening:
            depth += 1
        elif char == close:
            depth -= 1
            if not depth:
                return at
        at += 1
    return end
