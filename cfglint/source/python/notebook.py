"""The code of a Jupyter notebook as one module: each line of code is at its line of the file, everything else is blank.

Lines for the shell and for IPython (`!pip`, `%matplotlib`) do nothing, as do cells of other languages and cells that are no Python.
"""

from __future__ import annotations

import ast
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LARGEST = 20_000_000  # characters of a notebook, whose outputs may have images


def code_of(text: str) -> str | None:
    """The code of a notebook; None if it is not one."""
    if len(text) > LARGEST:
        return None
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        return None
    if "\n" not in text.strip():
        return in_order(cells)
    placed = [""] * (text.count("\n") + 2)
    position, line = 0, 0
    for cell in cells:
        parts = source_of(cell)
        code = list(of_python(parts)) if is_code_cell(cell) else []
        for number, part in enumerate(parts):
            span = string_at(text, part, position)
            if span is None:
                return in_order(cells)
            line += text.count("\n", position, span[0])
            position = span[1]
            if number < len(code):
                placed[line] = code[number]
    return "\n".join(placed)


def string_at(text: str, part: str, position: int) -> tuple[int, int] | None:
    """The extent of the next JSON string with a content; one that ends another string (`\\"\\n"`) does not count."""
    for spelled in (json.dumps(part, ensure_ascii=False), json.dumps(part)):
        start = text.find(spelled, position)
        while start > 0 and text[start - 1] == "\\":
            start = text.find(spelled, start + 1)
        if start >= 0:
            return start, start + len(spelled)
    return None


def in_order(cells: list[Any]) -> str:
    """The code of some cells without the lines of their file."""
    return "\n".join("\n".join(of_python(source_of(each))) for each in cells if is_code_cell(each))


def is_code_cell(cell: Any) -> bool:
    """Whether a cell has code."""
    return isinstance(cell, dict) and cell.get("cell_type") == "code"


def source_of(cell: Any) -> list[str]:
    """The lines of a cell, each with its end as the file has it."""
    source = cell.get("source") if isinstance(cell, dict) else None
    if isinstance(source, str):
        return source.splitlines(keepends=True)
    return [each for each in source if isinstance(each, str)] if isinstance(source, list) else []


def of_python(parts: list[str]) -> Iterator[str]:
    """The lines of a cell as Python; blank ones if the cell is no Python."""
    if any("\n" in part[:-1] for part in parts):
        parts = "".join(parts).splitlines(keepends=True)
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
