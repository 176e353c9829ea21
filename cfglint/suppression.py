"""`# cfglint: ignore[BAT001] reason`: findings that a comment in the file silences."""

from __future__ import annotations

import re

from cfglint.rules.engine import INTERNAL
from cfglint.source.document import SEQUENCE, child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.diagnostic import Diagnostic, Outcome
    from cfglint.run import Run
    from cfglint.source.document import Document

COMMENT = "comment"
UNUSED = "SUP001"
IGNORE = re.compile(r"\bcfglint:\s*ignore\s*\[([^\]]*)\]")
MEANT = re.compile(r"(?:#|//|/\*)+\s*cfglint:")  # a comment that speaks to nobody but cfglint
CODE = re.compile(r"[^\s,]+")


class Ignore:
    """One code, or family of codes, that a comment silences on some lines. `start`/`end` are its span.

    `code` is empty for a comment that speaks to cfglint and does not say what to ignore.
    """

    __slots__ = ("code", "document", "end", "lines", "start", "used")

    def __init__(self, document: Document, code: str, start: int, end: int, lines: frozenset[int]) -> None:
        self.document = document
        self.code = code
        self.start = start
        self.end = end
        self.lines = lines
        self.used = False


def silence(run: Run, found: list[Diagnostic]) -> list[Diagnostic]:
    """Mark what the comments of a run's files silence; the diagnostics of comments that silence nothing."""
    ignores = {document.path: ignores_in(document) for document in run.documents}
    for diagnostic in found:
        if diagnostic.code == INTERNAL:
            continue
        for ignore in ignores.get(diagnostic.place.file, ()):
            if ignore.code and diagnostic.code.startswith(ignore.code) and hits(ignore, diagnostic):
                ignore.used = True
                diagnostic.suppressed = COMMENT
    run.unused_ignores = [each for listed in ignores.values() for each in listed if not each.used]
    if not run.unused_ignores or not run.configs:
        return []
    from cfglint.rules.project import inspect_comments

    return inspect_comments(run)


def hits(ignore: Ignore, diagnostic: Diagnostic) -> bool:
    """Whether a finding is on a line that the comment covers: by its place, or by its key, whose value may start below."""
    return diagnostic.place.line in ignore.lines or key_line(ignore.document, diagnostic.key) in ignore.lines


def key_line(document: Document, pointer: str) -> int | None:
    """The line of the key at a JSON pointer; None where the file does not hold it."""
    key = None
    node = document.root
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if node is None:
            return None
        key, node = child(node.resolved(), int(name) if node.resolved().kind == SEQUENCE and name.isdecimal() else name)
    return document.position(key.start)[0] if key is not None else None


def ignores_in(document: Document) -> list[Ignore]:
    """Every ignore that the comments of a file hold, in the order of the text."""
    found: list[Ignore] = []
    alone = {document.position(start)[0] for start, _ in document.comments if starts_line(document, start)}
    for start, end in document.comments:
        text = document.text[start:end]
        asked = IGNORE.search(text)
        lines = covered(document, start, alone)
        if asked is None:
            if MEANT.match(text):
                found.append(Ignore(document, "", start, end, lines))
            continue
        first = start + asked.start(1)
        found += [Ignore(document, each[0], first + each.start(), first + each.end(), lines) for each in CODE.finditer(asked[1])]
        if not asked[1].strip():
            found.append(Ignore(document, "", start, end, lines))
    return found


def starts_line(document: Document, start: int) -> bool:
    """Whether nothing but blanks stands before a comment on its line."""
    line, column = document.position(start)
    return not document.line(line)[: column - 1].strip()


def covered(document: Document, start: int, alone: set[int]) -> frozenset[int]:
    """The lines that a comment speaks of: its own, and when it has the line to itself the next one with content."""
    line = document.position(start)[0]
    if line not in alone:
        return frozenset((line,))
    below = line + 1
    last = document.position(len(document.text))[0]
    while below < last and (below in alone or not document.line(below).strip()):
        below += 1
    return frozenset((line, below))


def settle(outcomes: list[Outcome]) -> None:
    """An ignore that another run of the same file needs is not unused, and one that none needs is reported once."""
    runs_of: dict[str, int] = {}
    unused_in: dict[tuple[str, int], int] = {}
    for outcome in outcomes:
        for file in outcome.files:
            runs_of[file] = runs_of.get(file, 0) + 1
        for each in outcome.diagnostics:
            if each.code == UNUSED:
                where = (each.place.file, each.place.start)
                unused_in[where] = unused_in.get(where, 0) + 1
    said: set[tuple[str, int]] = set()
    for outcome in outcomes:
        kept: list[Diagnostic] = []
        for each in outcome.diagnostics:
            where = (each.place.file, each.place.start)
            if each.code == UNUSED:
                if unused_in[where] < runs_of[each.place.file] or where in said:
                    continue
                said.add(where)
            kept.append(each)
        outcome.diagnostics = kept
