"""The fields that were removed in a release, and their replacements."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.diagnostic import ERROR, WARNING, Fix
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface import OWN_LOOP
from cfglint.frameworks.huggingface._tables import MOVED, RENAMED, REPLACED_BY_HAND, SWITCHES
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import FIELDS, has_field, removed_in
from cfglint.frameworks.huggingface.rules import lost_strategy, shown
from cfglint.frameworks.huggingface.rules.keys import UNLESS_OWN, not_used
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import raised_by, remove, rename
from cfglint.source.annotations import Iterator, Operand

CHANGES_RUN = frozenset(("past_index", "sharded_ddp", "tp_size", "use_ipex", "push_to_hub_model_id", "push_to_hub_organization"))


@rule("KEY202")
def removed_argument(config: TrainerConfig) -> Iterator[Finding]:
    strict = config.facts.strict_keys
    if not strict and not OWN_LOOP.isdisjoint(config.values):
        return
    for key in config.values:
        removed = removed_in(key, config.version)
        if not removed or config.is_argument(key):
            continue
        if not strict and (has_no_effect(key, config.values[key]) or config.facts.launch.doubts or config.declares(key)):
            continue
        if key == "evaluation_strategy" and not strict and lost_strategy(config) is not None:
            continue  # HFT006, an error that this key is the cause of, is the one finding
        successor, fix = replacement(key, config)
        message = f"`{key}` was removed in transformers {dotted(removed)}" + (f"; use {successor}" if successor else "")
        severity = ERROR if strict else WARNING
        exception = not_used(config, key) if strict else None
        setting = config.setting(key)
        yield Finding(setting, message, severity=severity, exception=exception, fix=fix, on_key=True, note=None if strict else UNLESS_OWN)


def has_no_effect(key: str, value: object) -> bool:
    return not value or value == FIELDS[key][1]


def replacement(key: str, config: TrainerConfig) -> tuple[str, Fix | None]:
    """(the replacement, the edit that makes it) for a removed field; key names are in backticks."""
    if config.without_remedies:
        return "", None
    from cfglint.findings.fix_builders import inserted, removed, several

    setting = config.setting(key)
    value = setting.value
    if key == "warmup_ratio":
        return f"`{RENAMED[key]}`", of_ratio(config, value)
    if key in RENAMED:
        new = RENAMED[key]
        if new not in config.values:
            return f"`{new}`", rename(setting, new, f"rename to {new}", safe=has_field(new, config.version))
        return f"`{new}`", remove(setting, f"remove {key}", safe=config.values[new] == value or value is None)
    if key in MOVED:
        path, fix = MOVED[key], None
        name, section = ".".join(path), config.values.get(path[0])
        if value in (None, 0) and not isinstance(value, bool):
            fix = remove(setting, f"remove {key}", safe=True)
        elif isinstance(section, dict) and path[1] in section:
            fix = remove(setting, f"remove {key}", safe=section[path[1]] == value)
        elif isinstance(section, dict) or path[0] not in config.values:
            what = (path, value) if isinstance(section, dict) else (path[:1], {path[1]: value})
            fix = several([removed(setting), inserted(config.document_of(path[0]), *what)], f"move to {name}", safe=True)
        return f"`{name}`", fix
    if key in SWITCHES:
        new, becomes = SWITCHES[key]
        line = f"{new}: {shown(becomes)}"
        if not value:
            return "", remove(setting, f"remove {key}", safe=True)
        if new in config.values:
            return f"`{line}`", remove(setting, f"remove {key}", safe=config.values[new] == becomes)
        added = inserted(config.document_of(new), (new,), becomes)
        return f"`{line}`", several([removed(setting), added], f"change to {line}", safe=True)
    return REPLACED_BY_HAND.get(key, ""), remove(setting, f"remove {key}", safe=key not in CHANGES_RUN)


def of_ratio(config: TrainerConfig, value: Operand) -> Fix | None:
    """Replace `warmup_ratio` by `warmup_steps`: only a ratio below 1, and with no effect if `warmup_steps` was positive."""
    from cfglint.findings.fix_builders import removed, replaced, several

    setting, count = config.setting("warmup_ratio"), config.arguments["warmup_steps"]
    written, is_number = "warmup_steps" in config.values, isinstance(value, (int, float)) and not isinstance(value, bool)
    # the words of a launch line spell a number
    ratio = float(value) if isinstance(value, str) and not raised_by(float, value) else value if is_number else None
    if written and isinstance(count, (int, float)) and count > 0:
        return remove(setting, "remove warmup_ratio", safe=True)
    if isinstance(value, Unknown) and not written:
        return rename(setting, "warmup_steps", "rename to warmup_steps, which takes a fraction as well", safe=False)
    if value is None or ratio == 0:
        return remove(setting, "remove warmup_ratio", safe=True)
    if ratio is None or not 0 < ratio < 1:
        return None
    since = "" if config.facts.is_known("transformers") else " from transformers 5.0 on"
    title = f"replace it with `warmup_steps: {ratio}`, a fraction of all steps{since}"
    if not written:
        return rename(setting, "warmup_steps", title, safe=True)
    return several([removed(setting), replaced(config.setting("warmup_steps"), ratio)], title, safe=True)
