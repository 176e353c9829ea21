"""The paths of a command line become files: configs, scripts and programs by their names, the line in `script:line`, those of a folder."""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR
from cfglint.frameworks import file_kinds, framework
from cfglint.launch.kinds import LAUNCH
from cfglint.run.checked import CheckedRun
from cfglint.source import CfglintError
from cfglint.source.annotations import Iterator
from cfglint.source.file_source import FileSource
from cfglint.source.files import EXTENSIONS, TYPED
from cfglint.source.record import Record
from cfglint.source.shell import MARKDOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.folders import Tracked

BY_HAND = "--args"  # in place of a path: a run that consists of arguments given with --args
HERE = ""  # the working directory if no path is given; files below it have relative paths
SCRIPTS = (".sh", ".bash", ".zsh", ".ksh", ".sbatch", ".slurm", ".pbs", ".qsub", ".lsf", ".job", ".md", ".mk")
MAKEFILES = ("makefile", "gnumakefile")
PROGRAMS = (".py", ".ipynb")
MOST_FILES = 5000  # of a project that are searched for the name of a file
SECTIONS = ("training_args", "training_arguments", "trainer_args", "train_args", "TrainingArguments")  # sections of a program's own files
ONLY_KEYS = " only the keys are known"
LIKELY = " is likely, not certain: findings about it are warnings"
LISTS = ("unrecognized_named", "templates", "unclear", "remnants", "beyond_limits", "unreadable", "unchosen", "unknown_kind")
OWN_FILES = ": its own config files and checks are read"


def is_script(path: str) -> bool:
    """Whether a file is searched for launch lines, by its name."""
    name = path.lower()
    return path == TYPED or name.endswith(SCRIPTS) or (name.endswith(MAKEFILES) and os.path.basename(name) in MAKEFILES)


def is_program(path: str) -> bool:
    """Whether a named file is searched for calls that build a trainer's arguments: `train.py`, `train.py:12`."""
    return line_of(path)[0].endswith(PROGRAMS)


def line_of(path: str) -> tuple[str, int | None]:
    """`train.sh:12` as path and line."""
    name, mark, number = path.rpartition(":")
    return (name, int(number)) if mark and number.isdigit() and len(number) < 8 else (path, None)


def is_one_of(path: str, globs: list[str]) -> bool:
    """Whether a path, or a folder that contains it, matches one of some patterns of absolute paths."""
    if not globs:
        return False
    from fnmatch import fnmatch

    path = os.path.abspath(path)
    return any(fnmatch(path, glob) or fnmatch(path, os.path.join(glob, "*")) for glob in globs)


class UnknownKindError(CfglintError):
    """The kind of a file of a run is unknown, and none was specified."""

    def __init__(self, path: str, text: str = "") -> None:
        from cfglint.run.broken import nothing_in

        unknown = nothing_in(path) or f"could not determine the kind of this file; pass --kind {'|'.join(file_kinds())}"
        super().__init__(text or f"{path}: {unknown}")
        self.path = path


class LaunchChoiceError(UnknownKindError):
    """A script contains no launch line, or several, but exactly one is required."""

    def __init__(self, path: str, launches: list[int], others: list[str] | None = None) -> None:
        lines = sorted({*launches})
        if lines:
            shown = ", ".join(f"{line_of(path)[0]}:{line}" for line in lines[:10])
            text = f"{len(launches)} launches; name one of them: {shown}{' ...' if len(lines) > 10 else ''}"
        elif is_program(path):
            from cfglint.source.dataclass_fields import problem_of

            text = "no arguments that are modelled and no launch were found in this program; name the script that launches it"
            text = problem_of(path) or text
        else:
            where = "the fenced blocks of this page" if path.lower().endswith(MARKDOWN) else "this script"
            text = f"no training launch was found in {where}"
            if others:
                from cfglint.findings.wording import first_few

                text += f"; not known to train: {first_few(others)}"
        super().__init__(path, f"{path}: {text}")


class MissingSectionError(UnknownKindError):
    """A file has no mapping under the key of `--section`."""

    def __init__(self, path: str, section: tuple[str, ...]) -> None:
        super().__init__(path, f"{path}: there is no `{'.'.join(section)}` in this file (--section)")


