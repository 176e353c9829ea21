"""What the annotations and `field(...)` calls of dataclasses say, as transformers and the frameworks on it write them."""

from __future__ import annotations

import ast

from cfglint.frameworks.unknown import Unknown
from cfglint.source.python.package import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.source.python.package import Module

COMPUTED = "the source of the package computes it"  # why a default is unknown
PLAIN = {
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "None": "null",
    "dict": "object",
    "list": "array",
    "List": "array",
    "Dict": "object",
    "ParallelismConfig": "object",
}

# transformers' Seq2SeqTrainingArguments, the same from 4.37.2 to 5.23.0 (training_args_seq2seq.py).
SEQ2SEQ: dict[str, tuple[Any, ...]] = {
    "sortish_sampler": ("bool", False),
    "predict_with_generate": ("bool", False),
    "generation_max_length": ("int|None", None),
    "generation_num_beams": ("int|None", None),
    "generation_config": ("str|None", None),
}


def field_options(module: Module, statement: ast.AnnAssign) -> dict[str | None, ast.expr] | None:
    """The arguments of a statement's `field()`; None for a field that the constructor does not take."""
    call = statement.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "field"):
        raise module.refuse(statement, "a field that is not made by field()")
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    return None if "init" in options and module.constant(options["init"]) is False else options


def alternatives(annotation: ast.expr) -> list[ast.expr]:
    """The members of `A | B`, `Optional[A]` and `Union[A, B]`, out of quotes where they stand in some."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return alternatives(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*alternatives(annotation.left), *alternatives(annotation.right)]
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        inner = annotation.slice
        if annotation.value.id == "Optional":
            return [*alternatives(inner), ast.Constant(None)]
        if annotation.value.id == "Union" and isinstance(inner, ast.Tuple):
            return [member for part in inner.elts for member in alternatives(part)]
    return [annotation]


def json_type(module: Module, part: ast.expr) -> str:
    """The JSON type of one member of an annotation; SourceError for one without a rule."""
    if isinstance(part, ast.Constant) and part.value is None:
        return "null"
    outer = part.value if isinstance(part, ast.Subscript) else part
    name = outer.id if isinstance(outer, ast.Name) else ast.unparse(outer)
    if name not in PLAIN:
        raise module.refuse(part, "an annotation without a rule")
    return PLAIN[name]


def constant(module: Module, node: ast.expr) -> Any:
    """The value of a constant; in a lenient reading unknown if it is none."""
    try:
        return module.constant(node)
    except SourceError:
        if module.tree.lenient:
            return Unknown((COMPUTED,))
        raise


def enum_of(module: Module, name: ast.Name) -> list[Any]:
    """The values of an Enum by its name; SourceError for another type."""
    found = module.find(name.id)
    if found is None or not isinstance(found[1], ast.ClassDef):
        raise module.refuse(name, "an annotation without a rule")
    return found[0].enum_values(found[1])
