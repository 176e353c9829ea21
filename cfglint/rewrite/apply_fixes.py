"""Applies the fixes that rules offer, pass by pass, until none is left."""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import pairwise

from cfglint.findings.diagnostic import ERROR, Diagnostic, Fix
from cfglint.findings.fix_builders import unsafe_because
from cfglint.rewrite.value_change import ValueChange, combined_changes
from cfglint.run.checked import CheckedRun
from cfglint.source import edit, files, writing
from cfglint.source.annotations import Callable, TypeAlias
from cfglint.source.change import Change, Edit, EditRefused
from cfglint.source.document import Document, Part
from cfglint.source.files import BYTE_ORDER_MARK, Identity
from cfglint.source.record import Record
from cfglint.source.sections import by_path, every_document, file_document, reread_all

FindingKey: TypeAlias = tuple[str, str, str]  # code, file, key
Span: TypeAlias = tuple[str, int, int]  # file, start, end

MOST_PASSES = 20


class Skipped(Record):
    """An offered fix that was not applied, with the reason."""

    code: str
    file: str
    line: int
    reason: str


class AppliedFixes(Record):
    """The new contents of a run's files, each changed value, each applied fix as (file, title), and the skipped fixes.

    `comments` are those that were removed with a key: (file, comment). `run` is the run with all of them.
    """

    run: CheckedRun
    texts: dict[str, str] = {}
    comments: list[tuple[str, str]] = []
    changed: list[ValueChange] = []
    titles: list[tuple[str, str]] = []
    skipped: list[Skipped] = []


def apply_fixes(run: CheckedRun, unsafe: bool = False, suppress: Callable[[CheckedRun], object] | None = None) -> AppliedFixes:
    """Apply every safe fix of a run (with `unsafe` every fix), each checked by parsing the result.

    Fixes with overlapping edits wait for the next pass; a fix is skipped if it is refused, if it does not resolve its finding,
    or if it keeps the run from starting. `suppress` marks the findings that a configuration suppresses.
    """
    done = AppliedFixes(run)
    tried: set[FindingKey] = set()
    harmful: dict[FindingKey, str] = {}
    for _ in range(MOST_PASSES):
        if suppress is not None:
            suppress(run)
        chosen = _chosen(run, unsafe, tried)
        if not chosen:
            break
        tried.update(diagnostic.identity for diagnostic in chosen)
        after = Pass(run, chosen)
        if after.refused:
            after = Pass(run, _harmless(run, chosen, harmful))
        run = after.run
        done.texts.update(after.texts)
        done.titles += after.titles
        done.changed += after.changed
        done.comments += after.comments
    done.run = run
    for diagnostic in run.diagnostics:
        if diagnostic.fix is not None and not diagnostic.suppressed:
            code = harmful.get(diagnostic.identity)
            reason = f"with it the run would fail ({code})" if code else "the file cannot be edited in place there"
            if not diagnostic.fix.safe and not unsafe:
                reason = f"{unsafe_because(diagnostic)}; pass --unsafe-fixes to apply it"
            done.skipped.append(Skipped(diagnostic.code, diagnostic.file, diagnostic.line, reason))
    return done


