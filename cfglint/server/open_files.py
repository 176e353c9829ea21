"""The open files of an editor, and the runs that they belong to."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import Diagnostic, Outcome
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project import baseline, settings_file
from cfglint.project.selection import Selection, suppress
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import PROGRAMS, UnknownKindError, is_one_of, line_of
from cfglint.run.quick_scan import may_train
from cfglint.run.readers import Readers
from cfglint.source.annotations import Callable, Collection, Iterable, TypeAlias
from cfglint.source.document import Document
from cfglint.source.file_source import FileSource
from cfglint.source.files import EXTENSIONS, FileProblem, state_of
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
        identity = self.identity(path)
        self.open[identity] = text
        self.names[identity] = path

    def drop(self, path: str) -> None:
        self.open.pop(self.identity(path), None)
        self.names.pop(self.identity(path), None)

    def is_file(self, path: str) -> bool:
        return self.is_given(path) or super().is_file(path)

    def is_given(self, path: str) -> bool:
        return self.identity(path) in self.open

    def read_bytes(self, path: str) -> bytes:
        given = self.open.get(self.identity(path))
        return given.encode("utf-8", "surrogatepass") if given is not None else super().read_bytes(path)

    def read(self, path: str) -> tuple[str, bool]:
        given = self.open.get(self.identity(path))
        return (given, False) if given is not None else super().read(path)


class Neighbours(Readers):
    """Searches the projects of the open files; of a root that is no work tree, as a home, only the folders around an open file."""

    def __init__(self, source: FileSource) -> None:
        super().__init__(source)
        self.known: dict[tuple[str, int, int], dict[str, bool]] = {}  # by path, time of the last change in ns, and size
        self.listed: dict[tuple[str, str], list[str]] = {}  # by configuration and root

    def known_of(self, path: str) -> dict[str, bool]:
        """What is known of a file on disk is kept until it changes, as an editor asks often."""
        return {} if self.source.is_given(path) else self.known.setdefault((path, *state_of(path)), {})

    def mentions(self, path: str, names: Iterable[str]) -> bool:
        return bool(self.mentioning({path: self.known_of(path)}, [*names]))

    def naming(self, paths: list[str], discovery: Discovery, configuration: str) -> list[str]:
        """The files that may read one of some files, directly or by another file."""
        folders: dict[tuple[str, bool], None] = {}  # each with whether everything below it belongs to the same project
        for path in paths:
            root = discovery.walk.root_of(path)
            if configuration or os.path.exists(os.path.join(root, ".git")):
                folders[root, True] = None
                continue
            folder = os.path.dirname(path)
            folders[folder, False] = None
            while folder not in (root, "", os.path.dirname(folder)):
                folder = os.path.dirname(folder)
                folders[folder, False] = None
        around: list[str] = []
        for folder, deep in folders:
            if (configuration, folder) not in self.listed:
                self.listed[configuration, folder] = [*discovery.walk.around(folder, deep)]
            around += self.listed[configuration, folder]
        return self.of(paths, around)


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
        """The findings of every file in the runs of the open files, by the path of its document; one that several runs have in common is
        included once.

        `changed` are the real paths of the files whose content has changed since the last check; None if anything else may have
        changed: files on disk, configurations, the set of open files.
        """
        affected = self._affected(changed)
        self.problems = []
        if changed is None:
            self.neighbours.listed.clear()
            self.buffers.read_folders.clear()
        self.runs = [run for run in self.runs if affected is not None and not run.files & affected]
        by_configuration: dict[str | None, list[str]] = {}
        large = {*self.too_large()}
        for identity, path in self.buffers.names.items():
            if os.path.basename(path) not in SETTINGS_FILES and path not in large and (affected is None or identity in affected):
                by_configuration.setdefault(self.config or settings_file.find(os.path.dirname(path)), []).append(path)
        for settings, paths in by_configuration.items():
            try:
                project = settings_file.in_effect(settings, self.config is not None, self._read)
            except ConfigurationError as error:
                self.problems.append(str(error))
                project = Configuration()
            open_runs = self._runs(project, paths)
            for open_run, outcome in zip(open_runs, self._suppress(project, [each.run for each in open_runs]), strict=True):
                open_run.diagnostics = outcome.diagnostics
            self.runs += open_runs
        found: dict[str, dict[tuple[str, int, int, str], Diagnostic]] = {}
        for run in self.runs:
            for document, kind in zip(run.run.documents, run.run.kinds, strict=True):
                self.kinds[self.buffers.identity(document.path)] = kind
            for path in run.run.paths:
                found.setdefault(path, {})
            for diagnostic in run.diagnostics:
                if not diagnostic.suppressed:
                    key = (diagnostic.code, diagnostic.place.start, diagnostic.place.end, diagnostic.message)
                    found.setdefault(diagnostic.place.file, {}).setdefault(key, diagnostic)
        return {path: list(diagnostics.values()) for path, diagnostics in found.items()}

    def _affected(self, changed: set[str] | None) -> set[str] | None:
        """The open files whose runs may be affected by a change of some files; None for all of them."""
        if changed is None or not all(path.lower().endswith(EXTENSIONS) for path in changed):
            return None  # a script may compose the names of its files
        found = {*changed}
        names = {os.path.basename(path) for path in changed}
        texts = [self.buffers.open.get(path, "") for path in changed]
        for path, text in self.buffers.open.items():
            if any(name in text for name in names) or any(os.path.basename(path) in changed_text for changed_text in texts):
                found.add(path)
        size = 0
        while len(found) > size:
            size = len(found)
            found.update(*(run.files for run in self.runs if run.files & found))
        return found

    def runs_of(self, path: str) -> list[tuple[CheckedRun, Document, str]]:
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
        return [path for identity, path in self.buffers.names.items() if len(self.buffers.open[identity]) > LARGEST]

    def _read(self, path: str) -> Configuration:
        try:
            return settings_file.configuration_of(self.buffers.read_bytes(path), path)
        except FileProblem as error:
            raise ConfigurationError(str(error)) from error

    def _runs(self, project: Configuration, paths: list[str]) -> list[OpenRun]:
        """The declared runs that contain one of the files, and the runs of the other files."""
        identity = self.buffers.identity
        paths = [path for path in paths if not is_one_of(path, project.exclude)]
        discovery = Discovery(self.facts(project, None), source=self.buffers)
        discovery.request.kinds, discovery.request.exclude = project.kinds, project.exclude
        naming = self.neighbours.naming(paths, discovery, project.path)
        left = {identity(path): path for path in paths}
        asked = {*left}
        around = {*map(identity, (*paths, *naming))}
        names = {os.path.basename(path) for path in (*paths, *naming)}
        runs: list[OpenRun] = []

        def take(run: CheckedRun, wanted: Collection[str]) -> frozenset[str]:
            members = frozenset(map(identity, run.read_paths))
            if members.isdisjoint(wanted):
                return frozenset()
            runs.append(OpenRun(run, project, members))
            return members

        for declared in project.runs:
            files = [line_of(path)[0] for path in declared.files]
            if any(identity(path) in around or self.neighbours.mentions(path, names) for path in files):
                for run in self._declared(project, declared):
                    for member in take(run, asked):
                        left.pop(member, None)
        if not left:
            return runs
        readers = [path for path in naming if not self.buffers.is_given(path) and self._may_have_runs(path)]
        asked_for = [path for path in left.values() if readers or self._may_have_runs(path)]
        found = discovery.runs(asked_for, readers)
        self.problems += [f"{path}: {reason}" for path, reason in discovery.request.stats.unchecked.items()]
        for run in found:
            take(run, left)
        return runs

    def _may_have_runs(self, path: str) -> bool:
        """Whether a file may have runs, by its text if it is a program: editors open many that train nothing."""
        try:
            return not path.endswith(PROGRAMS) or may_train(self.buffers.read_bytes(path))
        except FileProblem:
            return False

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
        outcomes = [run.outcome() for run in runs]
        selection = Selection(project)
        self.problems += [f"{project.path}: no rule has the code or name {code}" for code in selection.unknown()]
        suppress(outcomes, selection)
        if project.baseline:
            try:
                baseline.read(project.baseline).apply(outcomes)
            except ConfigurationError as error:
                self.problems.append(str(error))
        return outcomes
