"""Rules about data efficiency: curriculum, dynamic batches, random layer dropping."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import described
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.remedies import mistyped, not_attribute
from cfglint.source.annotations import Iterator, Operand

SECTIONS = (
    ("data_efficiency", "data_sampling"),
    ("data_efficiency", "data_routing"),
    ("data_efficiency", "data_sampling", "curriculum_learning"),
    ("data_efficiency", "data_sampling", "dynamic_batching"),
    ("data_efficiency", "data_routing", "random_ltd"),
)
LTD_KEYS = ("total_layer_num", "random_ltd_layer_num", "random_ltd_schedule")
LTD_SCHEDULE_KEYS = ("min_value", "max_value", "schedule_config", "schedule_type")


@rule("TYP113")
def data_efficiency_not_an_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    if "data_efficiency" not in config.values:
        return
    for path in SECTIONS:
        value = config.get(*path, default={})
        if not isinstance(value, dict) and config.looks_up(*path):
            yield mistyped(config.setting(*path), "an object", not_attribute(value, "get"), remove_key(".".join(path)))


@rule("DSP060")
def curriculum_without_metrics(config: DeepSpeedConfig) -> Iterator[Finding]:
    path = ("data_efficiency", "data_sampling", "curriculum_learning")
    section = config.get(*path) if "data_efficiency" in config.values else None
    if isinstance(section, dict) and section.get("enabled") and "curriculum_metrics" not in section:
        raised = "AssertionError: Curriculum learning is enabled, curriculum_metrics must be specified"
        remedy = "add `curriculum_metrics`" | set_key("data_efficiency.data_sampling.curriculum_learning.enabled", False)
        yield Finding(config.setting(*path), "`curriculum_learning` is enabled without `curriculum_metrics`", exception=raised, help=remedy)


@rule("DSP061")
def invalid_dynamic_batching(config: DeepSpeedConfig) -> Iterator[Finding]:
    path = ("data_efficiency", "data_sampling", "dynamic_batching")
    section = config.get(*path) if "data_efficiency" in config.values else None
    if not isinstance(section, dict) or not config.looks_up(*path):
        return
    enabled = bool(section.get("enabled"))
    for key in ("min_batch_size", "max_batch_size", *(("max_tokens",) if enabled else ())):
        raised = not_integer(section[key]) if key in section else ""
        if raised:
            text = f"`{key}` is {described(section[key])}, not an integer"
            yield Finding(config.setting(*path, key), text, exception=raised, help=f"set `{'.'.join(path)}.{key}` to an integer")
    if enabled and "max_tokens" not in section:
        raised = "AssertionError: Dynamic batching is enabled, so max_tokens must be specified"
        remedy = f"set `{'.'.join(path)}.max_tokens`" | set_key(f"{'.'.join(path)}.enabled", False)
        yield Finding(config.setting(*path), "`dynamic_batching` is enabled without `max_tokens`", exception=raised, help=remedy)


def not_integer(value: Operand) -> str:
    """The error of int() for a value; empty where it converts it."""
    try:
        int(value)
    except (TypeError, ValueError, OverflowError) as raised:
        return f"{type(raised).__name__}: {raised}"
    return ""


@rule("DSP062")
def incomplete_random_ltd(config: DeepSpeedConfig) -> Iterator[Finding]:
    path = ("data_efficiency", "data_routing", "random_ltd")
    section = config.get(*path) if "data_efficiency" in config.values else None
    if not isinstance(section, dict) or not section.get("enabled"):
        return
    for key in LTD_KEYS:
        if key not in section:
            remedy = f"add `{key}`" | set_key(f"{'.'.join(path)}.enabled", False)
            yield Finding(config.setting(*path), f"`random_ltd` is enabled without `{key}`", exception=f"KeyError: '{key}'", help=remedy)
    schedule = section.get("random_ltd_schedule")
    for key in LTD_SCHEDULE_KEYS:
        if isinstance(schedule, dict) and key not in schedule:
            text = f"`random_ltd_schedule` has no `{key}`"
            yield Finding(config.setting(*path, "random_ltd_schedule"), text, exception=f"KeyError: '{key}'", help=f"add `{key}`")
    rates = section.get("layer_token_lr_schedule")
    if isinstance(rates, dict) and rates.get("enabled"):
        setting = config.setting(*path, "layer_token_lr_schedule", "enabled")
        text = "`layer_token_lr_schedule` is enabled, but not implemented in DeepSpeed"
        yield Finding(setting, text, exception="NotImplementedError", help=set_key(setting.name, False))
