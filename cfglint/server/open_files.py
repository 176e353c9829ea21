"""The open files of an editor, and the runs that they belong to."""

from __future__ import annotations

import os

from cfglint.project import settings_file
from cfglint.project.selection import Selection
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun
from cfglint.project.suppression import settle
from cfglint.run.discovery import EXTENSIONS, SCRIPTS, Discovery, FileSource, UnknownKindError, line_of
from cfglint.source import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from cfglint.findings.diagnostic import Diagnostic
    from cfglint.frameworks.base import LaunchFacts
    from cfglint.run.checked import CheckedRun
    from cfglint.source.document import Document

    Facts: TypeAlias = Callable[[Configuration, DeclaredRun | None], LaunchFacts]

MOST_NEIGHBOURS = 500  # files of a folder that are searched for the name of an open one
LARGEST_NEIGHBOUR = 1 << 18  # bytes; a config or script that names another one is smaller
SETTINGS_FILES = ("cfglint.toml", "pyproject.toml")


class Buffers(FileSource):
    """Files as the editor shows them; the others are read from the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[str, str] = {}  # unsaved or not, by real path
        self.names: dict[str, str] = {}  # path as the editor gave it, by real path

    def put(self, path: str, text: str) -> None:
        """The content of an open file."""
        identity = self.identity(path)
        self.open[identity] = text
        self.names[identity] = path

    def drop(self, path: str) -> None:
        """Forget a file that was closed."""
        self.open.pop(self.identity(path), None)
        self.names.pop(self.identity(path), None)

    def is_file(self, path: str) -> bool:
        """Whether there is such a file, saved or not."""
        return self.is_given(path) or super().is_file(path)

    def is_given(self, path: str) -> bool:
        """Whether the file is open."""
        return self.identity(path) in self.open

    def read_bytes(self, path: str) -> bytes:
        """What is in a file; raises FileProblem."""
        given = self.open.get(self.identity(path))
        return given.encode("utf-8", "surrogatepass") if given is not None else super().read_bytes(path)

    def read(self, path: str) -> tuple[str, bool]:
        """(text, whether it had a byte order mark); raises FileProblem."""
        given = self.open.get(self.identity(path))
        return (given, False) if given is not None else super().read(path)


class OpenFiles:
    """The runs of the open files, checked again after every change; `problems` are configurations that cannot be used.

    `facts` gives the facts of the launch from a configuration and one of its declared runs.
    """

    def __init__(self, facts: Facts, config: str | None = None) -> None:
        self.facts = facts
        self.config = config
        self.buffers = Buffers()
        self.runs: list[CheckedRun] = []
        self.kinds: dict[str, str] = {}  # the last known kind of a file, by real path: a text is often broken while it is edited
        self.problems: list[str] = []

    def check(self) -> dict[str, list[Diagnostic]]:
        """The findings of every file of the runs that the open files belong to, by path as documents have it."""
        self.runs, self.problems = [], []
        found: dict[str, dict[tuple[str, int, int, str], Diagnostic]] = {}
        for settings, paths in self._by_configuration().items():
            project = self._configuration(settings)
            runs = self._runs(project, paths)
            self._suppress(project, runs)
            self.runs += runs
        for run in self.runs:
            for document, kind in zip(run.documents, run.kinds, strict=True):
                found.setdefault(document.path, {})
                self.kinds[self.buffers.identity(document.path)] = kind
            for each in run.diagnostics:
                if not each.suppressed:
                    key = (each.code, each.place.start, each.place.end, each.message)
                    found.setdefault(each.place.file, {}).setdefault(key, each)
        return {path: list(each.values()) for path, each in found.items()}

    def runs_of(self, path: str) -> list[tuple[CheckedRun, Document, str]]:
        """(run, document, kind) for the runs that a file is part of."""
        identity = self.buffers.identity(path)
        return [
            (run, document, kind)
            for run in self.runs
            for document, kind in zip(run.documents, run.kinds, strict=True)
            if self.buffers.identity(document.path) == identity
        ]

    def _by_configuration(self) -> dict[str | None, list[str]]:
        """The open files by the configuration that holds for them."""
        found: dict[str | None, list[str]] = {}
        for path in self.buffers.names.values():
            if os.path.basename(path) not in SETTINGS_FILES:
                found.setdefault(self.config or settings_file.find(os.path.dirname(path)), []).append(path)
        return found

    def _configuration(self, path: str | None) -> Configuration:
        """A configuration, an empty one where it cannot be used."""
        if path is None:
            return Configuration()
        try:
            project = settings_file.take(self.buffers.read_bytes(path), path)
            if project.policy_files:
                from cfglint.project import policy_schema

                project.policies = policy_schema.load(project.policy_files, project.folder)
        except (ConfigurationError, files.FileProblem) as error:
            self.problems.append(str(error))
            return Configuration()
        return project

    def _runs(self, project: Configuration, paths: list[str]) -> list[CheckedRun]:
        """The declared runs that have one of the files, and the runs of the other files."""
        runs: list[CheckedRun] = []
        left = {self.buffers.identity(path): path for path in paths}
        for declared in project.runs:
            run = self._declared(project, declared)
            members = {self.buffers.identity(document.path) for document in run.documents} if run is not None else set()
            if run is not None and members & {*map(self.buffers.identity, paths)}:
                runs.append(run)
                for member in members:
                    left.pop(member, None)
        wanted = list(left.values())
        searched = [*wanted, *(path for path in self._neighbours(wanted) if self.buffers.identity(path) not in left)]
        asked = set(left)
        for _, run in sorted(Discovery(self.facts(project, None), shelf=self.buffers).each(searched), key=lambda pair: pair[0]):
            if asked & {self.buffers.identity(document.path) for document in run.documents}:
                runs.append(run)
        return runs

    def _declared(self, project: Configuration, declared: DeclaredRun) -> CheckedRun | None:
        """A declared run, None where it cannot be read."""
        if not all(self.buffers.is_file(line_of(path)[0]) or self.buffers.is_file(path) for path in declared.files):
            return None
        try:
            return Discovery(self.facts(project, declared), declared.kind, shelf=self.buffers).one(declared.files)
        except ConfigurationError as error:
            self.problems.append(str(error))
        except UnknownKindError:  # also a script without its launch line
            pass
        return None

    def _neighbours(self, paths: list[str]) -> list[str]:
        """The files in the folders of the open ones, and in those right above, that mention an open file by its name."""
        names = {os.path.basename(path) for path in paths}
        folders = {folder: None for path in paths for folder in (os.path.dirname(path), os.path.dirname(os.path.dirname(path)))}
        found: list[str] = []
        for folder in folders:
            try:
                listed = sorted(os.listdir(folder or os.curdir))
            except OSError:
                continue
            candidates = [name for name in listed if name.lower().endswith((*EXTENSIONS, *SCRIPTS))]
            for name in candidates[:MOST_NEIGHBOURS]:
                path = os.path.join(folder, name)
                if self._mentions(path, names - {name}):
                    found.append(path)
        return found

    def _mentions(self, path: str, names: set[str]) -> bool:
        """Whether a file has one of the names in its text."""
        if not names or not os.path.isfile(path) or os.path.getsize(path) > LARGEST_NEIGHBOUR:
            return False
        try:
            content = self.buffers.read_bytes(path)
        except files.FileProblem:
            return False
        return any(os.fsencode(name) in content for name in names)

    def _suppress(self, project: Configuration, runs: list[CheckedRun]) -> None:
        """Mark what comments, the configuration and the baseline suppress."""
        outcomes = [run.outcome() for run in runs]
        settle(outcomes)
        selection = Selection(project, None, None, None)
        for outcome in outcomes:
            selection.apply(outcome)
        if project.baseline:
            from cfglint.project import baseline

            try:
                baseline.read(os.path.join(project.folder, project.baseline)).apply(outcomes)
            except ConfigurationError as error:
                self.problems.append(str(error))
