"""The code of a Jupyter notebook as one module: each line of code is at its line of the file, everything else is blank.

Lines for the shell and for IPython (`!pip`, `%matplotlib`) do nothing, as do cells of other languages and cells that are no Python.
"""

from __future__ import annotations

import ast
import json
from functools import lru_cache

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


def source_of(text: str) -> str:
    """What the cells of a notebook contain, one after another; the text itself if it is no notebook."""
    sources = [cell.get("source") if isinstance(cell, dict) else None for cell in cells_in(text) or ()]
    joined = ("".join(map(str, source)) if isinstance(source, list) else str(source or "") for source in sources)
    return "\n".join(joined) if sources else text


def read_notebook(text: str) -> Notebook | None:
    cells = cells_in(text)
    if cells is None:
        return None
    pieces: list[tuple[int, str, int, int]] = []  # line of the file from 0, code, start of its string, characters before
    line, counted = 0, 0
    for split in lines_of_cells(text, cells):
        if split is None:
            return None
        for (start, before, _), code in zip(split, of_python([part for _, _, part in split]), strict=False):
            line, counted = line + text.count("\n", counted, start), start
            pieces.append((line, code, start, before))
    if len({piece[0] for piece in pieces}) < len(pieces):  # in order if several are on one line of the file
        return Notebook(text, [piece[1] for piece in pieces], [(piece[2], piece[3]) for piece in pieces])
    by_line = {at: (content, (start, before)) for at, content, start, before in pieces}
    lines = [by_line.get(at, ("", (0, 0))) for at in range(line + 1)]
    return Notebook(text, [code for code, _ in lines], [place for _, place in lines])


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
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            lines = []
            for start, string in strings:
                before = 0
                for part in string.splitlines(keepends=True):
                    lines.append((start, before, part))
                    before += len(part)
            yield lines


@lru_cache(maxsize=2)
def cells_in(text: str) -> list[ConfigValue] | None:
    """The cells of a notebook, which nobody changes; None for another text. Kept, as its code, its commands and its releases ask."""
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
        place, strings = position, []
        for part in [source] if isinstance(source, str) else source:
            if not isinstance(part, str):
                continue
            quote = text.find('"', place)
            if quote < 0 or text[place:quote].strip(" \t\r\n[,"):
                break
            value, place = STRINGS.raw_decode(text, quote)
            if value != part:
                break
            strings.append((quote + 1, value))
        else:
            return strings


def of_python(parts: list[str]) -> list[str]:
    """The lines of a cell, of which those for the shell and for IPython do nothing; none if the cell is no Python."""
    lines = [part.rstrip("\n") for part in parts]
    if lines and lines[0].lstrip().startswith("%%"):
        is_python = lines[0].split()[0] in ("%%time", "%%timeit", "%%capture")
        lines = [line if is_python and number else "" for number, line in enumerate(lines)]
    else:
        continued = False
        for number, line in enumerate(lines):
            stripped = line.lstrip()
            name, mark, rest = line.partition("=")
            if continued or stripped.startswith(("!", "%", "?")) or (stripped.endswith("?") and " " not in stripped):
                lines[number] = "" if continued else f"{line[: len(line) - len(stripped)]}pass"
                continued = line.rstrip().endswith("\\")
            elif mark and name.strip().isidentifier() and rest.lstrip().startswith(("!", "%")):
                lines[number] = f"{name}= ''"
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return lines
