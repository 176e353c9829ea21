"""The paths of a command line become files: configs, scripts and programs by their names, the line in `script:line`, those of a folder."""

from __future__ import annotations

import os

from cfglint.frameworks import file_kinds, framework
from cfglint.launch.kinds import LAUNCH
from cfglint.run.scan_stats import ScanStats
from cfglint.source import CfglintError
from cfglint.source.annotations import Iterator
from cfglint.source.file_source import FileSource
from cfglint.source.files import JSON_EXTENSIONS, TYPED
from cfglint.source.shell import MARKDOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.folders import Tracked

BY_HAND = "--args"  # in place of a path: a run that consists of arguments given with --args
HERE = ""  # the working directory if no path is given; files below it have relative paths
SCRIPTS = (".sh", ".bash", ".zsh", ".ksh", ".sbatch", ".slurm", ".pbs", ".qsub", ".lsf", ".job", ".md", ".mk")
MAKEFILES = ("makefile", "gnumakefile")
EXTENSIONS = (".yaml", ".yml", *JSON_EXTENSIONS)
PROGRAMS = (".py", ".ipynb")
MOST_FILES = 5000  # of a project that are searched for the name of a file
SECTIONS = ("training_args", "training_arguments", "trainer_args", "train_args", "TrainingArguments")  # sections of a program's own files


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
        super().__init__(text or f"{path}: could not determine the kind of this file; pass --kind {'|'.join(file_kinds())}")
        self.path = path


class LaunchChoiceError(UnknownKindError):
    """A script contains no launch line, or several, but exactly one is required."""

    def __init__(self, path: str, launches: list[int]) -> None:
        lines = sorted({*launches})
        if lines:
            shown = ", ".join(f"{line_of(path)[0]}:{line}" for line in lines[:10])
            text = f"{len(launches)} launches; name one of them: {shown}{' ...' if len(lines) > 10 else ''}"
        elif is_program(path):
            text = "this program builds no trainer's arguments in code; name the script that launches it"
        else:
            where = "the code blocks of this page" if path.lower().endswith(MARKDOWN) else "this script"
            text = f"no training launch was found in {where}"
        super().__init__(path, f"{path}: {text}")


class MissingSectionError(UnknownKindError):
    """A file has no mapping under the key of `--section`."""

    def __init__(self, path: str, section: tuple[str, ...]) -> None:
        super().__init__(path, f"{path}: there is no `{'.'.join(section)}` in this file (--section)")


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
        """The kind that the configuration sets for a file; None if it sets none."""
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
        """The files of the paths, those in folders included."""
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
