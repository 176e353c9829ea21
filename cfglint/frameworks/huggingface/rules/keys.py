"""Rules about keys that `TrainingArguments` does not accept."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import FIELDS, has_field
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import listed, rename
from cfglint.source.annotations import Iterator, Operand

SHORTEST_CHECKED = 5  # characters; in shorter names one edit often gives another valid name
UNLESS_OWN = "HfArgumentParser refuses it, unless the script defines it itself"  # of a key that may be the script's own
ACCUMULATION_KEYS = ("num_steps", "adjust_scheduler", "sync_with_dataloader", "sync_each_batch")
ACCELERATOR_KEYS = {
    **dict.fromkeys(("split_batches", "dispatch_batches", "even_batches", "use_seedable_sampler"), (4, 38)),
    "gradient_accumulation_kwargs": (4, 39),
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
            yield Finding(setting, message, severity=WARNING, on_key=True, fix=fix, note=UNLESS_OWN)


def not_used(config: TrainerConfig, key: Operand) -> str:
    """The exception for one argument that the class does not have, in a file, a launch line or a call in a program."""
    document = config.setting(key).document
    if document is not None and document.is_call:
        from cfglint.source.python.call import CallDocument

        assert isinstance(document, CallDocument)
        return f"TypeError: {document.name}.__init__() got an unexpected keyword argument {key!r}"
    if document is None or not document.is_command:
        return f"ValueError: Some keys are not used by the HfArgumentParser: [{key!r}]"
    from cfglint.source.shell.command import CommandDocument

    assert isinstance(document, CommandDocument)
    words = [f"--{key}", *(document.words.get(key) or ())]
    return f"ValueError: Some specified arguments are not used by the HfArgumentParser: {words}"


_by_length: dict[Version, dict[int, list[str]]] = {}  # the fields of a release by the length of their names
_near: dict[tuple[Version, str, int], list[str]] = {}


def nearest(key: str, config: TrainerConfig, most: int = 1) -> str | None:
    """The field of this release, not set by the file, within `most` edits of a key."""
    known = (config.version, key, most)
    if known not in _near:
        if config.version not in _by_length:
            lengths = _by_length[config.version] = {}
            for name in config.arguments.defaults:
                lengths.setdefault(len(name), []).append(name)
        _near[known] = near_fields(key, _by_length[config.version], most)
    return next((name for name in _near[known] if name not in config.values), None)


def near_fields(key: str, lengths: dict[int, list[str]], most: int) -> list[str]:
    """The fields within `most` edits of a key, the nearest first.

    Only fields with the same beginning or end of the name are compared, so that files with many keys stay fast.
    The same words in another order are more often a name of the script than a typo.
    """
    if len(key) < SHORTEST_CHECKED:
        return []
    part = max(2, len(key) // 3)
    start, end, words = key[:part].lower(), key[-part:].lower(), sorted(key.split("_"))
    close = [
        name
        for length in range(len(key) - most, len(key) + most + 1)
        for name in lengths.get(length, ())
        if (name.startswith(start) or name.endswith(end)) and sorted(name.split("_")) != words
    ]
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
        if config.is_argument(key):
            continue
        if key in FIELDS and not has_field(key, config.version) and config.version < FIELDS[key][2]:
            message, text = f"`{key}` requires transformers {dotted(FIELDS[key][2])} or newer", not_used(config, key)
            yield Finding(config.setting(key), message, exception=text, on_key=True, help=remove_key(key))


@rule("KEY203")
def unknown_accelerator_config_key(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["accelerator_config"]
    known = [key for key, since in ACCELERATOR_KEYS.items() if config.version >= since]
    if not known:  # a release without the field, which axolotl sets nonetheless
        return
    if value is None or isinstance(value, str):
        named = config.files.get("accelerator_config")
        section = config.section("accelerator_config") if named is not None else None
        for key in section or ():
            if key not in known:
                text = f"ValueError: The config file at {value} had unknown keys ([{key!r}])"
                message = f"unknown key `{key}` in {value}, the file that `accelerator_config` names"
                advice = f"remove it from {value}, or write one of {listed(known)}"
                yield Finding(config.setting("accelerator_config"), message, exception=text, help=advice)
        return
    if not isinstance(value, dict):
        text = f"TypeError: stat: path should be string, bytes, os.PathLike or integer, not {type(value).__name__}"
        message = f"`accelerator_config` is {shown(value)}; it must be a mapping or a file name"
        remedy = remove_key("accelerator_config") | "write a mapping"
        yield Finding(config.setting("accelerator_config"), message, exception=text, help=remedy)
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
    if value is not None and not isinstance(value, dict):
        text = f"TypeError: {type(value).__name__!r} object does not support item assignment"
        message = f"`gradient_accumulation_kwargs` is {shown(value)}, not a mapping"
        remedy = remove_key(".".join(path)) | "write a mapping"
        yield Finding(config.setting(*path), message, exception=text, help=remedy)
    for key in config.accumulation_kwargs:
        if key not in ACCUMULATION_KEYS:
            text = f"TypeError: GradientAccumulationPlugin.__init__() got an unexpected keyword argument {key!r}"
            message = f"unknown key `{key}` in `gradient_accumulation_kwargs`"
            remedy = remove_key(f"{'.'.join(path)}.{key}") | f"write one of {listed(list(ACCUMULATION_KEYS))}"
            yield Finding(config.setting(*path, key), message, exception=text, on_key=True, help=remedy)
