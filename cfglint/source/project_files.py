"""The files of the project that a script is in."""

from __future__ import annotations

import os

from cfglint.source.annotations import Callable

ROOT = "%root%"  # the project's top in paths that a script computes


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
    ) -> None:
        self.root = root
        self._is_file = is_file
        self._read = read
        self._leads_out = leads_out or self.is_above
        self._names = names
        self.outside: dict[str, None] = {}

    def is_above(self, path: str) -> bool:
        """Whether the spelling of a path leads above the top folder."""
        return os.path.relpath(path, self.root or os.curdir).split(os.sep, 1)[0] == os.pardir

    def is_file(self, path: str) -> bool:
        """Whether a path is a file of the project."""
        return self._is_file(path) and not self.is_outside(path)

    def is_outside(self, path: str) -> bool:
        """Whether an existing file is outside the project, which is recorded."""
        if self._leads_out(path):
            self.outside[path] = None
            return True
        return False

    def read(self, path: str) -> str | None:
        """The content of a file of the project; None if there is none."""
        return self._read(path) if self.is_file(path) else None

    def names(self, folder: str) -> list[str]:
        """The names in a folder of the project; empty for one outside, or if there is none."""
        is_inside = os.path.normpath(folder) == os.path.normpath(self.root) or not self._leads_out(folder)
        return self._names(folder) if self._names is not None and is_inside else []

    def source(self, path: str) -> str | None:
        """The content of a file that was found in the project's folders, and that is no link."""
        return self._read(path)

    def real(self, path: str) -> str | None:
        """The path of a project file, relative to the working directory; None for one outside the project."""
        if not path.startswith(ROOT):
            return None
        inside = path[len(ROOT) :].lstrip("/")
        full = os.path.normpath(os.path.join(self.root, inside)) if inside else self.root
        above = inside == os.pardir or inside.startswith("../")
        return None if above and self._leads_out(full) else full

    def text(self, path: str) -> str | None:
        """The content of a file of the project."""
        real = self.real(path)
        return self.read(real) if real is not None else None

    def exists(self, path: str) -> bool | None:
        """Whether a path of the project is a file; None for a path outside the project."""
        real = self.real(path)
        return None if real is None else self.is_file(real)
