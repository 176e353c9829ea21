"""The sizes of a verl run that reach a number of prompts per step on a number of GPUs, found with verl's own checks.

`data.train_batch_size` is the target. The mini batch of an update and the micro batches stay as they are where the checks allow it;
otherwise the largest smaller ones are chosen.
"""

from __future__ import annotations

from cfglint.batch.equation import divisors
from cfglint.batch.nodes import Size, fewest_nodes, node_size
from cfglint.frameworks.chosen_sizes import ChosenSizes
from cfglint.frameworks.verl.checks import failed
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import (
    BATCH,
    CRITIC_GLOBAL_MICRO,
    CRITIC_MICRO,
    CRITIC_MINI,
    GLOBAL_MICRO,
    LOG_PROB,
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

MICROS = (MICRO, f"{ROLLOUT}.{LOG_PROB}_per_gpu", f"{REF}.{LOG_PROB}_per_gpu", CRITIC_MICRO)
GLOBAL_MICROS = (GLOBAL_MICRO, f"{ROLLOUT}.{LOG_PROB}", f"{REF}.{LOG_PROB}", CRITIC_GLOBAL_MICRO)
OF_MICRO = ("VRL018", "VRL028")
OF_MINI = ("VRL017", "VRL024", "VRL027")
OF_SIZES = ("VRL010", "VRL013", "VRL014", "VRL022", "VRL023", "VRL026", "VRL029", *OF_MICRO, *OF_MINI)
FARTHEST = 64  # how far from the target another batch is looked for: each try asks all checks


def choose(config: VerlConfig, size: Size, batch: int, max_micro: int | None) -> ChosenSizes:
    sizes = config.sizes
    for key, number in ((SAMPLES, sizes.samples), (MINI, sizes.mini), (NODES, sizes.nodes), (PER_NODE, sizes.gpus_per_node)):
        if number is None:
            return ChosenSizes({}, [], missing=f"`{key}` is unknown")
    values = accepted(config, size, batch, max_micro)
    if isinstance(values, dict):
        sizes, names = Sizes(config.tree.replaced(values)), {MINI: "mini batch", MICRO: "micro batch"}
        kept = [name for key, name in names.items() if values.get(key) == config.tree.integer(key)]
        reasons = [f"{' and '.join(kept)} unchanged"] if kept else []
        if all(config.tree.integer(key) == value for key, value in values.items()):
            reasons = [f"already {values[BATCH]}; nothing to change"]
        micro = sizes.micro if sizes.is_dynamic is False else None
        return ChosenSizes(values, reasons, micro, sizes.accumulation, sizes.data_parallel)
    if values in {refusal.message for refusal in config.refusals}:  # as written it fails for the same reason, which no other batch lifts
        return ChosenSizes({}, [values])
    below, above = (
        next((offer for offer in offers if isinstance(accepted(config, size, offer, max_micro), dict)), None)
        for offers in (range(batch - 1, max(batch - FARTHEST, 0), -1), range(batch + 1, batch + FARTHEST))
    )
    return ChosenSizes({}, [values], below=below, above=above, gpu_counts=(*other_counts(config, size.processes, batch, max_micro),))


def other_counts(config: VerlConfig, gpus: int, batch: int, max_micro: int | None) -> Iterator[int]:
    """The nearest smaller and larger number of GPUs, of complete nodes or an even part of one, on which a batch works."""
    node, per_node = node_size(config.own_size), config.sizes.gpus_per_node or 1
    for counts in (range(gpus - 1, 0, -1), range(gpus + 1, 2 * gpus + 1)):  # up to twice the GPUs
        for count in counts:
            size = fewest_nodes(count, node) if count % per_node == 0 or per_node % count == 0 else None
            if size is not None and isinstance(accepted(config, size, batch, max_micro), dict):
                yield count
                break


def accepted(config: VerlConfig, size: Size, batch: int, max_micro: int | None) -> dict[str, int] | str:
    """The values for a batch of prompts on nodes of a size, or why there are none: each failing check names the size to change next."""
    tree, gpus = config.tree, config.sizes.gpus
    values = {BATCH: batch, NODES: size.nodes, PER_NODE: size.per_node}
    # The mini and micro batches that are set; the deprecated global ones follow the number of GPUs.
    for key in (MINI, CRITIC_MINI):
        number = tree.integer(key)
        if number is not None and (key == MINI or (uses_critic(tree) and config.is_own_value(key))):
            values[key] = min(number, batch)
    for key in MICROS:
        if config.is_own_value(key) and (number := tree.integer(key)):
            values[key] = min(number, max_micro or number)
    for key in GLOBAL_MICROS:
        if gpus and (number := tree.integer(key)):
            values[key] = max(number * size.nodes * size.per_node // gpus, 1)
    message = ""
    for _ in range(400):  # changes of one size after another
        tried = tree.replaced(values)
        check = next((refusal for refusal in failed(tried, Sizes(tried)) if refusal.kind in OF_SIZES), None)
        if check is None:
            return values
        message = check.message
        micros = [key for key in check.keys if key in (*MICROS, *GLOBAL_MICROS) and values.get(key, 0) > 1]
        minis = [key for key in check.keys if key in (MINI, CRITIC_MINI) and values.get(key, 0) > 1]
        if micros and check.kind in (*OF_MICRO, "VRL024"):
            values[micros[0]] -= 1
        elif minis and check.kind in OF_MINI:
            values[minis[0]] = max(number for number in divisors(batch) if number < values[minis[0]])
        else:
            break
    return message
