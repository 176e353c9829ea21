"""The keys of LLaMA-Factory's training files from unpacked wheels of llamafactory and transformers.

`llamafactory-cli train FILE` hands the file to `HfArgumentParser.parse_dict` over five dataclasses (`hparams/parser.py`).
Theirs are the keys; the fourth stands on transformers' `Seq2SeqTrainingArguments`, so both packages have to lie in one
folder, as they do in site-packages. Values are not coerced, and a `Literal` is checked by no parser.
"""

from __future__ import annotations

import ast
import json
from typing import Any

import schema_huggingface
from schema_huggingface import JSON_TYPES
from schema_merge import NOTES, SCHEMAS
from schema_source import Module, SourceError, Tree, release

from cfglint.frameworks.huggingface.source_fields import SEQ2SEQ
from cfglint.frameworks.llamafactory.releases import HISTORY
from cfglint.frameworks.llamafactory.source_fields import CLASSES, TEMPLATE_FILE, TRAINER_BASES, SourceReading, find, kinds_of, values_of
from cfglint.source.python.class_fields import REQUIRED

__all__ = ["facts", "find", "version"]

Raw = dict[str, Any]

TRAINER_FILE = ("training_args_seq2seq.py", "Seq2SeqTrainingArguments")


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("extras/env.py", "VERSION")


def facts(tree: Tree) -> dict[str, Raw]:
    """Key -> what the sources say of it, in the order of the dataclasses; the trainer's own with their notes."""
    found: dict[str, Raw] = {}
    for file, name in CLASSES:
        module = tree.file(file)
        for key, raw in fields(module, module.class_named(name)).items():
            if key in found:
                raise SourceError(f"{module.path}: {key} is a field of two dataclasses")
            found[key] = raw
    found["template"]["anyOf"] = [{"enum": templates(tree)}, {"type": "null"}]
    found["template"].pop("type")
    found["template"]["x-efficient-eos"] = templates(tree, "efficient_eos")
    return found


def fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    """The fields of a dataclass, those of its bases first."""
    is_trainer = not {*TRAINER_BASES}.isdisjoint(map(ast.unparse, definition.bases))
    return {**(trainer_fields(module.tree) if is_trainer else {}), **own_fields(module, definition)}


def own_fields(module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
    """The fields of a dataclass, but for those of transformers' class."""
    reading, found = SourceReading(module.tree), dict[str, Raw]()
    for name, field in reading.fields(module, definition).items():
        form, default = reading.reads(field), reading.default(field)
        types = [] if (values := values_of(form)) else [JSON_TYPES[kind] for kind in kinds_of(form)]
        found[name] = {"enum": [*values]} if values else {"type": types[0] if len(types) == 1 else types}
        found[name] |= {"required": True} if default is REQUIRED else {"default": default}
    return found


def trainer_fields(tree: Tree) -> dict[str, Raw]:
    """The fields of transformers' class with what `tools/notes/huggingface.json` says of them; without its source the committed ones."""
    if not (tree.root.parent / "transformers").exists():
        return committed_trainer_fields()
    trainer = schema_huggingface.find(tree.root.parent)
    found = schema_huggingface.facts(trainer)
    module = trainer.file(TRAINER_FILE[0])
    own = own_fields(module, module.class_named(TRAINER_FILE[1]))
    found.update({name: raw for name, raw in own.items() if name != "generation_config"})
    found["generation_config"] = {"type": ["string", "null"], "default": None}
    notes = json.loads((NOTES / "huggingface.json").read_text(encoding="utf-8"))["keys"]
    for key, raw in found.items():
        raw.update({word: value for word, value in notes.get(key, {}).items() if not word.startswith("x-") and word != "deprecated"})
    return found


def committed_trainer_fields() -> dict[str, Raw]:
    """The fields of transformers' class in the committed schema: those that no dataclass of the newest release defines."""
    schema = json.loads((SCHEMAS / "llamafactory.json").read_text(encoding="utf-8"))
    own = HISTORY.fields("arguments", release(schema["x-framework"]["version"])).keys() - set(SEQ2SEQ)
    return {key: raw for key, raw in schema["properties"].items() if key not in own}


def templates(tree: Tree, option: str | None = None) -> list[str]:
    """The names under which templates are registered, sorted; with an option those that turn it on."""
    module = tree.file(TEMPLATE_FILE)
    names = []
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "register_template":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if option is None or (option in given and module.constant(given[option])):
                names.append(module.constant(given["name"]))
    return sorted(names)