def _harmless(run: CheckedRun, chosen: list[Diagnostic], harmful: dict[FindingKey, str]) -> list[Diagnostic]:
    """The fixes that together leave the run one that starts; `harmful` collects the others, with the resulting error.

    A value that was ignored, or that was a string, may be refused by the framework once it is used.
    """
    kept: list[Diagnostic] = []
    waiting = [chosen]
    while waiting:
        group = waiting.pop()
        attempt = Pass(run, kept + group)
        if not attempt.refused:
            kept += group
        elif len(group) > 1:
            waiting += [group[len(group) // 2 :], group[: len(group) // 2]]
        else:
            harmful[group[0].identity] = next(error.code for error in attempt.run.diagnostics if error.severity == ERROR)
    return kept


def _chosen(run: CheckedRun, unsafe: bool, tried: set[FindingKey]) -> list[Diagnostic]:
    chosen: list[Diagnostic] = []
    taken: list[Span] = []
    edited: dict[str, bool] = {}  # whether the file gets edits of what may be no document of the run, which are made alone
    for diagnostic in run.diagnostics:
        fix = diagnostic.fix
        if fix is None or diagnostic.suppressed or not (fix.safe or unsafe) or diagnostic.identity in tried:
            continue
        spans = [(each.file, each.start, each.end) for each in fix.edits]
        if any(_is_taken(span, taken) or (span[0] in edited and (fix.of or edited[span[0]])) for span in spans):
            continue
        edited.update((span[0], bool(fix.of)) for span in spans)
        for span in spans:
            insort(taken, span)
        chosen.append(diagnostic)
    return chosen


def _is_taken(span: Span, taken: list[Span]) -> bool:
    """Whether a span touches one of others, which are in order; of overlapping ones only the nearest are compared."""
    place = bisect_left(taken, span)
    return any(span[0] == file and span[1] <= end and start <= span[2] for file, start, end in taken[max(place - 1, 0) : place + 1])


class Pass:
    """Applied fixes: the resulting run, its new contents, a line for each fix, and each changed value.

    `comments` are those that were removed with a key: (file, comment). `refused`: the fixes keep a run from starting that did start.
    """

    def __init__(self, run: CheckedRun, chosen: list[Diagnostic]) -> None:
        self.texts: dict[str, str] = {}
        self.titles: list[tuple[str, str]] = []
        self.changed: list[ValueChange] = []
        self.comments: list[tuple[str, str]] = []
        self.of_run = run.documents
        self._apply([(diagnostic, diagnostic.fix) for diagnostic in chosen if diagnostic.fix is not None])
        self.run = CheckedRun(self.of_run, run.kinds, run.facts)
        self.refused = run.verdict == "accept" and self.run.verdict == "reject"

    def _apply(self, fixes: list[tuple[Diagnostic, Fix]]) -> None:
        """Apply fixes all at once, which takes one parse; if that is refused, each half, down to a single one, which is then skipped."""
        documents = by_path(every_document(self.of_run))
        texts = _texts(documents, [fix for _, fix in fixes])
        if texts is None:
            if len(fixes) > 1:
                self._apply(fixes[: len(fixes) // 2])
                self._apply(fixes[len(fixes) // 2 :])
            return
        for diagnostic, fix in fixes:
            self.changed += combined_changes([(file_document(documents[path]), change) for path, change in fix.changes])
            self.changed += combined_changes([(document, each) for document, each in fix.of if isinstance(each, Change)])
            changed = next((path for path, _ in fix.changes), diagnostic.place.file)
            self.titles.append((changed, f"{diagnostic.code} {diagnostic.key.removeprefix('/') or diagnostic.name}: {fix.title}"))
        self.of_run = reread_all(self.of_run, texts)
        after = by_path(every_document(self.of_run))
        for path in texts:
            for comment in lost_comments(documents[path], after[path]) if path in after and path in documents else ():
                self.comments.append((path, comment))
                self.titles.append((path, f"comment removed with its key: {comment}"))
        self.texts.update(texts)


def lost_comments(before: Document, after: Document) -> list[str]:
    """The comments that an edit removed, with their marks."""
    kept = [after.text[start:end] for start, end in after.comments]
    lost: list[str] = []
    for start, end in before.comments:
        comment = before.text[start:end]
        if comment in kept:
            kept.remove(comment)
        else:
            lost.append(comment)
    return lost


def _texts(documents: dict[str, Document], fixes: list[Fix]) -> dict[str, str] | None:
    """The contents that result from fixes of the current documents; None if an edit is refused."""
    changes: dict[str, list[Change]] = {}
    for fix in fixes:
        for path, change in fix.changes:
            changes.setdefault(path, []).append(change)
    apply = edit.apply if len(fixes) == 1 else edit.apply_together
    try:
        texts = {path: apply(file_document(documents[path]), each) for path, each in changes.items()}
        for fix in fixes:
            texts.update((document.path, _edited(documents, document, fix)) for document, _ in fix.of)
        return texts
    except EditRefused:
        return None


def _edited(documents: dict[str, Document], document: Document, fix: Fix) -> str:
    """The content of a file after a fix of what may be no document of the run; raises EditRefused if it is another one or breaks."""
    path, text = document.path, document.text
    if path in documents and documents[path].text != text:
        raise EditRefused("the file was changed since", 0)
    edits = sorted([each for each in fix.edits if each.file == path], key=lambda each: each.start)
    if any(later.start < each.end for each, later in pairwise(edits)):
        raise EditRefused("these edits overlap", edits[0].start)
    after = edit.edited(text, [Edit(each.start, each.end, each.text) for each in edits])
    if path.endswith(".py"):
        try:
            compile(after, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise EditRefused(str(error), 0) from None
    return after


# ---- writing


def is_marked(document: Document) -> bool:
    """Whether the file begins with a byte order mark, which the text of a script or program no longer has."""
    try:
        return document.bom or (isinstance(document, Part) and files.read_bytes(document.path).startswith(BYTE_ORDER_MARK))
    except files.FileProblem:
        return False


def writes_of(documents: list[Document], texts: dict[str, str]) -> list[writing.Edited]:
    """One write per document with a new content; it refuses a file that has changed since it was read."""
    writes: list[writing.Edited] = []
    for document in documents:
        if document.path in texts and document.is_editable:
            identity = Identity((BYTE_ORDER_MARK if is_marked(document) else b"") + document.text.encode("utf-8"))
            writes.append(writing.Edited(document.path, identity, identity.encoded(texts[document.path])))
    return writes
