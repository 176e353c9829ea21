"""Which programs import a module of their project that trains, by the text of their imports, before anything is parsed."""

from __future__ import annotations

import os
import re

from cfglint.run.program_scan import content_of, has_marks
from cfglint.source.annotations import Iterable, Iterator

MOST_MODULES = 60  # that are followed from one program: what lies behind more is a package of its own, not the program's training
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+\.*([\w.]*)[ \t]+import[ \t]+([\w., \t(]*(?:\n[\w., \t]+)*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


class Imports:
    """The modules of a project by their names, and what each imports."""

    def __init__(self, programs: Iterable[str]) -> None:
        self.modules: dict[str, list[str]] = {}
        for path in programs:
            self.modules.setdefault(module_name(path), []).append(path)
        self.imported: dict[str, list[str]] = {}

    def lead_to_training(self, path: str) -> bool:
        """Whether a program imports a module that may build the arguments of a trainer, itself or by others."""
        seen = {path: None}
        queue = [path]
        while queue and len(seen) <= MOST_MODULES:
            for module in self.of(queue.pop(0)):
                if module not in seen:
                    if has_marks(content_of(module)):
                        return True
                    seen[module] = None
                    queue.append(module)
        return False

    def of(self, path: str) -> list[str]:
        """The modules of the project that a program may import: those of a name in the folder that the import has, if it has one."""
        if path not in self.imported:
            names = dict.fromkeys(imported_names(content_of(path)))
            self.imported[path] = [
                module
                for package, name in names
                for module in self.modules.get(name, ())
                if package in ("", package_name(module)) and module != path
            ]
        return self.imported[path]


def imported_names(content: bytes) -> Iterator[tuple[str, str]]:
    """(last part of the package or empty, name) of each module that a program may import: `from a.b import c` names b and c."""
    for package, members, modules in IMPORT.findall(content):
        for module in modules.split(b",") if modules else [package]:
            above, _, name = module.split(b" as ")[0].strip().decode("utf-8", "replace").rpartition(".")
            yield above.rpartition(".")[2], name
            for member in re.findall(rb"\w+", members):
                yield name, member.decode("utf-8", "replace")


def module_name(path: str) -> str:
    """The name by which a module is imported, without its package."""
    stem = os.path.splitext(path)[0].removesuffix(f"{os.sep}__init__")
    return os.path.basename(stem)


def package_name(path: str) -> str:
    """The name of the folder or package in which a module is."""
    stem = os.path.splitext(os.path.abspath(path))[0].removesuffix(f"{os.sep}__init__")
    return os.path.basename(os.path.dirname(stem))
