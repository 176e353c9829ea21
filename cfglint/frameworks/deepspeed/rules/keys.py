"""Rules about keys, removed, deprecated, unknown or ignored, and about the values in the sections that are pydantic models."""

from __future__ import annotations

from itertools import islice

from cfglint.findings.diagnostic import INFO, WARNING, Fix
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed import models
from cfglint.frameworks.deepspeed._tables import IGNORING, MODELS, MODULES, REMOVED
from cfglint.frameworks.deepspeed.batch import MESH_SINCE
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.rules import refused
from cfglint.frameworks.releases.history import SINCE
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import mistyped, move, not_attribute, raised_by, remove, rename
from cfglint.frameworks.validation.pydantic import BOOLEAN, CHOICE, INTEGER, NUMBER, RANGE, RULE, TYPE, UNKNOWN, Invalid
from cfglint.source.annotations import ConfigMapping, ConfigValue, Iterator

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
    for path, (since, raised) in REMOVED.items():
        if config.version >= since and config.has(*path):
            setting = config.setting(*path)
            text, fix = f"`{setting.name}` was removed in DeepSpeed {dotted(since)}", remove(setting, f"remove `{setting.name}`")
            yield Finding(setting, text, exception=raised, fix=fix, on_key=True)


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
    rows = models.KEY_HISTORY.names(".".join(section)).get(key, ())
    if key in models.KEY_HISTORY.fields(".".join(section), version):
        return ()
    return next((row[SINCE] for row in rows if row[SINCE] > version), ())


@rule("KEY102")
def unknown_section_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    for name in given_sections(config):
        for fault in config.section(name).faults:
            removal = REMOVED.get((name, *map(str, fault.path)))
            if fault.kind in (UNKNOWN, models.EARLY, models.TWICE) and not (removal and config.version >= removal[0]):
                yield unknown(config, name, config.at(name, *fault.path), fault)


def given_sections(config: DeepSpeedConfig) -> list[str]:
    values = config.values
    others = {"bf16": "bfloat16" in values and "bf16" not in values, "monitor": any(key in values for key in models.MONITORS)}
    others["throughput"] = "timers" in values
    return [*(name for name in models.SECTIONS if name in values), *(name for name, is_given in others.items() if is_given)]


def unknown(config: DeepSpeedConfig, name: str, setting: Setting, fault: Invalid) -> Finding:
    if fault.kind == models.EARLY:
        from cfglint.frameworks.validation.schema import load

        known = load("deepspeed").lookup(tuple(str(step) for step in setting.path))
        text = f"`{setting.name}` is not supported by DeepSpeed {dotted(config.version)}"
        upgrade = (remove_key(setting.name) | f"use DeepSpeed {known.since} or later") if known is not None and known.since else None
        return Finding(setting, text, exception=fault.exception, help=upgrade, on_key=True)
    if fault.kind == models.TWICE:
        fix = remove(setting, f"remove `{setting.path[-1]}`")
        return Finding(setting, models.set_twice(setting), exception=fault.exception, fix=fix, on_key=True)
    hint, fix = nearest(config, setting)
    section = ".".join(str(step) for step in setting.path[:-1]) or name
    text = f"unknown key `{setting.path[-1]}` in `{section}`{hint}"
    remedy = None if fix else remove_key(f"{section}.{setting.path[-1]}")
    return Finding(setting, text, exception=fault.exception, fix=fix, on_key=True, help=remedy)


def nearest(config: DeepSpeedConfig, setting: Setting) -> tuple[str, Fix | None]:
    """The suggestion of a known key, of the schema in this release or else the section's, and the fix that renames or moves the key."""
    from cfglint.frameworks.validation.schema import load
    from cfglint.source.similar_keys import near, spelled

    section, key = tuple(str(step) for step in setting.path[:-1]), str(setting.path[-1])
    schema, name = load("deepspeed"), ".".join(section)
    candidates = [
        candidate
        for candidate in schema.nearest(section, key)
        if (known := schema.lookup(candidate.path)) is not None and known.known_to(config.version)
    ]
    names = models.model_of(name).known_names(config.version) if not candidates and name in models.MODEL_HISTORY.sections else []
    candidate = next(iter(candidates or near(key, [((*section, each), spelled(each)) for each in names])), None)
    if candidate is None:
        return "", None
    home, meant = candidate.path[:-1], candidate.path[-1]
    if home == section:
        is_set = config.has(*candidate.path)
        fix = rename(setting, meant, f"rename it to `{meant}`", safe=candidate.distance == 1) if not is_set else None
        return f"; did you mean `{meant}`?", fix
    if meant == setting.path[-1] and config.has(*candidate.path):
        return f"; `{'.'.join(candidate.path)}` is set, too", None
    if meant in COMMON_WORDS:
        return "", None
    if meant != setting.path[-1]:
        return f"; did you mean `{candidate.name}`?", None
    where = f"into `{'.'.join(home)}`" if home else "to the top level"
    return f"; move it {where}", move(config, setting, candidate.path, f"move it {where}") if config.has(*home) else None


