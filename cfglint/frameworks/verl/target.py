"""The sizes of a verl run that reach a number of prompts per step on a number of GPUs, found with verl's own checks.

`data.train_batch_size` is the target. The mini batch of an update and the micro batches stay as they are where the checks allow it;
otherwise the largest smaller ones are chosen.
"""

from __future__ import annotations

from cfglint.batch.equation import divisors
from cfglint.batch.nodes import Size, fewest_nodes, node_size
from cfglint.frameworks.chosen_sizes import ChosenSizes
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.verl.by_hand import LOG_PROB
from cfglint.frameworks.verl.checks import failed
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import (
    BATCH,
    CRITIC,
    GLOBAL_MICRO,
    MICRO,
    MINI,
    NODES,
    PER_NODE,
    REF,
    ROLLOUT,
    SAMPLES,
    Sizes,
    uses_critic,
)
from cfglint.source.annotations import Iterator

CRITIC_MINI, CRITIC_MICRO = f"{CRITIC}.ppo_mini_batch_size", f"{CRITIC}.ppo_micro_batch_size_per_gpu"
MICROS = (MICRO, f"{ROLLOUT}.{LOG_PROB}_per_gpu", f"{REF}.{LOG_PROB}_per_gpu", CRITIC_MICRO)
GLOBAL_MICROS = (GLOBAL_MICRO, f"{ROLLOUT}.{LOG_PROB}", f"{REF}.{LOG_PROB}", f"{CRITIC}.ppo_micro_batch_size")
OF_MICRO = ("VRL018", "VRL028")
OF_MINI = ("VRL017", "VRL024", "VRL027")
OF_SIZES = ("VRL010", "VRL013", "VRL014", "VRL022", "VRL023", "VRL026", "VRL029", *OF_MICRO, *OF_MINI)
FARTHEST = 64  # how far from the target another batch is looked for: each try asks all checks
MOST_GPUS = 2  # times the GPUs, up to which another count is looked for
MOST_TRIES = 400  # changes of one size after another


def choose(config: VerlConfig, size: Size, batch: int, max_micro: int | None) -> ChosenSizes:
    """The values that give a batch of prompts on nodes of a size."""
    sizes = config.sizes
    for key, number in ((SAMPLES, sizes.samples), (MINI, sizes.mini), (NODES, sizes.nodes), (PER_NODE, sizes.gpus_per_node)):
        if number is None:
            return ChosenSizes({}, [], missing=f"`{key}` is unknown")
    layout = keys_of(size)
    found = TargetSearch(config, layout, max_micro).at(batch)
    if isinstance(found, dict):
        return chosen(config, found)
    if found in {refusal.message for refusal in config.failing}:  # as written it fails for the same reason, which no other batch lifts
        return ChosenSizes({}, [found])
    below = (each for each in range(batch - 1, max(batch - FARTHEST, 0), -1))
    above = (each for each in range(batch + 1, batch + FARTHEST))
    nearest = [
        next((offer for offer in offers if isinstance(TargetSearch(config, layout, max_micro).at(offer), dict)), None)
        for offers in (below, above)
    ]
    return ChosenSizes(
        {}, [found], below=nearest[0], above=nearest[1], gpu_counts=tuple(other_counts(config, size.processes, batch, max_micro))
    )


def keys_of(size: Size) -> dict[str, int]:
    """The keys of nodes and GPUs of a node."""
    return {NODES: size.nodes, PER_NODE: size.per_node}


def other_counts(config: VerlConfig, gpus: int, batch: int, max_micro: int | None) -> Iterator[int]:
    """The nearest smaller and larger number of GPUs on which a batch works."""
    each = node_size(config.own_size)
    for counts in (range(gpus - 1, 0, -1), range(gpus + 1, MOST_GPUS * gpus + 1)):
        for count in counts:
            size = fewest_nodes(count, each) if fills_nodes(count, config.sizes.gpus_per_node or 1) else None
            if size is not None and isinstance(TargetSearch(config, keys_of(size), max_micro).at(batch), dict):
                yield count
                break


def fills_nodes(gpus: int, each: int) -> bool:
    """Whether GPUs fill complete nodes, or an even part of one."""
    return gpus % each == 0 or each % gpus == 0


class TargetSearch:
    """Tries values for one layout of GPUs: each failing check names the size to change next."""

    def __init__(self, config: VerlConfig, layout: dict[str, int], max_micro: int | None) -> None:
        self._config = config
        self._layout = layout
        self._max_micro = max_micro

    def at(self, batch: int) -> dict[str, int] | str:
        """The values for a batch of prompts, or why there are none."""
        values = {BATCH: batch, **self._layout, **self._minis(batch), **self._micros()}
        for _ in range(MOST_TRIES):
            check = self._failing(values)
            if check is None:
                return values
            if not self._change(values, check):
                return check.message
        return check.message if check is not None else ""

    def _minis(self, batch: int) -> dict[str, int]:
        """The mini batches of actor and critic that are set, at most the batch."""
        tree = self._config.tree
        keys = [MINI, *([CRITIC_MINI] if uses_critic(tree) and self._config.is_own_value(CRITIC_MINI) else [])]
        return {key: min(size, batch) for key in keys if (size := tree.integer(key)) is not None}

    def _micros(self) -> dict[str, int]:
        """The micro batches that are set; the deprecated global ones follow the number of GPUs."""
        tree, sizes = self._config.tree, self._config.sizes
        gpus = self._layout[NODES] * self._layout[PER_NODE]
        most = self._max_micro
        micros = {key: min(size, most or size) for key in MICROS if self._config.is_own_value(key) and (size := tree.integer(key))}
        for key in GLOBAL_MICROS:
            size = tree.integer(key)
            if size and sizes.gpus:
                micros[key] = max(size * gpus // sizes.gpus, 1)
        return micros

    def _failing(self, values: dict[str, int]) -> Refusal | None:
        """The first failing check about these sizes."""
        tree = self._config.tree.replaced(values)
        return next((refusal for refusal in failed(tree, Sizes(tree)) if refusal.kind in OF_SIZES), None)

    def _change(self, values: dict[str, int], check: Refusal) -> bool:
        """Reduce the size that a check is about; false if it cannot be."""
        keys = check.keys
        for key in keys:
            if check.kind in (*OF_MICRO, "VRL024") and key in (*MICROS, *GLOBAL_MICROS) and values.get(key, 0) > 1:
                values[key] -= 1
                return True
        for key in keys:
            if check.kind in OF_MINI and key in (MINI, CRITIC_MINI) and key in values:
                smaller = [divisor for divisor in divisors(values[BATCH]) if divisor < values[key]]
                if smaller:
                    values[key] = max(smaller)
                    return True
        return False


def chosen(config: VerlConfig, values: dict[str, int]) -> ChosenSizes:
    """The result for values that verl accepts."""
    tree = config.tree.replaced(values)
    sizes = Sizes(tree)
    kept = [key for key in (MINI, MICRO) if values.get(key) == config.tree.integer(key)]
    before = {key: config.tree.integer(key) for key in values}
    if values == before:
        reasons = [f"already {values[BATCH]}; nothing to change"]
    else:
        names = {MINI: "mini batch", MICRO: "micro batch"}
        reasons = [f"{' and '.join(names[key] for key in kept)} unchanged"] if kept else []
    micro = sizes.micro() if sizes.is_dynamic is False else None
    return ChosenSizes(
        values,
        reasons,
        micro,
        sizes.accumulation,
        sizes.data_parallel(),
    )
