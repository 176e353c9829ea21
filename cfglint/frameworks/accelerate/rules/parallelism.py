"""Rules about the sizes of the parallelism block."""

from __future__ import annotations

from math import prod

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.accelerate import KIND
from cfglint.frameworks.accelerate.checks import ACCELERATOR, OF_SIZES, PARALLELISM, PLUGIN, engine_of
from cfglint.frameworks.accelerate.config import AXES, AccelerateConfig
from cfglint.frameworks.accelerate.rules.refused import finding
from cfglint.frameworks.rows.table import table_of
from cfglint.source.annotations import Iterator

MESH = "Mesh"
CHECKS_SHARDS = Releases((1, 15, 0))  # FSDP without an axis to shard over is refused


@rule(OF_SIZES)
def invalid_parallelism_sizes(config: AccelerateConfig) -> Iterator[Finding]:
    refusals = [refusal for refusal in config.refusals if refusal.kind == OF_SIZES]
    if built := [refusal for refusal in refusals if not any(name.startswith(ACCELERATOR) for name in refusal.read)]:
        yield from (finding(config, refusal) for refusal in built)
        return
    # the launcher passes the sizes on where the rows make a plugin of them: for DeepSpeed before 1.12 it does not
    name, functions = f"{engine_of(config)}:{PARALLELISM}", table_of(KIND).functions(PLUGIN, config.version)
    is_passed = config.local and config.section("parallelism_config") and any(function.name == name for function in functions)
    misfit = misfit_of(config) if is_passed and None not in (config.axis(name) for name in AXES) else None
    if misfit is None:
        yield from (finding(config, refusal) for refusal in refusals)
        return
    message, text = misfit
    remedy = "change the sizes so that their product is the number of processes" if MESH in text else None
    yield Finding(config.setting("parallelism_config"), f"`parallelism_config`: {message}", exception=text, help=remedy)


def misfit_of(config: AccelerateConfig) -> tuple[str, str] | None:
    """(what is wrong, exception) of sizes that require FSDP 2, or of which torch or DeepSpeed makes no groups of processes."""
    sizes = {name: config.axis(name) or 1 for name in AXES}
    context, sequence, total, version = sizes["cp"], sizes["sp"], prod(sizes.values()), config.fsdp_version
    trainer = config.trainer
    under_deepspeed = config.uses_deepspeed or (trainer is not None and bool(trainer.get("deepspeed")))
    if not under_deepspeed and not (trainer is not None and trainer.get("fsdp")) and context > 1:
        if not version:
            text = "ValueError: `cp_size > 1` specified in the `parallelism_config`, but no `fsdp_plugin` was provided."
            return f"cp {context} requires FSDP", text
        if version == "1":
            text = "ValueError: Using `cp_size>1` requires FSDP2, but the provided `fsdp_plugin` is using FSDP1."
            return f"cp {context} requires FSDP version 2", text
    started = config.started or config.facts.gpus
    if started is None or total == 1:
        return None
    if sequence > 1:  # DeepSpeed's groups: runtime/sequence_parallel/parallel_state_sp.py:31
        if under_deepspeed and started < sequence:
            text = f"RuntimeError: world_size ({started}) is less than sequence_parallel_size {sequence}"
            return f"sp is {sequence}, but there are {started} processes", text
        if under_deepspeed and started % sequence:
            text = f"RuntimeError: world_size ({started}) is not divisible by sequence_parallel_size {sequence})"
            return f"sp {sequence} does not divide {started} processes", text
        return None
    if total > started:
        text = f"RuntimeError: {MESH} should not be bigger than default world size {started}, but found {total} ranks!"
        return f"the product of the sizes is {total}, but there are {started} processes", text
    is_sharded = sizes["dp_shard"] * context > 1
    if total < started or under_deepspeed or version != "2" or is_sharded or config.version in CHECKS_SHARDS:
        return None
    # before 1.15 the mesh lacks the dimension when the model is prepared
    names = ("dp_replicate", "dp_shard_cp") if sizes["dp_replicate"] > 1 else ("dp_shard_cp",)
    return "FSDP requires dp_shard or cp above 1", f'KeyError: "Invalid mesh_dim_names {names} specified.'