class ScanStats(Record):
    """The examined files, by result."""

    files: set[str] = set()  # absolute paths of the files that were checked
    unrecognized: int = 0
    unrecognized_named: list[tuple[str, list[str]]] = []  # paths of the command line, and the keys in each
    templates: list[str] = []  # templates that cannot be parsed
    unclear: list[str] = []
    remnants: list[str] = []  # unrecognised files that are empty or cannot be parsed
    related_tools: dict[str, int] = {}
    beyond_limits: list[str] = []  # files that exceed a limit of cfglint's own: exit status 2
    unchecked: dict[str, str] = {}  # scripts of which some launches are not checked, with the reason
    unmodelled: dict[str, int] = {}  # frameworks of launch lines of which only the launcher is checked
    not_read: dict[str, None] = {}  # what decides about runs without errors and was not read
    not_known: dict[str, None] = {}  # their important arguments whose values are not known
    unreadable: list[str] = []  # paths that could not be opened: exit status 2
    unchosen: list[str] = []  # reasons why a declared launch is not exactly one run: exit status 2
    unknown_kind: list[str] = []  # files of declared runs whose kind is unknown: exit status 2
    foreign: dict[str, None] = {}  # files that were found or named by others, and not read because they are outside the project
    readers: dict[str, None] = {}  # the places of the runs that read a named file and were looked for
    unsearched: int = 0  # the number of files that were searched for the runs of a named file, if there are more
    outside: dict[str, str] = {}  # releases that are not modelled, with what is checked instead
    targets: dict[str, list[str]] = {}  # `transformers 4.57.1` -> the files of the repository that give this version

    @property
    def checked(self) -> int:
        """The number of files that were checked, each counted once."""
        return len(self.files)

    def count(self, run: CheckedRun) -> None:
        """Count the files of a run, and record the sources of its versions."""
        self.files.update(os.path.abspath(document.path) for document in run.documents)
        if run.is_of_reader:
            self.files.update(map(os.path.abspath, run.read_paths))
            self.readers[run.written_at] = None
        if run.is_unreadable_template:
            self.templates += [document.path for document in run.documents]
        if run.placeholders and run.verdict is None:
            self.not_known.update((f"`{key[1:].replace('/', '.')}`", None) for _, key in sorted(run.placeholders))
        self.beyond_limits += [path for path in run.beyond_limits if path not in self.beyond_limits]
        if run.unmodelled:
            self.unmodelled[run.unmodelled] = self.unmodelled.get(run.unmodelled, 0) + 1
        else:
            not_read, not_known = run.not_read, run.launch.not_known
            # The findings last: most runs need none here, and not everyone who looks for runs asks for theirs.
            if (not_read or not_known) and all(diagnostic.severity != ERROR for diagnostic in run.diagnostics):
                self.not_read.update(dict.fromkeys(reason.text for reason in not_read))
                self.not_known.update(dict.fromkeys(reason.what for reason in not_known if not not_read))
        outside = run.outside
        for package, said_by in run.facts.target_from.items():
            if package not in outside:
                sources = self.targets.setdefault(f"{package} {run.facts.target[package]}", [])
                sources += [str(said_by)] if str(said_by) not in sources else []
        for package, version in outside.items():
            source = f" ({run.facts.target_from[package]})" if package in run.facts.target_from else ""
            if version and version == run.target[package]:
                self.give_outside(f"of {package} {version}", ONLY_KEYS)
            elif package in run.answered:
                self.give_outside(f"{package} {version}{source}", OWN_FILES)
            elif version:
                from cfglint.frameworks.releases.versions import dotted, is_likely, parse_version

                nearest = dotted(parse_version(run.target[package]))
                instead = LIKELY if is_likely(version, nearest) else f" is not modelled, {nearest} is checked instead"
                self.give_outside(f"{package} {version}{source}", instead)

    def give_outside(self, release: str, instead: str) -> None:
        """Say what is checked in the place of a release that is not modelled; files of the project itself come first."""
        if self.outside.get(release) != OWN_FILES:
            self.outside[release] = instead

    def add(self, other: ScanStats) -> None:
        """Add the counts of further files."""
        for name in ("files", "unchecked", "not_read", "not_known", "readers", "foreign"):
            getattr(self, name).update(getattr(other, name))
        for name in LISTS:
            getattr(self, name).extend(getattr(other, name))
        for name in ("unmodelled", "related_tools"):
            numbers = getattr(self, name)
            numbers.update({what: numbers.get(what, 0) + number for what, number in getattr(other, name).items()})
        self.unrecognized += other.unrecognized
        self.unsearched = max(self.unsearched, other.unsearched)
        for version, sources in other.targets.items():
            self.targets[version] = [*dict.fromkeys((*self.targets.get(version, ()), *sources))]
        for release, instead in other.outside.items():
            self.give_outside(release, instead)


