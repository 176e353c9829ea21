"""The parallel sizes that axolotl and accelerate ask for.

axolotl builds its own `ParallelismConfig` before the model is loaded (utils/distributed.py:345-446), and hands only the sizes that
the file gives to accelerate, by the environment (utils/trainer.py:672-726); those must multiply up to the processes
(accelerate 1.15.0 parallelism_config.py:336-380).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage
    from cfglint.frameworks.axolotl.refusals import Model

TENSOR = "tensor_parallel_size"
CONTEXT = "context_parallel_size"
SHARD = "dp_shard_size"
REPLICATE = "dp_replicate_size"
EXPERT = "expert_parallel_size"
PURE = (
    "Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism (dp_replicate_size > 1 and dp_shard_size == 1)."
)


class SizeProblem:
    """Why sizes are refused: the keys, our words, the exception's, and the remedy."""

    __slots__ = ("fails_at", "keys", "message", "remedy", "says")

    def __init__(self, keys: tuple[str, ...], message: str, says: str, remedy: str | None = None) -> None:
        self.fails_at: Stage = "init"
        self.keys = keys
        self.message = message
        self.says = says
        self.remedy = remedy


def size(model: Model, key: str) -> int:
    """A size, 1 where it is not given."""
    return int(getattr(model, key) or 1)


def problem(model: Model, world: int | None) -> SizeProblem | None:
    """The first reason for which the sizes are refused on so many processes; None where the processes are not known."""
    if world is None:
        return None
    uses = bool(model.fsdp_config) or size(model, TENSOR) > 1 or size(model, CONTEXT) > 1
    built = _built(model, world) if uses and world > 1 else None
    if built is not None:
        built.fails_at = "config"  # before the trainer is built
    return built or _handed(model, world)


def _built(model: Model, world: int) -> SizeProblem | None:
    """`build_parallelism_config`."""
    tensor, context, expert = size(model, TENSOR), size(model, CONTEXT), size(model, EXPERT)
    if world % expert:
        return SizeProblem(
            (EXPERT,),
            f"`{EXPERT}` ({expert}) does not divide the {world} processes",
            f"expert_parallel_size ({expert}) must divide world_size ({world}).",
        )
    rest = world // expert // max(tensor, 1) // max(context, 1)
    shard, replicate = model.dp_shard_size, model.dp_replicate_size
    if model.deepspeed and context > 1 and rest > 1:
        if replicate and replicate > 1 and replicate != rest:
            return SizeProblem(
                (REPLICATE, CONTEXT),
                f"`{REPLICATE}` ({replicate}) must be processes / `{CONTEXT}` ({rest}) under DeepSpeed",
                f"dp_replicate_size ({replicate}) must equal world_size / context_parallel_size ({rest}) under DeepSpeed.",
            )
        return None
    given: dict[str, int] = {}
    if shard is None and replicate in (None, 1) and rest > 1:
        given["dp_shard_size"], rest = rest, 1
    if replicate and replicate > 1:
        given["dp_replicate_size"], rest = replicate, rest // replicate
    if rest > 1 and shard and shard > 1:
        if not model.fsdp_config:
            return SizeProblem(
                (SHARD,),
                f"`{SHARD}` requires `fsdp_config`",
                "dp_shard_size was configured without a corresponding fsdp_config! Please ensure you have configured FSDP using "
                "fsdp_config.",
            )
        given["dp_shard_size"], rest = shard, rest // shard
        if rest > 1 and "dp_replicate_size" not in given:
            given["dp_replicate_size"], rest = rest, 1
    if rest > 1 and "dp_shard_size" not in given and model.fsdp_config:
        given["dp_shard_size"], rest = rest, 1
    if rest > 1:
        return SizeProblem(
            tuple(key for key in (SHARD, REPLICATE, CONTEXT, TENSOR) if getattr(model, key)) or (TENSOR,),
            f"the parallel sizes leave {rest} of {world} processes without a role",
            f"The configured parallelisms are incompatible with the current world size ({world})!",
        )
    shard_size = given.get("dp_shard_size") or int(shard or 1) if not model.deepspeed else given.get("dp_shard_size", 1)
    return _pure(model, tensor, 1 if model.deepspeed else context, given.get("dp_replicate_size", int(replicate or 1)), shard_size, expert)


def _pure(model: Model, tensor: int, context: int, replicate: int, shard: int, expert: int) -> SizeProblem | None:
    """accelerate refuses pure replication together with tensor or context parallelism."""
    if (tensor > 1 or context > 1) and replicate > 1 and shard == 1 and not (expert > 1 and (context > 1 or model.fsdp_config)):
        key = TENSOR if tensor > 1 else CONTEXT
        return SizeProblem((REPLICATE, key), f"`{REPLICATE}` above 1 with `{key}` above 1 requires `{SHARD}` above 1", PURE)
    return None


def _handed(model: Model, world: int) -> SizeProblem | None:
    """The sizes that axolotl passes to accelerate in the environment."""
    tensor, context, expert = size(model, TENSOR), size(model, CONTEXT), size(model, EXPERT)
    shard, replicate = max(size(model, SHARD), 1), max(size(model, REPLICATE), 1)
    if not (tensor > 1 or context > 1 or shard > 1 or replicate > 1):
        return None
    if model.deepspeed and context > 1:  # accelerate leaves the product to DeepSpeed
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
    return SizeProblem(
        keys,
        f"{product}, but the run has {world} processes, one on each GPU: the two must be equal",
        f"ParallelismConfig total_size ({total}) does not match num_processes ({world}). Please adjust dp_replicate_size/ {names}.",
        fitting({key: size(model, key) for key in keys}, total, world),
    )


def fitting(sizes: dict[str, int], total: int, world: int) -> str | None:
    """The changes of one size that make the product equal to the processes."""
    rests = {key: total // each for key, each in sizes.items()}
    return ", or ".join(f"set `{key}: {world // rest}`" for key, rest in rests.items() if world % rest == 0) or None


def patched(model: Model) -> bool:
    """Whether axolotl has given accelerate its axis for experts."""
    return size(model, CONTEXT) > 1 or bool(model.fsdp_config) or size(model, EXPERT) > 1
