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
        try:
            data = read_bytes(os.path.join(git_folder(top), "index"), LARGEST)
            self.paths = frozenset(path for _, path in entries_of(data))
        except (FileProblem, ValueError, IndexError):
            self.paths = frozenset()
        parts = [path.split("/") for path in {path.rpartition("/")[0] for path in self.paths} if path]
        self.folders = frozenset("/".join(names[: end + 1]) for names in parts for end in range(len(names)))

    def relative(self, folder: str) -> str:
        """A folder as the beginning of the paths in it: empty or with a slash at its end."""
        path = os.path.relpath(os.path.realpath(folder), self.top).replace(os.sep, "/")
        return "" if path == os.curdir else f"{path}/"


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
            for place, name in entries_of(data):
                words = (int.from_bytes(data[place + start : place + start + 4], "big") for start in (*range(0, 24, 4), SIZE))
                ctime, ctime_ns, mtime, mtime_ns, _, inode, size = words
                stamp = (ctime * 10**9 + ctime_ns, mtime * 10**9 + mtime_ns, inode, size)
                self._known[name] = stamp, data[place + ID : place + ID + SHA1].hex()
        except (FileProblem, OSError, ValueError, IndexError):
            self._known = {}

    def id_of(self, path: str, status: os.stat_result) -> str | None:
        """The content id of a file with this status, by its path in the repository; None if the file itself must be hashed."""
        known = self._known.get(path)
        if known is None or max(status.st_mtime_ns, status.st_ctime_ns) >= self._written:
            return None
        stamp = (status.st_ctime_ns, status.st_mtime_ns, status.st_ino & WORD, status.st_size & WORD)
        return known[1] if known[0] == stamp else None


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
            dropped = data[start] & 0x7F  # a number in git's variable width
            while data[start] & 0x80:
                start += 1
                dropped = ((dropped + 1) << 7) | (data[start] & 0x7F)
            start += 1
            end = data.index(b"\0", start)
            path = path[: len(path) - dropped] + data[start:end]
            place = end + 1
        else:
            end = start + (flags & LENGTH) if flags & LENGTH < LENGTH else data.index(b"\0", start)
            path = data[start:end]
            place = end + 8 - (end - place) % 8
        yield entry, path.decode("utf-8", "surrogateescape")
