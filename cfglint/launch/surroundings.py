"""What is around the command of a launch: the machine, and the files of the project."""

from __future__ import annotations

import os

from cfglint.launch.machine import Machine
from cfglint.source.annotations import Any
from cfglint.source.project_files import ROOT, Project, in_folder
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.document import Syntax


class Surroundings(Record):
    """The machine and the project; names of files are relative to the working folder of a command, None if that is unknown."""

    project: Project
    machine: Machine
    folder: str | None

    def path_of(self, name: str) -> str | None:
        """The path of a file of the project; None if there is none."""
        full = from_root(name, self.folder)
        real = self.project.real(full) if full is not None else None
        if real is None or not self.project.is_file(real):
            return None
        return os.path.relpath(real) if os.path.isabs(real) else real

    def is_outside(self, name: str) -> bool:
        """Whether a relative name leads out of the project."""
        full = from_root(name, self.folder)
        real = self.project.real(full) if full is not None else None
        return full is not None and (real is None or real in self.project.outside)

    def has_folder_of(self, name: str) -> bool:
        """Whether the project has the folder that a file is said to be in; false for one that the name does not give."""
        folder = os.path.dirname(name)
        full = from_root(folder, self.folder) if folder else None
        real = self.project.real(full) if full is not None else None
        return real is not None and bool(self.project.names(real))

    def text(self, name: str) -> str | None:
        """The content of a file."""
        path = self.path_of(name)
        return self.project.read(path) if path is not None else None

    def values(self, name: str) -> dict[Any, Any] | None:
        """The values of a YAML or JSON file."""
        text = self.text(name)
        if text is None:
            return None
        from cfglint.source.loaders import STRICT_JSON, YAML11
        from cfglint.source.parse import parse

        syntax: Syntax = "json" if name.endswith(".json") else "yaml"
        value = (STRICT_JSON if syntax == "json" else YAML11).read(parse(name, text, syntax)).value
        return value if isinstance(value, dict) else None


def from_root(name: str, folder: str | None) -> str | None:
    """A name as a path from the top of the project; None if it is absolute, or its folder is unknown."""
    if not name.startswith(ROOT):
        if folder is None or name.startswith(("/", "~", "%")) or not folder.startswith(ROOT):
            return None
        name = f"{folder}/{name}"
    return in_folder(ROOT, name[len(ROOT) :].lstrip("/"))
