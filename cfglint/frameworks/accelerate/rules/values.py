"""Rules about values that the launcher rejects."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import described, spelled
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.releases import backends, types
from cfglint.frameworks.accelerate.rules import KEYS_COMPARED, SAGEMAKER
from cfglint.frameworks.remedies import choice, mistyped, not_attribute, replace
from cfglint.source.annotations import Iterator

BACKEND_WITHOUT_PREFIX = (1, 14)  # from here on `backend` in `dynamo_config` is `dynamo_backend`; before, nothing reads it
UNSET_IS_ONE = (1, 11)  # from here on a missing `num_processes` means 1 without several GPUs; 1.6.0 compares null with 1
TYPE_IS_CHECKED = (0, 34)  # from here on with a message of its own; before, the class cannot be created
BLOCKS_COPIED = (1, 5)  # from here on a block that is not a mapping is skipped; 1.4.0 indexes it with each of its entries
INDEXED_BLOCKS = ("deepspeed_config", "fsdp_config", "megatron_lm_config", "dynamo_config", "ipex_config", "mpirun_config")


@rule("ACC003")
def invalid_distributed_type(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.values:
        return
    if "distributed_type" not in config.values:
        text = "ValueError: A `distributed_type` must be specified in the config file."
        if config.version < TYPE_IS_CHECKED:
            text = "TypeError: ClusterConfig.__init__() missing 1 required positional argument: 'distributed_type'"
        yield Finding(
            config.setting("distributed_type"),
            "`distributed_type` is missing",
            exception=text,
            help="add `distributed_type: MULTI_GPU`, or the type that fits",
        )
    elif isinstance(config.distributed, str) and config.distributed not in (known := types(config.version)) and config.local:
        setting = config.setting("distributed_type")
        meant = config.distributed.upper().replace("-", "_")
        text = f"ValueError: {config.distributed!r} is not a valid DistributedType"
        fix = replace(setting, meant, f"write {meant}", safe=True) if meant in known else None
        message = f"`distributed_type` is {setting.spelled}, which is not a valid choice"
        choices = None if fix else choice("distributed_type", config.distributed, known)
        yield Finding(setting, message, exception=text, fix=fix, help=choices)


@rule("ACC004")
def invalid_compute_environment(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local and config.get("compute_environment") != SAGEMAKER:
        setting = config.setting("compute_environment")
        text = f"ValueError: The config file at {config.documents[0].path} had unknown keys"
        if config.version < KEYS_COMPARED:
            text = "TypeError: SageMakerConfig.__init__() got an unexpected keyword argument"
        message = f"`compute_environment` is {setting.spelled}; it must be LOCAL_MACHINE or {SAGEMAKER}"
        yield Finding(setting, message, exception=text, help=set_key("compute_environment", "LOCAL_MACHINE"))


@rule("ACC006")
def invalid_mixed_precision(config: AccelerateConfig) -> Iterator[Finding]:
    value = config.get("mixed_precision")
    if value is None or config.precision is not None or not config.local:
        return
    setting = config.setting("mixed_precision")
    if isinstance(value, str):
        text = f"ValueError: Unknown mixed_precision mode: {value.lower()}. Choose between ['no', 'fp8', 'fp16', 'bf16']."
        yield Finding(
            setting,
            f"`mixed_precision` is {setting.spelled}; it must be no, fp16, bf16 or fp8",
            exception=text,
            help=choice("mixed_precision", value, ("no", "fp16", "bf16", "fp8")),
        )
        return
    text = f"AttributeError: '{type(value).__name__}' object has no attribute 'lower'"
    bare = value is False
    message = (
        f"`mixed_precision` is {setting.spelled}, which is the boolean false in YAML, not a string"
        if bare
        else f"`mixed_precision` is {setting.spelled}, not a string"
    )
    yield Finding(setting, message, exception=text, fix=replace(setting, "no", "quote it", safe=True) if bare else None)


@rule("ACC018")
def invalid_launch_value_type(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local or not config.values or config.is_on_tpu:
        return
    machines, processes = config.machines, config.processes
    kind = type(machines).__name__
    if not isinstance(machines, (int, float)):
        text = f"TypeError: '>' not supported between instances of '{kind}' and 'int'"
        remedy: Remedy | str | None = (
            set_key("num_machines", int(machines), ", without quotes") if str(machines).isdecimal() else set_key("num_machines", 1)
        )
        yield Finding(
            config.setting("num_machines"),
            f"`num_machines` is {described(machines)}, not a number",
            exception=text,
            help=remedy,
            depends_on=config.rest if machines is None else (),  # a flag of the launch line may give it
        )
    elif not isinstance(processes, (int, float)):
        divided = machines > 1 and config.spawns
        what = "unsupported operand type(s) for //:" if divided else "'>' not supported between instances of"
        remedy = set_key("num_processes", int(processes), ", without quotes") if str(processes).isdecimal() else None
        if divided or (not config.spawns and processes is not None and not passed_over(config, processes)):
            text = f"TypeError: {what} '{type(processes).__name__}' and 'int'"
            yield mistyped(config.setting("num_processes"), "a number", text, remedy)
    for axis in ("cp", "sp") if config.spawns and config.release_has("parallelism_config") else ():
        path = ("parallelism_config", f"parallelism_config_{axis}_size")
        size = config.get(*path, default=1)
        if not isinstance(size, (int, float)):
            text = f"TypeError: '>' not supported between instances of '{type(size).__name__}' and 'int'"
            remedy = "remove the quotes" if str(size).isdecimal() else None
            yield Finding(config.setting(*path), f"`{path[-1]}` is {described(size)}, not a number", exception=text, help=remedy)
    yield from blocks_of_another_type(config)


def blocks_of_another_type(config: AccelerateConfig) -> Iterator[Finding]:
    """Blocks that are not mappings and that the launcher uses as mappings."""
    for name in ("deepspeed_config",) if config.version >= BLOCKS_COPIED else filter(config.release_has, INDEXED_BLOCKS):
        block = config.values.get(name)
        if block is None or isinstance(block, dict):
            continue
        text = indexing_error(block) if config.version < BLOCKS_COPIED else None
        if text is None and name == "deepspeed_config" and config.uses_deepspeed:
            text = not_attribute(block, "keys")
        if text is not None:
            yield mistyped(config.setting(name), "a mapping", text, remove_key(name) | "write a mapping")


def indexing_error(block: object) -> str | None:
    """The exception that Python raises when each entry of a value indexes that value (commands/launch.py:1024-1039 of accelerate
    1.1.1); None if none.
    """
    if not isinstance(block, (str, list)):
        return f"TypeError: '{type(block).__name__}' object is not iterable"
    if not block:
        return None
    return "TypeError: string indices must be integers" if isinstance(block, str) else "TypeError: list indices must be integers or slices"


def passed_over(config: AccelerateConfig, value: object) -> bool:
    """Whether the launcher skips a mapping, and treats a missing number as 1 as newer releases do."""
    return isinstance(value, dict) and config.version >= UNSET_IS_ONE


@rule("ACC019")
def invalid_dynamo_backend(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local or config.uses_deepspeed or config.is_on_tpu:
        return
    block = config.section("dynamo_config")
    names = ("dynamo_backend", "backend") if config.version >= BACKEND_WITHOUT_PREFIX else ("dynamo_backend",)
    path = (
        ("dynamo_backend",) if "dynamo_backend" in config.values else ("dynamo_config", next((name for name in names if name in block), ""))
    )
    value = config.get(*path)
    if value is None:
        return
    if not isinstance(value, str):
        text = f"AttributeError: '{type(value).__name__}' object has no attribute 'upper'"
        message = f"`{path[-1]}` is {config.setting(*path).spelled}, not a string in YAML"
        yield Finding(config.setting(*path), message, exception=text, help="quote the value")
    elif value.upper() not in (known := backends(config.version)):
        text = f"ValueError: Unknown dynamo backend: {value.upper()}."
        yield Finding(
            config.setting(*path),
            f"`{path[-1]}` is {spelled(value)}, which is not a valid choice",
            exception=text,
            help=choice(".".join(path), value, [each.lower() for each in known]),
        )
