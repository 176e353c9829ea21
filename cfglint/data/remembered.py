"""The counts of large data files, remembered by path, size and time in the user's cache folder, never in a project."""

from __future__ import annotations

import json
import os

from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.root import is_inside

Key = tuple[str, int, int, str]

WORTH_WRITING = 4_000_000  # bytes of a file that takes longer to count than to look up
MOST = 1000
LARGEST = 1_000_000  # bytes of the file of counts

_known: dict[Key, int] = {}
_read: list[bool] = []


def cache_file() -> str:
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "cfglint", "rows.json")


def known(key: Key) -> int | None:
    if key not in _known and key[1] >= WORTH_WRITING and not _read:
        _read.append(True)
        _known.update(written())
    return _known.get(key)


def written() -> dict[Key, int]:
    """The counts in the file; empty if it cannot be read or makes no sense."""
    try:
        entries = json.loads(read_bytes(cache_file(), LARGEST))
    except (FileProblem, ValueError, RecursionError):
        return {}
    found: dict[Key, int] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, list) and [type(each) for each in entry] == [str, int, int, str, int] and entry[4] >= 0:
            found[entry[0], entry[1], entry[2], entry[3]] = entry[4]
    return found


def remember(key: Key, rows: int, root: str) -> None:
    """Keep a count, that of a large file on disk too; nothing is said if that fails."""
    _known[key] = rows
    path = cache_file()
    if key[1] < WORTH_WRITING or is_inside(os.path.dirname(path), root):
        return

    entries = [[*each, count] for each, count in {**written(), key: rows}.items()][-MOST:]
    part = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        os.replace(part, path)
    except OSError:
        return
