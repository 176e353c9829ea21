"""The batch that elastic training chooses, in the releases that have the `elasticity` section (before 0.19.8).

DeepSpeed tries batch sizes up to `max_train_batch_size`, each a multiple of a micro batch size or of their least common
multiple, and takes the one that the most GPU counts divide (0.18.9, elasticity/elasticity.py and elasticity/config.py).
"""

from __future__ import annotations

from math import floor, lcm

from cfglint.frameworks.refusal import Refusal
from cfglint.source.annotations import ConfigTable, ConfigValue, Operand

# Highly composite numbers: each has more divisors than any smaller number.
COMPOSITES = (
    *(1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560, 10080, 15120, 20160),
    *(25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720),
)
NEWEST_VERSION = 0.2
MOST_GPUS = 100_000  # the search has a limit
MOST_SIZES = 50


def refused(message: str, key: str = "", raises: str = "ElasticityConfigError") -> Refusal:
    return Refusal("elasticity", [f"elasticity.{key}" if key else "elasticity"], f"elastic training: {message}", f"{raises}: {message}")


class TooLarge(Exception):
    """The search would take too long."""


class Elasticity:
    __slots__ = ("largest_batch", "max_gpus", "micro_batches", "min_gpus", "model_parallel", "per_node", "prefer_larger", "version")

    def __init__(self, section: ConfigTable) -> None:
        for key in ("max_train_batch_size", "micro_batch_sizes"):
            if key not in section:
                raise refused(f"Elasticity config missing {key}")
        self.largest_batch = section["max_train_batch_size"]
        self.micro_batches = section["micro_batch_sizes"]
        if not isinstance(self.micro_batches, list):
            raise refused("Elasticity expected value of micro_batch_sizes to be a list of micro batches", "micro_batch_sizes")
        if not all(isinstance(size, int) for size in self.micro_batches):
            raise refused("Elasticity expected micro_batch_sizes to only contain a list of integers", "micro_batch_sizes")
        if not all(size > 0 for size in self.micro_batches):
            raise refused("Elasticity expected micro_batch_sizes to only contain positive integers", "micro_batch_sizes")
        self.min_gpus = section.get("min_gpus", 1)
        self.max_gpus = section.get("max_gpus", 10000)
        if self.min_gpus < 1 or self.max_gpus < 1:
            raise refused("Elasticity min/max gpus must be > 0", "min_gpus" if self.min_gpus < 1 else "max_gpus")
        if self.max_gpus < self.min_gpus:
            raise refused("Elasticity min_gpus cannot be greater than max_gpus", "min_gpus")
        self.model_parallel = section.get("model_parallel_size", 1)
        if self.model_parallel < 1:
            raise refused("Model-Parallel size cannot be less than 1", "model_parallel_size")
        self.per_node = section.get("num_gpus_per_node", 1)
        if self.per_node < 1:
            raise refused("Number of GPUs per node cannot be less than 1", "num_gpus_per_node")
        if section.get("min_time", 0) < 0:
            raise refused("Elasticity min time needs to be >= 0", "min_time")
        self.version = float(section.get("version", NEWEST_VERSION))
        self.prefer_larger = section.get("prefer_larger_batch", True)
        if self.model_parallel > 1 and self.version != NEWEST_VERSION:
            raise refused(f"Elasticity V{self.version} does not support model-parallel training", "model_parallel_size")
        if self.version > NEWEST_VERSION:
            raise refused(f"elasticity version {self.version} but runtime only supports up to {NEWEST_VERSION}", "version")
        if self.version not in (0.1, NEWEST_VERSION):
            raise refused(f"Unable to find elastic logic for version: {self.version}", "version", "NotImplementedError")


def plan(section: ConfigTable, ranks: object) -> tuple[int, int, int]:
    """(global batch, micro batch, accumulation) on a number of data-parallel ranks; raises Refusal."""
    elastic = Elasticity(section)
    total: Operand
    counts: list[int] | None
    if elastic.version == NEWEST_VERSION:
        total, counts = by_nodes(elastic, ranks)
    else:
        total, counts = best(elastic, elastic.largest_batch, elastic.min_gpus, elastic.max_gpus)
    total = int(total)
    if counts is None or ranks not in counts:
        text = f"World size ({ranks}) is not valid with the current list of valid GPU counts: {counts}"
        raise refused(text, "", "ElasticityIncompatibleWorldSize")
    micro = next((size for size in sorted(elastic.micro_batches, reverse=True) if total // ranks % size == 0), None)
    if micro is None:
        raise refused("Unable to find divisible micro batch size", "micro_batch_sizes", "AssertionError")
    return total, micro, total // (micro * ranks)


def best(elastic: Elasticity, largest_batch: object, min_gpus: int, max_gpus: int) -> tuple[int, list[int] | None]:
    sizes = elastic.micro_batches
    min_gpus = min_gpus or 1
    max_gpus = max_gpus or largest_batch // min(sizes)
    if not all(size <= largest_batch for size in sizes):
        raise refused("All micro batches must be less than or equal to max_acceptable_batch_size", "micro_batch_sizes", "ValueError")
    if len(sizes) > MOST_SIZES:
        raise TooLarge
    candidates = {candidate(base, largest_batch) for base in (*sizes, lcm(*sizes))}
    found: list[int] | None = None
    total, most = min(sizes), 0
    for size in sorted(candidates):
        counts = gpu_counts(size, sizes, min_gpus, max_gpus)
        better = size > total if elastic.prefer_larger else size < total
        if len(counts) > most or (len(counts) == most and better):
            total, most, found = size, len(counts), counts
    return total, found


def candidate(base: int, largest_batch: Operand) -> int:
    if base >= largest_batch:
        return base
    times = largest_batch // base
    above = next((index for index, number in enumerate(COMPOSITES) if number > times), 0)  # 0, like the result of argmax without a match
    return COMPOSITES[above - 1] * base


def gpu_counts(total: int, sizes: list[int], min_gpus: int, max_gpus: int) -> list[int]:
    found = set()
    for size in sizes:
        if total % size == 0:
            most = total // size
            if min_gpus <= most <= max_gpus:
                found.add(most)
            if min(most // 2, max_gpus) > MOST_GPUS:
                raise TooLarge
            found.update(count for count in range(max(1, min_gpus), min(most // 2, int(max_gpus)) + 1) if most % count == 0)
    return sorted(found)


def by_nodes(elastic: Elasticity, gpus: object) -> tuple[ConfigValue, list[int]]:
    """The batch size and the numbers of data-parallel ranks in version 0.2, which counts complete nodes."""
    if elastic.per_node % elastic.model_parallel != 0:
        text = f"number of GPUs per node:{elastic.per_node} should be divisible by model parallel size {elastic.model_parallel}"
        raise refused(f"In Elasticity v0.2, {text}", "num_gpus_per_node", "ElasticityError")
    ranks_per_node = elastic.per_node // elastic.model_parallel
    limits = (int(elastic.min_gpus / elastic.per_node), int(elastic.max_gpus / elastic.per_node))
    total, nodes = best(elastic, int(elastic.largest_batch / ranks_per_node), *limits)
    if nodes is None:
        raise refused("'NoneType' object is not iterable", "", "TypeError")
    counts = [count * ranks_per_node for count in nodes]
    if gpus // elastic.model_parallel in counts:
        return total * ranks_per_node, counts
    ranks = (gpus / elastic.per_node) * ranks_per_node
    sizes = [floor(elastic.largest_batch / float(size * ranks)) * size * ranks for size in elastic.micro_batches]
    return (max(sizes) if elastic.prefer_larger else min(sizes)), [int(ranks)]