@rule("KEY103")
def deprecated_with_replacement(config: DeepSpeedConfig) -> Iterator[Finding]:
    for old, new in models.REPLACEMENTS.items():
        if old in config.zero.given and new in config.zero.given:
            setting = config.at("zero_optimization", old)
            text = f"deprecated `{old}` is set together with its replacement `{new}`"
            raised = f"AssertionError: Cannot provide deprecated parameter '{old}' and replacing parameter '{new}' together"
            yield Finding(setting, text, exception=raised, fix=remove(setting, f"remove `{old}`"), on_key=True)


@rule("KEY104")
def deprecated_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    given = config.zero.given
    for old, new in {"cpu_offload_use_pin_memory": "", **models.REPLACEMENTS}.items():
        if old not in given or new in given:
            continue
        setting, severity, note = config.at("zero_optimization", old), None, "it still works"
        if not new:
            advice = "remove it, it has no effect; `pin_memory` in `offload_optimizer` and `offload_param` has"
            fix, severity, note = remove(setting, advice), WARNING, "it has no effect"
        elif old == "stage3_gather_fp16_weights_on_model_save":
            fix = rename(setting, f"stage3_{new}", f"rename it to `stage3_{new}`")
        else:  # a switch that offloads
            is_off = config.zero[old] in (False, None)
            fix = remove(setting, "remove it, nothing is offloaded by default") if is_off else None
        remedy = "" if fix else f'use `"{new}": {{"device": "cpu"}}`'
        yield Finding(setting, f"`{old}` is deprecated", help=remedy, fix=fix, on_key=True, note=note, severity=severity)


@rule("KEY105")
def ignored_key(config: DeepSpeedConfig) -> Iterator[Finding]:
    others = 0
    if "data_parallel_size" in config.values and "sequence_parallel_size" not in config.values and config.version >= MESH_SINCE:
        text = "`data_parallel_size` is ignored without `sequence_parallel_size`"
        remedy = remove_key("data_parallel_size", ": the data-parallel size follows from the GPUs")
        yield Finding(config.setting("data_parallel_size"), text, on_key=True, help=remedy)
    for path in islice(ignored_keys(config.values, config.version), MOST_TYPOS):
        setting = config.setting(*path)
        hint, fix = nearest(config, setting)
        if hint:
            if fix is not None:
                fix.safe = False  # it makes an ignored key effective and so changes the run
            text = f"unknown key `{setting.name}` is ignored by DeepSpeed{hint}"
            if hint.startswith("; move"):  # the key is valid elsewhere
                where = f"in `{'.'.join(path[:-1])}`" if path[:-1] else "at top level"
                text = f"`{path[-1]}` is ignored {where}{hint}"
            yield Finding(setting, text, fix=fix, on_key=True)
        elif path[-1].isidentifier() and not path[-1].startswith(REMARKS) and others < MOST_OTHERS:
            others += 1
            text, is_top = f"unknown key `{setting.name}` is ignored by DeepSpeed", len(path) == 1
            advice = f"remove `{setting.name}`, unless the program reads it" if is_top else remove_key(setting.name)
            yield Finding(setting, text, severity=INFO if is_top else None, on_key=True, help=advice)


def ignored_keys(values: ConfigMapping, version: Version) -> Iterator[tuple[str, ...]]:
    """The paths of the keys that no release from this one on looks up or refuses, in sections that are not models."""
    for name in (*IGNORING, *(each for each in FORMERLY_IGNORING if models.KEY_HISTORY.fields(each, version))):
        path = tuple(name.split(".")) if name else ()
        section: ConfigValue = values
        for step in path:
            section = section.get(step) if isinstance(section, dict) else None
        if isinstance(section, dict):
            known = models.KEY_HISTORY.fields(name, version)
            others = (str(key) for key in section if key not in known)
            yield from ((*path, key) for key in others if (*path, key) not in REMOVED and not comes_later(path, key, version))


# The other sections, each with the attribute that DeepSpeed first accesses on it.
GET = "activation_checkpointing torch_autocast flops_profiler autotuning data_efficiency checkpoint data_types elasticity aio"
LOOKED_UP = dict.fromkeys((*GET.split(), "tensor_parallel"), "get") | {"optimizer": "keys", "scheduler": "keys", "pipeline": "items"}
TENSOR_PARALLEL_READ = (0, 18, 6)  # from here on `initialize` looks a key up in it before it becomes a model
ASSUMED_SIZE = "the hidden size of the model is assumed to be 4096; pass --model for the real one"
UNPACKED = ("zero_optimization", "fp16", "comms_logger", "hybrid_engine", "weight_quantization", "compile")


