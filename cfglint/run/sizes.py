"""The nodes of a run, and the processes on each."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.run.loaded import LoadedRun


def size_of(run: LoadedRun) -> Size | None:
    """The nodes of a launch and the processes on each: those of its line, else of a config; None if they are unknown."""
    line = run.launch.line
    size = run.configs[0].own_size if run.configs else None
    if size is not None or line is None:
        return size or next((config.stated_size for config in run.configs if config.stated_size is not None), None)
    return Size(line.gpus_per_node, line.nodes) if line.gpus_per_node is not None and line.nodes is not None else None


def nodes_of(run: LoadedRun) -> int | None:
    """The nodes of a launch; None if they are unknown."""
    size, line = size_of(run), run.launch.line
    if size is None and line is not None:
        return line.nodes or (1 if line.processes == 1 else None)
    return size.nodes if size is not None else None
