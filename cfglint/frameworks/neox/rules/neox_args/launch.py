"""Rules about values that GPT-NeoX passes to the DeepSpeed launcher and to its workers."""

from __future__ import annotations

from cfglint.findings.rule import VALUE, Finding, config_error, init_error
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.python_errors import describe
from cfglint.frameworks.neox.rules import RUN
from cfglint.frameworks.remedies import excludes, remove
from cfglint.source.annotations import ConfigValue, Iterator


@config_error(
    "NEO027",
    old_names=("deepspeed-off",),
    raises="ValueError: NeoXArgs.__post_init__() NeoXArgs values cannot be validated",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:1211-1213",
    bad="{deepspeed: false}\n",
    good="{deepspeed: true}\n",
    example={**RUN, "at": "/deepspeed"},
)
def deepspeed_disabled(config: NeoXConfig) -> Iterator[Finding]:
    """`deepspeed` is false or null, but GPT-NeoX requires DeepSpeed."""
    value = config.argument("deepspeed")
    if value is None or value is False:
        setting = config.setting("deepspeed")
        message = f"`deepspeed` is {describe(value)}, but GPT-NeoX requires DeepSpeed"
        yield Finding(setting, message, fix=remove(setting, "remove `deepspeed`"))


@config_error(
    "NEO028",
    old_names=("hosts-included-and-excluded",),
    raises="ValueError: include_str and exclude_str are mutually exclusive.",
    source="gpt-neox (May 2026) megatron/utils.py:204; deepspeed launcher/runner.py (parse_resource_filter)",
    bad="{hostfile: hosts, include: a, exclude: b}\n",
    good="{hostfile: hosts, include: a}\n",
    example={**RUN, "at": "/exclude"},
)
def include_with_exclude(config: NeoXConfig) -> Iterator[Finding]:
    """`include` and `exclude` are both set, with a hostfile."""
    if config.argument("hostfile") is not None and config.argument("include") and config.argument("exclude"):
        yield excludes(config.setting("exclude"), config.setting("include"))


@init_error(
    "NEO029",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:529-536",
    old_names=("extra-args-key",),
    bad="{deepspeed_extra_args: {items: 1}}\n",
    good="{deepspeed_extra_args: {zero_allow_untested_optimizer: true}}\n",
    example={**RUN, "at": "/deepspeed_extra_args/items"},
)
def invalid_extra_args_key(config: NeoXConfig) -> Iterator[Finding]:
    """A key of `deepspeed_extra_args` has the name of a method of Python dictionaries.

    The check for duplicate keys asks a dictionary for an attribute instead of a key; so it rejects
    `items`, `get` or `update`, but never a key that is set twice.
    """
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
                help=f"remove `deepspeed_extra_args.{key}`",
            )


@init_error(
    "TYP305",
    source="gpt-neox (May 2026) megatron/neox_arguments/arguments.py:625, 635",
    about=VALUE,
    old_names=("not-for-json",),
    bad="{zero_optimization: {stage: 1, since: 2024-01-01}}\n",
    good='{zero_optimization: {stage: 1, since: "2024-01-01"}}\n',
    example={**RUN, "at": "/zero_optimization/since"},
    predicts=(r"TypeError: Object of type (?:date|datetime|set|bytes) is not JSON serializable",),
)
def not_json_serializable(config: NeoXConfig) -> Iterator[Finding]:
    """A value inside a section cannot be serialized to JSON: a date, a set, binary data.

    The launcher passes its arguments to the workers as JSON. YAML parses an unquoted date as a date.
    """
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
