"""Which micro batch and accumulation reach a global batch on a number of GPUs, and what to offer if none do.

A pair of micro batch and accumulation is called a split. The splits of a target are the divisors of the samples per replica, so trial
division finds them without a search. They are compared by this order of preference:

1. the current pair (a valid file is not changed);
2. enough micro batches in flight to keep every pipeline stage busy;
3. the current micro batch (memory and kernel shapes do not change; one key changes);
4. the largest micro batch, never above the limit. The default limit is the current micro batch: memory use does
not grow unless the user allows it.
"""

from __future__ import annotations

from math import prod
from typing import Literal

from cfglint.batch.equation import data_parallel, divisors, product, text
from cfglint.source.annotations import Callable, TypeAlias
from cfglint.source.record import Record

Status: TypeAlias = Literal["ok", "no_change", "layout_infeasible", "batch_infeasible", "schedule_infeasible", "nodes_infeasible"]

Pair = tuple[int, int]

OK: Status = "ok"
NO_CHANGE: Status = "no_change"
LAYOUT_INFEASIBLE: Status = "layout_infeasible"
BATCH_INFEASIBLE: Status = "batch_infeasible"
SCHEDULE_INFEASIBLE: Status = "schedule_infeasible"
NODES_INFEASIBLE: Status = "nodes_infeasible"

UNDERFILLED = "pipeline_underfilled"
SHRUNK = "micro_shrunk"


class SplitRule(Record):
    """A requirement of a trainer on micro batch and accumulation in addition to their product.

    `accepts(micro batch, accumulation, processes)` tells whether it accepts a pair. Among any `period` consecutive numbers of
    samples per replica at least one has an accepted pair, if any number has. `reason` describes the requirement.
    """

    accepts: Callable[[int, int, int], bool]
    period: int
    reason: str


