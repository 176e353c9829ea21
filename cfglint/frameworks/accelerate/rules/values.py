"""Rules about values that the launcher rejects."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.accelerate.checks import OF_LAUNCHER
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.accelerate.releases import types
from cfglint.frameworks.accelerate.rules import KEYS_COMPARED, SAGEMAKER
from cfglint.frameworks.accelerate.rules.refused import finding
from cfglint.frameworks.remedies import choice, mistyped, not_attribute, replace
from cfglint.source.annotations import Iterator

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
        remedy = "add `distributed_type: MULTI_GPU`, or the type that fits"
        yield Finding(config.setting("distributed_type"), "`distributed_type` is missing", exception=text, help=remedy)
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


@rule("ACC018")
def invalid_launch_value_type(config: AccelerateConfig) -> Iterator[Finding]:
    if not config.local or not config.values or config.is_on_tpu:
        return
    for refusal in config.refusals:
        if refusal.kind == OF_LAUNCHER:
            found = finding(config, refusal)
            found.depends_on = config.rest if found.setting.value is None else ()  # a flag of the launch line may give it
            yield found
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
