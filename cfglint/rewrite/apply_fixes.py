"""Apply the fixes that rules offer, pass by pass, until none is left."""

from __future__ import annotations

from cfglint.run.checked import CheckedRun
from cfglint.source import edit
from cfglint.source.sections import reread, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Diagnostic, Fix
    from cfglint.rewrite.retarget import ValueChange
    from cfglint.source.document import Document
    from cfglint.source.edit import Change

MOST_PASSES = 20


class AppliedFixes:
    """The new texts of a run's files and what was done to them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.changed: list[ValueChange] = []
        self.titles: list[str] = []


def apply_fixes(run: CheckedRun, unsafe: bool = False) -> AppliedFixes:
    """Every safe fix of a run (with `unsafe` every fix), each checked by parsing what it made.

    Fixes whose edits overlap wait for the next pass; one that is refused, that does not take its finding away,
    or with which a run does not start that did, is left out.
    """
    done = AppliedFixes()
    left: set[tuple[str, str, str]] = set()
    for _ in range(MOST_PASSES):
        chosen = _chosen(run, unsafe, left)
        if not chosen:
            break
        for diagnostic in chosen:
            left.add((diagnostic.code, diagnostic.place.file, diagnostic.key))
        after = Pass(run, chosen)
        if after.refused:
            after = Pass(run, _harmless(run, chosen))
        run = after.run
        done.texts.update(after.texts)
        done.titles += after.titles
    return done


def _harmless(run: CheckedRun, chosen: list[Diagnostic]) -> list[Diagnostic]:
    """Those of the fixes that together leave the run one that starts.

    A value that nobody read, or that was text, may be one that the framework refuses where it is read.
    """
    kept: list[Diagnostic] = []
    for each in chosen:
        if not Pass(run, [*kept, each]).refused:
            kept.append(each)
    return kept


def _chosen(run: CheckedRun, unsafe: bool, left: set[tuple[str, str, str]]) -> list[Diagnostic]:
    chosen: list[Diagnostic] = []
    taken: list[tuple[str, int, int]] = []
    for diagnostic in run.diagnostics:
        fix = diagnostic.fix
        if fix is None or diagnostic.suppressed or not (fix.safe or unsafe):
            continue
        if (diagnostic.code, diagnostic.place.file, diagnostic.key) in left:
            continue
        spans = [(each.file, each.start, each.end) for each in fix.edits]
        if any(_overlap(one, other) for one in spans for other in taken):
            continue
        taken += spans
        chosen.append(diagnostic)
    return chosen


def _overlap(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


class Pass:
    """Fixes applied one after the other: the run that they leave, its new texts, and a line for each fix.

    `refused`: they leave a run that does not start, of one that did.
    """

    def __init__(self, run: CheckedRun, chosen: list[Diagnostic]) -> None:
        self.texts: dict[str, str] = {}
        self.titles: list[str] = []
        documents = {document.path: document for document in run.documents}
        for diagnostic in chosen:
            fix = diagnostic.fix
            texts = _texts(documents, fix) if fix else None
            if fix is None or texts is None:
                continue
            for path, text in texts.items():
                documents[path] = reread(documents[path], text)
            self.texts.update(texts)
            self.titles.append(f"{diagnostic.code} {diagnostic.key[1:] or diagnostic.name}: {fix.title}")
        self.run = CheckedRun([documents[document.path] for document in run.documents], run.kinds, run.facts)
        self.refused = run.verdict == "accept" and self.run.verdict == "reject"


def _texts(documents: dict[str, Document], fix: Fix) -> dict[str, str] | None:
    """The texts that a fix makes of the documents as they stand now; None when an edit is refused."""
    changes: dict[str, list[Change]] = {}
    for path, change in fix.changes:
        changes.setdefault(path, []).append(change)
    try:
        return {path: edit.apply(whole(documents[path]), each) for path, each in changes.items()}
    except edit.EditRefused:
        return None
