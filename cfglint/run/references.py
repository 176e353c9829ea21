"""Finds the files that the files of a run name."""

from __future__ import annotations

import os

from cfglint.frameworks import framework, takes_arguments
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.source import files
from cfglint.source.document import Document, Path
from cfglint.source.file_source import FileSource

OPENED = (("accelerator_config",), ("fsdp_config",), ("accelerate_config",))  # keys whose string is opened as a file, whatever its suffix
WRITES = (".dump(", ".write(", ".write_text(", "%%writefile")  # what a program or notebook calls to write a file
DEEPSPEED = (("deepspeed",), ("deepspeed_config", "deepspeed_config_file"))  # keys whose string is a file or encoded JSON


class References:
    """Follows references to files. `named` are the files of the command line, which may be anywhere."""

    def __init__(self, source: FileSource, facts: LaunchFacts, named: set[str]) -> None:
        self.source = source
        self.facts = facts
        self.named = named

    def followed(self, documents: list[Document], kinds: list[str]) -> tuple[list[Document], list[str]]:
        """(documents, kinds) with the files that the documents name, each after the first one that names it."""
        of_line = self._named_by_arguments(documents[0], kinds[0])
        for document in [*documents]:  # no framework follows references in a file that is itself referenced
            self._follow(document, documents, kinds, bool(of_line) and document is documents[0])
        if of_line and all(self.source.identity(of_line) != self.source.identity(each.path) for each in documents):
            documents.append(self.source.document(of_line, framework("deepspeed").syntax(of_line)))
            kinds.append("deepspeed")
        return documents, kinds

    def _follow(self, document: Document, documents: list[Document], kinds: list[str], line_wins: bool) -> None:
        """Add the files that one document names; `line_wins`: the DeepSpeed file on the launch line takes precedence."""
        position = documents.index(document)
        after = position + 1
        same: list[str] = []  # the identities of the documents, computed when a file names another
        for key, name, kind in framework(kinds[position]).references(document):
            path = None if line_wins and key == ("deepspeed",) else self._path(document, key, name)
            if path is None:
                continue
            same = same or [self.source.identity(each.path) for each in documents]
            identity = self.source.identity(path)
            known = same.index(identity) if identity in same else None
            if known is None:
                documents.insert(after, self.source.document(path, framework(kind).syntax(path)))
                kinds.insert(after, kind)
                same.insert(after, identity)
                after += 1
            elif known != position:
                kinds[known] = kind

    def _path(self, document: Document, key: Path, name: str) -> str | None:
        """The path of a file that a key names; None, after recording it, for one that is missing or outside the project."""
        path = self._locate(name, document.path)
        if path is None:
            if must_exist(key, name) and not may_write(document, name):
                document.missing.append((key, name))
        elif self.is_foreign(path, document.path):
            document.outside.append((key, name))
            return None
        return path

    def _named_by_arguments(self, document: Document, kind: str) -> str:
        """The DeepSpeed file that `--args` passes to the program of a trainer file; empty without one."""
        if not self.facts.arguments or not takes_arguments(kind):
            return ""
        from cfglint.launch.overrides import ARGS

        given = [each.texts[0] for each in self.facts.overrides if each.origin == ARGS and each.key == "deepspeed" and len(each.texts) == 1]
        name = given[-1] if given else ""
        return name if name and self.source.is_file(name) and not self.is_foreign(name, document.path) else ""

    def is_foreign(self, path: str, origin: str) -> bool:
        """Whether a file is outside the project of the file that names it, and was not named on the command line itself."""
        return self.source.leads_out(path, origin, self.named)

    def _locate(self, name: str, origin: str) -> str | None:
        """The path of a file that another file names: relative to that file, to a parent folder in the project, or to the working
        directory.
        """
        adjacent = files.spelled_like(origin, os.path.normpath(os.path.join(os.path.dirname(origin), name)))
        if self.source.is_file(adjacent):
            return adjacent
        if not os.path.isabs(name):
            from cfglint.source.root import folders_upwards

            for folder in folders_upwards(origin)[1:]:
                path = files.spelled_like(origin, os.path.normpath(os.path.join(folder, name)))
                if self.source.is_file(path):
                    return path
        return name if self.source.is_file(name) else None


def must_exist(key: Path, name: str) -> bool:
    """Whether a run fails if the file that a key names does not exist."""
    if key in DEEPSPEED:
        from cfglint.launch.deepspeed_argument import refused_config

        return is_in_project(name) and bool(refused_config(name))
    return is_in_project(name) if key in OPENED else is_config_name(name)


def may_write(document: Document, name: str) -> bool:
    """Whether a program may write a file that it names: it names the file elsewhere, too, and writes files."""
    text = document.text if document.is_call else ""
    return text.count(name.rpartition("/")[2]) > 1 and any(mark in text for mark in WRITES)


def is_config_name(name: str) -> bool:
    """Whether a string names a file that must be in the project: a relative path without placeholders and variables."""
    return name[-5:].lower() in (".json", ".yaml", "hjson") and is_in_project(name)


def is_in_project(name: str) -> bool:
    """Whether a string is a relative path without placeholders and variables."""
    return not os.path.isabs(name) and not any(mark in name for mark in "${}<>~")
