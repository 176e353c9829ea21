"""The files of the project that a script is in."""

from __future__ import annotations

import os
from itertools import pairwise

from cfglint.source.annotations import Callable, Iterator

ROOT = "%root%"  # the project's top in paths that a script computes
PATCHES = (".patch", ".diff")
MOST_FOLDERS = 400  # that are searched for a file which is not where its name says


def in_folder(folder: str, name: str) -> str:
    """The path of a name in a folder, without `.` and `..`; what goes back behind a folder, which may be a link, is left as it is."""
    parts = [part for part in name.split("/") if part not in ("", os.curdir)]
    goes_back = any(before != os.pardir and after == os.pardir for before, after in pairwise(parts))
    return f"{folder}/{name}" if goes_back else os.path.normpath(f"{folder}/{name}")


def resolved(root: str, inside: str) -> tuple[str, bool]:
    """(the path of a name below a folder as the system finds it, whether a `..` in it leads out of a link)."""
    path, is_linked = os.path.join(root, ""), False
    for part in inside.split("/"):
        if part == os.pardir and os.path.islink(path.rstrip("/")):
            real = os.path.realpath(path)
            path, is_linked = real if os.path.isabs(root) else os.path.relpath(real), True
        path = os.path.normpath(os.path.join(path, part))
    return path, is_linked


class Project:
    """The files around a script. `root` is the project's top folder; `is_file` and `read` take paths relative to the working directory.

    A file that `leads_out` of the project after links are resolved does not exist here; `outside` records those that were looked for.
    """

    def __init__(
        self,
        root: str,
        is_file: Callable[[str], bool],
        read: Callable[[str], str | None],
        leads_out: Callable[[str], bool] | None = None,
        names: Callable[[str], list[str]] | None = None,
        read_folders: list[tuple[str, list[str]]] | None = None,
    ) -> None:
        self.root = root
        self._is_file = is_file
        self._read = read
        top = root or os.curdir
        self._leads_out = leads_out or (lambda path: os.path.relpath(path, top).split(os.sep, 1)[0] == os.pardir)  # by its spelling
        self._names = names
        self.read_folders = [] if read_folders is None else read_folders  # of all projects with this root that a source gives
        self.outside: dict[str, None] = {}

    def is_file(self, path: str) -> bool:
        return self._is_file(path) and not self.is_outside(path)

    def is_outside(self, path: str) -> bool:
        """Whether an existing file is outside the project, which is recorded."""
        if self._leads_out(path):
            self.outside[path] = None
            return True
        return False

    def read(self, path: str) -> str | None:
        return self._read(path) if self.is_file(path) else None

    def names(self, folder: str) -> list[str]:
        """The names in a folder of the project; empty for one outside, or if there is none."""
        is_inside = os.path.normpath(folder) == os.path.normpath(self.root) or not self._leads_out(folder)
        return self._names(folder) if self._names is not None and is_inside else []

    def with_file(self, name: str) -> Iterator[str]:
        """The folders of the project, the upper ones first, relative to which a file exists; up to a limit of folders that are searched."""
        first = os.path.normpath(name).partition(os.sep)[0]
        possible = (folder for folder, names in self.folders() if first in names)
        return (folder for folder in possible if self.is_file(os.path.normpath(os.path.join(folder, name))))

    def folders(self) -> list[tuple[str, list[str]]]:
        """The folders of the project with their names, the upper ones first, up to a limit; read once for all scripts."""
        if not self.read_folders:
            folders = [self.root or os.curdir]
            for folder in folders:  # which grows
                names = self.names(folder)
                self.read_folders.append((folder, names))
                below = [each for each in names if "." not in each]
                folders += [os.path.join(folder, each) for each in below[: MOST_FOLDERS - len(folders)]]
        return self.read_folders

    def patch_of(self, package: str) -> str:
        """A patch in the project that changes the code of a package, by the folder of that; empty without one."""
        paths = (os.path.normpath(f"{folder}/{name}") for folder, names in self.folders() for name in names if name.endswith(PATCHES))
        starts = (f"\n+++ b/{package}/", f"\n+++ b/src/{package}/")
        return next((path for path in paths if any(start in (self.read(path) or "") for start in starts)), "")

    def source(self, path: str) -> str | None:
        """The content of a file that was found in the project's folders, and that is no link."""
        return self._read(path)

    def real(self, path: str) -> str | None:
        """The path of a project file, relative to the working directory; None for one outside the project."""
        if not path.startswith(ROOT):
            return None
        inside = path[len(ROOT) :].lstrip("/")
        full, is_linked = resolved(self.root, inside) if inside else (self.root, False)
        above = inside == os.pardir or inside.startswith("../")
        return None if (above or is_linked) and self._leads_out(full) else full

    def text(self, path: str) -> str | None:
        real = self.real(path)
        return self.read(real) if real is not None else None

    def exists(self, path: str) -> bool | None:
        """Whether a path of the project is a file; None for a path outside the project."""
        real = self.real(path)
        return None if real is None else self.is_file(real)
