"""Which programs import a module of their project that trains, by the text of their imports, before anything is parsed."""

from __future__ import annotations

import re

from cfglint.run.program_scan import content_of, has_marks
from cfglint.run.readers import imported_as
from cfglint.source.annotations import Iterable, Iterator

MOST_MODULES = 60  # that are followed from one program: what lies behind more is a package of its own, not the program's training
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+\.*([\w.]*)[ \t]+import[ \t]+([\w., \t(]*(?:\n[\w., \t]+)*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


class Imports:
    """The modules of a project by their names, and what each imports."""

    def __init__(self, programs: Iterable[str]) -> None:
        self.modules: dict[str, list[tuple[str, str]]] = {}  # name -> (package, path)
        for path in programs:
            package, name = imported_as(path)
            self.modules.setdefault(name, []).append((package, path))
        self._read: dict[str, tuple[bool, list[str]]] = {}

    def lead_to_training(self, path: str) -> bool:
        """Whether a program imports a module that may build the arguments of a trainer, itself or by others."""
        seen = {path: None}
        queue = [path]
        while queue and len(seen) <= MOST_MODULES:
            for module in self.read(queue.pop(0))[1]:
                if module not in seen:
                    if self.read(module)[0]:
                        return True
                    seen[module] = None
                    queue.append(module)
        return False

    def read(self, path: str) -> tuple[bool, list[str]]:
        """Whether a module may build the arguments of a trainer, and the modules of the project that it may import: those of a name in
        the folder that the import has, if it has one.
        """
        if path not in self._read:
            content = content_of(path)
            imported = [
                module
                for package, name in dict.fromkeys(imported_names(content))
                for folder, module in self.modules.get(name, ())
                if package in ("", folder) and module != path
            ]
            self._read[path] = has_marks(content), imported
        return self._read[path]


def imported_names(content: bytes) -> Iterator[tuple[str, str]]:
    """(last part of the package or empty, name) of each module that a program may import: `from a.b import c` names b and c."""
    for package, members, modules in IMPORT.findall(content):
        for module in modules.split(b",") if modules else [package]:
            above, _, name = module.split(b" as ")[0].strip().decode("utf-8", "replace").rpartition(".")
            yield above.rpartition(".")[2], name
            for member in re.findall(rb"\w+", members):
                yield name, member.decode("utf-8", "replace")
