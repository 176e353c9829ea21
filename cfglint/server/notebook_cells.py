"""A notebook whose cells an editor shows as documents of their own: its content as a file, and the cells at the places of that file."""

from __future__ import annotations

import json
from bisect import bisect_right

from cfglint.source.annotations import Iterable
from cfglint.source.python.literals import unescaped


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
        """The offset in the file of an offset in the content of a cell."""
        return self._starts[self._uris.index(uri)] + len(escaped(self.contents[uri][:inside]))

    def changed(self, text: str) -> dict[str, str]:
        """The contents of the cells that another version of the file changes, by URI."""
        after = (each["source"] for each in json.loads(text)["cells"])
        return {uri: content for uri, content in zip(self._uris, after, strict=True) if content != self.contents[uri]}


def escaped(content: str) -> str:
    """The content of a JSON string."""
    return json.dumps(content, ensure_ascii=False)[1:-1]
