"""The spans of the words of a command where the grammar differs from bash: joined words, and blanks behind a backslash.

Source: bash(1), "Quoting": a backslash before a newline is removed with it; before any other character it makes that character a part
of a word.
"""

from __future__ import annotations

import re

CONTINUED = "\\\n"
# A backslash and a blank at the end of a line or before a comment; without a blank before its mark, the comment is more words.
BLANK_WORD = re.compile(r"(?:[ \t]|\\\n)*(\\[ \t])(?:[ \t]*(?=\n|\Z)|[ \t]+#|(#[^\n;|&<>()'\"`$\\]*))").match
WORD = re.compile(r"\S+").finditer
ESCAPED = ("\\ ", "\\\t")


def whole_words(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The words of a command from the spans that the grammar returns: without a blank between them they are one word."""
    whole: list[tuple[int, int]] = []
    for start, end in spans:
        first = start
        last = whole[-1][1] if whole else start
        gap = text[last:start]
        if whole and (last == start or (gap.startswith(CONTINUED) and not gap.replace(CONTINUED, ""))):
            first = whole.pop()[0]
        elif "\\ " in gap or "\\\t" in gap:
            escaped, first = blank_words(text, last, start)
            whole.extend(escaped)
        whole.append((first, end + 2 if text.startswith("\\ ", end) else end))
    return whole


def blank_words(text: str, start: int, end: int) -> tuple[list[tuple[int, int]], int]:
    """(the words of one blank between two words, where the second of these begins: at an escaped blank before it)."""
    found: list[tuple[int, int]] = []
    if text[start:end].strip(" \t\n\\"):
        return found, end
    at = start
    while at < end:
        if text.startswith(ESCAPED, at):
            if at + 2 == end:
                return found, at
            found.append((at, at + 2))
        at += 2 if text[at] == "\\" else 1
    return found, end


def blanks_at_end(text: str, end: int) -> list[tuple[int, int]]:
    """The word of one blank that a backslash and a blank at the end of a line add to a command, and those of a comment that it begins."""
    match = BLANK_WORD(text, end)
    if match is None:
        return []
    first, *others = [word.span() for word in WORD(text, match.start(2), match.end(2))] if match[2] else [match.span(1)]
    return [(match.start(1), first[1]), *others]
