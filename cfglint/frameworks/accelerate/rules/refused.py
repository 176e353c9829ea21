"""Findings about what the launcher and the plugins refuse, and rules about the sizes of the parallelism block."""

from __future__ import annotations

import re
from math import prod

from cfglint.evaluate import Reason
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import set_key, set_one
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import OVERRIDE
from cfglint.frameworks.accelerate import KIND, checks
from cfglint.frameworks.accelerate.config import AXES, AccelerateConfig
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.remedies import remove, replace
from cfglint.frameworks.rows.table import table_of
from cfglint.source.annotations import Iterator

MESH = "Mesh"
CHECKS_SHARDS = Releases((1, 15, 0))  # FSDP without an axis to shard over is refused


@rule(checks.OF_SIZES)
def invalid_parallelism_sizes(config: AccelerateConfig) -> Iterator[Finding]:
    refusals = [refusal for refusal in config.refusals if refusal.kind == checks.OF_SIZES]
    if built := [refusal for refusal in refusals if not any(name.startswith(checks.ACCELERATOR) for name in refusal.read)]:
        yield from (finding(config, refusal) for refusal in built)
        return
    # the launcher passes the sizes on where the rows make a plugin of them: for DeepSpeed before 1.12 it does not
    name, functions = f"{checks.engine_of(config)}:{checks.PARALLELISM}", table_of(KIND).functions(checks.PLUGIN, config.version)
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


PROGRAM = Reason("program", "the `Accelerator` that the program makes")
SECTIONS = {"fsdp_config": "fsdp", "deepspeed_config": "deepspeed"}  # block -> the key of a Trainer that takes its place


def refused(config: AccelerateConfig, page: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == page:
            yield from file_and_keys(config, refusal) if page == checks.FILE_AND_KEYS else [finding(config, refusal)]


def finding(config: AccelerateConfig, refusal: Refusal) -> Finding:
    first, *others = (config.setting(*path) for path in refusal.paths)
    key, fix, remedy, trainer = first.path[-1], None, refusal.help_for(config.values), config.trainer
    if refusal.kind in checks.OF_ARGUMENTS.values() and first.value is False:
        refusal.message = f"`{key}` is {first.spelled}, which is the boolean false in YAML, not a string"
        fix = replace(first, "no", "quote it")
    elif isinstance(first.value, str) and first.value.isdecimal() and "cannot be interpreted as an integer" in refusal.exception:
        fix = replace(first, int(first.value), "remove the quotes")
    elif "invalid truth value" in refusal.exception:
        refusal.message, remedy = f"`{key}` is {first.spelled}, not a boolean", set_one(first.name, ("true", "false"))
    own = SECTIONS.get(str(first.path[0]))
    # a Trainer is in the run that makes the plugin of the file
    makes_plugin = config.makes_plugins or (trainer is not None and not (own and trainer.get(own)))
    related, doubts = [other for other in others if other.written], () if refusal.kind != checks.OF_PLUGINS or makes_plugin else (PROGRAM,)
    found = Finding(first, refusal.message, related, exception=refusal.exception, fails_at=refusal.fails_at, depends_on=doubts, fix=fix)
    found.help = None if fix else remedy
    return found


def file_and_keys(config: AccelerateConfig, refusal: Refusal) -> Iterator[Finding]:
    section, names, file = config.section("deepspeed_config"), re.findall(r"'(\w+)'", refusal.exception.partition("\n")[0]), None
    settings = [config.setting("deepspeed_config", name) for name in section if name in names]
    settings = [setting for setting in settings if setting.origin != OVERRIDE]  # the launcher compares the file alone
    if config.precision_named and ("mixed_precision",) not in config.overridden:
        settings.append(config.setting("mixed_precision" if config.get("mixed_precision") is not None else "fp16"))
    if section.get("deepspeed_config_file") not in (None, "none"):
        file = config.setting("deepspeed_config", "deepspeed_config_file")
    elif config.trainer is not None and config.trainer.get("deepspeed"):
        file = config.trainer.setting("deepspeed")
    for setting in settings:
        message = f"`{setting.path[-1]}` must be set in the DeepSpeed config file, and not here as well"
        fix = remove(setting, f"remove `{setting.path[-1]}`", safe=False)
        yield Finding(setting, message, related=(file,) if file else (), exception=refusal.exception, on_key=True, fix=fix)


@rule(checks.WITHOUT_SIZE)
def size_based_wrap_without_size(config: AccelerateConfig) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == checks.WITHOUT_SIZE:
            text = "`SIZE_BASED_WRAP` requires `fsdp_min_num_params`"
            setting = config.setting(*refusal.paths[0])
            yield Finding(setting, text, exception=refusal.exception, help=set_key("fsdp_config.fsdp_min_num_params", 100000000))
