"""Rules about values that fail only at the first optimizer step."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import described
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.optimizers import NATIVE
from cfglint.frameworks.remedies import mistyped, replace
from cfglint.source.annotations import Iterator

NUMBERS = ("lr", "eps", "weight_decay")


@rule("DSP080")
def clipping_not_a_number(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("gradient_clipping", 1.0)
    if isinstance(value, (int, float)) or (value == "auto" and config.open) or not config.has_optimizer:
        return
    setting = config.setting("gradient_clipping")
    raised = f"TypeError: '>' not supported between instances of '{type(value).__name__}' and 'float'"
    text = f"`gradient_clipping` is {described(value)}, not a number"
    fix = unquoted(config, "gradient_clipping")
    remedy = set_key("gradient_clipping", 1.0, ", or to the norm to clip at") | remove_key("gradient_clipping")
    yield Finding(setting, text, exception=raised, fix=fix, help=None if fix else remedy)


def unquoted(config: DeepSpeedConfig, *path: str) -> Fix | None:
    """The fix that removes the quotes of a number; None for a string that is not a number, or that a trainer fills in for "auto"."""
    setting = config.setting(*path)
    if setting.node is None or not setting.node.style or setting.node.raw != setting.value:
        return None
    try:
        number = float(setting.value)
    except (TypeError, ValueError):
        return None
    integer = number.is_integer() and "." not in setting.value
    return replace(setting, int(number) if integer else number, "remove the quotes", safe=True)


@rule("DSP081")
def invalid_steps_per_print(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("steps_per_print")
    if value is None or (value == "auto" and config.open):
        return
    setting = config.setting("steps_per_print")
    if not isinstance(value, (int, float)):
        raised = f"TypeError: unsupported operand type(s) for %: 'int' and '{type(value).__name__}'"
        remedy = "set `steps_per_print` to a number, without quotes" if isinstance(value, str) else None
        yield mistyped(setting, "a number", raised, remedy)
    elif value == 0:
        raised = "ZeroDivisionError: integer modulo by zero"
        yield Finding(
            setting, "`steps_per_print` is 0; it must be positive or null", exception=raised, help="write null to turn printing off"
        )


@rule("DSP082")
def zenflow_without_zero(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage == 0 and config.zero["zenflow"] is not None:
        raised = "AttributeError: the optimizer has no attribute 'zenflow_need_update'"
        text = "`zenflow` requires ZeRO stage 1, 2 or 3"
        remedy = remove_key("zero_optimization.zenflow") | "use ZeRO"
        yield Finding(config.at("zero_optimization", "zenflow"), text, exception=raised, help=remedy, depends_on=config.rest)


@rule("DSP083")
def optimizer_string_for_number(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if optimizer is None or optimizer.class_name not in NATIVE:
        return
    for key in NUMBERS:
        value = optimizer.arguments.get(key, 0.0)
        if not isinstance(value, (int, float)) and not (value == "auto" and config.open) and key in (optimizer.accepted() or ()):
            call = "create_adam()" if "CPU" in optimizer.class_name else "multi_tensor_adam()"
            setting = config.setting("optimizer", "params", key)
            text = f"`optimizer.params.{key}` is {described(value)}, not a number"
            raised = f"TypeError: {call}: incompatible function arguments."
            note = "the compiled optimizer does not accept a string: it fails at the first step"
            yield Finding(setting, text, exception=raised, note=note, fix=unquoted(config, "optimizer", "params", key))
