"""DeepSpeed's start-up checks and silent traps, in the order in which a run meets them."""

from cfglint.frameworks.deepspeed.rules import (
    data,
    files,
    first_step,
    keys,
    offload,
    optimizer,
    parallel,
    precision,
    scheduler,
    sections,
    traps,
    values,
    zenflow,
    zero,
)

__all__ = [
    "data",
    "files",
    "first_step",
    "keys",
    "offload",
    "optimizer",
    "parallel",
    "precision",
    "scheduler",
    "sections",
    "traps",
    "values",
    "zenflow",
    "zero",
]
