"""The keys of LLaMA-Factory's training files from unpacked wheels of llamafactory and transformers.

`llamafactory-cli train FILE` hands the file to `HfArgumentParser.parse_dict` over five dataclasses (`hparams/parser.py`).
Theirs are the keys; the fourth stands on transformers' `Seq2SeqTrainingArguments`, so both packages have to lie in one
folder, as they do in site-packages. Values are not coerced, and a `Literal` is checked by no parser.
"""

from __future__ import annotations

import ast
import json
import sys
from typing import TYPE_CHECKING, Any

import schema_huggingface
from schema_merge import NOTES, ROOT, SCHEMAS
from schema_source import Module, SourceError, Tree, release

if TYPE_CHECKING:
    from pathlib import Path

Raw = dict[str, Any]

PACKAGE = "hparams/parser.py"
CLASSES = (  # in the order in which they are built
    ("hparams/model_args.py", "ModelArguments"),
    ("hparams/data_args.py", "DataArguments"),
    ("hparams/training_args.py", "TrainingArguments"),
    ("hparams/finetuning_args.py", "FinetuningArguments"),
    ("hparams/generating_args.py", "GeneratingArguments"),
)
TRAINER_BASE = "BaseTrainingArguments"  # an alias that the environment sets; transformers' class without USE_MCA
TRAINER_FILE = ("training_args_seq2seq.py", "Seq2SeqTrainingArguments")
TEMPLATES = "data/template.py"
GENERATION = ("sortish_sampler", "predict_with_generate", "generation_max_length", "generation_num_beams", "generation_config")


def find(path: Path) -> Tree:
    """The package, from site-packages."""
    for folder in (path / "llamafactory", path / "src" / "llamafactory", path):
        if (folder / PACKAGE).exists():
            return Tree(folder)
    raise SourceError(f"{path}: no LLaMA-Factory source ({PACKAGE})")


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("extras/env.py", "VERSION")


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it, in the order of the dataclasses; the trainer's own with their notes."""
    found: dict[str, Raw] = {}
    for file, name in CLASSES:
        module = tree.file(file)
        definition = module.definitions.get(name)
        if not isinstance(definition, ast.ClassDef):
            raise SourceError(f"{module.path}: class {name} is missing")
        for key, raw in fields(module, definition).items():
            if key in found:
                raise SourceError(f"{module.path}: {key} is a field of two dataclasses")
            found[key] = raw
    found["template"]["anyOf"] = [{"enum": templates(tree)}, {"type": "null"}]
    found["template"].pop("type")
    found["template"]["x-efficient-eos"] = templates(tree, "efficient_eos")
    return found


def fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    """The fields of a dataclass, those of its bases first."""
    found: dict[str, Raw] = {}
    for base in reversed(definition.bases):
        name = base.id if isinstance(base, ast.Name) else ast.unparse(base)
        if name == TRAINER_BASE:
            found.update(trainer_fields(module.tree))
            continue
        base_module = module.find(name)
        if base_module is None or not isinstance(base_module[1], ast.ClassDef):
            raise module.refuse(base, "a base class without a rule")
        found.update(fields(base_module[0], base_module[1]))
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.update(field_of(module, statement, statement.target.id))
    return found


def field_of(module: Module, statement: ast.AnnAssign, name: str) -> dict[str, Raw]:
    """One field by its name; nothing for one that the constructor does not take."""
    options = schema_huggingface.field_options(module, statement)
    if options is None:
        return {}
    raw = accepted(module, statement.annotation)
    if "default" in options:
        raw["default"] = module.constant(options["default"])
    return {name: raw}


def accepted(module: Module, annotation: ast.expr) -> Raw:
    """What a file should hold by a field's annotation."""
    types: list[str] = []
    values: list[Any] = []
    for part in schema_huggingface._alternatives(annotation):
        outer = part.value if isinstance(part, ast.Subscript) else part
        if isinstance(part, ast.Subscript) and ast.unparse(outer) == "Literal":
            values += module.literal_values(part)
        elif isinstance(outer, ast.Name) and outer.id not in schema_huggingface.PLAIN:
            values += schema_huggingface._enum(module, outer)
        else:
            types.append(schema_huggingface._json_type(module, part))
    if values:
        return {"enum": [*values, *([None] if "null" in types else [])]}
    return {"type": types[0] if len(types) == 1 else types}


def trainer_fields(tree: Tree) -> dict[str, Raw]:
    """The fields of transformers' class with what `tools/notes/huggingface.json` says of them; without its source the committed ones."""
    if not (tree.root.parent / "transformers").exists():
        return committed_trainer_fields()
    trainer = schema_huggingface.find(tree.root.parent)
    found = schema_huggingface.facts(trainer)
    module = trainer.file(TRAINER_FILE[0])
    definition = module.definitions.get(TRAINER_FILE[1])
    if not isinstance(definition, ast.ClassDef):
        raise SourceError(f"{module.path}: class {TRAINER_FILE[1]} is missing")
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.target.id != "generation_config":
            found.update(field_of(module, statement, statement.target.id))
    found["generation_config"] = {"type": ["string", "null"], "default": None}
    notes = json.loads((NOTES / "huggingface.json").read_text(encoding="utf-8"))["keys"]
    for key, raw in found.items():
        raw.update({word: value for word, value in notes.get(key, {}).items() if not word.startswith("x-") and word != "deprecated"})
    return found


def committed_trainer_fields() -> dict[str, Raw]:
    """The fields of transformers' class in the committed schema: those that no dataclass of the newest release defines."""
    schema = json.loads((SCHEMAS / "llamafactory.json").read_text(encoding="utf-8"))
    sys.path.insert(0, str(ROOT))
    from cfglint.frameworks.llamafactory.releases import HISTORY

    own = HISTORY.fields("arguments", release(schema["x-framework"]["version"])).keys() - set(GENERATION)
    return {key: raw for key, raw in schema["properties"].items() if key not in own}


def templates(tree: Tree, option: str | None = None) -> list[str]:
    """The names under which templates are registered, sorted; with an option those that turn it on."""
    module = tree.file(TEMPLATES)
    names = []
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "register_template":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if option is None or (option in given and module.constant(given[option])):
                names.append(module.constant(given["name"]))
    return sorted(names)


WORDS = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "object": "dict", "array": "list", "null": "None"}


def words(raw: Raw) -> str:
    """The types of a field in the words of the tables."""
    if "enum" in raw or "anyOf" in raw:
        return "str"
    names = [raw["type"]] if isinstance(raw["type"], str) else raw["type"]
    return "|".join(WORDS[name] for name in names)
