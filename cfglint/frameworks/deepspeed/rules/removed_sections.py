"""Rules about sections and values of older releases that the newest one has removed or parses differently."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.rules import DEEPSPEED
from cfglint.frameworks.deepspeed.rules.keys import REFUSED
from cfglint.frameworks.deepspeed.sections import STRICT_PRECISION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

NEED_ENABLED = ("amp", "progressive_layer_drop", "curriculum_learning")  # whose `enabled` is removed from a copy with pop()
READ = (*NEED_ENABLED, "nebula", "sparse_attention")
SPARSE_MODES = ("dense", "fixed", "variable", "bigbird", "bslongformer")


@rule(
    "TYP114",
    "invalid-removed-section",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "progressive_layer_drop": {"theta": 0.5}}\n',
    good='{"train_batch_size": 8, "progressive_layer_drop": {"enabled": true, "theta": 0.5}}\n',
    example={"gpus": 8, "target": {"deepspeed": "0.18.9"}, "at": "/progressive_layer_drop"},
    by_version=True,
)
def invalid_removed_section(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A section that later releases removed has content that the targeted release does not accept.

    Up to their removal, `amp`, `progressive_layer_drop` and `curriculum_learning` have to be objects with the
    key `enabled`, `nebula` has to be an object, and `sparse_attention` needs one of five modes.

    Run-time errors: `KeyError: 'enabled'`, `AttributeError: 'int' object has no attribute 'get'`,
    `NotImplementedError: Given sparsity mode, x, has not been implemented yet!`.

    Fix: remove the section, or write it as the release expects it.

    Source: deepspeed 0.18.9 runtime/config.py:125-160 and 241-258; nebula/config.py:28; runtime/data_pipeline/config.py:130-145.
    """
    for key in READ:
        if key in config.values and config.version < REFUSED[key][0]:
            yield from content(config, key, config.values[key])


def content(config: DeepSpeedConfig, key: str, value: Any) -> Iterator[Finding]:
    """Findings for the value of one of the sections."""
    if not isinstance(value, dict):
        attribute = "keys" if key == "sparse_attention" else "get"
        raised = f"AttributeError: '{type(value).__name__}' object has no attribute '{attribute}'"
        yield Finding(config.setting(key), f"`{key}` is {spelled(value)}, not an object", exception=raised)
    elif key in NEED_ENABLED and "enabled" not in value:
        yield Finding(config.setting(key), f"`{key}` has no `enabled`, required by {config.release}", exception="KeyError: 'enabled'")
    elif key == "sparse_attention" and value.get("mode", "fixed") not in SPARSE_MODES:
        raised = f"NotImplementedError: Given sparsity mode, {value['mode']}, has not been implemented yet!"
        text = f'`sparse_attention.mode` is {spelled(value["mode"])}, must be "dense", "fixed", "variable", "bigbird" or "bslongformer"'
        yield Finding(config.setting(key, "mode"), text, exception=raised)


@rule(
    "TYP115",
    "initial-scale-power-type",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="config",
    bad='{"train_batch_size": 8, "fp16": {"enabled": true, "initial_scale_power": "16"}}\n',
    good='{"train_batch_size": 8, "fp16": {"enabled": true, "initial_scale_power": 16}}\n',
    example={"gpus": 8, "target": {"deepspeed": "0.16.9"}, "at": "/fp16/initial_scale_power"},
    by_version=True,
)
def initial_scale_power_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`fp16.initial_scale_power` is not a number, in a release that computes `2**initial_scale_power` unchecked.

    Up to 0.17.0 the section is not converted to its types, so that a number in quotes stays text. From 0.17.1 on,
    "16" is accepted.

    Run-time error: `TypeError: unsupported operand type(s) for ** or pow(): 'int' and 'str'`.

    Fix: write the number without quotes.

    Source: deepspeed 0.16.9 runtime/config.py:204-213.
    """
    if config.version >= STRICT_PRECISION:
        return
    section = config.section("fp16")
    power = section["initial_scale_power"]
    if not section["enabled"] or "initial_scale_power" not in section.given:
        return
    if not isinstance(power, (int, float)):
        raised = f"TypeError: unsupported operand type(s) for ** or pow(): 'int' and '{type(power).__name__}'"
    elif isinstance(power, float) and 1024 <= power < float("inf"):
        raised = "OverflowError: (34, 'Numerical result out of range')"
    else:
        return
    setting = config.at("fp16", "initial_scale_power")
    yield Finding(setting, f"`fp16.initial_scale_power` is {spelled(power)}, must be a number below 1024", exception=raised)
