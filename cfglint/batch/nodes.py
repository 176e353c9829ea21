"""GPUs on nodes: as few nodes as hold them."""

from __future__ import annotations

from cfglint.source.record import Record

GPUS_OF_NODE = 8  # of a run that does not state more


class Size(Record):
    """The size of a launch: processes of each node, and nodes."""

    per_node: int
    nodes: int

    @property
    def processes(self) -> int:
        return self.per_node * self.nodes

    def __str__(self) -> str:
        return f"{self.nodes} node{'s' if self.nodes != 1 else ''} of {self.per_node}"


def node_size(now: Size | None) -> int:
    """The GPUs of a node: those that a run on several nodes uses; a run on one node may use a part of it."""
    if now is None:
        return GPUS_OF_NODE
    return now.per_node if now.nodes > 1 else max(now.per_node, GPUS_OF_NODE)


def fewest_nodes(gpus: int, each: int) -> Size | None:
    """The smallest size that has so many GPUs, `each` on a node; None if they are more than one node and fill no whole ones."""
    if gpus <= each:
        return Size(gpus, 1)
    return Size(each, gpus // each) if gpus % each == 0 else None


def not_whole(gpus: int, each: int) -> str:
    """Why so many GPUs are refused, with the nearest counts."""
    below = gpus // each * each
    return f"{gpus} GPUs do not fill whole nodes of {each}; {below} and {below + each} do"
