"""Rules about data efficiency: curriculum, dynamic batches, random layer dropping."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.deepspeed.rules import DEEPSPEED
from cfglint.frameworks.deepspeed.rules.values import not_attribute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

SECTIONS = (
    ("data_efficiency", "data_sampling"),
    ("data_efficiency", "data_routing"),
    ("data_efficiency", "data_sampling", "curriculum_learning"),
    ("data_efficiency", "data_sampling", "dynamic_batching"),
    ("data_efficiency", "data_routing", "random_ltd"),
)
LTD_KEYS = ("total_layer_num", "random_ltd_layer_num", "random_ltd_schedule")
LTD_SCHEDULE_KEYS = ("min_value", "max_value", "schedule_config", "schedule_type")


@rule(
    "TYP113",
    "data-efficiency-section",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "data_efficiency": {"data_sampling": null}}\n',
    good='{"train_batch_size": 8, "data_efficiency": {"data_sampling": {}}}\n',
    example={"gpus": 8, "at": "/data_efficiency/data_sampling"},
)
def data_efficiency_section(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A part of `data_efficiency` is no object.

    Run-time error: `AttributeError: 'NoneType' object has no attribute 'get'`.

    Fix: write an object, or leave the key out.

    Source: deepspeed 0.19.8 runtime/data_pipeline/config.py:14-140.
    """
    if "data_efficiency" not in config.values:
        return
    for path in SECTIONS:
        value = config.get(*path, default={})
        if not isinstance(value, dict) and (path[-1] != "dynamic_batching" or config.version >= (0, 16, 5)):
            yield Finding(config.setting(*path), f"{'.'.join(path)} is not an object", exception=not_attribute(value, "get"))


@rule(
    "DSP060",
    "curriculum-without-metrics",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "data_efficiency": {"data_sampling": {"curriculum_learning": {"enabled": true}}}}\n',
    good='{"train_batch_size": 8, "data_efficiency": {"data_sampling": {"curriculum_learning": {"enabled": false}}}}\n',
    example={"gpus": 8, "at": "/data_efficiency/data_sampling/curriculum_learning"},
)
def curriculum_without_metrics(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Curriculum learning is on and has no `curriculum_metrics`.

    The flags of the sections around it do not matter: the innermost `enabled` decides.

    Run-time error: `AssertionError: Curriculum learning is enabled, curriculum_metrics must be specified`.

    Fix: `curriculum_metrics`, or `"enabled": false` in the innermost section.

    Source: deepspeed 0.19.8 runtime/data_pipeline/config.py:79-93.
    """
    path = ("data_efficiency", "data_sampling", "curriculum_learning")
    section = config.get(*path) if "data_efficiency" in config.values else None
    if isinstance(section, dict) and section.get("enabled") and "curriculum_metrics" not in section:
        raised = "AssertionError: Curriculum learning is enabled, curriculum_metrics must be specified"
        yield Finding(config.setting(*path), "curriculum_learning is on and has no curriculum_metrics", exception=raised)


@rule(
    "DSP061",
    "dynamic-batching-values",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "data_efficiency": {"data_sampling": {"dynamic_batching": {"enabled": true}}}}\n',
    good='{"train_batch_size": 8, "data_efficiency": {"data_sampling": {"dynamic_batching": {"enabled": true, "max_tokens": 512}}}}\n',
    example={"gpus": 8, "at": "/data_efficiency/data_sampling/dynamic_batching"},
)
def dynamic_batching_values(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Dynamic batching has no `max_tokens`, or a size that int() does not take.

    The sizes are converted even where the feature is off.

    Run-time errors: `AssertionError: Dynamic batching is enabled, so max_tokens must be specified`,
    `ValueError: invalid literal for int() with base 10: 'auto'`.

    Fix: `max_tokens`, and whole numbers.

    Source: deepspeed 0.19.8 runtime/data_pipeline/config.py:96-113.
    """
    path = ("data_efficiency", "data_sampling", "dynamic_batching")
    section = config.get(*path) if "data_efficiency" in config.values else None
    if not isinstance(section, dict) or config.version < (0, 16, 5):
        return
    enabled = bool(section.get("enabled"))
    for key in ("min_batch_size", "max_batch_size", *(("max_tokens",) if enabled else ())):
        raised = not_integer(section[key]) if key in section else ""
        if raised:
            yield Finding(config.setting(*path, key), f"{key} {section[key]!r} is no integer", exception=raised)
    if enabled and "max_tokens" not in section:
        raised = "AssertionError: Dynamic batching is enabled, so max_tokens must be specified"
        yield Finding(config.setting(*path), "dynamic_batching is on and has no max_tokens", exception=raised)


def not_integer(value: Any) -> str:
    """What int() raises for a value; empty where it takes it."""
    try:
        int(value)
    except (TypeError, ValueError, OverflowError) as raised:
        return f"{type(raised).__name__}: {raised}"
    return ""


@rule(
    "DSP062",
    "random-ltd-incomplete",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    bad='{"train_batch_size": 8, "data_efficiency": {"data_routing": {"random_ltd": {"enabled": true}}}}\n',
    good='{"train_batch_size": 8, "data_efficiency": {"data_routing": {"random_ltd": {"enabled": false}}}}\n',
    example={"gpus": 8, "at": "/data_efficiency/data_routing/random_ltd"},
)
def random_ltd_incomplete(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Random layer token dropping is on and a part of its settings is missing, or its learning-rate schedule is on.

    Run-time errors: `KeyError: 'total_layer_num'`, `KeyError: 'random_ltd_schedule'`,
    `NotImplementedError` for `layer_token_lr_schedule.enabled`.

    Fix: all keys of the schedule, as the exception names them, or `"enabled": false`.

    Source: deepspeed 0.19.8 runtime/data_pipeline/data_routing/scheduler.py:37-78.
    """
    path = ("data_efficiency", "data_routing", "random_ltd")
    section = config.get(*path) if "data_efficiency" in config.values else None
    if not isinstance(section, dict) or not section.get("enabled"):
        return
    for key in LTD_KEYS:
        if key not in section:
            yield Finding(config.setting(*path), f"random_ltd is on and has no {key}", exception=f"KeyError: '{key}'")
    schedule = section.get("random_ltd_schedule")
    for key in LTD_SCHEDULE_KEYS:
        if isinstance(schedule, dict) and key not in schedule:
            yield Finding(config.setting(*path, "random_ltd_schedule"), f"the schedule has no {key}", exception=f"KeyError: '{key}'")
    rates = section.get("layer_token_lr_schedule")
    if isinstance(rates, dict) and rates.get("enabled"):
        setting = config.setting(*path, "layer_token_lr_schedule", "enabled")
        yield Finding(setting, "this schedule is not implemented", exception="NotImplementedError")
