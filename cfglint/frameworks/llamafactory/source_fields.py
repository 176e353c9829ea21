"""The fields of LLaMA-Factory's dataclasses and its templates as the source of a release has them.

Values are not coerced, and a `Literal` is checked by no parser.
"""

from __future__ import annotations

import ast

from cfglint.frameworks.huggingface.source_fields import FORMS, SEQ2SEQ, WORDS
from cfglint.source.annotations import Any, ConfigValue, Mapping, Operand
from cfglint.source.python.class_fields import REQUIRED, ClassReading, members_of
from cfglint.source.python.package import Tree, finder

Fact = tuple[Any, ...]

PACKAGE = "hparams/parser.py"
CLASSES = (  # in the order in which they are built
    ("hparams/model_args.py", "ModelArguments"),
    ("hparams/data_args.py", "DataArguments"),
    ("hparams/training_args.py", "TrainingArguments"),
    ("hparams/finetuning_args.py", "FinetuningArguments"),
    ("hparams/generating_args.py", "GeneratingArguments"),
)
TEMPLATE_FILE = "data/template.py"
TRAINER_BASES = ("BaseTrainingArguments", "Seq2SeqTrainingArguments")  # transformers' class, whose fields are not these tables'
ARGUMENTS, TEMPLATES = "arguments", "templates"
REGISTERED = ("register_template", "_register_template")  # the second up to 0.9.2


find = finder("llamafactory", "LLaMA-Factory", PACKAGE)


class SourceReading(ClassReading):
    types = FORMS
    outside = TRAINER_BASES


def arguments(tree: Tree, noted: Mapping[str, str]) -> dict[str, Fact]:
    """Field -> (types, default, allowed values, true if it is required) of the five dataclasses, without those of transformers' class.

    `noted` has the types that a field takes beyond its annotation: a list where its class splits a string.
    """
    found, reading = dict(SEQ2SEQ), SourceReading(tree)
    for file, label in CLASSES:
        if not (tree.root / file).exists():
            continue  # before 0.9.2 the trainer's class is transformers' own
        source = tree.file(file)
        for name, field in reading.fields(source, source.class_named(label)).items():
            form, default = reading.reads(field), reading.default(field)
            values = values_of(form)
            kinds = "str" if values else noted.get(name) or "|".join(kinds_of(form))
            shown = values if len(values) > 1 else ()
            more = (shown, True) if default is REQUIRED else (shown,) if shown else ()
            found[name] = (kinds, None if default is REQUIRED else default, *more)
    return found


def values_of(form: Operand) -> tuple[ConfigValue, ...]:
    """The values that an annotation lists."""
    members = members_of(form)
    values = [value for each in members if each[0] in ("enum", "literal") for value in each[2 if each[0] == "enum" else 1 :]]
    return (*values, *(None for each in members if each == "None")) if values else ()


def kinds_of(form: Operand) -> list[str]:
    return [*WORDS] if form == "Any" else [each if isinstance(each, str) else each[0] for each in members_of(form)]


def templates(tree: Tree) -> dict[str, Fact]:
    """Template -> ('', whether `efficient_eos` is set)."""
    source = tree.file(TEMPLATE_FILE)
    found: dict[str, Fact] = {}
    for node in ast.walk(source.syntax):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REGISTERED:
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if "name" in given and isinstance(given["name"], ast.Constant):
                efficient = "efficient_eos" in given and bool(source.constant(given["efficient_eos"]))
                found[source.constant(given["name"])] = ("", efficient)
    return found
