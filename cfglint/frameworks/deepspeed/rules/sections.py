"""Rules about the values in the sections that are pydantic models."""

from __future__ import annotations

from cfglint.findings.rule import VALUE, Finding, config_error
from cfglint.findings.setting import Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import ESCAPED
from cfglint.frameworks.deepspeed.rules.keys import given_sections
from cfglint.frameworks.pydantic import BOOLEAN, CHOICE, INTEGER, NUMBER, RANGE, RULE, TYPE
from cfglint.frameworks.remedies import mistyped, not_attribute
from cfglint.source.annotations import Iterator

# The other sections, each with the attribute that DeepSpeed first accesses on it.
LOOKED_UP = {
    "activation_checkpointing": "get",
    "torch_autocast": "get",
    "optimizer": "keys",
    "scheduler": "keys",
    "flops_profiler": "get",
    "autotuning": "get",
    "pipeline": "items",
    "data_efficiency": "get",
    "checkpoint": "get",
    "data_types": "get",
    "aio": "get",
    "tensor_parallel": "get",
}
ASSUMED_SIZE = "the hidden size of the model is assumed to be 4096; pass --model for the real one"
UNPACKED = ("zero_optimization", "fp16", "comms_logger", "hybrid_engine", "weight_quantization", "compile")


def faults(config: DeepSpeedConfig, kind: str) -> Iterator[Finding]:
    """Findings for the faults of one kind in all strict sections."""
    for name in given_sections(config):
        for fault in config.section(name).faults:
            if fault.kind == kind:
                setting = config.at(name, *fault.path)
                note = ASSUMED_SIZE if setting.name in config.assumed else None
                yield Finding(
                    setting,
                    fault.explained(setting, setting.name or name),
                    exception=fault.exception,
                    depends_on=config.other_parsers if is_tuning_list(config, setting.value) else (),
                    note=note,
                    help=fault_help(setting, fault.needed),
                )


def fault_help(setting: Setting, needed: str) -> str:
    """The instruction to write the number or boolean that a string spells, if one is required; else to remove the key."""
    text = setting.value.strip().lower() if isinstance(setting.value, str) else ""
    if BOOLEAN in needed and text in ("true", "false"):
        return f"set `{setting.name}` to {text}"
    number = as_number(text)
    if number is not None and INTEGER in needed and number.is_integer():
        return f"set `{setting.name}` to {int(number)}"
    return f"set `{setting.name}` to {text}" if number is not None and needed == NUMBER else f"remove `{setting.name}` for the default"


def as_number(text: str) -> float | None:
    """The number that a string spells."""
    try:
        return float(text)
    except ValueError:
        return None


def is_tuning_list(config: DeepSpeedConfig, value: object) -> bool:
    """Whether DeepSpeed's autotuner, which starts its own runs, treats a value as the list of values to try."""
    return isinstance(value, list) and bool(config.get("autotuning", "enabled"))


@config_error(
    "TYP100",
    source="deepspeed 0.19.8 runtime/config_utils.py:57; pydantic 2.14 conversion table",
    about=VALUE,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "reduce_bucket_size": "5e8"}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "reduce_bucket_size": 5e8}}\n',
    example={"gpus": 8, "at": "/zero_optimization/reduce_bucket_size"},
)
def section_value_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A value of a strict section has a type that its field does not accept.

    Fields are parsed leniently: an integer may be written 5e8, "5_000" or true, a boolean as "yes" or 1.
    But "5e8" in quotes is not an integer, nor is 1.5, and few fields accept null.

    Before transformers 4.45.0, `stage3_prefetch_bucket_size: "auto"` is filled with 0.9 times the square of the model's hidden size,
    unrounded. That is an integer only if the hidden size is a multiple of 10, as 2560 and 5120 are; for 1024, 2048 or 4096 the run is
    refused. If the hidden size is not known, this is a warning, and `--model` decides it.

    Fix: write numbers without quotes, booleans as true or false.
    """
    yield from faults(config, TYPE)


@config_error(
    "TYP101",
    source="deepspeed 0.19.8 runtime/zero/config.py:90-380, runtime/zero/offload_config.py:21-120",
    about=VALUE,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "reduce_bucket_size": 0}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "reduce_bucket_size": 1}}\n',
    example={"gpus": 8, "at": "/zero_optimization/reduce_bucket_size"},
)
def section_value_range(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A number in a strict section is out of range.

    Run-time error: `ValidationError: ... Input should be greater than 0`, `... Input should be less than or
    equal to 1`.

    Fix: write a number within the bounds of the message, or remove the key to get its default.
    """
    yield from faults(config, RANGE)


