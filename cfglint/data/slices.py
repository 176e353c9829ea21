"""Parts of a split, as `datasets` has them: `train[:10%]`, `train[100:]`, `train[:50%]+train[-10:]` (datasets 5.2.0 arrow_reader.py)."""

from __future__ import annotations

import re

LONGEST = 200  # characters
WHOLE = 100  # percent
PART = re.compile(r"(\w+(?:\.\w+)*)(?:\[(?:(-?\d{1,15})(%)?)?:(?:(-?\d{1,15})(%)?)?\])?").fullmatch


def rows_in(part: str, rows: int) -> int | None:
    """The rows of a part of a split with so many; None for a form that is not understood."""
    match = PART(part)
    if match is None:
        return None
    percent = bool(match[3] or match[5])
    if percent and any(abs(int(each)) > WHOLE for each in (match[2], match[4]) if each):  # refused
        return None
    low, high = (bound(match[index], rows, percent, end) for index, end in ((2, 0), (4, rows)))
    return max(high - low, 0)


def bound(text: str | None, rows: int, percent: bool, end: int) -> int:
    """A bound as a row; halves of percentages are rounded to the even row, as Python does."""
    if text is None:
        return end
    at = round(int(text) * rows / WHOLE) if percent else int(text)
    return min(max(rows + at, 0) if at < 0 else at, rows)


def rows_of_split(split: object, rows: int, name: str = "train") -> int | None:
    """The rows of a split whose only data are those of one name; None if it takes others."""
    if not isinstance(split, str):
        return None
    parts = [part.strip() for part in split.split("+")] if len(split) <= LONGEST else []
    if not parts or not all(map(PART, parts)) or any(part.partition("[")[0] != name for part in parts):
        return None
    counts = [rows_in(part, rows) for part in parts]
    return sum(count for count in counts if count is not None) if None not in counts else None
