"""Changes of a document as edits of its content: no byte outside the changed place changes.

A change names its place by a path. Each is applied to the content, the result is parsed again, and its tree and
comments are compared with the expected ones; on any difference the change is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby, pairwise

from cfglint.source.annotations import Any, Iterable
from cfglint.source.change import INSERT, RENAME, Change, Edit, EditRefused
from cfglint.source.document import MAPPING, Document
from cfglint.source.parse import parse
from cfglint.source.tree_edits import Step, shape


def apply(document: Document, changes: list[Change]) -> str:
    """The content after all changes; raises EditRefused if one cannot be made exactly."""
    return run(document, changes)[0]


def edits(document: Document, changes: list[Change]) -> list[Edit]:
    """The edits that make all changes, for a report: unlike applied ones not compared with the tree; raises EditRefused."""
    pieces = run(document, changes, proposed=True)[1]
    result: list[Edit] = []
    position, pending = 0, ""
    for text, origin in pieces:
        if origin < 0:
            pending += text
            continue
        if pending or origin > position:
            result.append(Edit(position, origin, pending))
            pending = ""
        position = origin + len(text)
    if pending or position < len(document.text):
        result.append(Edit(position, len(document.text), pending))
    return result


def run(document: Document, changes: list[Change], proposed: bool = False) -> tuple[str, list[tuple[str, int]]]:
    """The content after all changes, and its pieces with their offsets in the old content (-1 for new ones)."""
    pieces = [(document.text, 0)]
    if document.is_in_code:  # the arguments of a command in a script, or of a call in a program
        code: Any  # the module of the syntax
        if document.is_command:
            from cfglint.source.shell import edits as code
        else:
            from cfglint.source.python import edits as code
        made = [edit for edit, _ in groupby(code.edits_of(document, changes))]  # one variable may be the value of several arguments
        if any(later.start < edit.end for edit, later in pairwise(made)):
            raise EditRefused("these changes overlap", made[0].start)
        for edit in reversed(made):
            splice(pieces, edit)
        text = "".join(part for part, _ in pieces)
        if not proposed:
            code.checked(document, text, changes)
        return text, pieces
    require_editable(document)
    for change in changes:
        step = Step(document, change)
        for edit in sorted(step.edits, key=lambda edit: (edit.start, edit.end), reverse=True):
            splice(pieces, edit)
        if not (proposed and change is changes[-1]):
            document = checked(document, [step], "".join(text for text, _ in pieces), proposed)
    return document.text, pieces


def require_editable(document: Document) -> None:
    """Refuse a document whose content cannot be edited by places."""
    if not document.is_editable:
        raise EditRefused("what a script writes into a file is not edited", 0)
    if document.problems:
        raise EditRefused("a file that does not parse is not edited", document.problems[0].start)
    if document.text.startswith("\ufeff"):  # YAML's parser does not count it
        raise EditRefused("a file that begins with a second byte order mark is not edited", 0)
    if len(document.roots) > 1:
        raise EditRefused("a file with several YAML documents is not edited", document.roots[1].start)


def apply_together(document: Document, changes: list[Change]) -> str:
    """The content after changes that do not depend on each other, parsed and compared once for all of them.

    Raises EditRefused if one cannot be made exactly, or if they may depend on each other: inserted keys, keys with the
    same new name, adjacent places. In sequence such changes may still be possible.
    """
    if document.is_in_code or any(change.kind == INSERT for change in changes):
        raise EditRefused("these changes are made one by one", 0)
    require_editable(document)
    names = [(change.path[:-1], change.key) for change in changes if change.kind == RENAME]
    if len({*names}) < len(names):
        raise EditRefused("several keys would get the same name", 0)
    steps = sorted((Step(document, change) for change in changes), key=lambda step: step.place)
    made = sorted((edit for step in steps for edit in step.edits), key=lambda edit: edit.start)
    for edit, later in pairwise(made):
        if later.start <= edit.end:
            raise EditRefused("these changes overlap", later.start)
    return checked(document, steps, edited(document.text, made)).text


def edited(text: str, edits: Iterable[Edit]) -> str:
    """A content after edits that do not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def splice(pieces: list[tuple[str, int]], edit: Edit) -> None:
    first = cut(pieces, edit.start)
    last = cut(pieces, edit.end)
    pieces[first:last] = [(edit.text, -1)] if edit.text else []


def cut(pieces: list[tuple[str, int]], position: int) -> int:
    """The index of the piece that begins at a position, after splitting one there if necessary."""
    start = 0
    for index, (text, origin) in enumerate(pieces):
        if start == position:
            return index
        if position < start + len(text):
            inside = position - start
            pieces[index : index + 1] = [(text[:inside], origin), (text[inside:], origin + inside if origin >= 0 else -1)]
            return index + 1
        start += len(text)
    return len(pieces)


def checked(before: Document, steps: list[Step], text: str, proposed: bool = False) -> Document:
    """The document of a new content, which must be the expected result of the changes; they are in the order of their places."""
    after = parse(before.path, text, before.syntax, before.bom)
    place = steps[0].place
    if after.problems or len(after.roots) > 1:
        raise EditRefused("the edited file would not parse", place)
    places = sorted((edit.start, edit.end) for step in steps for edit in step.edits)
    lost = set()  # the comments inside edits, which do not overlap
    for start, end in before.comments:
        index = bisect_right(places, (start, len(before.text))) - 1
        if index >= 0 and end <= places[index][1]:
            lost.add((start, end))
    if not lost <= {span for step in steps for span in step.may_lose}:
        raise EditRefused("the edit would remove a comment", place)
    kept = [before.text[start:end] for start, end in before.comments if (start, end) not in lost]
    if kept != [after.text[start:end] for start, end in after.comments]:
        raise EditRefused("the edit would change a comment", place)
    if proposed:
        return after
    expected = shape(before.root)
    for step in reversed(steps):  # the last one is applied first, so that the indices of the others stay
        part = expected
        for index in step.indices:
            part = part[3][index][1] if part[0] == MAPPING else part[3][index]
        step.amend(part)
    if shape(after.root) != expected:
        raise EditRefused("the edit would change something else too", place)
    return after
