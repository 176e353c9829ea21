"""The paths of a command line: which files are configs, scripts or programs by their names, and the line in `script:line`."""

from __future__ import annotations

import os

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
