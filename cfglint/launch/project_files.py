"""The files of the project that a script is in."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = "%root%"  # the project's top in paths that a script computes


class Project:
    """The files around a script. `root` is the project's top folder; `is_file` and `read` take paths relative to the working directory."""

    def __init__(self, root: str, is_file: Callable[[str], bool], read: Callable[[str], str | None]) -> None:
        self.root = root
        self.is_file = is_file
        self.read = read

    def real(self, path: str) -> str | None:
        """The path of a project file, relative to the working directory; None for one outside the project."""
        if not path.startswith(ROOT):
            return None
        inside = path[len(ROOT) :].lstrip("/")
        if inside == ".." or inside.startswith("../"):
            return None
        return os.path.normpath(os.path.join(self.root, inside)) if inside else self.root

    def text(self, path: str) -> str | None:
        """The content of a file of the project."""
        real = self.real(path)
        return self.read(real) if real is not None and self.is_file(real) else None

    def exists(self, path: str) -> bool | None:
        """Whether a path of the project is a file; None for a path outside the project."""
        real = self.real(path)
        return None if real is None else self.is_file(real)
