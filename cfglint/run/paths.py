"""The paths of a command line: which files are configs, scripts or programs by their names, and the line in `script:line`."""

from __future__ import annotations

import os

from cfglint.frameworks import file_kinds
from cfglint.source import CfglintError
from cfglint.source.files import JSON_EXTENSIONS, TYPED

TYPE_CHECKING = False

BY_HAND = "--args"  # in place of a path: a run that consists of arguments given with --args
HERE = ""  # the working directory if no path is given; files below it have relative paths
SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".md", ".mk")
MAKEFILES = ("makefile", "gnumakefile")
EXTENSIONS = (".yaml", ".yml", *JSON_EXTENSIONS)
PROGRAMS = (".py", ".ipynb")
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

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: could not determine the kind of this file; pass --kind {'|'.join(file_kinds())}")
        self.path = path


class LaunchChoiceError(UnknownKindError):
    """A script contains no launch line, or several, but exactly one is required."""

    def __init__(self, path: str, launches: list[int]) -> None:
        lines = sorted({*launches})
        name = line_of(path)[0]
        text = f"{path}: no training launch was found in this script"
        if is_program(path):
            text = f"{path}: this program builds no trainer's arguments in code; name the script that launches it"
        if lines:
            shown = ", ".join(f"{name}:{line}" for line in lines[:10])
            text = f"{path}: {len(launches)} launches; name one of them: {shown}{' ...' if len(lines) > 10 else ''}"
        Exception.__init__(self, text)
        self.path = path


class MissingSectionError(UnknownKindError):
    """A file has no mapping under the key of `--section`."""

    def __init__(self, path: str, section: tuple[str, ...]) -> None:
        Exception.__init__(self, f"{path}: there is no `{'.'.join(section)}` in this file (--section)")
        self.path = path
