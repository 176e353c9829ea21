"""Excerpts of files on pages: lines with a marked value, listings, and fixes as diffs."""

from __future__ import annotations

from functools import lru_cache

from cfglint.findings.diagnostic import FileEdit, Fix, Place
from cfglint.source.annotations import Iterable, Mapping, Sequence
from cfglint.source.record import Record

WIDEST = 160  # characters of a line that are shown
AROUND = 1  # lines shown before and after a finding
NEARBY = 4  # lines from a finding to another place that is shown with it
CONTEXT = 2  # lines shown around relevant lines in a listing


class Marked(Record):
    """A line with the part that a finding is about; the mark is empty for the lines around it, and not `main` for a related place."""

    number: int
    before: str
    mark: str = ""
    after: str = ""
    main: bool = True


class Listed(Record):
    """A line of a listing; `gap`: lines before it are left out. `anchored` lines are link targets."""

    number: int
    text: str
    gap: bool
    severity: str = ""
    anchored: bool = False


class Changed(Record):
    """A line of a fix's diff: `+` and `-` for added and removed lines, a space for unchanged ones, `@` for a file and line.

    `mark` is the part that the finding is about, not `main` for a related place.
    """

    sign: str
    file: str
    number: int
    before: str
    mark: str = ""
    after: str = ""
    main: bool = True


@lru_cache(2)
def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a content as editors count them, without their ends; cached, because a thousand findings of a file need them."""
    return (*split(text),)


def split(text: str) -> list[str]:
    """The same, without a cache."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def marked(place: Place) -> Marked | None:
    """The first line of a place with its mark; None if it is not visible."""
    line = place.source
    if not line.strip():
        return None
    start = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    first = max(0, start - WIDEST // 2) if len(line) > WIDEST else 0
    last = min(first + WIDEST, len(line))
    end = min(max(end, start + 1), last)
    return Marked(place.line, line[first:start], line[start:end], line[end:last])


def around(place: Place, others: list[Place], lines: Sequence[str] | None) -> list[Marked]:
    """The marked line between its neighbours, with the other places of its file marked, too; `lines` None: the place alone."""
    line = marked(place)
    if line is None:
        return []
    shown = {place.line: line}
    if lines is None:
        return [line]
    for other in others:
        also = marked(other)
        if also is not None and other.file == place.file and abs(other.line - place.line) <= NEARBY:
            also.main = False
            shown.setdefault(other.line, also)
    first, last = max(min(shown) - AROUND, 1), min(max(shown) + AROUND, len(lines))
    excerpt = [shown.get(number) or Marked(number, lines[number - 1][:WIDEST]) for number in range(first, last + 1)]
    return [each for each in excerpt if each.mark or each.before.strip()]


def listing(text: str, severities: Mapping[int, str], anchored: Iterable[int], full: bool) -> list[Listed]:
    """The lines of a file: all, or those around the lines of findings and link targets."""
    lines = lines_of(text)
    count = len(lines) - (not lines[-1])
    linked = set(anchored)
    near = {line for number in linked for line in range(number - CONTEXT, number + CONTEXT + 1) if 1 <= line <= count}
    listed: list[Listed] = []
    last = 0
    for number in range(1, count + 1) if full else sorted(near):
        listed.append(Listed(number, lines[number - 1][:WIDEST], number != last + 1, severities.get(number, ""), number in linked))
        last = number
    return listed


def diff(fix: Fix, texts: dict[str, str], place: Place | None = None, others: Sequence[Place] = ()) -> list[Changed]:
    """The changes of a fix, with the place of its finding and the other places near it, so that no excerpt is needed."""
    found: list[Changed] = []
    named = [place.file] if place is not None else []
    for file in dict.fromkeys([*named, *(edit.file for edit in fix.edits)]):
        if file not in texts:
            return []
        places: list[Place] = []
        if place is not None and place.file == file:
            places = [place, *(other for other in others if other.file == file and abs(other.line - place.line) <= NEARBY)]
        removed, added = changed_lines(texts[file], [edit for edit in fix.edits if edit.file == file])
        found += hunks(file, lines_of(texts[file]), removed, added, places)
    return found


def changed_lines(text: str, edits: list[FileEdit]) -> tuple[set[int], dict[int, list[str]]]:
    """(the lines that some edits remove, the lines that they add by the line before which these are inserted)."""
    from difflib import SequenceMatcher

    removed: set[int] = set()
    added: dict[int, list[str]] = {}
    if not edits:
        return removed, added
    # Only the lines around the edits are compared: outside of them nothing changes.
    start = first = min(edit.start for edit in edits)
    last = max(edit.end for edit in edits)
    for _ in range(1 + CONTEXT):
        first = max(text.rfind("\n", 0, first), 0)
        last = text.find("\n", last + 1) if last >= 0 else last
    first, last = min(first + text.startswith("\n", first), start), last if last >= 0 else len(text)
    changed = text[first:last]
    for edit in sorted(edits, key=lambda edit: -edit.start):
        changed = changed[: edit.start - first] + edit.text + changed[edit.end - first :]
    before, after = split(text[first:last]), split(changed)
    above = len(split(text[:first]))
    for tag, from_line, to_line, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            removed.update(range(above + from_line, above + to_line))
            added[above + to_line] = after[new_start:new_end]
    return removed, added


def hunks(file: str, lines: Sequence[str], removed: set[int], added: dict[int, list[str]], places: list[Place]) -> list[Changed]:
    """The changed lines and the places of a file with the lines around them; a line that names the place begins each part."""
    count = len(lines) - (not lines[-1])
    centres = {*removed, *(place.line for place in places[:1])}
    wanted = {near for line in centres for near in range(line - AROUND, line + AROUND + 1)}
    wanted.update(place.line for place in places)
    wanted.update(near for line in added for near in (line - 1, line))
    marks = {place.line: marked(place) for place in reversed(places)}
    found: list[Changed] = []
    last = None
    for number in sorted({line for line in wanted if 1 <= line <= count} | added.keys()):
        is_first = last is None or number != last + 1
        if is_first and number not in added and not lines[number - 1].strip():
            continue
        if is_first:
            found.append(Changed("@", file, number, f"{file}:{number}"))
        last = number
        found += [Changed("+", file, number, line[:WIDEST]) for line in added.get(number, ())]
        if number <= count:
            sign, mark = "-" if number in removed else " ", marks.get(number)
            if mark is None:
                found.append(Changed(sign, file, number, lines[number - 1][:WIDEST]))
            else:
                found.append(Changed(sign, file, number, mark.before, mark.mark, mark.after, number == places[0].line))
    return found
