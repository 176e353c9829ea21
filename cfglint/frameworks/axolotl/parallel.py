"""The parallel sizes that axolotl and accelerate require.

axolotl builds its own `ParallelismConfig` before the model is loaded (utils/distributed.py:345-446), and passes only the sizes that
the file gives to accelerate, in the environment (utils/trainer.py:672-726); their product must equal the number of processes
(accelerate 1.15.0 parallelism_config.py:336-380).
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, any_of, set_key
from cfglint.frameworks.axolotl.refusals import PARALLEL, AxolotlModel, refuses
from cfglint.frameworks.refusal import Refusal

TENSOR = "tensor_parallel_size"
CONTEXT = "context_parallel_size"
SHARD = "dp_shard_size"
REPLICATE = "dp_replicate_size"
EXPERT = "expert_parallel_size"
DEEPSPEED = Releases((0, 21, 0))  # under DeepSpeed context parallelism is its sequence parallelism
PURE = (
    "Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and dp_shard_size == 1)."
)


def refused(keys: tuple[str, ...], message: str, says: str, remedy: Remedy | str = "") -> Refusal:
    return refuses(PARALLEL, keys, message, says, remedy=remedy, raises="ValueError")


def size(model: AxolotlModel, key: str) -> int:
    return int(getattr(model, key) or 1)


def problem(model: AxolotlModel, world: int | None) -> Refusal | None:
    """The first reason for refusing the sizes on this many processes; None if there is none, or if the number of processes is unknown."""
    if world is None or model.release < (0, 12, 0):  # the sizes are those of accelerate's ParallelismConfig
        return None
    uses = bool(model.fsdp or model.fsdp_config) or size(model, TENSOR) > 1 or size(model, CONTEXT) > 1
    refusal = built(model, world) if uses and world > 1 else None
    if refusal is None:
        refusal = passed(model, world)
        if refusal is not None:
            refusal.fails_at = "init"  # when the trainer is built
    return refusal


def built(model: AxolotlModel, world: int) -> Refusal | None:
    """The refusal of `build_parallelism_config`, which computes the data-parallel sizes from the remaining processes."""
    tensor, context, expert = size(model, TENSOR), size(model, CONTEXT), size(model, EXPERT)
    if world % expert:
        message = f"`{EXPERT}` ({expert}) does not divide the {world} processes"
        return refused((EXPERT,), message, f"expert_parallel_size ({expert}) must divide world_size ({world}).")
    rest = world // expert // max(tensor, 1) // max(context, 1)
    deepspeed, shard, replicate = model.deepspeed and model.release in DEEPSPEED, model.dp_shard_size, model.dp_replicate_size
    if deepspeed and context > 1 and rest > 1:  # what DeepSpeed's sequence parallelism leaves are replicas
        if not replicate or replicate <= 1 or replicate == rest:
            return None
        message = f"`{REPLICATE}` ({replicate}) must be processes / `{CONTEXT}` ({rest}) under DeepSpeed"
        says = f"dp_replicate_size ({replicate}) must equal world_size / context_parallel_size ({rest}) under DeepSpeed."
        return refused((REPLICATE, CONTEXT), message, says)
    sizes: dict[str, int] = {}
    if shard is None and replicate in (None, 1) and rest > 1:
        sizes[SHARD], rest = rest, 1
    if replicate and replicate > 1:
        sizes[REPLICATE], rest = replicate, rest // replicate
    if model.fsdp or model.fsdp_config:
        if rest > 1 and shard and shard > 1:
            sizes[SHARD], rest = shard, rest // shard
            if rest > 1 and REPLICATE not in sizes:
                sizes[REPLICATE], rest = rest, 1
        if rest > 1 and SHARD not in sizes:
            sizes[SHARD], rest = rest, 1
    if rest > 1 and (shard or 1) > 1 and not (model.fsdp or model.fsdp_config):
        says = "dp_shard_size was configured without a corresponding fsdp_config! Please ensure you have configured FSDP using fsdp_config."
        return refused((SHARD,), f"`{SHARD}` requires `fsdp_config`", says)
    if rest > 1:
        keys = tuple(key for key in (SHARD, REPLICATE, CONTEXT, TENSOR) if getattr(model, key)) or (TENSOR,)
        says = f"The configured parallelisms are incompatible with the current world size ({world})!"
        return refused(keys, f"the parallel sizes leave {rest} of {world} processes without a role", says)
    shards = sizes.get(SHARD, 1) if deepspeed else sizes.get(SHARD) or int(shard or 1)
    return _pure(model, tensor, 1 if deepspeed else context, sizes.get(REPLICATE, int(replicate or 1)), shards, expert)


def _pure(model: AxolotlModel, tensor: int, context: int, replicate: int, shard: int, expert: int) -> Refusal | None:
    """The refusal of accelerate for pure replication together with tensor or context parallelism."""
    if (tensor > 1 or context > 1) and replicate > 1 and shard == 1 and not (expert > 1 and (context > 1 or model.fsdp_config)):
        key = TENSOR if tensor > 1 else CONTEXT
        return refused((REPLICATE, key), f"`{REPLICATE}` above 1 with `{key}` above 1 requires `{SHARD}` above 1", PURE)
    return None


def passed(model: AxolotlModel, world: int) -> Refusal | None:
    tensor, context, expert = size(model, TENSOR), size(model, CONTEXT), size(model, EXPERT)
    shard, replicate = max(size(model, SHARD), 1), max(size(model, REPLICATE), 1)
    if not (tensor > 1 or context > 1 or shard > 1 or replicate > 1):
        return None
    if model.deepspeed and context > 1 and model.release in DEEPSPEED:  # accelerate leaves the product to DeepSpeed
        return None
    pure = _pure(model, tensor, context, replicate, shard, expert)
    if pure is not None:
        return pure
    total = tensor * context * shard * replicate * (expert if patched(model) else 1)
    if total == world:
        return None
    keys = tuple(key for key in (CONTEXT, TENSOR, SHARD, REPLICATE, EXPERT) if size(model, key) > 1)
    product = " x ".join(f"`{key}` ({size(model, key)})" for key in keys) + f" = {total}" if keys[1:] else f"`{keys[0]}` is {total}"
    names = "dp_shard_size/tp_size/cp_size/sp_size" + ("/ep_size" if patched(model) else "")
    message = f"{product}, but the run has {world} processes, one on each GPU: the two must be equal"
    says = f"ParallelismConfig total_size ({total}) does not match num_processes ({world}). Please adjust dp_replicate_size/ {names}."
    rests = {key: total // size(model, key) for key in keys}  # of the other sizes
    fitting = any_of(*(set_key(key, world // rest) for key, rest in rests.items() if world % rest == 0))
    return refused(keys, message, says, fitting or "")


def patched(model: AxolotlModel) -> bool:
    """Whether axolotl adds its expert axis to accelerate."""
    return size(model, CONTEXT) > 1 or bool(model.fsdp or model.fsdp_config) or size(model, EXPERT) > 1
