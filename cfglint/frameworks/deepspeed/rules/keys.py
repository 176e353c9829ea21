"""Rules about the top level and its keys: removed, deprecated, unknown or ignored."""

from __future__ import annotations

from itertools import islice

from cfglint.findings.diagnostic import INFO, WARNING, Fix
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.frameworks.deepspeed._tables import IGNORING, REMOVED
from cfglint.frameworks.deepspeed.batch import MESH_SINCE
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import (
    EARLY,
    KEY_HISTORY,
    MODEL_HISTORY,
    MONITORS,
    REPLACEMENTS,
    SECTIONS,
    TWICE,
    model_of,
    set_twice,
)
from cfglint.frameworks.releases.history import SINCE
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import move, remove, rename
from cfglint.frameworks.validation.pydantic import UNKNOWN, Fault
from cfglint.source.annotations import ConfigMapping, ConfigValue, Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.validation.schema import Schema
    from cfglint.source.similar_keys import Candidate

MOST_TYPOS = 5000  # maximum number of ignored keys that are compared with known ones; a file with more of them contains data
MOST_OTHERS = 20  # keys that resemble no known one
REMARKS = ("_", "comment", "note", "description")  # keys for people
FORMERLY_IGNORING = ("fp16", "bf16")  # sections that are models now
COMMON_WORDS = frozenset(  # keys of some section that scripts and other sections use with another meaning
    """debug detailed device dtype enabled fast group metric mode names offload online overwrite params partition
    profile project ratio seed team type verbose workspace writer""".split()
)
JSON_TYPES = {"list": "a list", "str": "a string", "int": "an integer", "float": "a number", "bool": "a boolean", "NoneType": "null"}


@rule("DSP001")
def config_not_an_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    if isinstance(config.root, dict) or config.load_problems:
        return
    name = type(config.root).__name__
    missing = f"AttributeError: '{name}' object has no attribute 'get'"
    raised = missing if isinstance(config.root, (list, str)) else f"TypeError: argument of type '{name}' is not iterable"
    yield Finding(config.setting(), f"the config is {JSON_TYPES.get(name, name)}; it must be an object", exception=raised)


@rule("KEY100")
def removed_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    for path, (since, exception) in REMOVED.items():
        if config.version >= since and config.has(*path):
            yield removed(config.setting(*path), since, exception)


def removed(setting: Setting, since: Version, exception: str) -> Finding:
    text = f"`{setting.name}` was removed in DeepSpeed {dotted(since)}"
    return Finding(setting, text, exception=exception, fix=remove(setting, f"remove `{setting.name}`", safe=True), on_key=True)


@rule("KEY101")
def key_removed_later(config: DeepSpeedConfig) -> Iterator[Finding]:
    for path, (since, _) in REMOVED.items():
        if len(path) == 1 and config.version < since and config.has(*path):
            removal = dotted(since)
            text = f"{config.release} accepts `{path[0]}`; DeepSpeed {removal} does not"
            yield Finding(config.setting(*path), text, help=f"remove `{path[0]}` before an upgrade", on_key=True)


@rule("KEY106")
def key_of_later_release(config: DeepSpeedConfig) -> Iterator[Finding]:
    for key in config.values:
        since = comes_later((), str(key), config.version)
        if since:
            text = f"`{key}` is ignored: it exists from DeepSpeed {dotted(since)} on"
            yield Finding(config.setting(str(key)), text, help=remove_key(key) | f"use DeepSpeed {dotted(since)} or later", on_key=True)


def comes_later(section: tuple[str, ...], key: str, version: Version) -> Version:
    """The first later release that looks a key up, if this one does not; else ()."""
    rows = KEY_HISTORY.names(".".join(section)).get(key, ())
    if key in KEY_HISTORY.fields(".".join(section), version):
        return ()
    return next((row[SINCE] for row in rows if row[SINCE] > version), ())


@rule("KEY102")
def unknown_section_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    for name in given_sections(config):
        for fault in config.section(name).faults:
            removal = REMOVED.get((name, *map(str, fault.path)))
            if fault.kind in (UNKNOWN, EARLY, TWICE) and not (removal and config.version >= removal[0]):
                yield unknown(config, name, config.at(name, *fault.path), fault)


