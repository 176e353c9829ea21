"""A config that a script writes before a command reads it: its content is computed, its places are those in the script."""

from __future__ import annotations

from bisect import bisect_right

from cfglint.source.annotations import Syntax
from cfglint.source.document import Document, Part
from cfglint.source.parse import parse
from cfglint.source.shell.placed_text import Text


class WrittenConfig(Part):
    """The document of a known content; it is not edited, because the script may compute a part of it.

    `name` is the file that the script writes. What a variable of the script stands for is at the place where it is named.
    """

    is_editable = False

    def __init__(self, name: str, script: Document, content: Text, syntax: Syntax) -> None:
        parsed = parse(script.path, content.string, syntax)
        super().__init__(script.path, content.string, syntax, 0, len(content.string))
        self.name = name
        self.script = script
        self.roots, self.leaves, self.problems = parsed.roots, parsed.leaves, parsed.problems
        self.comments, self.relaxations = parsed.comments, parsed.relaxations
        self._places = [(0, 0)]  # (offset in the content, offset in the script) of its parts
        offset = end = 0
        for part in content.parts:
            path, start, after = part.place or ("", 0, 0)
            is_here = path == script.path and start >= end  # else of a variable, which is set elsewhere
            self._places.append((offset, start if is_here else end))
            end = after if is_here else end
            offset += len(part.text or "")

    def position(self, offset: int) -> tuple[int, int]:
        at = bisect_right(self._places, offset, key=lambda place: place[0]) - 1
        begins, start = self._places[at]
        following = self._places[at + 1][1] if at + 1 < len(self._places) else len(self.script.text)
        return self.script.position(min(start + offset - begins, max(start, following)))

    def line(self, number: int) -> str:
        return self.script.line(number)
