"""Rules about values that GPT-NeoX passes to the DeepSpeed launcher and to its workers."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.python_errors import describe
from cfglint.frameworks.remedies import excludes, remove
from cfglint.source.annotations import ConfigValue, Iterator


@rule("NEO027")
def deepspeed_disabled(config: NeoXConfig) -> Iterator[Finding]:
    value = config.argument("deepspeed")
    if value is None or value is False:
        setting = config.setting("deepspeed")
        message = f"`deepspeed` is {describe(value)}, but GPT-NeoX requires DeepSpeed"
        yield Finding(setting, message, fix=remove(setting, "remove `deepspeed`"))


@rule("NEO028")
def include_with_exclude(config: NeoXConfig) -> Iterator[Finding]:
    if config.argument("hostfile") is not None and config.argument("include") and config.argument("exclude"):
        yield excludes(config.setting("exclude"), config.setting("include"))


@rule("NEO029")
def invalid_extra_args_key(config: NeoXConfig) -> Iterator[Finding]:
    extra = config.argument("deepspeed_extra_args")
    for key in extra if isinstance(extra, dict) else ():
        if isinstance(key, str) and hasattr(extra, key):
            text = f"ValueError: Key {key} is already specified elsewhere."
            message = f"`{key}` is not accepted in `deepspeed_extra_args`: it is the name of a dictionary method"
            yield Finding(
                config.setting("deepspeed_extra_args", key),
                message,
                exception=text,
                on_key=True,
                help=remove_key(f"deepspeed_extra_args.{key}"),
            )


@rule("TYP305")
def not_json_serializable(config: NeoXConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        if isinstance(value, (dict, list)):
            for path, inner in _not_serializable(value, (name,)):
                text = f"TypeError: Object of type {type(inner).__name__} is not JSON serializable"
                setting = config.setting(*path)
                message = f"`{setting.name}` is a {type(inner).__name__}, which cannot be passed to the workers as JSON"
                yield Finding(setting, message, exception=text, help="quote it")


def _not_serializable(value: ConfigValue, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], ConfigValue]]:
    """Values inside mappings and lists that JSON cannot represent."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if isinstance(inner, (dict, list)):
            yield from _not_serializable(inner, (*path, key))
        elif inner is not None and not isinstance(inner, (str, int, float, bool, tuple)):
            yield (*path, key), inner
