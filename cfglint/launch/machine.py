"""Numbers of a launch that depend on the machine, the environment or the caller."""

from __future__ import annotations

from cfglint.batch.nodes import fewest_nodes
from cfglint.evaluate import Reason
from cfglint.launch.line import MACHINE, LaunchLine
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
        """The GPUs of one node, if the total and the number of nodes are known."""
        if self.gpus is None or self.nodes is None or self.nodes < 2:
            return self.gpus
        return self.gpus // self.nodes if self.gpus % self.nodes == 0 else None

    def with_nodes(self, each: int | None) -> Machine:
        """The machine with as few nodes as hold its GPUs, `each` on a node, if their number is unknown."""
        size = fewest_nodes(self.gpus, each) if self.gpus and each and each > 0 and self.nodes is None else None
        return self if size is None else Machine(self.gpus, size.nodes, self.here)


def number(text: Text | None, default: int | None, machine: Machine, line: LaunchLine, field: str) -> int | None:
    """An option as an integer; None, with the reason recorded in `line`, if it is unknown."""
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
    count = 0
    for each in text.value.split(","):
        name = each.strip()
        if not name.removeprefix("-").isdigit() or int(name) < 0 or (machine.gpus is not None and int(name) >= max(machine.gpus, 8)):
            break
        count += 1
    return count
