"""The fields that the file of a TRL run may set, of the trainer's class, the script's own arguments and `ModelConfig`."""

from __future__ import annotations

import functools

from cfglint.batch.steps import RATIO_TAKEN
from cfglint.evaluate import Reason, Unknown
from cfglint.frameworks.huggingface.fields import FIELDS as ARGUMENTS
from cfglint.frameworks.huggingface.fields import PARSED
from cfglint.frameworks.huggingface.fields import defaults as argument_defaults
from cfglint.frameworks.releases.history import DEFAULT, TYPE
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl.releases import CLASSES, ENTRY, HISTORY, OTHER_CLASSES, is_experimental
from cfglint.launch.program import ProgramFacts
from cfglint.source.annotations import Callable, Folder

CAST = ("int", "float", "bool", "list:int", "list:float", "list:str")  # types of a program's own fields whose strings are cast
BESIDE = ("script", "mixture", "model")  # classes that every script parses in addition to that of the trainer

NULL = "|None"  # at the end of the type of an optional field
REQUIRED = "required"  # in the tables, instead of the default of a field that has none

SAME_LOOP = ("sft", "dpo", "kto", "reward", "orpo", "cpo", "gkd", "bco", "prm", "distillation")  # as long as with the Trainer
USUAL = ("sft", "dpo", "kto", "reward", "grpo", "rloo")  # the trainers that are preferred if several have the keys of a file

SFT = "sft"
ALWAYS = ("sft", "dpo", "reward")  # trainers that are older than their classes and took plain TrainingArguments

TRAINER = Reason("program", "the trainer of the file", "`--trainer` names it")


class Fields:
    """The fields of a release for the trainers that the file may be for: the types to which strings are cast, and the defaults.

    `own` are TRL's own fields, `classes` the tables of the classes next to the trainer's, if the program is known.
    """

    def __init__(self, release: Version, trainers: tuple[str, ...], transformers: Version, classes: tuple[str, ...] | None = None) -> None:
        self.trainers = trainers
        self.transformers = transformers
        self.defaults = dict(argument_defaults(transformers))
        self.types = {name: parsed(name, transformers) for name in self.defaults}
        self.own: set[str] = set()
        self.nullable = {name for name, default in self.defaults.items() if default is None}
        if classes is None:  # those that scripts parse next to the trainer's; some scripts have their own arguments
            own = [f"{trainer} script" for trainer in trainers if HISTORY.has_section(f"{trainer} script", release)]
            classes = (*own, *BESIDE[1:]) if len(own) == len(trainers) else (*BESIDE, *own)
        for name in (*classes, *trainers):
            for field, row in HISTORY.fields(name, release).items():
                self.types[field] = row[TYPE].removesuffix(NULL)
                self.defaults[field] = row[DEFAULT]
                self.own.add(field)
                (self.nullable.add if row[TYPE].endswith(NULL) else self.nullable.discard)(field)
        self.defaults.update(dict.fromkeys(differing(release, trainers, transformers), Unknown(TRAINER)))

    def of_program(self, program: ProgramFacts, release: Version) -> Fields:
        """The fields of the classes that a program parses, and the fields that it defines itself."""
        classes = tuple(OTHER_CLASSES[name] for name in program.classes) if program.complete else None
        found = Fields(release, self.trainers, self.transformers, classes)
        for name, field in program.fields.items():
            found.types[name] = field.kind if field.kind in CAST else "str"
            found.defaults[name] = field.default
        return found


@functools.cache
def fields(release: Version, trainers: tuple[str, ...], transformers: Version) -> Fields:
    return Fields(release, trainers, transformers)


def learn(release: Version, folder: Folder, opens: Callable[[str], bool]) -> bool:
    from cfglint.frameworks.trl.source_fields import DATASET_SECTION, learned

    found = learned(folder, opens)
    ENTRY.learn(release, {DATASET_SECTION: found.pop(DATASET_SECTION, {})})
    HISTORY.learn(release, found)
    fields.cache_clear()
    trainers_of.cache_clear()
    return bool(found)


def parsed(name: str, transformers: Version) -> str:
    if name == "warmup_steps" and transformers < RATIO_TAKEN:
        return "int"
    kind = ARGUMENTS[name][0]
    return PARSED.get(name) or (kind if kind in ("int", "float", "bool") else "str")


def differing(release: Version, trainers: tuple[str, ...], transformers: Version) -> set[str]:
    """The fields that some of the trainers lack, or that have different defaults."""
    base = argument_defaults(transformers)
    tables = [{**base, **{field: row[DEFAULT] for field, row in HISTORY.fields(name, release).items()}} for name in trainers]
    found: set[str] = set()
    for name in {field for trainer in trainers for field in HISTORY.fields(trainer, release)}:
        values = [table.get(name) for table in tables]
        if any(value != values[0] or type(value) is not type(values[0]) for value in values):
            found.add(name)
    return found


@functools.cache
def trainers_of(release: Version) -> tuple[str, ...]:
    return tuple(name for name in CLASSES.values() if name in ALWAYS or HISTORY.has_section(name, release))


def likely_trainers(names: set[str], release: Version) -> tuple[str, ...]:
    """The trainers of a release that have the most keys of a file; all of them if no key decides."""
    stable = [trainer for trainer in trainers_of(release) if not is_experimental(trainer, release)]
    keys = names - ARGUMENTS.keys()
    current = {name for name in keys if any(name in HISTORY.fields(trainer, release) for trainer in trainers_of(release))}
    former = keys - current  # of any release, since no trainer of this one has them
    fields = {trainer: HISTORY.fields(trainer, release).keys() & current for trainer in stable}
    counts = {trainer: len(own) + len(HISTORY.names(trainer).keys() & former) for trainer, own in fields.items()}
    most = max(counts.values())
    best = [trainer for trainer, count in counts.items() if count == most]
    if most:
        best = [trainer for trainer in best if trainer in USUAL] or best
    if most and SFT in best:  # whose class got `max_length` later than those of the preference trainers
        ever = {trainer: sum(1 for name in keys if name in HISTORY.names(trainer)) for trainer in best}
        best = [trainer for trainer in best if ever[trainer] == max(ever.values())]
    return tuple(best)
