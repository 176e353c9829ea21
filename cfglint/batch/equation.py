"""The batch equation, defined once: `global = micro x accumulation x data_parallel`.

`micro` is the number of samples that one model replica processes at a time, `accumulation` the number of micro batches between two
optimizer steps, `data_parallel` the number of replicas, `global` the number of samples per optimizer step.
Each framework defines what divides the GPUs into replicas: usually tensor, pipeline and context parallelism;
never Megatron's sequence parallelism, expert parallelism, ZeRO or FSDP sharding.
"""

from __future__ import annotations

from math import isqrt, prod

from cfglint.source.annotations import Any


def product(micro_batch: int, accumulation: int, data_parallel: int) -> int:
    """Samples of one optimizer step."""
    return micro_batch * accumulation * data_parallel


def completed(total: Any, micro: Any, accumulation: Any, replicas: Any) -> tuple[Any, Any, Any]:
    """The three sizes, each None one from the others (one of the first two is given), by the floor divisions of DeepSpeed and GPT-NeoX."""
    if total is None:
        return (micro * replicas, micro, 1) if accumulation is None else (micro * accumulation * replicas, micro, accumulation)
    if micro is None:
        share = total // replicas
        return (total, share, 1) if accumulation is None else (total, share // accumulation, accumulation)
    return total, micro, total // micro // replicas if accumulation is None else accumulation


def data_parallel(gpus: int, *sizes: int) -> int | None:
    """Replicas on `gpus` GPUs if one replica spans `sizes` (tensor, pipeline, ...); None if the quotient is not an integer."""
    replica = prod(sizes)
    if min(gpus, *sizes, 1) < 1 or gpus % replica:
        return None
    return gpus // replica


def implied_gpus(global_batch: int, micro_batch: int, accumulation: int, *sizes: int) -> int | None:
    """The one GPU count for which the three written numbers are consistent; None when there is none."""
    per_replica = micro_batch * accumulation
    if min(global_batch, micro_batch, accumulation, *sizes) < 1 or global_batch % per_replica:
        return None
    return global_batch // per_replica * prod(sizes)


def divisors(number: int) -> list[int]:
    """Every divisor of a positive number, ascending; one trial division up to its root."""
    small = [factor for factor in range(1, isqrt(number) + 1) if number % factor == 0]
    large = [number // factor for factor in reversed(small)]
    return small + large[small[-1] == large[0] :]


def text(micro_batch: object, accumulation: object, data_parallel: object, global_batch: object) -> str:
    """The equation as a string, `2 x 8 x 4 = 64`: micro batch, accumulation, data-parallel size and their product."""
    return f"{micro_batch} x {accumulation} x {data_parallel} = {global_batch}"
