"""The line of a place as reports quote it."""

from __future__ import annotations

import re
from bisect import bisect_left

from cfglint.source.document import Document

# What is before a comment of a script or a program, behind a value: no `#` that begins a word, but in quotes.
BEFORE_COMMENT = re.compile(r"""(?:[^'"#]|'[^']*'|"[^"]*"|(?<=[^\s;])#)*(?<=[\s;)\]},])#""")


def quoted_line(document: Document, start: int, end: int) -> str:
    """The first line of a span without its comments, which may hold anything; one that the span covers stays."""
    number, column = document.position(start)
    text, first = document.line(number), start - column + 1
    last = first + len(text)
    if document.is_in_code:
        behind = text[min(end, last) - first :]
        match = BEFORE_COMMENT.match(behind) if "#" in behind else None
        return text if match is None else text[: len(text) - len(behind) + match.end() - 1].rstrip()
    place = max(0, bisect_left(document.comments, (first, first)) - 1)  # the one before may be a block that ends on this line
    pieces, at = [], 0
    for begin, until in document.comments[place : bisect_left(document.comments, (last, last))]:
        if until > first and (until <= start or begin >= end):
            left, right = max(begin, first) - first, min(until, last) - first
            pieces += [text[at:left], " " * (right - left)]
            at = right
    return ("".join(pieces) + text[at:]).rstrip() if pieces else text