def given_sections(config: DeepSpeedConfig) -> Iterator[str]:
    values = config.values
    for name in SECTIONS:
        if name in values:
            yield name
    if "bfloat16" in values and values.get("bf16") is None and "bf16" not in values:
        yield "bf16"
    if any(key in values for key in MONITORS):
        yield "monitor"
    if "timers" in values:
        yield "throughput"


def unknown(config: DeepSpeedConfig, name: str, setting: Setting, fault: Fault) -> Finding:
    if fault.kind == EARLY:
        from cfglint.frameworks.validation.schema import load

        known = load("deepspeed").lookup(tuple(str(step) for step in setting.path))
        text = f"`{setting.name}` is not supported by DeepSpeed {dotted(config.version)}"
        upgrade = (remove_key(setting.name) | f"use DeepSpeed {known.since} or later") if known is not None and known.since else None
        return Finding(setting, text, exception=fault.exception, help=upgrade, on_key=True)
    if fault.kind == TWICE:
        fix = remove(setting, f"remove `{setting.path[-1]}`", safe=True)
        return Finding(setting, set_twice(setting), exception=fault.exception, fix=fix, on_key=True)
    hint, fix = nearest(config, setting)
    section = ".".join(str(step) for step in setting.path[:-1]) or name
    text = f"unknown key `{setting.path[-1]}` in `{section}`{hint}"
    remedy = None if fix else remove_key(f"{section}.{setting.path[-1]}")
    return Finding(setting, text, exception=fault.exception, fix=fix, on_key=True, help=remedy)


def nearest(config: DeepSpeedConfig, setting: Setting) -> tuple[str, Fix | None]:
    section = tuple(str(step) for step in setting.path[:-1])
    key = str(setting.path[-1])
    from cfglint.frameworks.validation.schema import load
    from cfglint.source.similar_keys import near, spelled

    schema, name = load("deepspeed"), ".".join(section)
    candidates = [candidate for candidate in schema.nearest(section, key) if has_key(schema, candidate, config.version)]
    names = model_of(name).known_names(config.version) if not candidates and name in MODEL_HISTORY.sections else []
    candidates = candidates or near(key, [((*section, each), spelled(each)) for each in names])
    if not candidates:
        return "", None
    candidate = candidates[0]
    if candidate.path[:-1] != section:
        if candidate.path[-1] == setting.path[-1] and config.has(*candidate.path):
            return f"; `{'.'.join(candidate.path)}` is set, too", None
        return suggestion_elsewhere(setting, candidate), move_to_section(config, setting, candidate)
    hint = f"; did you mean `{candidate.path[-1]}`?"
    if config.has(*candidate.path):
        return hint, None
    return hint, rename(setting, candidate.path[-1], f"rename it to `{candidate.path[-1]}`", safe=candidate.distance == 1)


def has_key(schema: Schema, candidate: Candidate, version: Version) -> bool:
    known = schema.lookup(candidate.path)
    return known is not None and known.known_to(version)


def move_to_section(config: DeepSpeedConfig, setting: Setting, candidate: Candidate) -> Fix | None:
    """The fix that moves a key to the section it belongs to; None if only a similar name is known there, or the section is not set."""
    if candidate.path[-1] != setting.path[-1] or candidate.path[-1] in COMMON_WORDS or not config.has(*candidate.path[:-1]):
        return None
    home = ".".join(candidate.path[:-1])
    return move(config, setting, candidate.path, f"move it into `{home}`" if home else "move it to the top level", safe=True)


def suggestion_elsewhere(setting: Setting, candidate: Candidate) -> str:
    if candidate.path[-1] in COMMON_WORDS:
        return ""
    if candidate.path[-1] != setting.path[-1]:
        return f"; did you mean `{candidate.name}`?"
    home = ".".join(candidate.path[:-1])
    return f"; move it into `{home}`" if home else "; move it to the top level"


@rule("KEY103")
def deprecated_with_replacement(config: DeepSpeedConfig) -> Iterator[Finding]:
    for old, new in deprecated(config):
        if new and new in config.zero.given:
            setting = config.at("zero_optimization", old)
            text = f"deprecated `{old}` is set together with its replacement `{new}`"
            raised = f"AssertionError: Cannot provide deprecated parameter '{old}' and replacing parameter '{new}' together"
            yield Finding(setting, text, exception=raised, fix=remove(setting, f"remove `{old}`", safe=True), on_key=True)


