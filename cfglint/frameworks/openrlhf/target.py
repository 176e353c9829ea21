"""The sizes of an OpenRLHF run that reach a global batch on a number of GPUs."""

from __future__ import annotations

from cfglint.batch.nodes import Size
from cfglint.frameworks.chosen_sizes import ChosenSizes, by_ranks
from cfglint.frameworks.openrlhf.batch import Sizes, is_twice
from cfglint.frameworks.openrlhf.config import OpenRlhfConfig
from cfglint.frameworks.openrlhf.fields import ROLES


def choose(config: OpenRlhfConfig, size: Size, batch: int, max_micro: int | None) -> ChosenSizes:
    """The values for a global batch: those of the roles that share the GPUs, and the largest micro batch that divides a replica's part."""
    sizes = Sizes(config)
    if sizes.replica is None:
        return ChosenSizes({}, [], missing="the ring attention size, or the tensor parallel size, is unknown")
    layout, refused = roles(config, size)
    if refused:
        return ChosenSizes({}, [refused])
    keys = config.key("train_batch_size"), config.key("micro_train_batch_size")
    found = by_ranks(sizes, keys, batch, size.processes, max_micro, "ring attention x tensor", layout)
    if found.micro_batch is not None and is_twice(config):
        found.reasons.append("DeepSpeed gets twice the batch, for the two losses")
    return found


def roles(config: OpenRlhfConfig, size: Size) -> tuple[dict[str, int], str]:
    """The nodes and GPUs of the roles on another size, and why they do not follow from it."""
    now = config.own_size
    if now is None or now == size:
        return {}, ""
    if not config.is_on("colocate_all_models"):
        return {}, "the GPUs are divided among actor, reference, critic, reward model and vLLM: set the size of each by hand"
    values = {
        key: count
        for role in ROLES  # that share the GPUs where all models are together
        for name, count in ((f"{role}_num_nodes", size.nodes), (f"{role}_num_gpus_per_node", size.per_node))
        if (key := config.key(name)) in config.known and (role == "actor" or key in config.values)
    }
    engines, size_of_one = config.integer("vllm_num_engines"), config.integer("vllm_tensor_parallel_size", 1)
    if engines:
        if not size_of_one or size.processes % size_of_one:
            return {}, f"{size.processes} GPUs are no multiple of the tensor parallel size of vLLM ({size_of_one})"
        values[config.key("vllm_num_engines")] = size.processes // size_of_one
    return values, ""
