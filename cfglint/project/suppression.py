"""`# cfglint: ignore[BAT001] reason`: findings that a comment in the file suppresses."""

from __future__ import annotations

import re

from cfglint.findings.diagnostic import COMMENT, INTERNAL, UNUSED_IGNORE, Diagnostic, Ignore, Outcome
from cfglint.findings.rule import BY_CODE
from cfglint.rules.engine import CheckableRun
from cfglint.rules.project import inspect_comments
from cfglint.source.document import SEQUENCE, Document, child
from cfglint.source.sections import by_path

IGNORE = re.compile(r"\bcfglint:\s*ignore\s*\[([^\[\]]*)\]")
ADDRESSED = re.compile(r"[#/*]+\s*cfglint:")  # a comment for cfglint
CODE = re.compile(r"[^\s,]+")


def suppress(run: CheckableRun, found: list[Diagnostic]) -> list[Diagnostic]:
    """Mark what the comments of a run's files suppress; returns the diagnostics of unused comments."""
    documents = by_path(run.documents)
    ignores = {path: ignores_in(document) for path, document in documents.items()}
    by_line: dict[str, dict[int, dict[str, list[Ignore]]]] = {path: {} for path in documents}  # the lines that they cover -> code
    for path, ignore in ((path, ignore) for path, listed in ignores.items() for ignore in listed if ignore.code):
        for line in ignore.lines:
            by_line[path].setdefault(line, {}).setdefault(ignore.code, []).append(ignore)
    used: set[tuple[str, int, str]] = set()
    for diagnostic in found:
        path, code = diagnostic.place.file, diagnostic.code
        if code != INTERNAL and by_line.get(path):
            # Those on the line of its place or of its key, on the first one for no key.
            lines = {diagnostic.place.line, key_line(documents[path], diagnostic.key) or 1}.intersection(by_line[path])
            names = [*(code[:end] for end in range(1, len(code) + 1)), *(name for each in BY_CODE.get(code, ())[:1] for name in each.names)]
            hits = {(path, line, name) for line in lines for name in names if name in by_line[path][line]}
            used |= hits
            diagnostic.suppressed = COMMENT if hits else diagnostic.suppressed
    for path, line, code in used:
        for ignore in by_line[path][line][code]:
            ignore.used = True
    run.unused_ignores = [each for listed in ignores.values() for each in listed if not each.used]
    if not run.unused_ignores or not run.configs:
        return []

    return inspect_comments(run)


def key_line(document: Document, pointer: str) -> int | None:
    key = None
    node = document.root
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if node is None:
            return None
        key, node = child(node.resolved(), int(name) if node.resolved().kind == SEQUENCE and name.isdecimal() else name)
    return document.position(key.start)[0] if key is not None else None


def ignores_in(document: Document) -> list[Ignore]:
    ignores: list[Ignore] = []
    firsts = {document.position(start)[0]: start for start, _ in reversed(document.comments)}
    alone = {line for line, start in firsts.items() if not document.line(line)[: document.position(start)[1] - 1].strip()}
    block = (0, 0)
    for start, end in document.comments:
        text = document.text[start:end]
        asked = IGNORE.search(text)
        if asked is None and not ADDRESSED.match(text):
            continue
        line = document.position(start)[0]
        if line in alone and not block[0] <= line < block[1]:
            block = (line, below(document, line, alone))
        lines = frozenset((line, block[1]) if line in alone else (line,))
        if asked is None or not asked[1].strip():
            ignores.append(Ignore(document, "", start, end, lines))
            continue
        first = start + asked.start(1)
        ignores += [Ignore(document, match[0], first + match.start(), first + match.end(), lines) for match in CODE.finditer(asked[1])]
    return ignores


def below(document: Document, line: int, alone: set[int]) -> int:
    """The next line with content after a comment on its own line, to which it applies too."""
    line += 1
    last = document.position(len(document.text))[0]
    while line < last and (line in alone or not document.line(line).strip()):
        line += 1
    return line


def merge_unused(outcomes: list[Outcome]) -> None:
    """Merge the findings about unused ignores: one that another run of the same file needs is used, and an unused one is reported once."""
    runs_of: dict[str, int] = {}
    unused_in: dict[tuple[str, int], int] = {}
    for outcome in outcomes:
        for file in outcome.files:
            runs_of[file] = runs_of.get(file, 0) + 1
        for diagnostic in outcome.diagnostics:
            if diagnostic.code == UNUSED_IGNORE:
                where = (diagnostic.place.file, diagnostic.place.start)
                unused_in[where] = unused_in.get(where, 0) + 1
    reported: set[tuple[str, int]] = set()
    for outcome in outcomes:
        kept: list[Diagnostic] = []
        for diagnostic in outcome.diagnostics:
            where = (diagnostic.place.file, diagnostic.place.start)
            if diagnostic.code == UNUSED_IGNORE:
                if unused_in[where] < runs_of[diagnostic.place.file] or where in reported:
                    continue
                reported.add(where)
            kept.append(diagnostic)
        outcome.diagnostics = kept
