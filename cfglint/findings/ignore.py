"""A comment in a file that suppresses findings."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.document import Document


class Ignore:
    """One code, or family of codes, that a comment suppresses on some lines. `start`/`end` is the span of the comment.

    `code` is empty for a cfglint comment that names no code.
    """

    __slots__ = ("code", "document", "end", "lines", "start", "used")

    def __init__(self, document: Document, code: str, start: int, end: int, lines: frozenset[int]) -> None:
        self.document = document
        self.code = code
        self.start = start
        self.end = end
        self.lines = lines
        self.used = False
