"""The code of a Jupyter notebook as one module: each line of code is at its line of the file, everything else is blank.

Lines for the shell and for IPython (`!pip`, `%matplotlib`) do nothing, as do cells of other languages and cells that are no Python.
"""

from __future__ import annotations

import ast
import json

from cfglint.source.annotations import ConfigValue, Iterator

STRINGS = json.JSONDecoder(strict=False)
LARGEST = 20_000_000  # characters of a notebook, whose outputs may have images


class Notebook:
    """The code of a notebook, and where each of its lines is in the file: the start of a JSON string, and characters of it before."""

    def __init__(self, text: str, code: list[str], places: list[tuple[int, int]]) -> None:
        self.text = text
        self.code = "\n".join(code)
        self._lines = code
        self._places = places

    def offset(self, line: int, column: int) -> int:
        """The offset in the file of a line, from 1, and a column in bytes, from 0."""
        start, before = self._places[line - 1]
        code = self._lines[line - 1]
        characters = len(code.encode()[:column].decode("utf-8", "ignore"))
        return start + len(escaped(self.text, start, before + characters))


def escaped(text: str, start: int, count: int) -> str:
    """The source of the first characters of a JSON string, whose content begins at an offset."""
    end = start
    while count > 0:
        length = 1 if text[end] != "\\" else 6 if text[end + 1] == "u" else 2
        if length == 6 and text[end + 2 : end + 4].lower() in ("d8", "d9", "da", "db") and text[end + 6 : end + 8] == "\\u":
            length = 12
        end += length
        count -= 1
    return text[start:end]


def code_of(text: str) -> str | None:
    notebook = read_notebook(text)
    return notebook.code if notebook is not None else None


def read_notebook(text: str) -> Notebook | None:
    """The code of a notebook with its places; None if it is not one."""
    cells = cells_in(text)
    return placed(text, cells) if cells is not None else None


def placed(text: str, cells: list[ConfigValue]) -> Notebook | None:
    """The code of some cells: each line at its line of the file, or in order if several are on one line of it."""
    pieces: list[tuple[int, str, int, int]] = []  # line of the file from 0, code, start of its string, characters before
    line, counted = 0, 0
    for split in lines_of_cells(text, cells):
        if split is None:
            return None
        for (start, before, _), code in zip(split, of_python([part for _, _, part in split]), strict=False):
            line, counted = line + text.count("\n", counted, start), start
            pieces.append((line, code, start, before))
    if len({piece[0] for piece in pieces}) < len(pieces):
        return Notebook(text, [piece[1] for piece in pieces], [(piece[2], piece[3]) for piece in pieces])
    by_line = {at: (content, (start, before)) for at, content, start, before in pieces}
    every = [by_line.get(at, ("", (0, 0))) for at in range(line + 1)]
    return Notebook(text, [each[0] for each in every], [each[1] for each in every])


def lines_of_cells(text: str, cells: list[ConfigValue]) -> Iterator[list[tuple[int, int, str]] | None]:
    """The lines of each cell with code: (start of its string, characters before, line); None if the cell is not found in the text."""
    position = 0
    for cell in cells:
        source = cell.get("source") if isinstance(cell, dict) else None
        strings = strings_of(text, position, source) if isinstance(source, (str, list)) and source else []
        if strings is None:
            yield None
            return
        position = strings[-1][0] if strings else position
        if is_code_cell(cell):
            yield [(start, before, part) for start, string in strings for before, part in lines_of(string)]


def cells_in(text: str) -> list[ConfigValue] | None:
    if len(text) > LARGEST:
        return None
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = book.get("cells") if isinstance(book, dict) else None
    return cells if isinstance(cells, list) else None


def strings_of(text: str, position: int, source: str | list[ConfigValue]) -> list[tuple[int, str]] | None:
    """(offset of its content, value) for each string of the next source of a cell; None if it is not found."""
    while True:
        position = text.find('"source"', position)
        if position < 0:
            return None
        position = text.index(":", position) + 1
        strings = strings_at(text, position, source)
        if strings is not None:
            return strings


def strings_at(text: str, position: int, source: str | list[ConfigValue]) -> list[tuple[int, str]] | None:
    """The strings of a source that begins after an offset; None if another value does."""
    wanted = [source] if isinstance(source, str) else [each for each in source if isinstance(each, str)]
    strings: list[tuple[int, str]] = []
    for each in wanted:
        quote = text.find('"', position)
        if quote < 0 or text[position:quote].strip(" \t\r\n[,"):
            return None
        value, position = STRINGS.raw_decode(text, quote)
        if value != each:
            return None
        strings.append((quote + 1, value))
    return strings


def lines_of(string: str) -> Iterator[tuple[int, str]]:
    """(characters before, line) for each line of a string, with its end."""
    before = 0
    for line in string.splitlines(keepends=True):
        yield before, line
        before += len(line)


def is_code_cell(cell: object) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code"


def of_python(parts: list[str]) -> Iterator[str]:
    """The lines of a cell as Python; none if the cell is no Python."""
    lines = list(without_magic([part.rstrip("\n") for part in parts]))
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from lines


def without_magic(lines: list[str]) -> Iterator[str]:
    """Lines of which those for the shell and for IPython do nothing."""
    if lines and lines[0].lstrip().startswith("%%"):
        other = lines[0].split()[0] not in ("%%time", "%%timeit", "%%capture")
        yield from ("" if other or not number else each for number, each in enumerate(lines))
        return
    continued = False
    for line in lines:
        stripped = line.lstrip()
        blank = line[: len(line) - len(stripped)]
        was_continued = continued
        if continued or stripped.startswith(("!", "%", "?")) or (stripped.endswith("?") and " " not in stripped):
            continued = line.rstrip().endswith("\\")
            yield "" if was_continued else f"{blank}pass"
            continue
        name, mark, rest = line.partition("=")
        yield f"{name}= ''" if mark and name.strip().isidentifier() and rest.lstrip().startswith(("!", "%")) else line
