"""Finds the file of a launch line's program, and the folders that it imports from."""

from __future__ import annotations

import os
from itertools import chain

from cfglint.launch.line import LaunchLine
from cfglint.source.annotations import Callable, Iterable, Iterator
from cfglint.source.project_files import Project
from cfglint.source.record import Record

SETUP = ("setup.py", "pyproject.toml", "setup.cfg")
MOST_NAMES = 100  # of the names at the top of a project, which may be packages


class Found(Record):
    """The file of a program, its package if it is run as a module, and the search path of its imports.

    `entry` is the function that a command of the project calls; the module is then imported, and not run itself.
    """

    path: str
    package: str
    folders: list[str]
    read: Callable[[str], str | None]
    entry: str = ""


def find(line: LaunchLine, project: Project) -> Found | None:
    """The program of a line, if it is a Python file of the project."""
    name = line.program.value if line.program is not None else None
    if not name:
        return None
    folder = project.real(os.path.normpath(line.folder)) if line.folder is not None else None
    path, package = line.program_path, ""
    if line.module and (folder is not None or "." in name):  # a dotted name tells which program it is, wherever the line starts
        folders = [*([folder] if folder is not None else ()), project.root, os.path.join(project.root, "src")]
        elsewhere = checkouts(line, name.partition(".")[0], project) if "." in name else ()
        path, package = module_file(name, chain(folders, elsewhere), project)
    if path is None or not path.endswith(".py"):
        return None
    start = folder if line.module else os.path.dirname(path)
    folders = [each for each in (start, folder, *roots(project)) if each is not None]
    return Found(path, package, list(dict.fromkeys(folders)), project.read, line.entry)


def program_at(path: str, project: Project) -> Found:
    """A program that is started from the top of its project."""
    folders = [os.path.dirname(path) or ".", *roots(project)]
    return Found(path, "", list(dict.fromkeys(folders)), project.read)


def roots(project: Project) -> list[str]:
    """The folders of a project that its packages are imported from: its top, and those of packages with a setup file of their own."""
    names = [name for name in project.names(project.root) if "." not in name]
    inside = [os.path.join(project.root, name) for name in names[:MOST_NAMES]]
    own = [each for each in inside if any(project.is_file(os.path.join(each, name)) for name in SETUP)]
    return [project.root, os.path.join(project.root, "src"), *(each for folder in own for each in (folder, os.path.join(folder, "src")))]


def checkouts(line: LaunchLine, package: str, project: Project) -> Iterator[str]:
    """The folders above a script, and those in them that are named like a package, also with a version (`verl-0.4.x`): a checkout of it,
    which is installed from there.
    """
    inside = os.path.relpath(os.path.dirname(line.script_path) or os.curdir, project.root or os.curdir)
    parts = [] if inside.split(os.sep, 1)[0] in (os.curdir, os.pardir) else inside.split(os.sep)
    for count in range(len(parts), -1, -1):
        folder = os.path.join(project.root, *parts[:count])
        yield folder
        names = [name for name in project.names(folder) if name.lower().replace("_", "-").startswith(f"{package}-")]
        yield from (os.path.join(folder, each) for each in (package, *sorted(names)))


def module_file(name: str, folders: Iterable[str], project: Project) -> tuple[str | None, str]:
    """(file, package) of a module that is run with `-m`."""
    inside = name.replace(".", "/")
    for folder in folders:
        for path, package in ((f"{inside}.py", name.rpartition(".")[0]), (f"{inside}/__main__.py", name)):
            full = os.path.normpath(os.path.join(folder, path))
            if project.is_file(full):
                return full, package
    return None, ""
