"""The nodes that a target uses: as few as hold its GPUs, unless --nodes says otherwise."""

from __future__ import annotations

from cfglint.batch.nodes import GPUS_OF_NODE, Size, fewest_nodes, node_size, not_whole
from cfglint.launch.launcher import launcher_of
from cfglint.launch.resizing import tasks_of
from cfglint.run.checked import CheckedRun
from cfglint.source.record import Record


class Layout(Record):
    """The nodes before and after a change of the GPUs, None if unknown, the GPUs of `each`, `refusal`: why they cannot be distributed."""

    before: Size | None
    after: Size | None
    each: int = GPUS_OF_NODE
    refusal: str = ""


def layout_on(run: CheckedRun, gpus: int) -> Layout:
    before, nodes = size_before(run), run.facts.nodes
    if spread_model(run) and gpus > 1:
        return Layout(before, None, refusal=spread_model(run))
    if nodes is not None:
        if gpus % nodes:
            return Layout(before, None, refusal=f"{gpus} GPUs cannot be divided among {nodes} nodes (--nodes)")
        return Layout(before, Size(gpus // nodes, nodes), max(gpus // nodes, 1))
    if before is not None and before.processes == gpus:
        return Layout(before, before, node_size(before))
    line = run.launch.line
    # One machine, whatever number of GPUs that has: in one process, or in one for each of its GPUs.
    if (
        line is not None
        and not (run.configs and run.configs[0].own_size is not None)
        and ((launcher_of(line).is_one_process and not line.srun and not line.mpi) or (line.machine and line.nodes == 1))
    ):
        return Layout(before, Size(gpus, 1), max(gpus, GPUS_OF_NODE))
    each = of_node(run, before)
    after = fewest_nodes(gpus, each)
    refusal = not_whole(gpus, each) if after is None and (line is not None or before is not None) else ""
    return Layout(before, after, each, refusal)


def spread_model(run: CheckedRun) -> str:
    """Why more GPUs change no number of a run whose one process spreads its model over all of them; empty for any other."""
    if not run.launch.spreads or run.facts.gpus != 1:
        return ""
    return (
        f"its one process spreads the model over all GPUs (`device_map` is {run.launch.spreads!r}), so data parallel stays 1: "
        "to start one process for each GPU, remove `device_map`"
    )


def size_before(run: CheckedRun) -> Size | None:
    """The current nodes: also those whose processes srun starts, from the Slurm header."""
    line = run.launch.line
    return tasks_of(line) if run.size is None and line is not None and line.srun else run.size


def of_node(run: CheckedRun, before: Size | None) -> int:
    """The GPUs of a node that a run uses of each, or that its Slurm header requests; `--include` does not state how many it has."""
    line = run.launch.line
    if line is None or (before is not None and before.nodes == 1):
        return node_size(before)
    if "include" in line.options:
        return max(node_size(before), GPUS_OF_NODE)
    stated = before.per_node if before is not None else line.gpus_per_node
    return max(stated, line.header.gpus_per_node or 0) if stated else GPUS_OF_NODE
