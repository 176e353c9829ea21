"""The commands of a notebook's cells as shell source: lines of IPython (`!torchrun ...`) and cells of the shell (`%%bash`).

Source: IPython 9 core/interactiveshell.py (system, var_expand), core/magics/osm.py (cd, env), core/magics/script.py.
A line has a shell of its own: of the lines before it, `%cd`, `%env` and the files that they write count. `{name}` and `$name` are variables
of Python.
"""

from __future__ import annotations

import shlex
from bisect import bisect_right

from cfglint.source.annotations import Iterator
from cfglint.source.files import CONFIG_ENDS
from cfglint.source.python.notebook import cells_in, escaped, lines_of_cells
from cfglint.source.python.writes import as_shell
from cfglint.source.shell.placed_text import Text, TextPart
from cfglint.source.shell.script import Script
from cfglint.source.shell.wrappers import WRITTEN

Line = tuple[int, int, str]  # start of its string in the file, characters of the string before it, the line

SHELLS = (["%%bash"], ["%%sh"], ["%%script", "bash"], ["%%script", "sh"])
WRITING, END = (["%%writefile"], ["%%file"]), "END OF CELL"
TRANSPARENT = ("%%time", "%%timeit", "%%capture")  # the rest of their cells is an ordinary one


class CellScript(Script):
    """Commands of a cell. Their lines are those of the file, in which a whole cell may be one line."""

    def __init__(self, path: str, file: str, parts: list[TextPart]) -> None:
        first = next((part.place[1] for part in parts if part.place is not None), 0)
        super().__init__(path, "", first, parts=Text(parts))
        self._file = file
        self._places = [part.place[1] if part.place is not None else None for part in parts]

    def line(self, offset: int) -> int:
        known = [start for start in self._places[: bisect_right(self._starts, offset)] if start is not None]
        return self._file.count("\n", 0, known[-1] if known else self.offset) + 1


def scripts(path: str, text: str) -> Iterator[CellScript]:
    before: list[TextPart] = []  # the folder and the variables that earlier lines have set
    for cell in lines_of_cells(text, cells_in(text) or []):
        if not cell:
            continue
        words = cell[0][2].split()
        if words[:1] in SHELLS or words[:2] in SHELLS:
            yield CellScript(path, text, [*before, *parts_of(path, text, cell[1:])])
        elif words[:1] in WRITING and words[-1].endswith((*WRITTEN, *CONFIG_ENDS)):
            writing = f"cat {'>>' if '-a' in words else '>'} {shlex.quote(words[-1])} <<'{END}'\n"
            before += [TextPart(writing), *parts_of(path, text, cell[1:]), TextPart(f"\n{END}\n")]
        elif not cell[0][2].startswith("%%") or words[0] in TRANSPARENT:
            written = as_shell("".join(line for _, _, line in cell))
            before += [TextPart(written)] if written else []
            for command in commands_of(cell):
                yield from of_line(path, text, command, before)


def commands_of(cell: list[Line]) -> Iterator[list[Line]]:
    """The lines of IPython in a cell, each with the lines that continue it."""
    current: list[Line] = []
    for line in cell:
        content = line[2].strip()
        if current or content.startswith(("!", "%cd ", "%env ")):
            current.append(line)
            if not content.endswith("\\"):
                yield current
                current = []
    if current:
        yield current


def of_line(path: str, text: str, command: list[Line], before: list[TextPart]) -> Iterator[CellScript]:
    """The script of a line that starts commands; another one sets the folder or a variable for those after it."""
    content = command[0][2].strip()
    if content.startswith("%cd "):
        before.append(TextPart(f"cd {content[4:].strip()}\n"))
    elif content.startswith("%env "):
        name, mark, value = content[5:].strip().partition("=" if "=" in content else " ")
        if mark and name.isidentifier() and "'" not in value:
            before.append(TextPart(f"export {name}='{value}'\n"))
    else:
        start, passed, first = command[0]
        marks = len(first) - len(first.lstrip().lstrip("!"))
        yield CellScript(path, text, [*before, *parts_of(path, text, [(start, passed + marks, first[marks:]), *command[1:]])])


def parts_of(path: str, text: str, lines: list[Line]) -> Iterator[TextPart]:
    for start, passed, line in lines:
        at = start + len(escaped(text, start, passed))
        plain = ""
        for character in line:
            if text[at] != "\\":
                plain, at = plain + character, at + 1
                continue
            yield from placed(path, plain, at)
            at += len(escaped(text, at, 1))
            yield TextPart(character)
            plain = ""
        yield from placed(path, plain, at)


def placed(path: str, plain: str, end: int) -> list[TextPart]:
    return [TextPart(plain, (path, end - len(plain), end))] if plain else []
