"""The fields of `TrainingArguments` as the source of a release has them."""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.source.annotations import Any, Callable, Operand
from cfglint.source.python.class_fields import REQUIRED, TYPES, ClassField, ClassReading, members_of
from cfglint.source.python.package import Module, SourceError, Tree, finder

Fact = tuple[Any, ...]
# transformers' Seq2SeqTrainingArguments, the same from 4.37.2 to 5.23.0 (training_args_seq2seq.py).
SEQ2SEQ: dict[str, tuple[Any, ...]] = {
    "sortish_sampler": ("bool", False),
    "predict_with_generate": ("bool", False),
    "generation_max_length": ("int|None", None),
    "generation_num_beams": ("int|None", None),
    "generation_config": ("str|None", None),
}
MODULE, CLASS = "training_args.py", "TrainingArguments"
WORDS = ("int", "float", "dict", "str", "list", "bool")
FORMS: dict[str, Operand] = {**TYPES, "Dict": "dict", "List": "list", "ParallelismConfig": "dict"}
# Types by which the value is read where the schema takes more or less: a mapping may be JSON text, a list is deprecated.
READ_AS = {"debug": "choice", "fsdp": "str|bool", "liger_kernel_config": "dict|str"}
CHOICE = "choice"
OPTIMIZER = "default_optim"  # a name in the body of the class, by torch's release

find = finder("transformers", "transformers", MODULE)


class SourceReading(ClassReading):
    types = FORMS

    def computed(self, module: Module, node: ast.expr, refusal: SourceError) -> Operand:
        if isinstance(node, ast.IfExp) and "torch" in ast.unparse(node.test):
            return self.constant(module, node.body)  # with a new release of torch
        if ast.unparse(node) == OPTIMIZER:
            assigned = (each for each in ast.walk(module.class_named(CLASS)) if isinstance(each, ast.Assign))
            *_, last = (each.value for each in assigned if ast.unparse(each.targets[0]) == OPTIMIZER)
            return self.constant(module, last)
        return super().computed(module, node, refusal)


def fields(tree: Tree) -> dict[str, ClassField]:
    module = tree.file(MODULE)
    return SourceReading(tree).fields(module, module.class_named(CLASS))


def facts(tree: Tree) -> tuple[dict[str, Fact], dict[str, tuple[str, ...]]]:
    """(field -> type, default, and whether the constructor requires it if it does; field -> its values if it has only some)."""
    reading, found, choices = SourceReading(tree), dict[str, Fact](), dict[str, tuple[str, ...]]()
    for name, field in fields(tree).items():
        default, form = reading.default(field), listed(field, reading.reads(field))
        found[name] = (words(name, form), *((None, True) if default is REQUIRED else (default,)))
        if values := values_of(form, is_choice=found[name][0] == CHOICE):
            choices[name] = values
    return found, choices


def learned(path: Path, opens: Callable[[str], bool]) -> tuple[dict[str, Fact], dict[str, tuple[str, ...]]]:
    return facts(find(path, lenient=True, opens=opens))


def listed(field: ClassField, form: Operand) -> Operand:
    """The form of a field; where the class lists its values, these, with what the annotation takes beside texts."""
    if (choices := field.choices) is None:
        return form
    return ["listed", *choices, *(each for each, kind in ((True, "bool"), (False, "bool"), (None, "None")) if kind in members_of(form))]


def values_of(form: Operand, is_choice: bool) -> tuple[str, ...]:
    """The values of a field that becomes an Enum, or whose words a command line has to be one of."""
    for each in members_of(form):
        if each[0] == "list" and is_choice:
            return values_of(each[1], is_choice)
        if each[0] in ("enum", "listed"):
            return tuple(value for value in each[1 if each[0] == "listed" else 2 :] if value is not None)
    return ()


def words(name: str, form: Operand) -> str:
    """The type of a field in the words of `FIELDS`: `choice` for an Enum, else its types except null."""
    if name in READ_AS:
        return READ_AS[name]
    kinds: set[str] = set()
    for each in members_of(form):
        if each[0] == "enum":
            return CHOICE
        if each == "Any":
            kinds.update(WORDS)
        is_values = each[0] in ("literal", "listed")
        kinds.update([type(value).__name__ for value in each[1:]] if is_values else [each if isinstance(each, str) else each[0]])
    return "|".join(word for word in WORDS if word in kinds)
