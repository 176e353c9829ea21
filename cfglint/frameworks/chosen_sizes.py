"""Values of a run's keys that reach a target, for a framework whose global batch is not micro batch x accumulation x replicas."""

from __future__ import annotations

from cfglint.source.record import Record


class ChosenSizes(Record):
    """The values of the keys that give a global batch on a number of GPUs.

    `values` maps each key to its value, those that stay included; it is empty if there are none, and `reasons` says why. `below` and
    `above` are then the nearest global batches, and `gpu_counts` the GPUs, that work. `missing` is a fact that is unknown.
    """

    values: dict[str, int]
    reasons: list[str]
    micro_batch: int | None = None
    accumulation: int | None = None
    data_parallel: int | None = None
    below: int | None = None
    above: int | None = None
    gpu_counts: tuple[int, ...] = ()
    missing: str = ""
