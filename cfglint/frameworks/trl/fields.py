"""The fields that a TRL run's file can give, with their types and defaults, by release and trainer.

A script parses one file into the trainer's configuration class (a subclass of `TrainingArguments`), the script's own
arguments and `ModelConfig`. The tables are those of the modelled releases; another release is taken for the nearest.
"""

from __future__ import annotations

from cfglint.frameworks.huggingface.fields import FIELDS as ARGUMENTS
from cfglint.frameworks.huggingface.fields import defaults as argument_defaults
from cfglint.frameworks.trl._tables import FIELDS as TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.base import Version

OLDEST = "0.17.0"
NEWEST = "1.16.0"
BESIDE = ("script", "mixture", "model")  # classes that every script parses next to the trainer's own
TRAINERS = tuple(dict.fromkeys(name for table in TABLES.values() for name in table if name not in BESIDE and " " not in name))
GENERATING = ("grpo", "rloo")  # trainers that generate their training data, whose sampler repeats prompts
OWN_LOOPS = ("ppo", "rloo")  # trainers of 0.17.0 that do not train by the Trainer's loop

# What HfArgumentParser makes of the annotations of TrainingArguments, where the type of `huggingface.fields` does not say it.
PARSED: dict[str, str] = {
    "debug": "list:object",
    "include_for_metrics": "list:str",
    "include_num_input_tokens_seen": "bool",
    "label_names": "list:str",
    "liger_kernel_config": "dict",
    "parallelism_config": "object",
}
INTEGER_WARMUP = (5,)  # warmup_steps is an integer before

_fields: dict[tuple[str, str | None, Version], Fields] = {}


class Fields:
    """The fields of a release for one trainer, or for an unknown one.

    `types` maps a field to the type by which the parser casts a string, `defaults` to its value where the file does not
    give it. `undecided` are the fields whose default differs between the trainers that may be meant.
    """

    __slots__ = ("defaults", "own", "types", "undecided")

    def __init__(self, release: str, trainer: str | None, transformers: Version) -> None:
        self.defaults = dict(argument_defaults(transformers))
        self.types = {name: parsed(name, transformers) for name in self.defaults}
        self.undecided: set[str] = set()
        self.own: set[str] = set()
        candidates = [trainer] if trainer in TABLES[release] else [name for name in TABLES[release] if name in TRAINERS]
        for name in (*BESIDE, *(f"{each} script" for each in candidates), *candidates):
            self._add(TABLES[release].get(name, {}))
        if len(candidates) > 1:
            self.undecided = differing(release, candidates, transformers)
            for name in self.undecided:
                self.defaults[name] = None

    def _add(self, table: dict[str, tuple[str, Any]]) -> None:
        for name, (kind, default) in table.items():
            self.types[name] = kind
            self.defaults[name] = default
            self.own.add(name)


def fields(release: str, trainer: str | None, transformers: Version) -> Fields:
    """The fields of a modelled release of TRL with a release of transformers; `trainer` None where it is unknown."""
    key = (release, trainer, transformers)
    if key not in _fields:
        _fields[key] = Fields(release, trainer, transformers)
    return _fields[key]


def parsed(name: str, transformers: Version) -> str:
    """The type by which the parser casts a string that is given for a field of `TrainingArguments`."""
    if name == "warmup_steps" and transformers < INTEGER_WARMUP:
        return "int"
    kind = ARGUMENTS[name][0]
    return PARSED.get(name) or (kind if kind in ("int", "float", "bool") else "str")


def differing(release: str, trainers: list[str], transformers: Version) -> set[str]:
    """The fields that not all of the trainers have with one default."""
    base = argument_defaults(transformers)
    tables = [{**base, **{field: default for field, (_, default) in TABLES[release][name].items()}} for name in trainers]
    found: set[str] = set()
    for name in {field for trainer in trainers for field in TABLES[release][trainer]}:
        values = [table.get(name) for table in tables]
        if any(value != values[0] or type(value) is not type(values[0]) for value in values):
            found.add(name)
    return found


def has(name: Any, release: str) -> bool:
    """Whether any class of a modelled release has a field of this name."""
    return isinstance(name, str) and any(name in table for table in TABLES[release].values())


def trainers_with(name: str, release: str) -> list[str]:
    """The trainers whose configuration class has a field."""
    return [trainer for trainer, table in TABLES[release].items() if trainer in TRAINERS and name in table]
