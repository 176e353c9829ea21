"""Rules about the files and their arguments: merging, unknown arguments, values of an invalid type (arguments.py:224-285, 1365-1422)."""

from __future__ import annotations

import os

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import Fix
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.neox._tables import FIELDS
from cfglint.frameworks.neox._tables import REMOVED as REMOVED_FIELDS
from cfglint.frameworks.neox.config import COPIES, NeoXConfig
from cfglint.frameworks.neox.fields import describe, raised
from cfglint.frameworks.remedies import choice, remove, rename, replace
from cfglint.source.annotations import ConfigValue, Iterator, Operand
from cfglint.source.document import Document, Path
from cfglint.source.numbers import hollow, is_number

MOST_NAMED = 5  # keys of a fork
# Former names of arguments.
RENAMED = {
    "save_interval": "checkpoint_factor",
    "checkpoint_interval": "checkpoint_factor",
    "micro_batch_size": "train_micro_batch_size_per_gpu",
    "micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu",
    "global_batch_size": "train_batch_size",
    "max_steps": "train_iters",
    "autotuning_config": "autotuning",
    "num_experts": "moe_num_experts",
}
# Arguments of earlier versions that were removed, and why they can be dropped.
REMOVED = {
    "gas": "it was always a copy of `gradient_accumulation_steps`",
    "detect_nvlink_pairs": "the launcher no longer looks for NVLink pairs",
}
ARITHMETIC = frozenset(
    ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "pipe_parallel_size", "model_parallel_size"]
)
# Arguments whose value GPT-NeoX copies from a section, with the path there.
HOMES = {
    "lr": ("optimizer", "params", "lr"),
    "optimizer_type": ("optimizer", "type"),
    "zero_stage": ("zero_optimization", "stage"),
    **{name: ("zero_optimization", key) for name, key in COPIES.items()},
}
TYPES = {
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "str": "a string",
    "list": "a list",
    "dict": "a mapping",
    "Any": "null, which is the only value accepted",
}
# Arguments that are replaced before their value is used.
REPLACED = frozenset(("config_files", "user_script"))


@rule("KEY300")
def unknown_argument(config: NeoXConfig) -> Iterator[Finding]:
    for name in config.values if not config.is_for_fork else ():
        if not config.knows(name):
            message, fix = _advice(config, name)
            hyphens = name.replace("_", "-")  # GPT-NeoX replaces them
            spellings = [key.raw for document in config.documents for root in document.roots for key, _ in root.pairs()]
            spelling = hyphens if hyphens in spellings and name not in spellings else name
            words = f"unknown key `{spelling}` is not an argument of GPT-NeoX{message}"
            declared = config.facts.complete or config.facts.kind_given or config.package in config.facts.target
            reasons = (TAGGED,) if name in REMOVED_FIELDS and not declared and not config.own_fields else ()
            exception = f"TypeError: NeoXArgs.__init__() got an unexpected keyword argument '{name}'"
            remedy = None if fix else remove_key(spelling)
            yield Finding(config.setting(name), words, depends_on=reasons, exception=exception, fix=fix, on_key=True, help=remedy)


TAGGED = Reason("release", "the release of GPT-NeoX", "a tagged one has the field")


def _advice(config: NeoXConfig, name: str) -> tuple[str, Fix | None]:
    setting = config.setting(name)
    if name in REMOVED:
        return f": it was removed, {REMOVED[name]}", remove(setting, f"remove `{name}`")
    if name in RENAMED:
        current = RENAMED[name]
        fix = None if current in config.values else rename(setting, current, f"rename to `{current}`")
        return f"; its current name is `{current}`", fix
    from cfglint.frameworks.validation.schema import load

    near = [candidate for candidate in load(config.kind).nearest((), name) if len(candidate.path) == 1 and config.knows(candidate.name)]
    if not near:
        return "", None
    nearest = near[0].name
    if near[0].distance > 1 or nearest in config.values:
        return f"; the most similar one is `{nearest}`", None
    return f"; did you mean `{nearest}`?", rename(setting, nearest, f"rename to `{nearest}`")


@rule("TYP300")
def invalid_type(config: NeoXConfig) -> Iterator[Finding]:
    for name, path, value, exception in _refused(config):
        if config.check_of(name).expected != "literal" and (name not in ARITHMETIC or is_number(value)):
            setting, check = config.setting(*path), config.check_of(name)
            kinds = check.members if check.expected == "union" else [check.expected or ""]
            message = f"`{setting.name}` is {describe(value)}, not {' or '.join(TYPES.get(kind, kind) for kind in kinds)}"
            result = converted(FIELDS[name][0], value) if name in FIELDS else None  # of a plain type, which the modelled release has too
            fix = replace(setting, result, f"change to {spelled(result)}") if result is not None else None
            yield Finding(setting, message, exception=_earlier(config, name, value) or exception, fix=fix)


@rule("TYP301")
def invalid_value(config: NeoXConfig) -> Iterator[Finding]:
    for name, path, value, _ in _refused(config):
        check = config.check_of(name)
        if check.expected != "literal":
            continue
        setting = config.setting(*path)
        error = raised(lambda value=value: hollow(value).lower()) if name == "optimizer_type" else None  # type: ignore[misc]
        message = f"`{setting.name}` is {describe(value)}; it must be one of {', '.join(check.choices)}"
        yield Finding(setting, message, exception=error, help=choice(setting.name, value, check.choices))


