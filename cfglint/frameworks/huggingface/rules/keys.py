"""Rules about keys that `TrainingArguments` does not accept, and the replacements of those that were removed."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.diagnostic import ERROR, WARNING, Fix
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface import OWN_LOOP
from cfglint.frameworks.huggingface._tables import MOVED, RENAMED, REPLACED_BY_HAND, SWITCHES
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import FIELDS, has_field, removed_in
from cfglint.frameworks.huggingface.rules import lost_strategy, shown
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import listed, not_path, raised_by, remove, rename
from cfglint.launch.program import HF_PARSERS
from cfglint.source.annotations import Iterable, Iterator, Operand
from cfglint.source.python.call import CallDocument

SHORTEST_CHECKED = 5  # characters; in shorter names one edit often gives another valid name
UNLESS_OWN = "HfArgumentParser refuses it, unless the script defines it itself"  # of a key that may be the script's own
IGNORED = "the program takes what its parser does not know as further words, so it has no effect"
ACCUMULATION_KEYS = ("num_steps", "adjust_scheduler", "sync_with_dataloader", "sync_each_batch")
NO_MAPPING: dict[type, str] = {
    list: "list indices must be integers or slices, not str",
    str: "'str' object does not support item assignment",
}
ONLY_NUM_STEPS = Releases((4, 46, 2), (5, 2), "accelerate's plugin is made of all `gradient_accumulation_kwargs`")
ACCELERATOR_KEYS = {
    **dict.fromkeys(("split_batches", "dispatch_batches", "even_batches", "use_seedable_sampler"), (4, 38)),
    "gradient_accumulation_kwargs": (4, 40),
    "non_blocking": (4, 41),
    "use_configured_state": (4, 42),
}


@rule("KEY200")
def unknown_training_argument(config: TrainerConfig) -> Iterator[Finding]:
    strict = config.facts.strict_keys
    for key in config.values:
        if key in FIELDS or config.is_argument(key):
            continue
        near = nearest(key, config, 2 if strict else 1) if isinstance(key, str) else None
        if not strict and (not near or config.declares(key)):
            continue
        setting = config.setting(key)
        fix = rename(setting, near, f"rename to {near}", safe=False) if near else None
        if strict:
            message = f"unknown key `{key}` is not accepted by TrainingArguments" + (f"; did you mean `{near}`?" if near else "")
            remedy = None if near else remove_key(key)
            yield Finding(setting, message, exception=not_used(config, key), on_key=True, fix=fix, help=remedy)
        else:
            message = f"`{key}` looks like a typo of `{near}`, which is not set"
            yield Finding(setting, message, severity=WARNING, on_key=True, fix=fix, note=of_unknown(config))


def of_unknown(config: TrainerConfig) -> str:
    """What becomes of a key that may be the script's own."""
    program = config.facts.launch.program
    keeps = program is not None and program.parser in HF_PARSERS and program.complete and not program.refuses
    return IGNORED if keeps and config.documents[0].is_command else UNLESS_OWN


def not_used(config: TrainerConfig, key: Operand) -> str:
    """The exception for one argument that the class does not have, in a file, a launch line or a call in a program."""
    document = config.setting(key).document
    if document is not None and document.is_call:
        assert isinstance(document, CallDocument)
        return f"TypeError: {document.name}.__init__() got an unexpected keyword argument {key!r}"
    if document is None or not document.is_command:
        return f"ValueError: Some keys are not used by the HfArgumentParser: [{key!r}]"
    from cfglint.source.shell.command import CommandDocument

    assert isinstance(document, CommandDocument)
    words = [f"--{key}", *(document.words.get(key) or ())]
    return f"ValueError: Some specified arguments are not used by the HfArgumentParser: {words}"


_near: dict[tuple[Version, str, int], list[str]] = {}


def nearest(key: str, config: TrainerConfig, most: int = 1) -> str | None:
    """The field of this release, not set by the file, within `most` edits of a key."""
    known = (config.version, key, most)
    if known not in _near:
        _near[known] = near_fields(key, config.arguments.defaults, most)
    return next((name for name in _near[known] if name not in config.values), None)


