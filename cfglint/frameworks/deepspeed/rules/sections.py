"""Rules about the values in the sections that are pydantic models."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed._tables import MODELS, MODULES
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import ESCAPED, MODEL_HISTORY
from cfglint.frameworks.deepspeed.rules.checks import refused
from cfglint.frameworks.deepspeed.rules.keys import given_sections
from cfglint.frameworks.remedies import mistyped, not_attribute, raised_by
from cfglint.frameworks.validation.pydantic import BOOLEAN, CHOICE, INTEGER, NUMBER, RANGE, RULE, TYPE
from cfglint.source.annotations import Iterator

# The other sections, each with the attribute that DeepSpeed first accesses on it.
GET = "activation_checkpointing torch_autocast flops_profiler autotuning data_efficiency checkpoint data_types elasticity aio"
LOOKED_UP = dict.fromkeys((*GET.split(), "tensor_parallel"), "get") | {"optimizer": "keys", "scheduler": "keys", "pipeline": "items"}
TENSOR_PARALLEL_READ = (0, 18, 6)  # from here on `initialize` looks a key up in it before it becomes a model
ASSUMED_SIZE = "the hidden size of the model is assumed to be 4096; pass --model for the real one"
UNPACKED = ("zero_optimization", "fp16", "comms_logger", "hybrid_engine", "weight_quantization", "compile")


def faults(config: DeepSpeedConfig, kind: str) -> Iterator[Finding]:
    """The findings for the faults of one kind in all strict sections."""
    tunes = bool(config.get("autotuning", "enabled"))  # the autotuner, which starts its own runs, takes a list for the values to try
    for name in given_sections(config):
        for fault in config.section(name).faults:
            if fault.kind == kind:
                setting = config.at(name, *fault.path)
                note = ASSUMED_SIZE if setting.name in config.assumed else None
                text = fault.explained(setting, setting.name or name)
                doubts = config.other_parsers if isinstance(setting.value, list) and tunes else ()
                remedy = spelled_value(setting, fault.needed) or remove_key(setting.name, " for the default")
                yield Finding(setting, text, exception=fault.exception, depends_on=doubts, note=note, help=remedy)


def spelled_value(setting: Setting, needed: str) -> Remedy | None:
    """The number or boolean to write that a string spells, if one is required."""
    text = setting.value.strip().lower() if isinstance(setting.value, str) else ""
    if BOOLEAN in needed and text in ("true", "false"):
        return set_key(setting.name, text == "true")
    number = None if raised_by(float, text) else float(text)
    if number is not None and INTEGER in needed and number.is_integer():
        return set_key(setting.name, int(number))
    return set_key(setting.name, number) if number is not None and needed == NUMBER else None


for page, kind_of_faults in (("TYP100", TYPE), ("TYP101", RANGE), ("TYP102", CHOICE)):
    rule(page)(lambda config, kind=kind_of_faults: faults(config, kind))


@rule("DSP002")
def inconsistent_section(config: DeepSpeedConfig) -> Iterator[Finding]:
    yield from faults(config, RULE)
    yield from refused(config, "DSP002")


@rule("TYP103")
def section_not_an_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    values = config.values
    for key in UNPACKED:
        value = values.get(key, {}) if config.looks_up(key) else {}
        if not isinstance(value, (dict, bool) if key == "zero_optimization" else dict):
            yield no_mapping(config, key, unpacking(config, key, value))
    section = config.section_key("bf16")
    value = values.get(section)
    if not isinstance(value, dict) and (value is not None or (section == "bfloat16" and section in values)):
        yield no_mapping(config, section, unpacking(config, "bf16", value))
    for key, look in LOOKED_UP.items():
        value = values.get(key, {}) if config.looks_up(key) else {}
        if not isinstance(value, dict) and not (value is None and key == "aio"):
            is_unpacked = key == "tensor_parallel" and config.version < TENSOR_PARALLEL_READ
            yield no_mapping(config, key, unpacking(config, key, value) if is_unpacked else not_attribute(value, look))
    experts = values.get("expert_parallel")
    if experts and not isinstance(experts, dict) and config.looks_up("expert_parallel"):
        yield no_mapping(config, "expert_parallel", not_attribute(experts, "get"))
    timers = values.get("timers", {}) if config.looks_up("timers") else {}
    inner = timers.get("throughput", {}) if isinstance(timers, dict) else {}
    if not isinstance(inner, dict):
        raised, setting = unpacking(config, "timers.throughput", inner), config.setting("timers", "throughput")
        yield mistyped(setting, "an object", raised, remove_key("timers.throughput"))
    elif isinstance(timers, (str, list)) and "throughput" in timers:
        yield no_mapping(config, "timers", f"TypeError: {type(timers).__name__} indices must be integers, not 'str'")
    elif not isinstance(timers, (str, list, dict)):
        yield no_mapping(config, "timers", f"TypeError: argument of type '{type(timers).__name__}' is not iterable")
    yield from faults(config, ESCAPED)


def unpacking(config: DeepSpeedConfig, section: str, value: object) -> str:
    """The error that `Model(**value)` raises; before there was a model, that of the first look-up of a key."""
    if not MODEL_HISTORY.has_section(section, config.version):
        return not_attribute(value, "get")
    title = MODELS[section][0]
    module = next(name for since, name in reversed(MODULES[title]) if since <= config.version)
    return f"TypeError: {module}.{title}() argument after ** must be a mapping, not {type(value).__name__}"


def no_mapping(config: DeepSpeedConfig, key: str, exception: str) -> Finding:
    value = config.values.get(key)
    text = "a list" if isinstance(value, list) else spelled(value)
    return Finding(config.setting(key), f"`{key}` is {text}, not an object", exception=exception, help=remove_key(key) | "write an object")
