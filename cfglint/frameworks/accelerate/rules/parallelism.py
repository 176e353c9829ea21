"""Rules about the sizes of the parallelism block."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.accelerate.checks import ACCELERATOR, OF_SIZES, makes_sizes
from cfglint.frameworks.accelerate.config import AXES, AccelerateConfig
from cfglint.frameworks.accelerate.rules.refused import finding
from cfglint.source.annotations import Iterator

CHECKS_SHARDS = Releases((1, 15, 0))  # FSDP without an axis to shard over is refused


@rule(OF_SIZES)
def invalid_parallelism_sizes(config: AccelerateConfig) -> Iterator[Finding]:
    refusals = [refusal for refusal in config.refusals if refusal.kind == OF_SIZES]
    if built := [refusal for refusal in refusals if not any(name.startswith(ACCELERATOR) for name in refusal.read)]:
        yield from (finding(config, refusal) for refusal in built)
        return
    is_computed = makes_sizes(config) and None not in (config.axis(name) for name in AXES)
    error = missing_fsdp(config) or mesh_error(config) if is_computed else None
    yield from [error] if error is not None else [finding(config, refusal) for refusal in refusals]


def wrong(config: AccelerateConfig, message: str, exception: str, remedy: Remedy | str | None = None) -> Finding:
    return Finding(config.setting("parallelism_config"), f"`parallelism_config`{message}", exception=exception, help=remedy)


def missing_fsdp(config: AccelerateConfig) -> Finding | None:
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


def mesh_error(config: AccelerateConfig) -> Finding | None:
    total = 1
    for name in AXES:
        total *= config.axis(name) or 1
    started, sequence = config.started or config.facts.gpus, config.axis("sp") or 1
    if started is None or total == 1:
        return None
    if sequence > 1:
        return indivisible(config, started, sequence) if config.under_deepspeed else None
    if total > started:
        text = f"RuntimeError: Mesh should not be bigger than default world size {started}, but found {total} ranks!"
        remedy = "change the sizes so that their product is the number of processes"
        return wrong(config, f": the product of the sizes is {total}, but there are {started} processes", text, remedy)
    return nothing_to_shard(config) if total == started and not config.under_deepspeed else None


def nothing_to_shard(config: AccelerateConfig) -> Finding | None:
    """The finding about FSDP 2 without an axis to shard before 1.15: the mesh lacks the dimension when the model is prepared."""
    sharded = (config.axis("dp_shard") or 1) * (config.axis("cp") or 1) > 1
    if config.fsdp_version != "2" or sharded or config.version in CHECKS_SHARDS:
        return None
    names = ("dp_replicate", "dp_shard_cp") if (config.axis("dp_replicate") or 1) > 1 else ("dp_shard_cp",)
    return wrong(config, ": FSDP requires dp_shard or cp above 1", f'KeyError: "Invalid mesh_dim_names {names} specified.')


def indivisible(config: AccelerateConfig, started: int, sequence: int) -> Finding | None:
    """The finding about the sequence-parallel groups of DeepSpeed (runtime/sequence_parallel/parallel_state_sp.py:31)."""
    if started < sequence:
        text = f"RuntimeError: world_size ({started}) is less than sequence_parallel_size {sequence}"
        return wrong(config, f": sp is {sequence}, but there are {started} processes", text)
    if started % sequence:
        text = f"RuntimeError: world_size ({started}) is not divisible by sequence_parallel_size {sequence})"
        return wrong(config, f": sp {sequence} does not divide {started} processes", text)
    return None
