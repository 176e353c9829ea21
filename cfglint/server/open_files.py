"""The open files of an editor, and the runs that they belong to."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import Diagnostic, Outcome
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project import settings_file
from cfglint.project.selection import Selection, suppress
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import EXTENSIONS, PROGRAMS, UnknownKindError, is_one_of, line_of
from cfglint.run.program_scan import may_train
from cfglint.server.neighbours import Neighbours
from cfglint.source.annotations import Callable, TypeAlias
from cfglint.source.document import Document
from cfglint.source.file_source import FileSource
from cfglint.source.files import FileProblem
from cfglint.source.record import Record

Facts: TypeAlias = Callable[[Configuration, DeclaredRun | None], LaunchFacts]

LARGEST = 1_000_000  # characters of an open file that is checked while it is edited
SETTINGS_FILES = ("cfglint.toml", "pyproject.toml")


class Buffers(FileSource):
    """Files with the content shown in the editor; other files are read from disk."""

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[str, str] = {}  # unsaved or not, by real path
        self.names: dict[str, str] = {}  # path as the editor gave it, by real path

    def put(self, path: str, text: str) -> None:
        """Store the content of an open file."""
        identity = self.identity(path)
        self.open[identity] = text
        self.names[identity] = path

    def drop(self, path: str) -> None:
        """Forget a file that was closed."""
        self.open.pop(self.identity(path), None)
        self.names.pop(self.identity(path), None)

    def is_file(self, path: str) -> bool:
        """Whether the file exists, saved or not."""
        return self.is_given(path) or super().is_file(path)

    def is_given(self, path: str) -> bool:
        """Whether the file is open."""
        return self.identity(path) in self.open

    def read_bytes(self, path: str) -> bytes:
        """The content of a file; raises FileProblem."""
        given = self.open.get(self.identity(path))
        return given.encode("utf-8", "surrogatepass") if given is not None else super().read_bytes(path)

    def read(self, path: str) -> tuple[str, bool]:
        """Return (content, whether it had a byte order mark); raises FileProblem."""
        given = self.open.get(self.identity(path))
        return (given, False) if given is not None else super().read(path)


class OpenRun(Record):
    """A run with open files, and the configuration in effect for them."""

    run: CheckedRun
    project: Configuration
    files: frozenset[str]  # real paths
    diagnostics: list[Diagnostic] = []  # without findings about ignore comments that another run of the file needs


class OpenFiles:
    """The runs of the open files, checked again after every change; `problems` are configurations that cannot be used.

    `facts` returns the facts of the launch for a configuration and one of its declared runs.
    """

    def __init__(self, facts: Facts, config: str | None = None) -> None:
        self.facts = facts
        self.config = config
        self.buffers = Buffers()
        self.neighbours = Neighbours(self.buffers)
        self.runs: list[OpenRun] = []
        self.kinds: dict[str, str] = {}  # the last known kind of a file, by real path: a file is often invalid while it is edited
        self.problems: list[str] = []

    def check(self, changed: set[str] | None = None) -> dict[str, list[Diagnostic]]:
        """The findings of every file in the runs of the open files, by the path of its document.

        `changed` are the real paths of the files whose content has changed since the last check; None if anything else may have
        changed: files on disk, configurations, the set of open files.
        """
        affected = self._affected(changed)
        self.problems = []
        if changed is None:
            self.neighbours.listed.clear()
        self.runs = [run for run in self.runs if affected is not None and not run.files & affected]
        for settings, paths in self._by_configuration(affected).items():
            project = self._configuration(settings)
            open_runs = self._runs(project, paths)
            for open_run, outcome in zip(open_runs, self._suppress(project, [each.run for each in open_runs]), strict=True):
                open_run.diagnostics = outcome.diagnostics
            self.runs += open_runs
        for run in self.runs:
            for document, kind in zip(run.run.documents, run.run.kinds, strict=True):
                self.kinds[self.buffers.identity(document.path)] = kind
        return self._findings()

    def _findings(self) -> dict[str, list[Diagnostic]]:
        """The findings of every file; one that several runs have in common is included once."""
        found: dict[str, dict[tuple[str, int, int, str], Diagnostic]] = {}
        for run in self.runs:
            for path in run.run.paths:
                found.setdefault(path, {})
            for diagnostic in run.diagnostics:
                if not diagnostic.suppressed:
                    key = (diagnostic.code, diagnostic.place.start, diagnostic.place.end, diagnostic.message)
                    found.setdefault(diagnostic.place.file, {}).setdefault(key, diagnostic)
        return {path: list(each.values()) for path, each in found.items()}

    def _affected(self, changed: set[str] | None) -> set[str] | None:
        """The open files whose runs may be affected by a change of some files; None for all of them."""
        if changed is None or not all(path.lower().endswith(EXTENSIONS) for path in changed):
            return None  # a script may compose the names of its files
        found = {*changed}
        names = {os.path.basename(path) for path in changed}
        texts = [self.buffers.open.get(path, "") for path in changed]
        for path, text in self.buffers.open.items():
            if any(name in text for name in names) or any(os.path.basename(path) in each for each in texts):
                found.add(path)
        size = 0
        while len(found) > size:
            size = len(found)
            found.update(*(run.files for run in self.runs if run.files & found))
        return found

    def runs_of(self, path: str) -> list[tuple[CheckedRun, Document, str]]:
        """(run, document, kind) for the runs that a file is part of."""
        identity = self.buffers.identity(path)
        return [
            (run.run, document, kind)
            for run in self.runs
            for document, kind in zip(run.run.documents, run.run.kinds, strict=True)
            if self.buffers.identity(document.path) == identity
        ]

    def suppress(self, path: str, run: CheckedRun) -> None:
        """Mark the findings of a run that the configuration of a file or its baseline suppresses."""
        identity = self.buffers.identity(path)
        project = next((open_run.project for open_run in self.runs if identity in open_run.files), Configuration())
        self._suppress(project, [run])

    def too_large(self) -> list[str]:
        """The open files that are not checked because of their size."""
        return [path for identity, path in self.buffers.names.items() if len(self.buffers.open[identity]) > LARGEST]

    def _by_configuration(self, affected: set[str] | None) -> dict[str | None, list[str]]:
        """The open files to be checked, by their configuration."""
        by_configuration: dict[str | None, list[str]] = {}
        large = {*self.too_large()}
        for identity, path in self.buffers.names.items():
            if os.path.basename(path) in SETTINGS_FILES or path in large or (affected is not None and identity not in affected):
                continue
            by_configuration.setdefault(self.config or settings_file.find(os.path.dirname(path)), []).append(path)
        return by_configuration

    def _configuration(self, path: str | None) -> Configuration:
        """A configuration, an empty one if it cannot be used."""
        try:
            return settings_file.in_effect(path, self.config is not None, self._read)
        except ConfigurationError as error:
            self.problems.append(str(error))
            return Configuration()

    def _read(self, path: str) -> Configuration:
        """The configuration in a file; raises ConfigurationError."""
        try:
            return settings_file.configuration_of(self.buffers.read_bytes(path), path)
        except FileProblem as error:
            raise ConfigurationError(str(error)) from error

    def _runs(self, project: Configuration, paths: list[str]) -> list[OpenRun]:
        """The declared runs that contain one of the files, and the runs of the other files."""
        paths = [path for path in paths if not is_one_of(path, project.exclude)]
        discovery = Discovery(self.facts(project, None), source=self.buffers)
        discovery.request.kinds, discovery.request.exclude = project.kinds, project.exclude
        naming = self.neighbours.naming(paths, discovery, project.path)
        left = {self.buffers.identity(path): path for path in paths}
        asked = {*left}
        runs: list[OpenRun] = []
        for declared in project.runs:
            for run in self._declared(project, declared) if self._may_hold(declared, [*paths, *naming]) else ():
                members = self._members(run)
                if members & asked:
                    runs.append(OpenRun(run, project, members))
                    for member in members:
                        left.pop(member, None)
        wanted = [*left.values()]
        if not wanted:
            return runs
        readers = [path for path in naming if not self.buffers.is_given(path) and self._may_have_runs(path)]
        asked_for = [path for path in wanted if readers or self._may_have_runs(path)]
        found = discovery.runs(asked_for, readers)
        self.problems += [f"{path}: {reason}" for path, reason in discovery.request.stats.unchecked.items()]
        for run in found:
            members = self._members(run)
            if members & left.keys():
                runs.append(OpenRun(run, project, members))
        return runs

    def _may_have_runs(self, path: str) -> bool:
        """Whether a file may have runs, by its text if it is a program: editors open many that train nothing."""
        if not path.endswith(PROGRAMS):
            return True
        try:
            return may_train(self.buffers.read_bytes(path))
        except FileProblem:
            return False

    def _members(self, run: CheckedRun) -> frozenset[str]:
        """The real paths of the files of a run."""
        return frozenset(map(self.buffers.identity, run.read_paths))

    def _may_hold(self, declared: DeclaredRun, paths: list[str]) -> bool:
        """Whether a declared run may contain one of some files: it names one of them, or a file of it mentions one."""
        own = [line_of(path)[0] for path in declared.files]
        wanted = {*map(self.buffers.identity, paths)}
        names = {os.path.basename(path) for path in paths}
        return any(self.buffers.identity(path) in wanted or self.neighbours.mentions(path, names) for path in own)

    def _declared(self, project: Configuration, declared: DeclaredRun) -> list[CheckedRun]:
        """A declared run, or the runs of its launch line; none if it cannot be loaded."""
        if not all(self.buffers.is_file(line_of(path)[0]) or self.buffers.is_file(path) for path in declared.files):
            return []
        try:
            return Discovery(self.facts(project, declared), declared.kind, source=self.buffers).together(declared.files)
        except ConfigurationError as error:
            self.problems.append(str(error))
        except UnknownKindError:  # this includes a script without its launch line
            pass
        return []

    def _suppress(self, project: Configuration, runs: list[CheckedRun]) -> list[Outcome]:
        """The outcomes of runs, with suppressed findings marked."""
        outcomes = [run.outcome() for run in runs]
        selection = Selection(project)
        self.problems += [f"{project.path}: no rule has the code or name {code}" for code in selection.unknown()]
        suppress(outcomes, selection)
        if project.baseline:
            from cfglint.project import baseline

            try:
                baseline.read(project.baseline).apply(outcomes)
            except ConfigurationError as error:
                self.problems.append(str(error))
        return outcomes
