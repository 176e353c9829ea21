"""A comment in a file that suppresses findings."""

from __future__ import annotations

from cfglint.source.document import Document
from cfglint.source.record import Record


class Ignore(Record):
    """One code, or family of codes, that a comment suppresses on some lines. `start`/`end` is the span of the comment.

    `code` is empty for a cfglint comment that names no code.
    """

    document: Document
    code: str
    start: int
    end: int
    lines: frozenset[int]
    used: bool = False
