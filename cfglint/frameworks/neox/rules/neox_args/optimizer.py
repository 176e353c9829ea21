"""Rules about the optimizer, its learning rate and ZeRO in NeoXArgs."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import CANNOT
from cfglint.frameworks.neox.python_errors import describe
from cfglint.frameworks.neox.rules import elsewhere
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.numbers import is_number


@rule("NEO010")
def incomplete_optimizer_section(config: NeoXConfig) -> Iterator[Finding]:
    for name in ("optimizer", "scheduler"):
        section = config.argument(name)
        if not isinstance(section, dict) or (name == "scheduler" and config.derived.optimizer_name == "onebitadam"):
            continue
        used_before = name == "optimizer" and section
        if "params" not in section:
            text = "KeyError: 'params'" if used_before else CANNOT
            yield Finding(
                config.setting(name), f"`{name}.params` is missing; it is required", exception=text, help=set_key(f"{name}.params", {})
            )
        elif not isinstance(section["params"], dict):
            error = f"AttributeError: '{type(section['params']).__name__}' object has no attribute 'get'"
            message = f"`{name}.params` is {describe(section['params'])}, not a mapping"
            yield Finding(
                config.setting(name, "params"), message, exception=error if used_before else CANNOT, help=set_key(f"{name}.params", {})
            )
        if "type" not in section:
            yield Finding(
                config.setting(name),
                f"`{name}.type` is missing; it is required",
                exception=CANNOT,
                help=set_key("optimizer.type", "Adam") if name == "optimizer" else remove_key("scheduler"),
            )
        elif name == "scheduler" and not isinstance(section["type"], str):
            message = f"`scheduler.type` is {describe(section['type'])}, not a string"
            yield Finding(config.setting(name, "type"), message, exception=CANNOT, help=remove_key("scheduler"))
        elif section["type"] is None:
            error = "AttributeError: 'NoneType' object has no attribute 'lower'"
            yield Finding(
                config.setting(name, "type"),
                f"`{name}.type` is null, not a string",
                exception=error,
                help=set_key("optimizer.type", "Adam") if name == "optimizer" else remove_key("scheduler"),
            )


@rule("NEO012")
def invalid_zero_stage(config: NeoXConfig) -> Iterator[Finding]:
    section = config.argument("zero_optimization")
    if not isinstance(section, dict):
        return
    if "stage" not in section:
        message = "`zero_optimization.stage` is missing; it is required"
        yield Finding(
            config.setting("zero_optimization"), message, exception="KeyError: 'stage'", help=set_key("zero_optimization.stage", 1)
        )
        return
    stage = section["stage"]
    if config.derived.zero_stage is None and config.argument("autotuning") is None:
        setting = config.setting("zero_optimization", "stage")
        integer = int(stage) if isinstance(stage, str) and stage in ("0", "1", "2", "3") else None
        yield Finding(
            setting,
            f"`zero_optimization.stage` is {describe(stage)}; it must be 0, 1, 2 or 3",
            exception=f"AssertionError: Zero Stage must be an integer unless you are doing autotuning, not {stage}",
            fix=replace(setting, integer, f"change to {integer}") if integer is not None else None,
        )


@rule("NEO013")
def onebitadam_without_train_iters(config: NeoXConfig) -> Iterator[Finding]:
    if config.derived.optimizer_name == "onebitadam" and config.argument("train_iters") is None:
        yield Finding(
            config.setting("optimizer", "type"),
            "`optimizer.type: OneBitAdam` requires `train_iters`",
            [config.absent("train_iters")],
            help="set `train_iters` to the number of steps",
        )


@rule("NEO014")
def experts_with_zero(config: NeoXConfig) -> Iterator[Finding]:
    experts = config.argument("moe_num_experts")
    stage: ConfigValue = config.derived.zero.get("stage")
    if is_number(experts) and experts > 1 and is_number(stage) and stage >= 2:
        setting = config.setting("zero_optimization", "stage")
        message = f"`zero_optimization.stage` is {stage}; with `moe_num_experts: {experts}` it must be 0 or 1"
        yield Finding(
            setting,
            message,
            related=(config.setting("moe_num_experts"),),
            help=set_key("zero_optimization.stage", 1) | set_key("moe_num_experts", 1),
        )


@rule("NEO025")
def invalid_learning_rate(config: NeoXConfig) -> Iterator[Finding]:
    rate, least = config.derived.lr, config.argument("min_lr")
    if rate is None:
        text = "ValueError: NeoXArgs.validate_values() lr is None"
        yield Finding(
            config.setting("optimizer", "params", "lr"),
            "`optimizer.params.lr` is null, not a number",
            exception=text,
            help=set_key("optimizer.params.lr", 0.001) | "another number",
        )
    elif is_number(rate) and is_number(least) and not least <= rate and not elsewhere(config, "optimizer", "min_lr"):
        text = "ValueError: NeoXArgs.validate_values() min_lr must be smaller or equal lr"
        place = config.setting("optimizer", "params", "lr")
        message = f"`min_lr` is {least}, more than the learning rate ({rate}{'' if place.written else ', the default'})"
        yield Finding(
            config.setting("min_lr"),
            message,
            related=(place,),
            exception=text,
            help=set_key("min_lr", float(f"{rate / 10:.1e}")) if isinstance(rate, float) else "set `min_lr` below the learning rate",
        )