def faults(config: DeepSpeedConfig, kind: str) -> Iterator[Finding]:
    tunes = bool(config.get("autotuning", "enabled"))  # the autotuner, which starts its own runs, takes a list for the values to try
    for name in given_sections(config):
        for fault in config.section(name).faults:
            if fault.kind == kind:
                setting = config.at(name, *fault.path)
                note = ASSUMED_SIZE if setting.name in config.assumed else None
                text = fault.explained(setting, setting.name or name)
                doubts = config.other_parsers if isinstance(setting.value, list) and tunes else ()
                remedy = spelled_value(setting, fault.needed) or remove_key(setting.name, " for the default")
                yield Finding(setting, text, exception=fault.exception, depends_on=doubts, note=note, help=remedy)


def spelled_value(setting: Setting, needed: str) -> Remedy | None:
    """The number or boolean to write that a string spells, if one is required."""
    text = setting.value.strip().lower() if isinstance(setting.value, str) else ""
    if BOOLEAN in needed and text in ("true", "false"):
        return set_key(setting.name, text == "true")
    number = None if raised_by(float, text) else float(text)
    if number is not None and INTEGER in needed and number.is_integer():
        return set_key(setting.name, int(number))
    return set_key(setting.name, number) if number is not None and needed == NUMBER else None


for page, kind_of_faults in (("TYP100", TYPE), ("TYP101", RANGE), ("TYP102", CHOICE)):
    rule(page)(lambda config, kind=kind_of_faults: faults(config, kind))


@rule("DSP002")
def inconsistent_section(config: DeepSpeedConfig) -> Iterator[Finding]:
    yield from faults(config, RULE)
    yield from refused(config, "DSP002")


@rule("TYP103")
def section_not_an_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    values = config.values
    for key in UNPACKED:
        value = values.get(key, {}) if config.looks_up(key) else {}
        if not isinstance(value, (dict, bool) if key == "zero_optimization" else dict):
            yield no_mapping(config, key, unpacking(config, key, value))
    takes_null = models.BF16.is_in(config.version)  # before, `bf16` counts where it is written
    section = config.section_key("bf16") if takes_null or "bf16" not in values else "bf16"
    value = values.get(section, {})
    if not isinstance(value, dict) and (value is not None or section == "bfloat16" or not takes_null):
        yield no_mapping(config, section, unpacking(config, "bf16", value))
    for key, look in LOOKED_UP.items():
        value = values.get(key, {}) if config.looks_up(key) else {}
        if not isinstance(value, dict) and not (value is None and key == "aio"):
            is_unpacked = key == "tensor_parallel" and config.version < TENSOR_PARALLEL_READ
            yield no_mapping(config, key, unpacking(config, key, value) if is_unpacked else not_attribute(value, look))
    experts = values.get("expert_parallel")
    if experts and not isinstance(experts, dict) and config.looks_up("expert_parallel"):
        yield no_mapping(config, "expert_parallel", not_attribute(experts, "get"))
    timers = values.get("timers", {}) if config.looks_up("timers") else {}
    inner = timers.get("throughput", {}) if isinstance(timers, dict) else {}
    if not isinstance(inner, dict):
        raised, setting = unpacking(config, "timers.throughput", inner), config.setting("timers", "throughput")
        yield mistyped(setting, "an object", raised, remove_key("timers.throughput"))
    elif isinstance(timers, (str, list)) and "throughput" in timers:
        yield no_mapping(config, "timers", f"TypeError: {type(timers).__name__} indices must be integers, not 'str'")
    elif not isinstance(timers, (str, list, dict)):
        yield no_mapping(config, "timers", f"TypeError: argument of type '{type(timers).__name__}' is not iterable")
    yield from faults(config, models.ESCAPED)


def unpacking(config: DeepSpeedConfig, section: str, value: object) -> str:
    """The error that `Model(**value)` raises; before there was a model, that of the first look-up of a key."""
    if not models.MODEL_HISTORY.has_section(section, config.version):
        return not_attribute(value, "get")
    title = MODELS[section][0]
    module = next(name for since, name in reversed(MODULES[title]) if since <= config.version)
    return f"TypeError: {module}.{title}() argument after ** must be a mapping, not {type(value).__name__}"


def no_mapping(config: DeepSpeedConfig, key: str, exception: str) -> Finding:
    value, setting = config.values.get(key), config.setting(key)
    text = "a list" if isinstance(value, list) else spelled(value)
    remedy = remove_key(setting.name) | "write an object"
    return Finding(setting, f"`{setting.name}` is {text}, not an object", exception=exception, help=remedy)
