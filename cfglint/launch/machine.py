"""What is around the command of a launch: numbers that depend on the machine, the environment or the caller, and the project's files."""

from __future__ import annotations

import os

from cfglint.batch.nodes import fewest_nodes
from cfglint.evaluate import Reason
from cfglint.launch.line import MACHINE, LaunchLine
from cfglint.source.annotations import Any, Mapping, Syntax
from cfglint.source.project_files import ROOT, Project, in_folder
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.reasons import COUNTED

VISIBLE = "CUDA_VISIBLE_DEVICES"


class Machine(Record):
    """The facts about the machine that a script runs on: GPUs per node and nodes; None if unknown. `here`: it is this one, now."""

    gpus: int | None = None
    nodes: int | None = None
    here: bool = False

    @property
    def gpus_per_node(self) -> int | None:
        if self.gpus is None or self.nodes is None or self.nodes < 2:
            return self.gpus
        return self.gpus // self.nodes if self.gpus % self.nodes == 0 else None

    def with_nodes(self, each: int | None) -> Machine:
        """The machine with as few nodes as hold its GPUs, `each` on a node, if their number is unknown."""
        size = fewest_nodes(self.gpus, each) if self.gpus and each and each > 0 and self.nodes is None else None
        return self if size is None else Machine(self.gpus, size.nodes, self.here)


def number(text: Text | None, default: int | None, machine: Machine, line: LaunchLine, field: str) -> int | None:
    if text is None:
        return default
    if text.value is not None:
        try:
            return int(text.value)
        except ValueError:
            line.unsure(field, Reason("argument", f"{text.value!r} is not a number" if text.value else "an empty value"))
            return None
    if text.reasons == (COUNTED,):
        line.machine = True
        if machine.gpus_per_node is not None:
            return machine.gpus_per_node
    elif field == "nodes" and machine.nodes is not None:
        return machine.nodes
    elif field == "gpus_per_node" and machine.gpus_per_node is not None:
        line.machine = True
        return machine.gpus_per_node
    line.unsure(field, *text.reasons)
    return None


def visible(line: LaunchLine, machine: Machine, field: str = "gpus_per_node") -> int | None:
    """The number of GPUs that a process sees: those of CUDA_VISIBLE_DEVICES, else all of the machine."""
    line.by_devices = True
    text = line.call.environment.get(VISIBLE)
    if text is not None and text.value is None:
        line.unsure(field, *text.reasons)
        return machine.gpus_per_node
    if text is None or text.value is None:
        line.machine = True
        if machine.gpus_per_node is None:
            line.unsure(field, MACHINE)
        return machine.gpus_per_node
    return counted_devices(text.value, machine)


def counted_devices(value: str, machine: Machine) -> int:
    """The number of GPUs that a value of CUDA_VISIBLE_DEVICES shows: those before the first that there is not."""
    count = 0
    for each in value.split(","):
        name = each.strip()
        if not name.removeprefix("-").isdigit() or int(name) < 0 or (machine.gpus is not None and int(name) >= max(machine.gpus, 8)):
            break
        count += 1
    return count


class Surroundings(Record):
    """The machine and the project; names of files are relative to the working folder of a command, None if that is unknown. `configs` are
    the contents that its script has given to files by then.
    """

    project: Project
    machine: Machine
    folder: str | None
    configs: Mapping[str, Text] = {}

    def written(self, name: str) -> Text | None:
        """What the script has written into a file; None for one that it leaves as it is."""
        if self.folder is None or name.startswith(("/", "~")):
            return self.configs.get(name)
        return self.configs.get(in_folder(self.folder, name))

    def path_of(self, name: str) -> str | None:
        full = from_root(name, self.folder)
        real = self.project.real(full) if full is not None else None
        if real is None or not self.project.is_file(real):
            return None
        return os.path.relpath(real) if os.path.isabs(real) else real

    def is_outside(self, name: str) -> bool:
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
        written = self.written(name)
        if written is not None:
            return written.value
        path = self.path_of(name)
        return self.project.read(path) if path is not None else None

    def values(self, name: str) -> dict[Any, Any] | None:
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
