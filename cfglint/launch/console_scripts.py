"""The commands that a project installs: each calls a function of one of its modules."""

from __future__ import annotations

import re

from cfglint.source.project_files import Project
from cfglint.source.record import Record

TABLES = ("[project.scripts]", "[tool.poetry.scripts]")
ENTRY = re.compile(r"""^\s*["']?([\w.-]+)["']?\s*=\s*["']?([\w.]+):(\w+)""")
QUOTED = re.compile(r"""["']\s*([\w.-]+)\s*=\s*([\w.]+):(\w+)""")  # in the list of a setup.py
POINTS = "console_scripts"


class ConsoleScript(Record):
    """What a command runs: a function of a module."""

    module: str
    function: str


def console_scripts(project: Project) -> dict[str, ConsoleScript]:
    """The commands of a project by their names, as its pyproject.toml, setup.cfg or setup.py states them."""
    folder = f"{project.root}/" if project.root else ""
    texts = {name: project.read(folder + name) or "" for name in ("pyproject.toml", "setup.cfg", "setup.py")}
    found: list[tuple[str, ...]] = []
    is_table = False
    for line in texts["pyproject.toml"].splitlines():
        if line.lstrip().startswith("["):
            is_table = line.strip() in TABLES
        elif is_table and (entry := ENTRY.match(line)):
            found.append(entry.groups())
    for line in texts["setup.cfg"].partition(POINTS)[2].splitlines()[1:]:  # indented after `console_scripts =`
        entry = ENTRY.match(line)
        if not line[:1].isspace() or entry is None:
            break
        found.append(entry.groups())
    found += QUOTED.findall(texts["setup.py"].partition(POINTS)[2])
    return {name: ConsoleScript(module, function) for name, module, function in found}
