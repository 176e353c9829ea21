"""The root of a project: the top of its git work tree, else the folder of its cfglint configuration, else the working directory."""

from __future__ import annotations

import os
import stat

CLOSED = ".git"  # a folder (of a work tree or submodule: a file) that belongs to no project, whoever names what is in it

IRREGULAR = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)

_roots: dict[str, str] = {}


def root_of(path: str) -> str:
    """The root of the project that contains a file, with links resolved."""
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in _roots:
        root = top_of(folder, ".git") or top_of(folder, "cfglint.toml")
        if root is None:
            try:
                here = os.getcwd()
            except OSError:  # it was deleted
                here = folder
            root = here if resolved(folder) == resolved(here) or is_inside(folder, resolved(here)) else folder
        _roots[folder] = resolved(root)
    return _roots[folder]


def top_of(folder: str, mark: str) -> str | None:
    while not os.path.exists(os.path.join(folder, mark)):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def resolved(path: str) -> str:
    """A path with links resolved; an invalid path with a null byte is only made absolute."""
    return os.path.abspath(path) if "\0" in path else os.path.realpath(path)


def never_opened(path: str, root: str | None = None, mode: int | None = None) -> str:
    """Why a file is never opened, after links are resolved; empty for one that may be.

    With the `root` of a project, for a file that its content names or that lies beside one of its files: what is outside of it or in its
    `.git`. With the `mode` of the file, whoever names it: what is no regular file.
    """
    if root is not None:
        real, inside = resolved(path), root.rstrip(os.sep) + os.sep
        if not real.startswith(inside):
            return "is outside of the project"
        if CLOSED in real[len(inside) :].lower().split(os.sep):
            return "is in the `.git` of the project"
    if mode is None or stat.S_ISREG(mode):
        return ""
    return next((what for is_kind, what in IRREGULAR if is_kind(mode)), "is not a regular file")


def is_inside(path: str, root: str) -> bool:
    """Whether a path is inside a folder, and not in its `.git`, after links are resolved."""
    return not never_opened(path, root)


def leads_out(path: str, origin: str) -> bool:
    """Whether a path is outside the project of the file that names it, after links are resolved.

    Every file that is opened because another one names it, or because it lies beside another one, is checked with this function, or
    opened with the root of its project (`files.open_regular`): only what the user names on the command line may be anywhere.
    """
    return not is_inside(path, root_of(origin))


def folders_upwards(path: str) -> list[str]:
    """The folder of a file and its parents, up to the root of its project."""
    folder = os.path.dirname(path)
    found = [folder]
    here, root = os.path.abspath(folder), root_of(path)
    inside = root.rstrip(os.sep) + os.sep
    while resolved(here).startswith(inside) and os.path.dirname(here) != here:
        here = os.path.dirname(here)
        folder = os.path.normpath(os.path.join(folder, os.pardir))
        found.append("" if folder == os.curdir else folder)
    return found


def places_of(name: str, origin: str) -> list[str]:
    """The paths that a name in a file may mean, the likeliest first: from its folder, those above up to the root, the working directory."""
    if os.path.isabs(name):
        return [name]
    found = [os.path.normpath(os.path.join(folder, name)) for folder in (*folders_upwards(origin), "")]
    return [*dict.fromkeys(found)]


def repository(path: str) -> list[str]:
    """The folders from that of a file to the top of its repository; without one to the working directory above it, else only its own."""
    folder = os.path.dirname(os.path.abspath(path))
    here = os.getcwd()
    folders = [folder]
    below = 1
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return folders[:below]
        folder = above
        folders.append(folder)
        if folder == here:
            below = len(folders)
    return folders
