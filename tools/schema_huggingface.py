"""The fields of `transformers.TrainingArguments` from an unpacked wheel.

A field is an annotated attribute of the dataclass in `training_args.py`. Values are not coerced on the way
from a YAML file, so a file should hold the annotated type; only the Enum fields are checked. Which releases
have which fields, defaults and values comes from the tables that `tables_huggingface.py` makes of all of them.
"""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

import schema_history
from schema_merge import SCHEMAS, VALUE_KEYWORDS
from schema_source import Module, SourceError, Tree, pairs

from cfglint.frameworks.history import NAME
from cfglint.frameworks.huggingface.source_fields import PLAIN, alternatives, enum_of, field_options, json_type
from cfglint.frameworks.versions import dotted

if TYPE_CHECKING:
    from pathlib import Path

    from cfglint.frameworks.history import Row

Raw = dict[str, Any]

MODULE = "training_args.py"
WORDS = {"integer": "int", "number": "float", "object": "dict", "string": "str", "array": "list", "boolean": "bool"}
# Types by which the value is read where the schema takes more or less: a mapping may be JSON text, a list is deprecated.
READ_AS = {"debug": "choice", "fsdp": "str|bool", "liger_kernel_config": "dict|str"}
OPTIMIZER = "default_optim"  # a name in the body of the class, by torch's release


def find(path: Path) -> Tree:
    """The package, from site-packages or the folder itself."""
    for folder in (path / "transformers", path / "src" / "transformers", path):
        if (folder / MODULE).exists():
            return Tree(folder)
    raise SourceError(f"{path}: no transformers source ({MODULE})")


def version(tree: Tree) -> str | None:
    """The release that the package states."""
    return tree.version("__init__.py")


def facts(tree: Tree) -> dict[str, Raw]:
    """Field -> what the source says of it, in the order of the class."""
    module = tree.file(MODULE)
    definition = module.definitions.get("TrainingArguments")
    if not isinstance(definition, ast.ClassDef):
        raise SourceError(f"{module.path}: class TrainingArguments is missing")
    fields: dict[str, Raw] = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields.update(_field(module, statement, statement.target.id))
    if "optim" in fields:
        fields["optim"].setdefault("default", _default_optimizer(definition))
    return fields


def _default_optimizer(definition: ast.ClassDef) -> str:
    """The default of `optim` with a new release of torch: the last value of the name."""
    named = [
        statement.value
        for statement in ast.walk(definition)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == OPTIMIZER
    ]
    return str(ast.literal_eval(named[-1]))


def next_to(folder: Path) -> dict[str, Raw]:
    """The fields of the transformers in a folder, else those of the release of the committed schema."""
    if (folder / "transformers").exists():
        return facts(find(folder))
    properties: dict[str, Raw] = json.loads((SCHEMAS / "huggingface.json").read_text(encoding="utf-8"))["properties"]
    kept = (*VALUE_KEYWORDS, "default", "x-checked-at")
    return {key: {word: raw[word] for word in kept if word in raw} for key, raw in properties.items() if "x-removed" not in raw}


def _field(module: Module, statement: ast.AnnAssign, name: str) -> dict[str, Raw]:
    """The field by its name, or nothing when it is not among the constructor's arguments."""
    options = field_options(module, statement)
    if options is None:
        return {}
    raw = _accepted(module, statement.annotation)
    choices = _choices(module, options.get("metadata"))
    if choices is not None:
        raw = _closed(raw, choices)
    default = options.get("default")
    if isinstance(default, ast.IfExp) and "torch" in ast.unparse(default.test):
        default = default.body  # with a new release of torch
    if default is not None and ast.unparse(default) != OPTIMIZER:
        raw["default"] = module.constant(default)
    elif "default_factory" in options:
        raw["default"] = _made(module, options["default_factory"])
    return {name: raw}


def _made(module: Module, factory: ast.expr) -> Any:
    if isinstance(factory, ast.Name) and factory.id in ("list", "dict"):
        return [] if factory.id == "list" else {}
    if isinstance(factory, ast.Lambda):
        return module.constant(factory.body)
    raise module.refuse(factory, "a default factory without a rule")


def _choices(module: Module, metadata: ast.expr | None) -> list[Any] | None:
    if not isinstance(metadata, ast.Dict):
        return None
    for key, value in pairs(metadata):
        if isinstance(key, ast.Constant) and key.value == "choices":
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "keys":
                return module.keys_of(value.func.value)
            found: list[Any] = module.constant(value)
            return found
    return None


def _closed(raw: Raw, choices: list[Any]) -> Raw:
    """The choices, and what the annotation takes beside texts."""
    names = [raw["type"]] if isinstance(raw["type"], str) else raw["type"]
    values: list[Any] = list(choices)
    if "null" in names:
        values.append(None)
    if "boolean" in names:
        values += [True, False]
    return {"enum": values}


def _accepted(module: Module, annotation: ast.expr) -> Raw:
    types: list[str] = []
    values: list[Any] = []
    extra: Raw = {}
    for part in alternatives(annotation):
        if isinstance(part, ast.Name) and part.id not in PLAIN:
            return {"enum": enum_of(module, part), "x-checked-at": "config"}
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal":
            values += module.literal_values(part)
            continue
        types.append(json_type(module, part))
        if types[-1] == "array" and isinstance(part, ast.Subscript):
            extra["items"] = _items(module, part.slice)
    raw: Raw = {"type": types[0] if len(types) == 1 else types, **extra}
    return {"anyOf": [raw, {"enum": values}]} if values else raw


def _items(module: Module, part: ast.expr) -> Raw:
    if isinstance(part, ast.Name) and part.id not in PLAIN:
        return {"enum": enum_of(module, part)}
    return {"type": json_type(module, part)}


def histories() -> dict[tuple[str, ...], Raw]:
    """Name of a field -> what the tables say of its releases, its defaults and its values."""
    tables = schema_history.tables_of("huggingface")
    rows: dict[str, list[Row]] = {}
    for row in tables.FIELDS:
        rows.setdefault(row[NAME], []).append(row)
    made: dict[tuple[str, ...], Raw] = {(name,): schema_history.said(found) for name, found in rows.items()}
    for (name, value), (since, until) in tables.CHOICE_HISTORY.items():
        for word, release in (("x-enum-since", since), ("x-enum-removed", until)):
            if release:
                made[name,].setdefault(word, {})[value] = dotted(release)
    return made


def words(name: str, raw: Raw) -> str:
    """The type of a field in the words of `FIELDS`: `choice` for an Enum, else its types except null."""
    if name in READ_AS:
        return READ_AS[name]
    if "enum" in raw and raw.get("x-checked-at"):
        return "choice"
    types = _types(raw)
    return "|".join(word for kind, word in WORDS.items() if kind in types)


def _types(raw: Raw) -> set[str]:
    if "enum" in raw:
        return {"boolean" if isinstance(value, bool) else "string" for value in raw["enum"] if value is not None}
    if "anyOf" in raw:
        return set().union(*map(_types, raw["anyOf"]))
    return {raw["type"]} if isinstance(raw["type"], str) else set(raw["type"])
