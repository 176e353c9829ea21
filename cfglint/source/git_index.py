"""The files that git tracks and their contents, read from the index of a work tree; git itself is not started.

Source: git 2.47 Documentation/gitformat-index.txt, versions 2 to 4.
"""

from __future__ import annotations

import os

from cfglint.source.annotations import Iterator
from cfglint.source.files import FileProblem, read_bytes

LARGEST = 50_000_000  # bytes of an index
HEAD = 62  # bytes of an entry before its path, with 20 for a SHA-1 name
SHA1 = 20
SIZE, ID = 36, 40  # the offsets of the file size and of the content id in an entry
WORD = 0xFFFFFFFF  # numbers in the index have 32 bits
EXTENDED = 0x4000
LENGTH = 0x0FFF


class TrackedFiles:
    """The paths in the index of a work tree, relative to its top, with `/` between their parts."""

    def __init__(self, top: str) -> None:
        self.top = os.path.realpath(top)
        self.paths = frozenset(read_index(top))
        self.folders = frozenset(folder for above in {path.rpartition("/")[0] for path in self.paths} for folder in folders_to(above))

    def relative(self, folder: str) -> str:
        """A folder as the beginning of the paths in it: empty or with a slash at its end."""
        path = os.path.relpath(os.path.realpath(folder), self.top).replace(os.sep, "/")
        return "" if path == os.curdir else f"{path}/"


def folders_to(folder: str) -> list[str]:
    """A folder and those around it; none for the top."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def read_index(top: str) -> list[str]:
    """The paths in the index of a work tree; empty if it cannot be opened."""
    try:
        return [path for _, path in entries_of(read_bytes(os.path.join(git_folder(top), "index"), LARGEST))]
    except (FileProblem, ValueError, IndexError):
        return []


def git_folder(top: str) -> str:
    """The folder that holds the index: `.git`, or the folder that a file of this name points to in a linked work tree."""
    path = os.path.join(top, ".git")
    if os.path.isdir(path):
        return path
    text = read_bytes(path, 10_000).decode("utf-8", "surrogateescape").strip()
    return os.path.join(top, text.removeprefix("gitdir:").strip())


class KnownContents:
    """The content ids of tracked files, for files that have not been touched since git read them.

    As git does, a file counts as untouched if its size, inode and both times are those in the index, and are older than
    the index itself. No id is known if object names are not SHA-1.
    """

    def __init__(self, top: str) -> None:
        self._known: dict[str, tuple[tuple[int, ...], str]] = {}
        try:
            path = os.path.join(git_folder(top), "index")
            self._written = os.stat(path).st_mtime_ns
            data = read_bytes(path, LARGEST)
            self._known = {name: (stamp_of(data, place), data[place + ID : place + ID + SHA1].hex()) for place, name in entries_of(data)}
        except (FileProblem, OSError, ValueError, IndexError):
            self._known = {}

    def id_of(self, path: str, status: os.stat_result) -> str | None:
        """The content id of a file with this status, by its path in the repository; None if the file itself must be hashed."""
        known = self._known.get(path)
        if known is None or max(status.st_mtime_ns, status.st_ctime_ns) >= self._written:
            return None
        stamp = (status.st_ctime_ns, status.st_mtime_ns, status.st_ino & WORD, status.st_size & WORD)
        return known[1] if known[0] == stamp else None


def stamp_of(data: bytes, place: int) -> tuple[int, ...]:
    """(time of the last change of the inode, of the content, both in ns, inode, size) of an entry."""
    ctime, ctime_ns, mtime, mtime_ns, _, inode = (int.from_bytes(data[place + each : place + each + 4], "big") for each in range(0, 24, 4))
    size = int.from_bytes(data[place + SIZE : place + SIZE + 4], "big")
    return ctime * 10**9 + ctime_ns, mtime * 10**9 + mtime_ns, inode, size


def entries_of(data: bytes) -> Iterator[tuple[int, str]]:
    """(offset, path) of the entries of an index."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4) or count * HEAD > len(data):
        return
    place, path = 12, b""
    for _ in range(count):
        entry = place
        flags = int.from_bytes(data[place + HEAD - 2 : place + HEAD], "big")
        start = place + HEAD + (2 if flags & EXTENDED and version > 2 else 0)
        if version == 4:
            dropped, start = offset_at(data, start)
            end = data.index(b"\0", start)
            path = path[: len(path) - dropped] + data[start:end]
            place = end + 1
        else:
            end = start + (flags & LENGTH) if flags & LENGTH < LENGTH else data.index(b"\0", start)
            path = data[start:end]
            place = end + 8 - (end - place) % 8
        yield entry, path.decode("utf-8", "surrogateescape")


def offset_at(data: bytes, place: int) -> tuple[int, int]:
    """A number in git's variable width, and the position after it."""
    value = data[place] & 0x7F
    while data[place] & 0x80:
        place += 1
        value = ((value + 1) << 7) | (data[place] & 0x7F)
    return value, place + 1