@rule("KEY104")
def deprecated_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    for old, new in deprecated(config):
        if not new or new not in config.zero.given:
            setting = config.at("zero_optimization", old)
            fix = modern_key_fix(config, setting, old)
            advice = f'use `"{new}": {{"device": "cpu"}}`'
            message, note = f"`{old}` is deprecated", "it still works" if new else "it has no effect"
            severity = None if new else WARNING
            yield Finding(setting, message, help="" if fix else advice, fix=fix, on_key=True, note=note, severity=severity)


def deprecated(config: DeepSpeedConfig) -> Iterator[tuple[str, str]]:
    """(old key, new key) for the deprecated keys in the ZeRO section; no new key for one without an effect."""
    given = config.zero.given
    if "cpu_offload_use_pin_memory" in given:
        yield "cpu_offload_use_pin_memory", ""
    yield from ((old, new) for old, new in REPLACEMENTS.items() if old in given)


def modern_key_fix(config: DeepSpeedConfig, setting: Setting, old: str) -> Fix | None:
    if old == "stage3_gather_fp16_weights_on_model_save":
        new = "stage3_gather_16bit_weights_on_model_save"
        return rename(setting, new, f"rename it to `{new}`", safe=True)
    if old == "cpu_offload_use_pin_memory":
        advice = "remove it, it has no effect; `pin_memory` in `offload_optimizer` and `offload_param` has"
        return remove(setting, advice, safe=True)
    return remove(setting, "remove it, nothing is offloaded by default", safe=True) if config.zero[old] in (False, None) else None


@rule("KEY105")
def ignored_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    others = 0
    if "data_parallel_size" in config.values and "sequence_parallel_size" not in config.values and config.version >= MESH_SINCE:
        setting, message = config.setting("data_parallel_size"), "`data_parallel_size` is ignored without `sequence_parallel_size`"
        yield Finding(
            setting, message, on_key=True, help=remove_key("data_parallel_size", ": the data-parallel size follows from the GPUs")
        )
    for path in islice(ignored_keys(config.values, config.version), MOST_TYPOS):
        setting = config.setting(*path)
        hint, fix = nearest(config, setting)
        if hint:
            yield Finding(setting, ignored(setting, hint), fix=unsafe(fix), on_key=True)
        elif path[-1].isidentifier() and not path[-1].startswith(REMARKS) and others < MOST_OTHERS:
            others += 1
            message = ignored(setting, "")
            if len(path) == 1:
                yield Finding(setting, message, severity=INFO, on_key=True, help=f"remove `{setting.name}`, unless the program reads it")
            else:
                yield Finding(setting, message, on_key=True, help=remove_key(setting.name))


def ignored_keys(values: ConfigMapping, version: Version) -> Iterator[tuple[str, ...]]:
    """The paths of the keys that DeepSpeed ignores: those that no release from this one on looks up or refuses, in sections that are
    not models.
    """
    for name in (*IGNORING, *(each for each in FORMERLY_IGNORING if KEY_HISTORY.fields(each, version))):
        path = tuple(name.split(".")) if name else ()
        section: ConfigValue = values
        for step in path:
            section = section.get(step) if isinstance(section, dict) else None
        if isinstance(section, dict):
            known = KEY_HISTORY.fields(name, version)
            others = (str(key) for key in section if key not in known)
            yield from ((*path, key) for key in others if (*path, key) not in REMOVED and not comes_later(path, key, version))


def ignored(setting: Setting, hint: str) -> str:
    """The message for an ignored key: a misplaced key is valid elsewhere, any other is unknown."""
    if hint.startswith("; move"):
        section = ".".join(str(step) for step in setting.path[:-1])
        return f"`{setting.path[-1]}` is ignored {f'in `{section}`' if section else 'at top level'}{hint}"
    return f"unknown key `{setting.name}` is ignored by DeepSpeed{hint}"


def unsafe(fix: Fix | None) -> Fix | None:
    """Mark a renaming as unsafe: it makes an ignored key effective and so changes the run."""
    if fix is not None:
        fix.safe = False
    return fix
