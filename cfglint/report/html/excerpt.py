"""Lines of files as pages show them: excerpts with a value marked, listings, and fixes as diffs."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cfglint.diagnostic import Fix, Place

WIDEST = 160  # characters of a line that are shown
AROUND = 1  # lines shown before and after a finding
NEARBY = 4  # lines from a finding to another place that is shown with it
CONTEXT = 2  # lines shown around what matters in a listing


@dataclass
class Marked:
    """A line with the part that a finding is about; the mark is empty for the lines around it, not `main` for a related place."""

    number: int
    before: str
    mark: str = ""
    after: str = ""
    main: bool = True


@dataclass
class Listed:
    """A line of a listing; `gap`: lines before it are left out. `anchored` lines are linked from elsewhere."""

    number: int
    text: str
    gap: bool
    severity: str = ""
    anchored: bool = False


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them, without their ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def marked(place: Place) -> Marked | None:
    """The first line of a place with its mark; None where there is nothing to see."""
    line = place.source
    if not line.strip():
        return None
    start = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    first = max(0, start - WIDEST // 2) if len(line) > WIDEST else 0
    last = min(first + WIDEST, len(line))
    end = min(max(end, start + 1), last)
    return Marked(place.line, line[first:start], line[start:end], line[end:last])


def around(place: Place, others: list[Place], lines: list[str] | None) -> list[Marked]:
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
    told = [shown.get(number) or Marked(number, lines[number - 1][:WIDEST]) for number in range(first, last + 1)]
    return [each for each in told if each.mark or each.before.strip()]


def listing(text: str, severities: dict[int, str], anchored: Iterable[int], whole: bool) -> list[Listed]:
    """The lines of a file: all, or those around the lines that findings and links are about."""
    lines = lines_of(text)
    if lines and not lines[-1]:
        lines.pop()
    linked = set(anchored)
    wanted = range(1, len(lines) + 1) if whole else sorted(near(linked, len(lines)))
    listed: list[Listed] = []
    last = 0
    for number in wanted:
        listed.append(Listed(number, lines[number - 1][:WIDEST], number != last + 1, severities.get(number, ""), number in linked))
        last = number
    return listed


def near(numbers: Iterable[int], count: int) -> set[int]:
    """Lines and their neighbours."""
    return {line for number in numbers for line in range(number - CONTEXT, number + CONTEXT + 1) if 1 <= line <= count}


def diff(fix: Fix, texts: dict[str, str]) -> list[tuple[str, str]]:
    """A fix as (mark, line): `-` and `+` for what goes and comes, a blank for what stays, `@` for the file and place."""
    from difflib import unified_diff

    told: list[tuple[str, str]] = []
    for file in dict.fromkeys(each.file for each in fix.edits):
        if file not in texts:
            continue
        old, new = lines_of(texts[file]), lines_of(edited(file, texts[file], fix))
        hunks = list(unified_diff(old, new, n=1, lineterm=""))[2:]
        told += [(line[0], f"{file}:{hunk_line(line)}" if line.startswith("@@") else line[1 : 1 + WIDEST]) for line in hunks]
    return told


def edited(file: str, text: str, fix: Fix) -> str:
    """The text of a file after a fix."""
    for each in sorted(fix.edits, key=lambda each: -each.start):
        if each.file == file:
            text = text[: each.start] + each.text + text[each.end :]
    return text


def hunk_line(head: str) -> str:
    """The line of the old file at which a hunk `@@ -3,2 +3,2 @@` begins."""
    return head.split()[1].lstrip("-").partition(",")[0]