@rule("TYP302")
def null_for_number(config: NeoXConfig) -> Iterator[Finding]:
    nulls = {"moe_num_experts": "TypeError: '>' not supported between instances of 'NoneType' and 'int'"}
    if config.derived.lr is not None:
        nulls["min_lr"] = f"TypeError: '<=' not supported between instances of 'NoneType' and '{type(config.derived.lr).__name__}'"
    for name, exception in nulls.items():
        if name in config.values and config.values[name] is None:
            setting = config.setting(name)
            fix = remove(setting, f"remove `{name}` to use its default")
            yield Finding(setting, f"`{name}` is null, not a number", exception=exception, fix=fix)


def _refused(config: NeoXConfig) -> list[tuple[str, Path, ConfigValue, str]]:
    """(argument, its path in the files, value, exception of the type check) for the values from the files that the check rejects."""
    if config.refused is not None:
        return config.refused
    derived, names = config.derived, (name for name in config.values if name not in REPLACED and name not in HOMES)
    places: dict[str, Path] = {
        name: (name,) for name in names if name in derived.held or config.check_of(name).expected != type(config.values[name]).__name__
    }
    places.update((name, path) for name, path in HOMES.items() if path[0] in config.values and config.has(*path))
    refused = list[tuple[str, Path, ConfigValue, str]]()
    for name, path in places.items():
        value = derived.held.get(name, config.values.get(name)) if name in FIELDS else None
        exception = config.check_of(name).refusal(value)
        if exception:
            refused.append((name, path, value, exception))
    config.refused = refused
    return refused


def _earlier(config: NeoXConfig, name: str, value: Operand) -> str | None:
    """The exception that the framework raises when it uses the value before the type check; else None."""
    if name in ("num_layers", "attention_config"):
        return config.derived.attention_refusal
    empty = hollow(value)
    if name == "moe_num_experts":
        return raised(lambda: empty > 1)
    if name == "zero_optimization":
        return raised(lambda: value["stage"])
    if name in ("fp16", "bf16", "optimizer") and value:
        return raised(lambda: value.get)
    if name == "log_dir" and value:
        return f"TypeError: expected str, bytes or os.PathLike object, not {type(value).__name__}"
    return None


def converted(expected: str | None, value: object) -> ConfigValue:
    """A value converted losslessly to another type; None if that is not possible."""
    if isinstance(value, str) and expected in ("int", "float"):
        try:
            value = float(value) if expected == "float" else int(value)
        except ValueError:
            return None
        return value if value - value == 0 else None
    if isinstance(value, float) and expected == "int" and value.is_integer():
        return int(value)
    if type(value) is int and expected == "bool" and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and expected == "bool" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return None


@rule("KEY010")
def written_for_fork(config: NeoXConfig) -> Iterator[Finding]:
    if config.is_for_fork:
        names = config.unknown_keys()
        listed = ", ".join(f"`{name}`" for name in names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
        keys = "1 key is" if len(names) == 1 else f"{len(names)} keys are"
        text = f"{keys} unknown to {config.framework.title} ({listed}): the file may be written for a fork"
        note = f"{config.framework.title} itself refuses unknown keys"
        yield Finding(config.setting(names[0]), text, on_key=True, note=note, help="declare its kind (--kind) to see each of them")


def written(document: Document, text: str) -> Setting:
    """A top-level key of one file, whether or not another file overrides it."""
    key_node, node = document.find((text,))
    return Setting((text,), node.raw if node else None, WRITTEN, document, node, key_node)


@rule("NEO001")
def duplicate_argument(config: NeoXConfig) -> Iterator[Finding]:
    for document, text, before, text_before in config.repeats:
        if "-" in text:
            continue
        later, earlier = written(document, text), written(before, text_before)
        same = later.value == earlier.value and later.value is not None
        message = f"duplicate key `{text}`: already set at {earlier.place}"
        exception = f"ValueError: Conf file {document.path} has the following duplicate keys with previously loaded file: {text}"
        fix = remove(later, f"remove the second `{text}`") if same else None
        remedy = None if same else f"keep one of the two `{text}`"
        yield Finding(later, message, related=(earlier,), exception=exception, fix=fix, on_key=True, help=remedy)


@rule("NEO002")
def duplicate_file_name(config: NeoXConfig) -> Iterator[Finding]:
    seen: dict[str, Document] = {}
    for document in config.documents:
        name = os.path.basename(document.path)
        if name in seen:
            message = f"two files have the name {name}: {seen[name].path} and {document.path}"
            yield Finding(Setting((), None, document=document), message, help="rename one of the two files")
        seen.setdefault(name, document)


@rule("KEY303")
def overridden_by_dashed_key(config: NeoXConfig) -> Iterator[Finding]:
    for document, text, before, text_before in config.repeats:
        if "-" in text:
            earlier = written(before, text_before)
            message = f"`{text}` silently overrides `{text_before}` ({earlier.place})"
            yield Finding(written(document, text), message, related=(earlier,), on_key=True, help="keep one of the two spellings")