def near_fields(key: str, fields: Iterable[str], most: int) -> list[str]:
    """Those of some fields within `most` edits of a key, the nearest first: few are compared, so that files with many keys stay fast.

    The same words in another order are more often a name of the script than a typo.
    """
    if len(key) < SHORTEST_CHECKED:
        return []
    part = max(2, len(key) // 3)
    start, end, words = key[:part].lower(), key[-part:].lower(), sorted(key.split("_"))
    names = (name for name in fields if abs(len(name) - len(key)) <= most)
    like = (name for name in names if name.startswith(start) or name.endswith(end))
    close = [name for name in like if sorted(name.split("_")) != words]
    if not close:
        return []
    from cfglint.source.similar_keys import edits, plain

    ranked = sorted((distance, name) for name in close if (distance := edits(plain(key), name, most)) <= most)
    return [name for _, name in ranked]


@rule("KEY201")
def argument_from_later_release(config: TrainerConfig) -> Iterator[Finding]:
    if not config.facts.strict_keys:
        return
    for key in config.values:
        is_later = key in FIELDS and not has_field(key, config.version) and config.version < FIELDS[key][2]
        if is_later and not config.is_argument(key):
            message, text = f"`{key}` requires transformers {dotted(FIELDS[key][2])} or newer", not_used(config, key)
            yield Finding(config.setting(key), message, exception=text, on_key=True, help=remove_key(key))


@rule("KEY203")
def unknown_accelerator_config_key(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["accelerator_config"]
    known = [key for key, since in ACCELERATOR_KEYS.items() if config.version >= since]
    if not known:  # a release without the field, which axolotl sets nonetheless
        return
    if value is None or isinstance(value, str):
        section = config.section("accelerator_config") if "accelerator_config" in config.files else None
        for key in section or ():
            if key not in known:
                text = f"ValueError: The config file at {value} had unknown keys ([{key!r}])"
                message = f"unknown key `{key}` in {value}, the file that `accelerator_config` names"
                advice = f"remove it from {value}, or write one of {listed(known)}"
                yield Finding(config.setting("accelerator_config"), message, exception=text, help=advice)
        return
    if not isinstance(value, dict):
        message = f"`accelerator_config` is {shown(value)}; it must be a mapping or a file name"
        remedy = remove_key("accelerator_config") | "write a mapping"
        yield Finding(config.setting("accelerator_config"), message, exception=not_path(value), help=remedy)
        return
    for key in value:
        if key not in known:
            text = f"TypeError: AcceleratorConfig.__init__() got an unexpected keyword argument {key!r}"
            message = f"unknown key `{key}` in `accelerator_config`"
            remedy = remove_key(f"accelerator_config.{key}") | f"write one of {listed(known)}"
            yield Finding(config.setting("accelerator_config", key), message, exception=text, on_key=True, help=remedy)


@rule("KEY205")
def unknown_accumulation_key(config: TrainerConfig) -> Iterator[Finding]:
    value = config.accelerator.get("gradient_accumulation_kwargs")
    path = ("accelerator_config", "gradient_accumulation_kwargs")
    is_ignored = config.version in ONLY_NUM_STEPS
    has_none = is_ignored and isinstance(value, (str, list)) and "num_steps" not in value
    if value is not None and not isinstance(value, dict) and not has_none:
        text = NO_MAPPING.get(type(value), f"argument of type {type(value).__name__!r} is not iterable")
        message = f"`gradient_accumulation_kwargs` is {shown(value)}, not a mapping"
        remedy = remove_key(".".join(path)) | "write a mapping"
        yield Finding(config.setting(*path), message, exception=f"TypeError: {text}", help=remedy)
    for key in config.accumulation_kwargs:
        setting, remedy = config.setting(*path, key), remove_key(f"{'.'.join(path)}.{key}")
        if is_ignored and key != "num_steps":
            message = f"`{key}` in `gradient_accumulation_kwargs` is ignored by {config.release}, which uses `num_steps` only"
            yield Finding(setting, message, severity=WARNING, on_key=True, help=remedy)
        elif key not in ACCUMULATION_KEYS:
            text = f"TypeError: GradientAccumulationPlugin.__init__() got an unexpected keyword argument {key!r}"
            message = f"unknown key `{key}` in `gradient_accumulation_kwargs`"
            yield Finding(setting, message, exception=text, on_key=True, help=remedy | f"write one of {listed(list(ACCUMULATION_KEYS))}")


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
        finding = Finding(config.setting(key), message, severity=WARNING, fix=fix, on_key=True, note=of_unknown(config))
        if strict:
            finding.severity, finding.exception, finding.note = ERROR, not_used(config, key), None
        yield finding


def has_no_effect(key: str, value: object) -> bool:
    return not value or value == FIELDS[key][1]


def replacement(key: str, config: TrainerConfig) -> tuple[str, Fix | None]:
    """(the replacement, the edit that makes it) for a removed field; key names are in backticks."""
    if config.without_remedies:
        return "", None
    from cfglint.findings.fix_builders import inserted, removed, several

    setting = config.setting(key)
    value = setting.value

    def drop(safe: bool) -> Fix | None:
        return remove(setting, f"remove {key}", safe=safe)

    if key == "warmup_ratio":
        return f"`{RENAMED[key]}`", of_ratio(config, value)
    if key in RENAMED:
        new = RENAMED[key]
        if new not in config.values:
            return f"`{new}`", rename(setting, new, f"rename to {new}", safe=has_field(new, config.version))
        return f"`{new}`", drop(config.values[new] == value or value is None)
    if key in MOVED:
        path, fix = MOVED[key], None
        name, section = ".".join(path), config.values.get(path[0])
        if value in (None, 0) and not isinstance(value, bool):
            fix = drop(True)
        elif isinstance(section, dict) and path[1] in section:
            fix = drop(section[path[1]] == value)
        elif isinstance(section, dict) or path[0] not in config.values:
            what = (path, value) if isinstance(section, dict) else (path[:1], {path[1]: value})
            fix = several([removed(setting), inserted(config.document_of(path[0]), *what)], f"move to {name}", safe=True)
        return f"`{name}`", fix
    if key in SWITCHES:
        new, becomes = SWITCHES[key]
        line = f"{new}: {shown(becomes)}"
        if not value:
            return "", drop(True)
        if new in config.values:
            return f"`{line}`", drop(config.values[new] == becomes)
        added = inserted(config.document_of(new), (new,), becomes)
        return f"`{line}`", several([removed(setting), added], f"change to {line}", safe=True)
    return REPLACED_BY_HAND.get(key, ""), drop(key not in CHANGES_RUN)


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
