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

from cfglint.batch.equation import data_parallel, divisors, product, text
from cfglint.source.annotations import Callable, TypeAlias
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

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
        """The same problem with some numbers changed."""
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
        """(micro batch, accumulation)."""
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
        """The replicas of the problem."""
        return self.problem.data_parallel

    @property
    def feasible(self) -> bool:
        """Whether the target can be reached."""
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
        return _misfit(problem)
    samples, remainder = divmod(problem.global_batch, replicas)
    pairs = _pairs(problem, samples) if not remainder else []
    if not pairs:
        return _unreachable(problem, BATCH_INFEASIBLE if remainder else SCHEDULE_INFEASIBLE)
    solution = Solution(problem, OK)
    solution.options = [Split(micro, accumulation, replicas) for micro, accumulation in pairs]
    solution.chosen = Split(*_best(problem, pairs), replicas)
    solution.changed = _changed(problem, solution.chosen)
    solution.status = OK if solution.changed else NO_CHANGE
    solution.reasons = _why_chosen(problem, solution.chosen)
    if not filled(problem, solution.chosen.pair):
        solution.warnings.append(UNDERFILLED)
    if problem.micro_batch is not None and 2 * solution.chosen.micro_batch <= min(problem.cap, problem.micro_batch):
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
    counts = [(replicas * replica, target // replicas) for replicas in fitting]
    return [gpus for gpus, samples in counts if _reachable(problem.replace(gpus=gpus), samples)]


def allowed(problem: SplitProblem, pair: Pair) -> bool:
    """Whether the trainer accepts the pair."""
    return problem.rule is None or problem.rule.accepts(*pair, problem.gpus)


def filled(problem: SplitProblem, pair: Pair) -> bool:
    """Whether no pipeline stage is idle after the pipeline is filled."""
    return problem.pipeline_parallel == 1 or pair[1] >= problem.pipeline_parallel


def bubble(problem: SplitProblem, pair: Pair) -> float:
    """The idle fraction of a 1F1B pipeline with n micro batches and p stages, (p - 1) / (n + p - 1)."""
    ramp = problem.pipeline_parallel - 1
    return ramp / (pair[1] + ramp) if ramp else 0.0


def _pairs(problem: SplitProblem, samples: int) -> list[Pair]:
    """Every allowed (micro batch, accumulation) with a product of `samples` per replica."""
    pairs = ((micro, samples // micro) for micro in divisors(samples) if micro <= problem.cap)
    return [pair for pair in pairs if allowed(problem, pair)]


def _reachable(problem: SplitProblem, samples: int) -> bool:
    """Whether `samples` per replica can be split; without a rule of the trainer, micro batch 1 always works."""
    return problem.rule is None or bool(_pairs(problem, samples))


def _best(problem: SplitProblem, pairs: list[Pair]) -> Pair:
    """The preferred pair, by the order in the docstring of this module."""

    def preference(pair: Pair) -> tuple[bool, bool, bool, int]:
        micro = pair[0]
        return (
            pair == (problem.micro_batch, problem.accumulation),
            filled(problem, pair),
            micro == problem.micro_batch,
            micro,
        )

    return max(pairs, key=preference)


def _changed(problem: SplitProblem, split: Split) -> list[str]:
    numbers = (
        ("micro_batch", problem.micro_batch, split.micro_batch),
        ("accumulation", problem.accumulation, split.accumulation),
        ("global_batch", _current_global_batch(problem), split.global_batch),
    )
    return [name for name, before, after in numbers if before != after]


def _current_global_batch(problem: SplitProblem) -> int | None:
    """The global batch of the current pair on these GPUs."""
    if problem.micro_batch is None or problem.accumulation is None or problem.data_parallel is None:
        return None
    return product(problem.micro_batch, problem.accumulation, problem.data_parallel)


def _misfit(problem: SplitProblem) -> Solution:
    solution = Solution(problem, LAYOUT_INFEASIBLE)
    usable = problem.gpus // problem.replica * problem.replica
    solution.gpus_below = usable or None
    solution.gpus_above = usable + problem.replica
    solution.reasons = [f"{problem.gpus} GPUs do not divide into replicas of {problem.replica} ({_layout(problem)})"]
    return solution


def _unreachable(problem: SplitProblem, status: Status) -> Solution:
    solution = Solution(problem, status)
    solution.reasons = [_why_unreachable(problem, status)]
    solution.below = _nearest(problem, -1)
    solution.above = _nearest(problem, +1)
    _offer_gpu_counts(solution)
    return solution


def _offer_gpu_counts(solution: Solution) -> None:
    problem = solution.problem
    counts = working_gpu_counts(problem, 2 * problem.gpus)
    below = [count for count in counts if count < problem.gpus]
    above = [count for count in counts if count > problem.gpus]
    solution.gpus_below = max(below, default=None)
    solution.gpus_above = min(above, default=None)
    solution.node_gpus_below = max((count for count in below if _fills_nodes(problem, count)), default=None)
    solution.node_gpus_above = min((count for count in above if _fills_nodes(problem, count)), default=None)


def _fills_nodes(problem: SplitProblem, gpus: int) -> bool:
    node = problem.gpus_per_node
    return gpus % node == 0 or (gpus < node and node % gpus == 0)


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


def _why_unreachable(problem: SplitProblem, status: Status) -> str:
    if status == BATCH_INFEASIBLE:
        return f"{problem.global_batch} is not a multiple of the data-parallel size {problem.data_parallel}"
    samples = problem.global_batch // (problem.data_parallel or 1)
    why = f": {problem.rule.reason}" if problem.rule is not None else ""
    return f"no micro batch up to {problem.cap} and accumulation that make {samples}{why}"


def _layout(problem: SplitProblem) -> str:
    names = ("tensor", "pipeline", "context", "sequence")
    return " x ".join(f"{name} {size}" for name, size in zip(names, problem.sizes, strict=True) if size > 1)
