"""Rules about tensor and expert parallelism, and other settings that the engine uses before the optimizer."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import described, listed, spelled
from cfglint.frameworks.deepspeed._tables import CHOICES
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.remedies import choice, mistyped, not_attribute
from cfglint.source.annotations import Iterator

LEVELS = CHOICES["log_level",]
SIZES_COMPARED = (0, 18, 6)  # the two sizes of tensor parallelism, and the size with zero before the config is parsed


@rule("DSP070")
def invalid_log_level(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("log_level")
    if value is None or not config.looks_up("log_level"):
        return
    if not isinstance(value, str):
        yield mistyped(config.setting("log_level"), "a string", not_attribute(value, "lower"), set_key("log_level", "info"))
    elif value.lower() not in LEVELS:
        raised = f"ValueError: {value.lower()} is not one of the valid logging levels."
        text = f"`log_level` is {spelled(value)}; it must be {listed(map(spelled, LEVELS))}"
        yield Finding(config.setting("log_level"), text, exception=raised, help=choice("log_level", value, LEVELS))


@rule("DSP071")
def invalid_autotp_size(config: DeepSpeedConfig) -> Iterator[Finding]:
    if not config.looks_up("tensor_parallel"):
        return
    size, setting = config.get("tensor_parallel", "autotp_size", default=0), config.setting("tensor_parallel", "autotp_size")
    if size and not isinstance(size, (int, float)) and config.version >= SIZES_COMPARED:
        if size == "auto" and config.open:
            return
        raised = f"TypeError: '>' not supported between instances of '{type(size).__name__}' and 'int'"
        text = f"`autotp_size` is {described(size)}, not a number"
        yield Finding(setting, text, exception=raised, help="set `tensor_parallel.autotp_size` to a number")
        return
    size, world = config.section("tensor_parallel")["autotp_size"], config.world_size
    if not isinstance(size, int) or size < 2:
        return
    if world is not None and size > world and config.trainer is not None:  # accelerate's own mesh fails before
        return
    if world is not None and world % size:
        raised = "IndexError: list index out of range" if size < world else "AssertionError"
        text = f"`autotp_size` is {size}, which does not divide {world} GPUs"
        yield Finding(setting, text, exception=raised, fails_at="init", help=f"set `tensor_parallel.autotp_size` to a divisor of {world}")
    inner = config.section("tensor_parallel")["tensor_parallel"]
    if config.version >= SIZES_COMPARED and inner is not None and inner["tp_size"] not in (1, size):
        raised = f"ValueError: tensor_parallel.tp.tp_size ({inner['tp_size']}) does not match tensor_parallel.autotp_size ({size})."
        text = f"`tensor_parallel.tp.tp_size` is {inner['tp_size']}, but `autotp_size` is {size}"
        setting, remedy = config.setting("tensor_parallel", "tp"), remove_key("tensor_parallel.tp")
        yield Finding(setting, text, exception=raised, fails_at="init", help=remedy)


@rule("DSP074")
def autocast_module_without_package(config: DeepSpeedConfig) -> Iterator[Finding]:
    names = config.get("torch_autocast", "lower_precision_safe_modules") if config.get("torch_autocast", "enabled") else None
    bare = [name for name in names if isinstance(name, str) and "." not in name] if isinstance(names, (list, str)) else []
    if bare:
        raised = f"ValueError: Failed to import lower precision safe module {bare[0]}: not enough values to unpack (expected 2, got 1)"
        setting = config.setting("torch_autocast", "lower_precision_safe_modules")
        text = f"`lower_precision_safe_modules` has {spelled(bare[0])} without its package"
        yield Finding(setting, text, exception=raised, help="write the full name, such as torch.nn.Linear")


@rule("DSP075")
def checkpoint_writer_without_data_parallel(config: DeepSpeedConfig) -> Iterator[Finding]:
    writer = config.get("checkpoint", "writer")
    if not isinstance(writer, dict) or writer.get("data_parallel") is not None or not config.looks_up("checkpoint", "writer"):
        return
    size = config.section("tensor_parallel")["autotp_size"]
    if config.stage in (0, 1, 2) and isinstance(size, int) and size < 2:
        raised = "AttributeError: 'UniversalParallelInfo' object has no attribute 'dp_rank'"
        setting = config.setting("checkpoint", "writer")
        text = "`checkpoint.writer` requires `data_parallel`"
        yield Finding(setting, text, exception=raised, help=set_key("checkpoint.writer.data_parallel", "replica"), depends_on=config.rest)
