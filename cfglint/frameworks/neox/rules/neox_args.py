"""What the launcher rejects when it builds NeoXArgs: its rows, of which the pages have words of the messages, and what is no row."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.neox._tables import FIELDS
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.fields import CANNOT, default, describe
from cfglint.frameworks.neox.rules import elsewhere, leaves
from cfglint.frameworks.remedies import excludes, remove
from cfglint.source.annotations import Iterator


def refused(config: NeoXConfig, code: str) -> Iterator[Finding]:
    """The refusals of a rule; a key that decides and is missing may be in another file of the run."""
    for refusal in config.refusals:
        if refusal.kind == code:
            places = [config.setting(*path) if config.has(*path) else config.absent(*path) for path in refusal.paths] or [config.setting()]
            missing = [name for name in refusal.read if name not in config.values and name in FIELDS and default(name) is None]
            finding = refusal.finding(places, config.values)
            finding.related = [*finding.related, *map(config.absent, missing)]
            yield finding


@rule("NEO010")
def incomplete_optimizer_section(config: NeoXConfig) -> Iterator[Finding]:
    for name in ("optimizer", "scheduler"):
        section = config.argument(name)
        if not isinstance(section, dict) or (name == "scheduler" and config.derived.optimizer_name == "onebitadam"):
            continue
        used_before = name == "optimizer" and section
        if "params" not in section:
            text = "KeyError: 'params'" if used_before else CANNOT
            message = f"`{name}.params` is missing; it is required"
            yield Finding(config.setting(name), message, exception=text, help=set_key(f"{name}.params", {}))
        elif not isinstance(section["params"], dict):
            error = f"AttributeError: '{type(section['params']).__name__}' object has no attribute 'get'"
            message = f"`{name}.params` is {describe(section['params'])}, not a mapping"
            text = error if used_before else CANNOT
            yield Finding(config.setting(name, "params"), message, exception=text, help=set_key(f"{name}.params", {}))
        if "type" not in section:
            remedy = set_key("optimizer.type", "Adam") if name == "optimizer" else remove_key("scheduler")
            yield Finding(config.setting(name), f"`{name}.type` is missing; it is required", exception=CANNOT, help=remedy)
        elif name == "scheduler" and not isinstance(section["type"], str):
            message = f"`scheduler.type` is {describe(section['type'])}, not a string"
            yield Finding(config.setting(name, "type"), message, exception=CANNOT, help=remove_key("scheduler"))
        elif section["type"] is None:
            error = "AttributeError: 'NoneType' object has no attribute 'lower'"
            remedy = set_key("optimizer.type", "Adam") if name == "optimizer" else remove_key("scheduler")
            yield Finding(config.setting(name, "type"), f"`{name}.type` is null, not a string", exception=error, help=remedy)


@rule("NEO011")
def section_without_enabled(config: NeoXConfig) -> Iterator[Finding]:
    for name in ("fp16", "amp", "flops_profiler"):
        section = config.argument(name)
        if not isinstance(section, dict) or "enabled" in section:
            continue
        if name == "fp16" and (config.derived.precision == "fp16" or elsewhere(config, "precision")):
            continue
        remedy = set_key(f"{name}.enabled", True) | set_key(f"{name}.enabled", False)
        yield Finding(config.setting(name), f"`{name}.enabled` is missing; it is required", help=remedy)


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
            setting = config.setting("deepspeed_extra_args", key)
            yield Finding(setting, message, exception=text, on_key=True, help=remove_key(f"deepspeed_extra_args.{key}"))


@rule("TYP305")
def not_json_serializable(config: NeoXConfig) -> Iterator[Finding]:
    for name, value in config.values.items():
        if isinstance(value, (dict, list)):
            for path, inner in leaves(value, (name,)):
                if inner is None or isinstance(inner, (str, int, float, bool, tuple)):
                    continue
                text = f"TypeError: Object of type {type(inner).__name__} is not JSON serializable"
                setting = config.setting(*path)
                message = f"`{setting.name}` is a {type(inner).__name__}, which cannot be passed to the workers as JSON"
                yield Finding(setting, message, exception=text, help="quote it")
