"""The fields of `transformers.TrainingArguments` from an unpacked wheel.

A field is an annotated attribute of the dataclass in `training_args.py`. Values are not coerced on the way
from a YAML file, so a file should hold the annotated type; only the Enum fields are checked. Which releases
had which fields and defaults no single tree can tell: that stands in the notes.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from schema_source import Module, SourceError, Tree, pairs

if TYPE_CHECKING:
    from pathlib import Path

Raw = dict[str, Any]

MODULE = "training_args.py"
PLAIN = {
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "None": "null",
    "dict": "object",
    "list": "array",
    "ParallelismConfig": "object",
}
NOT_A_CONSTANT = {"optim": "adamw_torch_fused"}  # by torch's release: adamw_torch before 2.8


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
    return fields


def _field(module: Module, statement: ast.AnnAssign, name: str) -> dict[str, Raw]:
    """The field by its name, or nothing when it is not among the constructor's arguments."""
    call = statement.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "field"):
        raise module.refuse(statement, "a field that is not made by field()")
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    if "init" in options and module.constant(options["init"]) is False:
        return {}
    raw = _accepted(module, statement.annotation)
    choices = _choices(module, options.get("metadata"))
    if choices is not None:
        raw = _closed(raw, choices)
    if name in NOT_A_CONSTANT:
        raw["default"] = NOT_A_CONSTANT[name]
    elif "default" in options:
        raw["default"] = module.constant(options["default"])
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
    for part in _alternatives(annotation):
        if isinstance(part, ast.Name) and part.id not in PLAIN:
            return {"enum": _enum(module, part), "x-checked-at": "config"}
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal":
            values += module.literal_values(part)
            continue
        types.append(_json_type(module, part))
        if types[-1] == "array" and isinstance(part, ast.Subscript):
            extra["items"] = _items(module, part.slice)
    raw: Raw = {"type": types[0] if len(types) == 1 else types, **extra}
    return {"anyOf": [raw, {"enum": values}]} if values else raw


def _alternatives(annotation: ast.expr) -> list[ast.expr]:
    """The members of `A | B`, `Optional[A]` and `Union[A, B]`, out of quotes where they stand in some."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return _alternatives(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*_alternatives(annotation.left), *_alternatives(annotation.right)]
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        inner = annotation.slice
        if annotation.value.id == "Optional":
            return [*_alternatives(inner), ast.Constant(None)]
        if annotation.value.id == "Union" and isinstance(inner, ast.Tuple):
            return [member for part in inner.elts for member in _alternatives(part)]
    return [annotation]


def _json_type(module: Module, part: ast.expr) -> str:
    if isinstance(part, ast.Constant) and part.value is None:
        return "null"
    outer = part.value if isinstance(part, ast.Subscript) else part
    name = outer.id if isinstance(outer, ast.Name) else ast.unparse(outer)
    if name not in PLAIN:
        raise module.refuse(part, "an annotation without a rule")
    return PLAIN[name]


def _items(module: Module, part: ast.expr) -> Raw:
    if isinstance(part, ast.Name) and part.id not in PLAIN:
        return {"enum": _enum(module, part)}
    return {"type": _json_type(module, part)}


def _enum(module: Module, name: ast.Name) -> list[Any]:
    found = module.find(name.id)
    if found is None or not isinstance(found[1], ast.ClassDef):
        raise module.refuse(name, "an annotation without a rule")
    return found[0].enum_values(found[1])
