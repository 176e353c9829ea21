"""Finds the files of a project that may read a named file: those whose content mentions its name, and those that mention them in turn."""

from __future__ import annotations

import os

from cfglint.run.checked import CheckedRun
from cfglint.source import files
from cfglint.source.annotations import Iterable
from cfglint.source.file_source import FileSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

LARGEST = 1 << 20  # bytes; a config or script that names another file is smaller
ROUNDS = 3  # a script calls another one, which names a trainer file, which names a DeepSpeed file
MOST_READERS = 20  # files of one round whose own readers are searched for: a name that more files mention is searched for once

_imports: dict[str, Pattern[bytes]] = {}  # what recognises the import of a module


class Readers:
    """Searches files for the names of others; what is known of a file on disk is kept until it changes, as an editor asks often."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.known: dict[tuple[str, int, int], dict[str, bool]] = {}  # by path, time of the last change in ns, and size

    def mentions(self, path: str, names: Iterable[str]) -> bool:
        """Whether the content of a file contains one of the names."""
        if self.source.is_given(path):
            content = self.content(path)
            return any(is_in(name, content) for name in names)
        try:
            state = os.stat(path)
        except OSError:
            return False
        if state.st_size > LARGEST:
            return False
        known = self.known.setdefault((path, state.st_mtime_ns, state.st_size), {})
        unknown = [name for name in names if name not in known]
        if unknown:
            content = self.content(path)
            known.update((name, is_in(name, content)) for name in unknown)
        return any(known[name] for name in names)

    def content(self, path: str) -> bytes:
        """The content of a file; empty if it cannot be read."""
        try:
            return self.source.read_bytes(path)
        except files.FileProblem:
            return b""

    def of(self, named: Iterable[str], searched: Iterable[str]) -> list[str]:
        """Those of some files that mention one of the named ones, directly or by a file that does."""
        named = [*named]
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
            marks = marks_of(new)
        return [*found]


def marks_of(paths: Iterable[str]) -> list[str]:
    """The names by which other files mention some files."""
    return [*dict.fromkeys(mark for path in paths for mark in names_of(path))]


def names_of(path: str) -> list[str]:
    """The file name, and for a module of Python the name by which it is imported (`import NAME`)."""
    name = os.path.basename(path)
    module, is_module = os.path.splitext(name)[0], name.endswith(".py")
    if module == "__init__":
        module = os.path.basename(os.path.dirname(os.path.abspath(path)))
    return [name, f"import {module}"] if is_module else [name]


def is_in(mark: str, content: bytes) -> bool:
    """Whether a content mentions a file name, or imports a module or runs it with `-m`."""
    if not mark.startswith("import "):
        return os.fsencode(mark) in content
    name = os.fsencode(mark.removeprefix("import "))
    if name not in content:
        return False
    if mark not in _imports:
        import re

        module = re.escape(name)
        _imports[mark] = re.compile(rb"(?:\b(?:import|from)\b[^\n]*[\s.,]|-m[\s\\]+[\w.]*\b)" + module + rb"\b")
    return _imports[mark].search(content) is not None


def without_callers(runs: list[CheckedRun]) -> list[CheckedRun]:
    """The runs without those of other scripts that call a named one, which starts the same launches itself."""
    own = {run.launch.line.script_path for run in runs if run.launch.line is not None and not run.is_of_reader}
    return [run for run in runs if not (run.is_of_reader and run.launch.line is not None and run.launch.line.call.path in own)]
