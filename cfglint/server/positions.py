"""Converts offsets of a file to positions of the Language Server Protocol, and back."""

from __future__ import annotations

from bisect import bisect_right

from cfglint.source.document import line_starts

UTF_8 = "utf-8"
UTF_16 = "utf-16"


class Lines:
    """The lines of a file. Positions are (line, column), both from 0; columns count code units of `encoding`, UTF-16 by default."""

    def __init__(self, text: str, encoding: str = UTF_16) -> None:
        self.text = text
        self.encoding = encoding
        self.starts = line_starts(text)

    def position(self, offset: int) -> tuple[int, int]:
        """The position of an offset in characters."""
        line = bisect_right(self.starts, offset) - 1
        return line, sum(units(char, self.encoding) for char in self.text[self.starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """The offset in characters of a position; the end of the line if the column is beyond it."""
        if line >= len(self.starts):
            return len(self.text)
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        place = start
        for char in self.text[start:end]:
            column -= units(char, self.encoding)
            if column < 0 or char in "\r\n":
                break
            place += 1
        return place


def units(char: str, encoding: str) -> int:
    """The code units of a character."""
    if encoding == UTF_16:
        return 2 if ord(char) > 0xFFFF else 1
    return len(char.encode(UTF_8, "replace")) if encoding == UTF_8 else 1
