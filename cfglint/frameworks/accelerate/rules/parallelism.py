"""Rules about the sizes of the parallelism block."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.accelerate.config import AXES, AccelerateConfig
from cfglint.source.annotations import Iterator

CHECKS_BOTH = Releases((1, 13, 0))  # context and sequence parallelism together are refused
CHECKS_SHARDS = Releases((1, 15, 0))  # FSDP without an axis to shard over is refused


@rule("ACC016")
def invalid_parallelism_sizes(config: AccelerateConfig) -> Iterator[Finding]:
    sizes = {name: config.axis(name) for name in AXES}
    if not config.section("parallelism_config") or not config.spawns or not config.local or not config.release_has("parallelism_config"):
        return
    low = next((name for name, size in sizes.items() if size is not None and size < 1), None)
    if low:
        setting = config.setting("parallelism_config", f"parallelism_config_{low}_size")
        message = f"`{setting.path[-1]}` is {sizes[low]}; it must be at least 1"
        yield Finding(
            setting,
            message,
            exception=f"ValueError: {low}_size must be at least 1, but got {sizes[low]}",
            help=set_key(f"parallelism_config.parallelism_config_{low}_size", 1),
        )
        return
    if None in sizes.values():
        return
    error = incompatible_axes(config) or missing_fsdp(config) or wrong_product(config)
    if error is not None:
        yield error


def wrong(config: AccelerateConfig, message: str, exception: str, remedy: Remedy | str | None = None) -> Finding:
    """A finding about the sizes of the section."""
    return Finding(config.setting("parallelism_config"), f"`parallelism_config`{message}", exception=exception, help=remedy)


def incompatible_axes(config: AccelerateConfig) -> Finding | None:
    """The finding about axes that are incompatible."""
    replicate, shard, tensor, context, sequence = (config.axis(name) or 1 for name in AXES)
    if context > 1 and sequence > 1 and config.version in CHECKS_BOTH:
        text = "ValueError: Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive."
        return wrong(config, f": cp {context} is incompatible with sp {sequence}", text)
    if (tensor > 1 or context > 1) and replicate > 1 and shard == 1:
        text = "ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism"
        return wrong(config, f": tp {tensor} or cp {context} with dp_replicate {replicate} requires dp_shard above 1", text)
    return None


def missing_fsdp(config: AccelerateConfig) -> Finding | None:
    """The finding about axes that require FSDP 2, without it."""
    if config.under_deepspeed or (config.trainer is not None and config.trainer.get("fsdp")):
        return None
    context, version = config.axis("cp") or 1, config.fsdp_version
    if context > 1 and not version:
        text = "ValueError: `cp_size > 1` specified in the `parallelism_config`, but no `fsdp_plugin` was provided."
        return wrong(config, f": cp {context} requires FSDP", text)
    if context > 1 and version == "1":
        text = "ValueError: Using `cp_size>1` requires FSDP2, but the provided `fsdp_plugin` is using FSDP1."
        return wrong(config, f": cp {context} requires FSDP version 2", text)
    return None


def wrong_product(config: AccelerateConfig) -> Finding | None:
    """The finding about axes whose product is not the number of processes."""
    total = 1
    for name in AXES:
        total *= config.axis(name) or 1
    started = config.started or config.facts.gpus
    if started is None or total == 1:
        return None
    sequence = config.axis("sp") or 1
    if sequence > 1:
        return indivisible(config, started, sequence) if config.under_deepspeed else None
    if total != started:
        text = f"ValueError: ParallelismConfig total_size ({total}) does not match num_processes ({started})."
        if total > started:
            text = f"RuntimeError: Mesh should not be bigger than default world size {started}, but found {total} ranks!"
        remedy = "change the sizes so that their product is the number of processes"
        return wrong(config, f": the product of the sizes is {total}, but there are {started} processes", text, remedy)
    if config.under_deepspeed:
        return None
    if config.fsdp_version == "1":
        return wrong(
            config, " requires FSDP version 2", "ValueError: ParallelismConfig is only compatible DistributedType.FSDP (version 2)"
        )
    return nothing_to_shard(config)


def nothing_to_shard(config: AccelerateConfig) -> Finding | None:
    """The finding about FSDP 2 without an axis to shard; before 1.15 the mesh lacks the dimension when the model is prepared."""
    if config.fsdp_version != "2" or (config.axis("dp_shard") or 1) * (config.axis("cp") or 1) > 1:
        return None
    text = "ValueError: FSDP is enabled but the parallelism config has no dimension for FSDP to shard across"
    if config.version not in CHECKS_SHARDS:
        names = ("dp_replicate", "dp_shard_cp") if (config.axis("dp_replicate") or 1) > 1 else ("dp_shard_cp",)
        text = f'KeyError: "Invalid mesh_dim_names {names} specified.'
    return wrong(config, ": FSDP requires dp_shard or cp above 1", text)


def indivisible(config: AccelerateConfig, started: int, sequence: int) -> Finding | None:
    """The finding about the sequence-parallel groups of DeepSpeed (runtime/sequence_parallel/parallel_state_sp.py:31)."""
    if started < sequence:
        text = f"RuntimeError: world_size ({started}) is less than sequence_parallel_size {sequence}"
        return wrong(config, f": sp is {sequence}, but there are {started} processes", text)
    if started % sequence:
        text = f"RuntimeError: world_size ({started}) is not divisible by sequence_parallel_size {sequence})"
        return wrong(config, f": sp {sequence} does not divide {started} processes", text)
    return None
