"""Finds the files of a project that may read a named file: those whose content mentions its name, and those that mention them in turn."""

from __future__ import annotations

import os

from cfglint.run.paths import EXTENSIONS, PROGRAMS
from cfglint.source import files
from cfglint.source.annotations import Iterable
from cfglint.source.file_source import FileSource
from cfglint.source.shell import is_markdown

LARGEST = 1 << 20  # bytes; a config or script that names another file is smaller
ROUNDS = 3  # a script calls another one, which names a trainer file, which names a DeepSpeed file
# What is before a file name: no part of a longer one, as in `my_config.json`; `\\nds.json` and `-cds.json` mention `ds.json`.
NAMING = rb"(?:\A|[^\w-]|\\[abfnrtv]|\s-\w)\Z"
# What is before the name of a module, with its package as a group: `from a.b import c, `, `import a.b.`, `from a.b.`, `-m a.b.`.
IMPORTING = (
    rb"(?:\bfrom[ \t]+([\w.]+)[ \t]+import[ \t]+[\w., \t(]*|\bimport[ \t]+(?:[\w., \t]*[, \t])?([\w.]*)"
    rb"|\bfrom[ \t]+([\w.]*)|-m[\s\\]+([\w.]*))(?<!\w)\Z"
)
BY_IMPORT, BY_OPTION = b"import", b" -m"  # what a program, and what a script or cell names a module with
IMPORT = "import "  # before the folder and the name of a module among the marks of a file
FURTHEST = 200  # bytes before a name in which these are looked for
MOST_KEPT = 64_000_000  # bytes of contents that one search keeps
MOST_READERS = 20  # files of one round whose own readers are searched for: a name that more files mention is searched for once

_encoded: dict[str, tuple[bytes, bytes | None]] = {}


class Readers:
    """Searches files for the names of others; what is known of a file on disk is kept until it changes, as an editor asks often."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.known: dict[tuple[str, int, int], dict[str, bool]] = {}  # by path, time of the last change in ns, and size
        self.kept: dict[str, bytes] = {}  # contents, for the next round of one search
        self.room = 0  # bytes that may still be kept

    def mentions(self, path: str, names: Iterable[str]) -> bool:
        """Whether the content of a file contains one of the names."""
        if self.source.is_given(path):
            return any(marks_in(names, self.content(path), path).values())
        try:
            state = os.stat(path)
        except OSError:
            return False
        if state.st_size > LARGEST:
            return False
        known = self.known.setdefault((path, state.st_mtime_ns, state.st_size), {})
        unknown = [name for name in names if name not in known]
        if unknown:
            known.update(marks_in(unknown, self.content(path), path))
        return any(known[name] for name in names)

    def content(self, path: str) -> bytes:
        """The content of a file; empty if it cannot be read."""
        content = self.kept.get(path)
        if content is None:
            try:
                content = self.source.read_bytes(path)
            except files.FileProblem:
                content = b""
            if self.room >= len(content):
                self.room -= len(content)
                self.kept[path] = content
        return content

    def is_test(self, path: str) -> bool:
        """Whether a file is a module of tests, which no other one imports and no launch line starts."""
        name = os.path.basename(path)
        return name == "conftest.py" or (name.endswith(".py") and name.startswith("test_") and b"\ndef test_" in self.content(path))

    def of(self, named: Iterable[str], searched: Iterable[str]) -> list[str]:
        """Those of some files that mention one of the named ones, directly or by a file that does."""
        named = [*named]
        self.kept, self.room = {}, MOST_KEPT
        found: dict[str, None] = {}
        marks, members = marks_of(named), {*named}
        left = [path for path in searched if path not in members]
        for _ in range(ROUNDS):
            new = [path for path in left if self.mentions(path, marks)]
            found.update(dict.fromkeys(new))
            known = {*new}
            left = [path for path in left if path not in known]
            if not new or not left or len(new) > MOST_READERS:
                break
            marks = marks_of(path for path in new if not self.is_test(path))
        self.kept = {}
        return [*found]


def marks_of(paths: Iterable[str]) -> list[str]:
    """The names by which other files mention some files; nothing that runs reads a page of Markdown."""
    return [*dict.fromkeys(mark for path in paths if not is_markdown(path) for mark in names_of(path))]


def names_of(path: str) -> list[str]:
    """The file name, and for a module of Python the name by which it is imported, with that of its folder (`import FOLDER.NAME`)."""
    name = os.path.basename(path)
    if not name.endswith(".py"):
        return [name]
    module = os.path.splitext(os.path.abspath(path))[0].removesuffix(f"{os.sep}__init__")
    return [name, f"{IMPORT}{os.path.basename(os.path.dirname(module))}.{os.path.basename(module)}"]


def marks_in(marks: Iterable[str], content: bytes, path: str) -> dict[str, bool]:
    """Whether the content of a file mentions each file name, or imports a module or runs it with `-m`; a program starts no other one
    by its file name, and a config imports none.
    """
    lines: bytes | None = None
    found = dict.fromkeys(marks, False)
    is_config, is_module = path.lower().endswith(EXTENSIONS), path.endswith(".py")
    words = (BY_IMPORT,) if is_module else (BY_IMPORT, BY_OPTION) if path.endswith(PROGRAMS) else (BY_OPTION,)
    for mark in found:
        if mark.startswith(IMPORT) if is_config else is_module and mark.endswith(".py"):
            continue
        name, folder = _encoded.get(mark) or encoded(mark)
        if name not in content:
            continue
        if folder is None:
            found[mark] = is_in(name, None, content)
            continue
        if lines is None:
            lines = lines_with_imports(content, *words)
        found[mark] = is_in(name, folder, lines)
    return found


def encoded(mark: str) -> tuple[bytes, bytes | None]:
    """(file name, None) or (name of a module, its folder) of a mark."""
    folder, _, module = mark.removeprefix(IMPORT).rpartition(".")
    is_module = mark.startswith(IMPORT)
    _encoded[mark] = (os.fsencode(module), os.fsencode(folder)) if is_module else (os.fsencode(mark), None)
    return _encoded[mark]


def lines_with_imports(content: bytes, *words: bytes) -> bytes:
    """The lines with an import or `-m`, the latter with what follows it."""
    found = []
    for word in words:
        place = content.find(word)
        while place >= 0:
            end = content.find(b"\n", place) % (len(content) + 1)
            if word == BY_IMPORT or content[place + 3 : place + 4] in (b" ", b"\t", b"\\"):
                end = end if word == BY_IMPORT else max(end, place + FURTHEST)
                found.append(content[content.rfind(b"\n", 0, place) + 1 : end])
            place = content.find(word, max(end, place + 3) if found else place + 3)
    return b"\n".join(found)


def is_in(name: bytes, folder: bytes | None, content: bytes) -> bool:
    """Whether a content mentions a file name, or lines with imports have a module of a folder."""
    import re

    before = re.compile(NAMING if folder is None else IMPORTING).search
    place = content.find(name)
    while place >= 0:
        end = place + len(name)
        found = None if is_word(content[end : end + 1]) else before(content, max(0, place - FURTHEST), place)
        if found and (folder is None or b"".join(found.groups(b"")).strip(b".").rpartition(b".")[2] in (b"", folder)):
            return True
        place = content.find(name, end)
    return False


def is_word(char: bytes) -> bool:
    """Whether a byte continues a name."""
    return char.isalnum() or char == b"_"
