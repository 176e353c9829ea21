"""Converts offsets of a file to positions of the Language Server Protocol, and back; those of a notebook to cells, which an editor shows
as documents of their own.
"""

from __future__ import annotations

import json
from bisect import bisect_right

from cfglint.source.annotations import Iterable
from cfglint.source.document import line_starts
from cfglint.source.python.literals import unescaped

UTF_8 = "utf-8"
UTF_16 = "utf-16"


class Lines:
    """The lines of a file. Positions are (line, column), both from 0; columns count code units of `encoding`, UTF-16 by default."""

    def __init__(self, text: str, encoding: str = UTF_16) -> None:
        self.text = text
        self.encoding = encoding
        self.starts = line_starts(text)

    def position(self, offset: int) -> tuple[int, int]:
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
    if encoding == UTF_16:
        return 2 if ord(char) > 0xFFFF else 1
    return len(char.encode(UTF_8, "replace")) if encoding == UTF_8 else 1


class NotebookCells:
    """The cells of an open notebook in order, each with its URI and content; `text` is a file with them."""

    def __init__(self, cells: Iterable[tuple[str, str, bool]]) -> None:
        self.contents: dict[str, str] = {}  # by URI
        self._uris: list[str] = []
        self._starts: list[int] = []  # where the contents begin in the file
        text = '{"cells": ['
        for uri, content, is_code in cells:
            text += f'{"," if self._uris else ""}\n{{"cell_type": "{"code" if is_code else "markdown"}", "source": "'
            self._uris.append(uri)
            self._starts.append(len(text))
            self.contents[uri] = content
            text += f'{escaped(content)}"}}'
        self.text = f"{text}\n]}}"

    def place(self, offset: int) -> tuple[str, int]:
        """(URI of the cell, offset in its content) of an offset in the file."""
        index = max(bisect_right(self._starts, offset) - 1, 0)
        uri, start = self._uris[index], self._starts[index]
        content = self.contents[uri]
        return uri, min(len(unescaped(self.text[start:offset])), len(content)) if offset < start + len(escaped(content)) else len(content)

    def offset(self, uri: str, inside: int) -> int:
        return self._starts[self._uris.index(uri)] + len(escaped(self.contents[uri][:inside]))

    def changed(self, text: str) -> dict[str, str]:
        """The contents of the cells that another version of the file changes, by URI."""
        after = (each["source"] for each in json.loads(text)["cells"])
        return {uri: content for uri, content in zip(self._uris, after, strict=True) if content != self.contents[uri]}


def escaped(content: str) -> str:
    return json.dumps(content, ensure_ascii=False)[1:-1]
