"""Values of a run's keys that reach a target, for a framework whose global batch is not micro batch x accumulation x replicas."""

from __future__ import annotations

from cfglint.batch.equation import divisors
from cfglint.source.annotations import Any
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


def by_ranks(
    sizes: Any, keys: tuple[str, str], batch: int, gpus: int, max_micro: int | None, what: str, launched: dict[str, int]
) -> ChosenSizes:
    """The values for a global batch whose rows are divided among the ranks, and the largest micro batch that divides those of a rank.

    `keys` are those of both batches, `what` is the size of a group of `sizes.replica` GPUs, `launched` has the values that set the GPUs.
    """
    replica, now = sizes.replica or 1, sizes.micro
    if gpus % replica:
        return ChosenSizes({}, [f"{gpus} GPUs do not divide among groups of {replica} ({what} parallel size)"])
    parallel = gpus // replica
    if batch % parallel or batch < parallel:
        below = batch - batch % parallel
        reasons = [f"a global batch of {batch} does not divide among {parallel} data-parallel ranks"]
        return ChosenSizes({}, reasons, below=below or None, above=below + parallel)
    if sizes.is_dynamic:
        return ChosenSizes({keys[0]: batch, **launched}, ["batches are packed by tokens"], data_parallel=parallel)
    if now is None and max_micro is None:
        return ChosenSizes({}, [], missing="the current micro batch is unknown: pass --max-micro-batch")
    rows, most = batch // parallel, max_micro or now or 1
    micro = max(divisor for divisor in divisors(rows) if divisor <= most or divisor == 1)
    kept = ["micro batch unchanged"] if micro == now else []
    return ChosenSizes({keys[0]: batch, keys[1]: micro, **launched}, kept, micro, rows // micro, parallel)
