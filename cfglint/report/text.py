"""The report for people: place, code and message, the line with the value marked, then notes and help."""

from __future__ import annotations

from textwrap import TextWrapper

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, Diagnostic, Outcome, Place
from cfglint.report.details import Line, details
from cfglint.report.escapes import shown, without_runner_command
from cfglint.report.grouping import Group, grouped
from cfglint.report.links import page_of
from cfglint.source.annotations import Iterable

Segments = list[tuple[str, str]]  # (style, text)

STYLES = {ERROR: "bold red", WARNING: "bold yellow", INFO: "bold cyan"}
ESCAPES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}  # SGR codes of ECMA-48
WIDEST = 160  # maximum number of characters of a source line if the width is unknown
INDENT = "      "
CUT = "..."  # the mark where a line is shortened
SHORTEST = 20  # minimum columns of folded lines


def render(outcomes: list[Outcome], colour: bool = False, width: int | None = None, *, with_pages: bool = False) -> str:
    """All findings that are not suppressed, equal ones grouped, folded to a width if one is given; `with_pages`: each with its page."""
    return joined([group_block(group, width, with_pages) for group in grouped(outcomes, causes=True)], colour)


def group_block(group: Group, width: int | None = None, with_page: bool = False) -> Segments:
    pages = [("page", page_of(group.first) or f"cfglint rule {group.first.code}")] if with_page else []
    return block(group.first, group.outcomes[0], width, [*group.elsewhere(), *pages])


def block(diagnostic: Diagnostic, outcome: Outcome, width: int | None = None, more: Iterable[Line] = ()) -> Segments:
    """One finding, folded to a width if one is given, with more lines below it."""
    place = diagnostic.place
    style = STYLES[diagnostic.severity]
    where, what = f"{shown(place.file)}:{place.line}:{place.column}", f"{diagnostic.severity} {diagnostic.code}"
    rest = f" {diagnostic.name}: {shown(diagnostic.message)}"
    start, before = (": ", len(where) + 2) if width is None or len(where) + 2 + len(what) <= width else (":\n    ", 4)
    segments: Segments = [("bold", where), ("", start), (style, what), ("", folded(rest, before + len(what), "    ", width))]
    segments += excerpt(place, style, width)
    for label, text in (*details(diagnostic, outcome), *more):
        line = folded(f": {shown(text)}", len(INDENT) + len(label), INDENT + "  ", width)
        segments += [("", INDENT), ("bold" if label == "note" else "bold green", label), ("", line)]
    return segments


def folded(text: str, column: int, indent: str, width: int | None) -> str:
    """The rest of a line that begins at a column, folded to the width; the lines after the first are indented."""
    if width is None or column + len(text) <= width:
        return text + "\n"

    start = " " if text.startswith(" ") else ""
    adjacent = column + len(start) + max(len(text.split(maxsplit=1)[0]), SHORTEST) <= width  # otherwise it begins below a long path
    before = " " * (column + len(start)) if adjacent else indent
    folder = TextWrapper(width, before, indent, break_long_words=False, break_on_hyphens=False)
    lines = [without_runner_command(line) for line in folder.wrap(text.lstrip())]
    if not adjacent:
        return "\n" + "\n".join(lines) + "\n"
    return start + "\n".join([lines[0].lstrip(), *lines[1:]]) + "\n"


def excerpt(place: Place, style: str, width: int | None = None) -> Segments:
    """The source line with the value underlined; nothing for an empty line, and none for the file as a whole."""
    line = place.source
    if not line.strip() or place.end == 0:
        return []
    number = str(place.line)
    margin = " " * len(number)
    widest = WIDEST if width is None else min(WIDEST, width - len(number) - 5)
    first, last = 0, len(line)  # of a long line only a part is shown, so that the value is visible
    if len(line) > widest:
        first = max(0, place.column - 1 - widest // 2)
        last = min(len(line), first + widest)
    marked = (place.end_column if place.end_line == place.line else len(line) + 1) - place.column
    start = place.column - 1 - first
    marked = max(1, min(marked, last - first - start))
    marks = "".join("\t" if char == "\t" else " " for char in line[first : first + start]) + "^" * marked
    cut = (CUT + line[first + len(CUT) : last] if first else line[:last])[: last - first]
    if last < len(line) and start + marked <= last - first - len(CUT):
        cut = cut[: -len(CUT)] + CUT
    return [("dim", f"  {number} | "), ("", f"{shown(cut)}\n"), ("dim", f"  {margin} | "), (style, f"{marks}\n")]


def joined(blocks: Iterable[Segments], colour: bool) -> str:
    return "".join(painted(style, text) if colour else text for segments in blocks for style, text in segments)


def painted(style: str, text: str) -> str:
    """A string in a style; a line break at its end stays outside, so that no colour runs into the next line."""
    if not style or not text.strip():
        return text
    body = text.rstrip("\n")
    return f"\x1b[{';'.join(ESCAPES[word] for word in style.split())}m{body}\x1b[0m{text[len(body) :]}"
