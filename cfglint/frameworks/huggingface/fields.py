"""The fields of `TrainingArguments` with their defaults, and the releases of transformers that have them.

The default optimizer is the fused AdamW from 4.54.0 on if torch is 2.8 or newer.
"""

from __future__ import annotations

from cfglint.frameworks.huggingface._tables import CHOICE_HISTORY, CHOICES
from cfglint.frameworks.huggingface._tables import FIELDS as ROWS
from cfglint.frameworks.releases.history import DEFAULT, NAME, SINCE, TYPE, UNTIL, History, holds
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, Callable, ConfigTable, Folder

__all__ = ["CHOICES", "DTYPE_KEYS", "FIELDS", "OPTIMIZERS", "choices", "defaults", "has_field"]
OPTIMIZERS = CHOICES["optim"]
DTYPE_KEYS = ("dtype", "torch_dtype")  # arguments of programs: the type in which they load the weights
# The types that HfArgumentParser derives from the annotations of TrainingArguments, if they differ from the type in `FIELDS`.
PARSED: dict[str, str] = {
    "debug": "list:DebugOption",
    "include_for_metrics": "list:str",
    "include_num_input_tokens_seen": "bool",
    "label_names": "list:str",
    "liger_kernel_config": "dict",
    "parallelism_config": "ParallelismConfig",
}
CLASSES = {  # the Enum classes that exceptions name
    **dict.fromkeys(("eval_strategy", "evaluation_strategy", "logging_strategy"), "IntervalStrategy"),
    "save_strategy": "SaveStrategy",
    "hub_strategy": "HubStrategy",
    "lr_scheduler_type": "SchedulerType",
    "optim": "OptimizerNames",
    "debug": "DebugOption",
}


SECTION = "TrainingArguments"
REQUIRED = UNTIL + 1
HISTORY = History({SECTION: ROWS})
# Each field as (type, default in the newest release that has it, first release, first release without it).
FIELDS: dict[str, tuple[str, Any, Version, Version]] = {}
for row in ROWS:
    value = list(row[DEFAULT]) if isinstance(row[DEFAULT], tuple) else row[DEFAULT]
    FIELDS[row[NAME]] = (row[TYPE], value, FIELDS[row[NAME]][2] if row[NAME] in FIELDS else row[SINCE], row[UNTIL])
_numbers: dict[str, set[Any]] = {}
for row in ROWS:
    _numbers.setdefault(row[NAME], set()).add(row[DEFAULT] if row[TYPE] in ("int", "float") else None)
# The numbers that every release has as default; `__post_init__` gives none of them another value but `local_rank`.
NUMBERS = {name: next(iter(found)) for name, found in _numbers.items() if None not in found and len(found) == 1 and name != "local_rank"}
_defaults: dict[Version, ConfigTable] = {}
_learned_choices: dict[Version, dict[str, tuple[str, ...]]] = {}
_choices: dict[tuple[str, Version], tuple[str, tuple[str, ...]]] = {}  # of releases whose own source was not read


def learn(release: Version, folder: Folder, opens: Callable[[str], bool]) -> bool:
    from cfglint.frameworks.huggingface.source_fields import learned

    found, _learned_choices[release] = learned(folder, opens)
    HISTORY.learn(release, {SECTION: found})
    _defaults.pop(release, None)
    for name, fact in found.items():
        FIELDS.setdefault(name, (fact[0], fact[1], release, ()))
    return bool(found)


def defaults(version: Version) -> ConfigTable:
    found = _defaults.get(version)
    if found is None:
        found = _defaults[version] = {name: row[DEFAULT] for name, row in HISTORY.fields(SECTION, version).items()}
    return found


def type_of(name: str, version: Version) -> str:
    """The type of a field in a release; of one that the release lacks, the newest type."""
    row = HISTORY.fields(SECTION, version).get(name)
    return str(row[TYPE] if row is not None else FIELDS[name][0])


def is_required(name: str, version: Version) -> bool:
    return len(HISTORY.fields(SECTION, version).get(name, ())) > REQUIRED


def has_field(name: object, version: Version) -> bool:
    return isinstance(name, str) and name in defaults(version)


def removed_in(name: object, version: Version) -> Version:
    """The release that removed a field, which a given one lacks; () for another name. Of a release read from its source, itself."""
    if not isinstance(name, str) or name not in FIELDS or has_field(name, version):
        return ()
    _, _, since, until = FIELDS[name]
    if version in _learned_choices:
        return version if since <= version else ()
    return until if until and until <= version else ()


def has_choice(name: str, value: str, version: Version) -> bool:
    if name in _learned_choices.get(version, ()):
        return value in _learned_choices[version][name]
    since, until = CHOICE_HISTORY.get((name, value), ((), ()))
    return holds(since, until, version)


def choices(name: str, version: Version) -> tuple[str, tuple[str, ...]]:
    if (name, version) in _choices and version not in _learned_choices:
        return _choices[name, version]
    label = "IntervalStrategy" if name == "save_strategy" and not has_choice(name, "best", version) else CLASSES.get(name, "")
    known = _learned_choices.get(version, {}).get(name, CHOICES[name])
    found = _choices[name, version] = label, tuple(value for value in known if has_choice(name, value, version))
    return found