@config_error(
    "TYP102",
    source="deepspeed 0.19.8 runtime/zero/config.py:82-88, runtime/zero/offload_config.py:13-18",
    about=VALUE,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 4}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0}}\n',
    example={"gpus": 8, "at": "/zero_optimization/stage"},
)
def section_value_choice(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A value in a strict section is not a valid choice.

    Choices are case-sensitive: the devices of the offload sections are `cpu`, `nvme` and `none`.

    Run-time error: `ValidationError: ... Input should be 0, 1, 2, 3 or 3` (the stage), `... Input should be
    'none', 'cpu' or 'nvme'`.

    Fix: use one of the values that the message lists.
    """
    yield from faults(config, CHOICE)


@config_error(
    "DSP002",
    source="deepspeed 0.19.8 runtime/zero/config.py:388-399, runtime/precision_config.py:182-197, runtime/zenflow/zenflow_config.py:53-70",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 0, "offload_optimizer": {"device": "cpu", "ratio": 1.0}}}\n',
    example={"gpus": 8, "at": "/zero_optimization"},
    old_names=("section-contradicts-itself",),
)
def inconsistent_section(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Keys of a section are incompatible with each other.

    `offload_optimizer.ratio` below 1 requires stage 3; `compute_grad_norm: false` requires stage 1 or 2; with
    dynamic loss scaling, fp16's `loss_scale_window` and `min_loss_scale` have to be positive; ZenFlow's
    intervals are numbers or "auto".

    Run-time errors: `ValidationError: ... Partial offloading only supported for ZeRO Stage 3.`,
    `... compute_grad_norm=false is supported only with ZeRO Stage 1 or 2`, `... fp16.loss_scale_window must
    be > 0 when dynamic loss scaling is enabled (loss_scale=0)`, `... select_strategy must be one of "auto",
    "step", or "epoch"`.

    Fix: use stage 3 for a `ratio` below 1, stage 1 or 2 for `compute_grad_norm: false`, a window and a
    minimum above 0; or remove the second key to get its default.
    """
    yield from faults(config, RULE)


@config_error(
    "TYP103",
    source="deepspeed 0.19.8 runtime/config.py:482-591 and the functions that parse each section",
    about=VALUE,
    bad=(
        '{"train_batch_size": 8, "fp16": true}\n',
        '{"train_batch_size": 8, "timers": {"throughput": 1}}\n',
    ),
    good='{"train_batch_size": 8, "fp16": {"enabled": true}}\n',
    example={"gpus": 8, "at": "/fp16"},
)
def section_not_an_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A section is a single value or null, not an object.

    An empty object is accepted everywhere. Null is accepted for `bf16`, `aio`, `expert_parallel`,
    `datastates_ckpt` and inside `zero_optimization`; `true` for `zero_optimization`, where it is deprecated
    and means stage 1. `"auto"` is accepted by the monitors and inside strict sections.

    Run-time errors: `TypeError: ... argument after ** must be a mapping, not bool`, `AttributeError:
    'NoneType' object has no attribute 'get'`, `ValidationError: ... Input should be a valid dictionary`.

    Fix: write an object, usually with `"enabled": true`, or remove the key.
    """
    yield from not_mappings(config)
    yield from faults(config, ESCAPED)


def not_mappings(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Findings for sections that are not mappings."""
    values = config.values
    for key in UNPACKED:
        value = values.get(key, {}) if config.looks_up(key) else {}
        if not isinstance(value, (dict, bool) if key == "zero_optimization" else dict):
            yield no_mapping(config, key, unpacking(value))
    section = config.section_key("bf16")
    value = values.get(section)
    if not isinstance(value, dict) and (value is not None or (section == "bfloat16" and section in values)):
        yield no_mapping(config, section, unpacking(value))
    for key, look in LOOKED_UP.items():
        value = values.get(key, {}) if config.looks_up(key) else {}
        if not isinstance(value, dict) and not (value is None and key == "aio"):
            yield no_mapping(config, key, not_attribute(value, look))
    yield from specially_parsed_sections(config)


def specially_parsed_sections(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Findings for the two sections that are parsed differently: `expert_parallel` and `timers`."""
    experts = config.values.get("expert_parallel")
    if experts and not isinstance(experts, dict) and config.looks_up("expert_parallel"):
        yield no_mapping(config, "expert_parallel", not_attribute(experts, "get"))
    timers = config.values.get("timers", {}) if config.looks_up("timers") else {}
    if isinstance(timers, dict):
        inner = timers.get("throughput", {})
        if not isinstance(inner, dict):
            yield mistyped(config.setting("timers", "throughput"), "an object", unpacking(inner), "remove `timers.throughput`")
    elif not isinstance(timers, (str, list)):
        yield no_mapping(config, "timers", f"TypeError: argument of type '{type(timers).__name__}' is not iterable")
    elif "throughput" in timers:
        yield no_mapping(config, "timers", f"TypeError: {type(timers).__name__} indices must be integers, not 'str'")


def unpacking(value: object) -> str:
    """The error that `Model(**value)` raises."""
    return f"TypeError: argument after ** must be a mapping, not {type(value).__name__}"


def no_mapping(config: DeepSpeedConfig, key: str, exception: str) -> Finding:
    """The finding for a section that is not a mapping."""
    value = config.values.get(key)
    text = "a list" if isinstance(value, list) else spelled(value)
    return Finding(
        config.setting(key), f"`{key}` is {text}, not an object", exception=exception, help=f"remove `{key}`, or write an object"
    )
