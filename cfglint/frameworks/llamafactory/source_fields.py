"""The fields of LLaMA-Factory's dataclasses and its templates as the source of a release has them.

Values are not coerced, and a `Literal` is checked by no parser.
"""

from __future__ import annotations

import ast

from cfglint.frameworks.huggingface.source_fields import PLAIN, SEQ2SEQ, alternatives, constant, enum_of, field_options, json_type
from cfglint.source.annotations import Any, ConfigValue, Mapping
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.package import Module, Tree, finder

Raw = dict[str, Any]
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
WORDS = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "object": "dict", "array": "list", "null": "None"}
ARGUMENTS, TEMPLATES = "arguments", "templates"
REGISTERED = ("register_template", "_register_template")  # the second up to 0.9.2


find = finder("llamafactory", "LLaMA-Factory", PACKAGE)


def version(tree: Tree) -> str | None:
    return tree.version("extras/env.py", "VERSION")


def field_of(module: Module, statement: ast.AnnAssign, name: str) -> dict[str, Raw]:
    """One field by its name; nothing for one that the constructor does not take."""
    options = field_options(module, statement)
    if options is None:
        return {}
    raw = accepted(module, statement.annotation)
    factory = options.get("default_factory")
    if "default" in options:
        raw["default"] = constant(module, options["default"])
    elif isinstance(factory, ast.Lambda):
        raw["default"] = constant(module, factory.body)
    elif factory is not None:
        raw["default"] = [] if ast.unparse(factory) == "list" else {}
    else:
        raw["required"] = True
    return {name: raw}


def accepted(module: Module, annotation: ast.expr) -> Raw:
    """What a file should hold by a field's annotation."""
    types: list[str] = []
    values: list[ConfigValue] = []
    for part in alternatives(annotation):
        outer = part.value if isinstance(part, ast.Subscript) else part
        if isinstance(part, ast.Subscript) and ast.unparse(outer) == "Literal":
            values += module.literal_values(part)
        elif isinstance(outer, ast.Name) and outer.id not in PLAIN:
            values += enum_of(module, outer)
        else:
            types.append(json_type(module, part))
    if values:
        return {"enum": [*values, *([None] if "null" in types else [])]}
    return {"type": types[0] if len(types) == 1 else types}


def words(raw: Raw) -> str:
    """The types of a field in the words of the tables."""
    if "enum" in raw or "anyOf" in raw:
        return "str"
    names = [raw["type"]] if isinstance(raw["type"], str) else raw["type"]
    return "|".join(WORDS[name] for name in names)


def arguments(tree: Tree, noted: Mapping[str, Raw]) -> dict[str, Fact]:
    """Field -> (types, default, allowed values) of the five dataclasses, without those of transformers' TrainingArguments.

    `noted` has the types that a field takes beyond its annotation: a list where its class splits a string.
    """
    found = dict(SEQ2SEQ)
    for file, name in CLASSES:
        if not (tree.root / file).exists():
            continue  # before 0.9.2 the trainer's class is transformers' own
        source = tree.file(file)
        found.update(fields(source, source.class_named(name), noted))
    return found


def fields(source: Module, definition: ast.ClassDef, noted: Mapping[str, Raw]) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    for base in reversed(definition.bases):
        name = base.id if isinstance(base, ast.Name) else ast.unparse(base)
        if name in ("BaseTrainingArguments", "Seq2SeqTrainingArguments"):  # transformers' class, whose fields are not these tables'
            continue
        located = source.find(name)
        if located is None or not isinstance(located[1], ast.ClassDef):
            if source.tree.lenient:
                continue
            raise source.refuse(base, "a base class without a rule")
        found.update(fields(located[0], located[1], noted))
    for attribute, statement in annotated(definition):
        for name, raw in field_of(source, statement, attribute).items():
            found[name] = fact({**raw, **noted.get(name, {})})
    return found


def fact(raw: Raw) -> Fact:
    values = tuple(raw.get("enum", ()))
    required = (True,) if raw.get("required") else ()  # the last part of the fact of a field without a default
    return (words(raw), raw.get("default"), *((values,) if len(values) > 1 else ((),) if required else ()), *required)


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