class Request:
    """What is asked of some paths, and what is counted on the way to the answer."""

    def __init__(self, kind: str | None = None, section: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.section = section
        self.stats = ScanStats()
        self.exclude: list[str] = []  # patterns of excluded absolute paths
        self.exclude_named = False  # whether named files are excluded, too
        self.own_files: set[str] = set()  # absolute paths of cfglint's own files, which are never configs
        self.kinds: dict[str, str] = {}  # patterns of absolute paths -> kind of these files
        self.named: set[str] = set()  # files named on the command line, not found in a folder
        self.are_named = True  # whether the paths come from the command line, and were not found by cfglint

    @property
    def reads_lines(self) -> bool:
        """Whether scripts are read for launch lines: also for a kind whose config is such a line."""
        return self.kind in (None, LAUNCH) or bool(framework(self.kind or LAUNCH).programs)

    def kind_by_pattern(self, path: str) -> str | None:
        return next((kind for glob, kind in self.kinds.items() if is_one_of(path, [glob])), None)


class Walk:
    """Finds the files of paths, and those around them."""

    def __init__(self, source: FileSource, request: Request) -> None:
        self.source = source
        self.request = request
        self._tracked: Tracked | None = None  # what git tracks of the files that can matter, for all walks

    def root_of(self, path: str) -> str:
        """The top of the project of a file, spelled like its path."""
        root = self.source.root(path)
        if os.path.isabs(path):
            return os.path.abspath(root)
        return HERE if root == os.curdir and not path.startswith(os.curdir + os.sep) else root

    def files(self, paths: list[str]) -> Iterator[str]:
        for path in paths:
            if path == HERE or (os.path.isdir(path) and not self.source.is_file(path)):
                yield from filter(self.is_looked_at, self._below(path, self.request.stats.unreadable))
            elif (self.request.are_named and not self.request.exclude_named) or not is_one_of(path, self.request.exclude):
                if self.request.are_named:
                    self.request.named.add(path)
                else:
                    name = line_of(path)[0]
                    if self.source.leads_out(name, name, self.request.named):
                        self.request.stats.foreign[name] = None
                        continue
                yield path

    def around(self, root: str, deep: bool = True) -> Iterator[str]:
        """The files of a project that can name another one, up to a limit that is reported; `deep`: those in folders below, too."""
        left = MOST_FILES
        for path in self._below(root, [], deep):
            if not left:
                self.request.stats.unsearched = MOST_FILES
                return
            if path.lower().endswith(PROGRAMS) or self.is_looked_at(path):
                left -= 1
                yield path

    def _below(self, folder: str, unreadable: list[str], deep: bool = True) -> Iterator[str]:
        """The files below a folder that the configuration does not exclude, without links that lead out of the project."""
        from cfglint.source.folders import Tracked, walk_entries

        self._tracked = self._tracked or Tracked()
        own_names = {*map(os.path.basename, self.request.own_files)}
        for entry in walk_entries(folder or os.curdir, self._tracked, unreadable, deep):
            path = entry.path if folder else entry.path.removeprefix(os.curdir + os.sep)
            if entry.name in own_names and os.path.abspath(path) in self.request.own_files:
                continue
            if entry.is_symlink() and self.source.leads_out(path, path, self.request.named):
                if self.is_looked_at(path):
                    self.request.stats.foreign[path] = None
            elif not is_one_of(path, self.request.exclude):
                yield path

    def is_looked_at(self, path: str) -> bool:
        """Whether a file of a folder may be a config or a script, by its name."""
        if path.endswith(PROGRAMS):
            from cfglint.run.quick_scan import content_of, may_train

            return self.request.kind is None and not self.request.section and may_train(content_of(path))
        return path.lower().endswith(EXTENSIONS) or (self.request.reads_lines and is_script(path))