class SplitProblem:
    """A target global batch, the GPUs and their layout, and the current values of the files.

    `micro_batch` and `accumulation` are the current ones; None, or anything below 1, if unknown. `max_micro_batch`
    limits the answer and is required if the current micro batch is unknown. Raises ValueError for contradictory or invalid numbers.
    """

    def __init__(
        self,
        gpus: int,
        global_batch: int,
        micro_batch: int | None = None,
        accumulation: int | None = None,
        *,
        max_micro_batch: int | None = None,
        tensor_parallel: int = 1,
        pipeline_parallel: int = 1,
        context_parallel: int = 1,
        sequence_parallel: int = 1,
        gpus_per_node: int = 8,
        rule: SplitRule | None = None,
    ) -> None:
        self.gpus = gpus
        self.global_batch = global_batch
        self.micro_batch = micro_batch if micro_batch is not None and micro_batch >= 1 else None
        self.accumulation = accumulation if accumulation is not None and accumulation >= 1 else None
        self.max_micro_batch = max_micro_batch
        self.tensor_parallel = tensor_parallel
        self.pipeline_parallel = pipeline_parallel
        self.context_parallel = context_parallel
        self.sequence_parallel = sequence_parallel
        self.gpus_per_node = gpus_per_node
        self.rule = rule
        if gpus < 1 or global_batch < 1 or min(self.sizes) < 1:
            raise ValueError("GPUs, parallel sizes and the global batch must be at least 1")
        if self.cap < 1:
            raise ValueError("a positive micro batch, or a cap on it, is needed")

    @property
    def cap(self) -> int:
        """The largest micro batch that may be chosen."""
        cap = self.micro_batch if self.max_micro_batch is None else self.max_micro_batch
        return cap or 0

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The GPUs that one replica spans: tensor, pipeline, context, sequence."""
        return self.tensor_parallel, self.pipeline_parallel, self.context_parallel, self.sequence_parallel

    @property
    def replica(self) -> int:
        """GPUs that process the same batch."""
        return prod(self.sizes)

    @property
    def data_parallel(self) -> int | None:
        """Replicas; None when the GPU count is not a multiple of their size."""
        return data_parallel(self.gpus, *self.sizes)

    def replace(self, **changes: object) -> SplitProblem:
        return SplitProblem(**{**vars(self), **changes})


class Split:
    """One pair of micro batch and accumulation that reaches a global batch."""

    __slots__ = ("accumulation", "data_parallel", "global_batch", "micro_batch")

    def __init__(self, micro_batch: int, accumulation: int, data_parallel: int) -> None:
        self.micro_batch = micro_batch
        self.accumulation = accumulation
        self.data_parallel = data_parallel
        self.global_batch = product(micro_batch, accumulation, data_parallel)

    @property
    def pair(self) -> Pair:
        return self.micro_batch, self.accumulation

    def __str__(self) -> str:
        return text(self.micro_batch, self.accumulation, self.data_parallel, self.global_batch)


class Solution(Record):
    """The result of `solve`: the chosen split and every other one, or the nearest alternatives.

    `below` and `above` are the nearest global batches that these GPUs can reach. `gpus_below` and `gpus_above` are the nearest GPU
    counts that reach the target itself, searched up to twice the GPUs, `node_gpus_*` those that fill complete nodes or an even part
    of one; if the layout does not fit, the nearest counts that it fits on. Each is None if there is none. `changed` names the numbers
    that differ from the current ones, `reasons` explains the choice, or why there is none.
    """

    problem: SplitProblem
    status: Status
    chosen: Split | None = None
    options: list[Split] = []
    changed: list[str] = []
    warnings: list[str] = []
    reasons: list[str] = []
    below: Split | None = None
    above: Split | None = None
    gpus_below: int | None = None
    gpus_above: int | None = None
    node_gpus_below: int | None = None
    node_gpus_above: int | None = None

    @property
    def data_parallel(self) -> int | None:
        return self.problem.data_parallel

    @property
    def feasible(self) -> bool:
        return self.chosen is not None

    @property
    def gpu_counts(self) -> list[int]:
        """The GPU counts on offer, ascending."""
        offers = (self.gpus_below, self.gpus_above, self.node_gpus_below, self.node_gpus_above)
        return sorted({count for count in offers if count is not None})

    @property
    def bubble(self) -> float:
        """The fraction of time in which a pipeline stage is idle with the chosen split (0 without a pipeline)."""
        return bubble(self.problem, self.chosen.pair) if self.chosen else 0.0


def solve(problem: SplitProblem) -> Solution:
    """The best split for a problem, or the nearest alternatives."""
    replicas = problem.data_parallel
    if replicas is None:
        usable = problem.gpus // problem.replica * problem.replica
        names = ("tensor", "pipeline", "context", "sequence")
        layout = " x ".join(f"{name} {size}" for name, size in zip(names, problem.sizes, strict=True) if size > 1)
        reason = f"{problem.gpus} GPUs do not divide into replicas of {problem.replica} ({layout})"
        return Solution(problem, LAYOUT_INFEASIBLE, reasons=[reason], gpus_below=usable or None, gpus_above=usable + problem.replica)
    samples, remainder = divmod(problem.global_batch, replicas)
    pairs = _pairs(problem, samples) if not remainder else []
    if not pairs:
        reason = f"{problem.global_batch} is not a multiple of the data-parallel size {replicas}"
        if not remainder:
            why = f": {problem.rule.reason}" if problem.rule is not None else ""
            reason = f"no micro batch up to {problem.cap} and accumulation that make {samples}{why}"
        solution = Solution(problem, BATCH_INFEASIBLE if remainder else SCHEDULE_INFEASIBLE, reasons=[reason])
        solution.below, solution.above = _nearest(problem, -1), _nearest(problem, +1)
        _offer_gpu_counts(solution)
        return solution
    solution = Solution(problem, OK)
    solution.options = [Split(micro, accumulation, replicas) for micro, accumulation in pairs]
    solution.chosen = chosen = Split(*_best(problem, pairs), replicas)
    known = None not in (problem.micro_batch, problem.accumulation)
    numbers = (
        ("micro_batch", problem.micro_batch, chosen.micro_batch),
        ("accumulation", problem.accumulation, chosen.accumulation),
        ("global_batch", product(problem.micro_batch or 0, problem.accumulation or 0, replicas) if known else None, chosen.global_batch),
    )
    solution.changed = [name for name, before, after in numbers if before != after]
    solution.status = OK if solution.changed else NO_CHANGE
    solution.reasons = _why_chosen(problem, chosen)
    if not filled(problem, chosen.pair):
        solution.warnings.append(UNDERFILLED)
    if problem.micro_batch is not None and 2 * chosen.micro_batch <= min(problem.cap, problem.micro_batch):
        solution.warnings.append(SHRUNK)
    return solution


def refused_nodes(problem: SplitProblem, reason: str) -> Solution:
    """The result for GPUs that cannot be distributed over nodes, with the nearest counts that can and reach the target."""
    solution = Solution(problem, NODES_INFEASIBLE, reasons=[reason])
    _offer_gpu_counts(solution)
    solution.gpus_below, solution.gpus_above = solution.node_gpus_below, solution.node_gpus_above
    return solution


def working_gpu_counts(problem: SplitProblem, limit: int) -> list[int]:
    """Every GPU count up to `limit` on which the target can be reached with this layout, ascending."""
    target, replica = problem.global_batch, problem.replica
    fitting = (replicas for replicas in divisors(target) if replicas * replica <= limit)
    # Without a rule of the trainer, micro batch 1 always works.
    return [
        replicas * replica
        for replicas in fitting
        if problem.rule is None or _pairs(problem.replace(gpus=replicas * replica), target // replicas)
    ]


def filled(problem: SplitProblem, pair: Pair) -> bool:
    """Whether no pipeline stage is idle after the pipeline is filled."""
    return problem.pipeline_parallel == 1 or pair[1] >= problem.pipeline_parallel


def bubble(problem: SplitProblem, pair: Pair) -> float:
    """The idle fraction of a 1F1B pipeline with n micro batches and p stages, (p - 1) / (n + p - 1)."""
    ramp = problem.pipeline_parallel - 1
    return ramp / (pair[1] + ramp) if ramp else 0.0


def _pairs(problem: SplitProblem, samples: int) -> list[Pair]:
    """Every (micro batch, accumulation) with a product of `samples` per replica that the trainer accepts."""
    pairs = [(micro, samples // micro) for micro in divisors(samples) if micro <= problem.cap]
    return pairs if problem.rule is None else [pair for pair in pairs if problem.rule.accepts(*pair, problem.gpus)]


def _best(problem: SplitProblem, pairs: list[Pair]) -> Pair:
    """The preferred pair, by the order in the docstring of this module."""
    current = (problem.micro_batch, problem.accumulation)
    return max(pairs, key=lambda pair: (pair == current, filled(problem, pair), pair[0] == problem.micro_batch, pair[0]))


def _offer_gpu_counts(solution: Solution) -> None:
    problem, node = solution.problem, solution.problem.gpus_per_node
    counts = working_gpu_counts(problem, 2 * problem.gpus)
    below = [count for count in counts if count < problem.gpus]
    above = [count for count in counts if count > problem.gpus]
    fills_nodes = {count for count in counts if count % node == 0 or (count < node and node % count == 0)}
    solution.gpus_below = max(below, default=None)
    solution.gpus_above = min(above, default=None)
    solution.node_gpus_below = max(fills_nodes.intersection(below), default=None)
    solution.node_gpus_above = min(fills_nodes.intersection(above), default=None)


def _nearest(problem: SplitProblem, step: int) -> Split | None:
    """The nearest reachable global batch below (step -1) or above (+1) the target.

    A rule that refuses some numbers accepts one of every `period` of them, so no more have to be tried.
    """
    replicas = problem.data_parallel or 1
    first = problem.global_batch // replicas + 1 if step > 0 else (problem.global_batch - 1) // replicas
    period = problem.rule.period if problem.rule is not None else 1
    for samples in range(first, first + step * period, step):
        if samples < 1:
            return None
        pairs = _pairs(problem, samples)
        if pairs:
            return Split(*_best(problem, pairs), replicas)
    return None


def _why_chosen(problem: SplitProblem, split: Split) -> list[str]:
    stages = problem.pipeline_parallel
    if split.pair == (problem.micro_batch, problem.accumulation):
        reasons = [f"already {split.global_batch}; nothing to change"]
    elif split.micro_batch == problem.micro_batch:
        reasons = [f"micro batch unchanged ({split.micro_batch}), so activation memory is unchanged"]
    else:
        samples = split.micro_batch * split.accumulation
        busy = " and keeps the pipeline busy" if stages > 1 and filled(problem, split.pair) else ""
        limit = "allowed" if split.micro_batch == problem.cap else f"up to {problem.cap} that divides {samples}{busy}"
        reasons = [f"{split.micro_batch} is the largest micro batch {limit}"]
    if stages > 1:
        reasons.append(f"{split.accumulation} micro batches in {stages} pipeline stages: {bubble(problem, split.pair):.0%} bubble")
    return reasons
