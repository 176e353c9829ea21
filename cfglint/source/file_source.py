"""The source of a run's files: the disk, or contents in memory."""

from __future__ import annotations

import os

from cfglint.source import files
from cfglint.source.annotations import Callable, Container, Mapping, Syntax
from cfglint.source.document import Document, Problem
from cfglint.source.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.project_files import Project


class DiskFolders:
    """Access to the folders on disk; classes derived from it also give the content of the files that specify versions."""

    text: Callable[[str], str]  # empty for a file that cannot be read, or is a link out of the project

    def names(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except (OSError, ValueError):
            return []

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder, without following a link to one."""
        return os.path.isdir(path) and not os.path.islink(path)


class FileSource:
    """The source of files: the disk, with `texts` in place of some files: strings, or raw bytes (standard input).

    `disk` is the source of the files that specify versions, None for the disk itself.
    """

    disk: DiskFolders | None = None

    def __init__(self, texts: Mapping[str, str | bytes] | None = None) -> None:
        self.texts = texts or {}
        self.read_folders: dict[str, list[tuple[str, list[str]]]] = {}  # of each root

    def is_file(self, path: str) -> bool:
        return path in self.texts or os.path.isfile(path)

    def is_given(self, path: str) -> bool:
        """Whether the content of a file was passed, so that it is not read from disk."""
        return path in self.texts

    def identity(self, path: str) -> str:
        """A common name for all spellings of a file's path."""
        from cfglint.source.root import resolved

        return resolved(path)

    def leads_out(self, path: str, origin: str, named: Container[str] = ()) -> bool:
        """Whether a file is outside the project of the one that names it, and was neither passed nor `named` on the command line."""
        if path in named or self.is_given(path):
            return False
        from cfglint.source.root import leads_out

        return leads_out(path, origin)

    def root(self, path: str) -> str:
        """The top of the project around a file, relative to the working directory."""
        from cfglint.source.root import repository

        return os.path.relpath(repository(path)[-1])

    def project(self, path: str, root: str, named: Container[str] = ()) -> Project:
        """The files around a file, in its project with this top."""
        from functools import partial

        from cfglint.source.project_files import Project

        leads_out = partial(self.leads_out, origin=path, named=named)
        return Project(root, self.is_file, self.content, leads_out, self.names_in, self.read_folders.setdefault(root, []))

    def names_in(self, folder: str) -> list[str]:
        """The names in a folder, without those of passed files; empty if it cannot be read."""
        return (self.disk or DiskFolders()).names(folder)

    def read_bytes(self, path: str) -> bytes:
        """The content of a file; raises FileProblem."""
        return files.read_bytes(path)

    def read(self, path: str) -> tuple[str, bool]:
        """Return (content, whether it had a byte order mark); raises FileProblem."""
        text = self.texts.get(path)
        if isinstance(text, str):
            return text, False
        data = self.read_bytes(path) if text is None else text
        return files.decode(path, data), data.startswith(files.BYTE_ORDER_MARK)

    def document(self, path: str, syntax: Syntax | None = None, content: tuple[str, bool] | None = None) -> Document:
        """The document of a file, whose content may have been read; an error while reading it is among its problems."""
        syntax = syntax or files.syntax_by_name(path)
        try:
            text, bom = content or self.read(path)
        except files.FileProblem as problem:
            document = parse(path, problem.text, syntax) if problem.text else Document(path, "", syntax)
            place = min(len(problem.text), problem.offset)
            document.problems[:] = [Problem(place, place, str(problem), problem.kind, problem.exception)]
            return document
        return parse(path, text, syntax, bom)

    def read_if_possible(self, path: str) -> tuple[str, bool] | None:
        """What `read` returns; None for a file that cannot be read as text."""
        try:
            return self.read(path)
        except files.FileProblem:
            return None

    def content(self, path: str) -> str | None:
        return (self.read_if_possible(path) or (None,))[0]


def missing(document: Document) -> bool:
    """Whether the file does not exist or may not be opened: exit status 2."""
    return any(problem.kind == "unreadable" for problem in document.problems)
