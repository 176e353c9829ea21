"""A command that a script would start, and its place in the script."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.source.annotations import Any, Mapping, SyntaxNode
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import Escaped, Place, Text
from cfglint.source.shell.script import Script

COMMENT = "#"


class StartedCall(Record):
    """A command that the script would start.

    `environment` holds the exported variables. `folder` is the working folder. `lost` are words after a broken line
    continuation, which do not reach the command: (words, offset); `blanks` are the blanks and carriage returns that bash passes to
    the command because they follow a backslash, `cut` the one at the end of its line. `span` are its offsets in its source.
    `broken`: its syntax is unclear, or bash refuses the script before it. `refused`: bash stops reading the script before it runs: (the
    token at which it stops, what it says; nothing where a placeholder is to be filled in). `needs_caller`: a call without arguments ends
    before it, because parameters, variables or files are missing.
    `called_from` is the command of the followed script that calls the one with this command: (path, line). `assumptions` are the variables
    that count as not set, by the place of the value that would be another one if they were. `job` is the header of the job that the
    script submits with this command, None if it runs the command itself. `configs` are the contents that the script has given to files
    before it, by their paths; unknown where it changes them.
    """

    words: list[Text]
    environment: dict[str, Text]
    folder: str | None
    path: str
    line: int
    start: int
    end: int
    conditional: bool
    broken: bool
    needs_caller: bool = False
    lost: list[tuple[list[Text], int]] = []
    blanks: list[Text] = []
    span: tuple[int, int] = (0, 0)
    called_from: tuple[str, int] | None = None
    refused: tuple[Text, str] | None = None
    assumptions: Mapping[tuple[str, int], Reason] = {}
    job: Any = None
    configs: Mapping[str, Text] = {}

    @property
    def cut(self) -> Text | None:
        """The blank or carriage return behind a backslash that ends the command."""
        return ending(self.words, self.blanks)

    def is_cut(self, script: Script, offset: int) -> bool:
        """Whether a blank or carriage return behind a backslash ends the command on the line above an offset of its source."""
        if self.lost:
            words = self.lost[-1][0]
            return ending(words, escaped_blanks(words)) is not None
        return self.cut is not None and script.text.count("\n", self.span[1], offset) == 1


def ending(words: list[Text], blanks: list[Text]) -> Text | None:
    """The last blank behind a backslash if it ends a command, together with the comment that it begins."""
    last = blanks[-1] if blanks else None
    return last if last is not None and (last is words[-1] or COMMENT in last.string) else None


def escaped_blanks(words: list[Text]) -> list[Text]:
    """The words of a command that are a blank or carriage return behind a backslash, or one and the mark of a comment."""
    escaped = [word for word in words if any(isinstance(part, Escaped) for part in word.parts)]
    return [word for word in escaped if len(word) == 1 or word.string[1] == COMMENT]


class Runner(Record):
    """A command that runs a string as a script: `eval STRING`, `bash -c STRING`."""

    script: Script
    node: SyntaxNode

    def line(self, place: Place | None) -> int:
        """The line of a command in the string: its own if it is written in the runner's arguments, or behind, else that of the runner."""
        if place is not None and place[0] == self.script.path and self.script.verbatim:
            inside = place[1] - self.script.offset
            around = self.node.parent if self.node.parent is not None and self.node.parent.type == "redirected_statement" else self.node
            if around.start_byte <= inside < around.end_byte:
                return self.script.line(inside)
        return self.script.line(self.node.start_byte)


def begins(script: Script, node: SyntaxNode) -> int:
    """The beginning of a command. The grammar wrongly includes assignments that a newline, or a backslash before an empty line, ends."""
    start = int(node.start_byte)
    last = None
    for child in node.children:
        if child.type == "comment":
            continue
        if last is not None and "\n" in script.text[last.end_byte : child.start_byte].replace("\\\n", ""):
            start = int(child.start_byte)
        if child.type != "variable_assignment":
            break
        last = child
    return start


def second_word(script: Script, node: SyntaxNode) -> int:
    """The offset of the second word of a command: bash assigns a command to the line of that word (LINENO)."""
    start = begins(script, node)
    named = [child for child in node.children if child.is_named and child.type != "comment" and child.start_byte >= start]
    plain = len(named) < 2 or named[0].type == "variable_assignment"
    return int(start if plain else named[1].start_byte)
