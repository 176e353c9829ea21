"""What the annotations and `field(...)` calls of dataclasses say, as transformers and the frameworks on it write them."""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.evaluate import Reason, Unknown
from cfglint.source.annotations import Any, Callable, ConfigValue, Operand
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.package import Module, SourceError, Tree, finder, pairs

Raw = dict[str, Any]
Fact = tuple[Any, ...]
COMPUTED = Reason("release", "the source of the package")  # why a default is unknown
PLAIN = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "None": "null"}
PLAIN |= dict.fromkeys(("dict", "Dict", "ParallelismConfig"), "object") | dict.fromkeys(("list", "List"), "array")
# transformers' Seq2SeqTrainingArguments, the same from 4.37.2 to 5.23.0 (training_args_seq2seq.py).
SEQ2SEQ: dict[str, tuple[Any, ...]] = {
    "sortish_sampler": ("bool", False),
    "predict_with_generate": ("bool", False),
    "generation_max_length": ("int|None", None),
    "generation_num_beams": ("int|None", None),
    "generation_config": ("str|None", None),
}
MODULE = "training_args.py"
WORDS = {"integer": "int", "number": "float", "object": "dict", "string": "str", "array": "list", "boolean": "bool"}
# Types by which the value is read where the schema takes more or less: a mapping may be JSON text, a list is deprecated.
READ_AS = {"debug": "choice", "fsdp": "str|bool", "liger_kernel_config": "dict|str"}
CHOICE = "choice"
OPTIMIZER = "default_optim"  # a name in the body of the class, by torch's release


def field_options(module: Module, statement: ast.AnnAssign) -> dict[str | None, ast.expr] | None:
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
    if isinstance(part, ast.Constant) and part.value is None:
        return "null"
    outer = part.value if isinstance(part, ast.Subscript) else part
    name = outer.id if isinstance(outer, ast.Name) else ast.unparse(outer)
    if name not in PLAIN:
        raise module.refuse(part, "an annotation without a rule")
    return PLAIN[name]


def constant(module: Module, node: ast.expr) -> Operand:
    """The value of a constant; in a lenient reading unknown if it is none."""
    try:
        return module.constant(node)
    except SourceError:
        if module.tree.lenient:
            return Unknown(COMPUTED)
        raise


def enum_of(module: Module, name: Operand) -> list[ConfigValue]:
    enum = module.find(name.id)
    if enum is None or not isinstance(enum[1], ast.ClassDef):
        raise module.refuse(name, "an annotation without a rule")
    return enum[0].enum_values(enum[1])


def facts(tree: Tree) -> dict[str, Raw]:
    module = tree.file(MODULE)
    definition = module.class_named("TrainingArguments")
    fields: dict[str, Raw] = {}
    for name, statement in annotated(definition):
        options = field_options(module, statement)
        if options is None:  # the field is not among the constructor's arguments
            continue
        try:
            raw = accepted(module, statement.annotation)
            values = listed(module, options.get("metadata"))
            if values is not None:  # the choices, and what the annotation takes beside texts
                names = [raw["type"]] if isinstance(raw["type"], str) else raw["type"]
                raw = {"enum": [*values, *([None] if "null" in names else []), *([True, False] if "boolean" in names else [])]}
        except SourceError:
            if not tree.lenient:
                raise
            raw = {"type": list(WORDS)}  # an annotation without a rule takes anything
        fields[name], default = raw, options.get("default")
        if isinstance(default, ast.IfExp) and "torch" in ast.unparse(default.test):
            default = default.body  # with a new release of torch
        if default is not None and ast.unparse(default) != OPTIMIZER:
            raw["default"] = constant(module, default)
        elif "default_factory" in options:
            raw["default"] = made(module, options["default_factory"])
    if "optim" in fields and "default" not in fields["optim"]:
        assigned = (node for node in ast.walk(definition) if isinstance(node, ast.Assign))
        named = [node.value for node in assigned if ast.unparse(node.targets[0]) == OPTIMIZER]
        fields["optim"]["default"] = str(ast.literal_eval(named[-1])) if named else Unknown(COMPUTED)
    return fields


def learned(path: Path, opens: Callable[[str], bool]) -> tuple[dict[str, Fact], dict[str, tuple[str, ...]]]:
    found = facts(find(path, lenient=True, opens=opens))
    of_fields = {name: tuple(values) for name, raw in found.items() if (values := choices(name, raw))}
    return {name: fact(name, raw) for name, raw in found.items()}, of_fields


find = finder("transformers", "transformers", MODULE)


def fact(name: str, raw: Raw) -> Fact:
    """(type, default), and whether the constructor requires the field, if it does."""
    return (words(name, raw), raw.get("default"), *(() if "default" in raw else (True,)))


def choices(name: str, raw: Raw) -> list[str]:
    """The values of a field that becomes an Enum, or whose words a command line has to be one of."""
    known = raw.get("enum") or (raw.get("items", {}).get("enum", ()) if words(name, raw) == CHOICE else ())
    return [value for value in known if value is not None]


def made(module: Module, factory: ast.expr) -> Operand:
    if isinstance(factory, ast.Name) and factory.id in ("list", "dict"):
        return [] if factory.id == "list" else {}
    if isinstance(factory, ast.Lambda):
        return constant(module, factory.body)
    if module.tree.lenient:
        return Unknown(COMPUTED)
    raise module.refuse(factory, "a default factory without a rule")


def listed(module: Module, metadata: ast.expr | None) -> list[Operand] | None:
    if not isinstance(metadata, ast.Dict):
        return None
    for key, value in pairs(metadata):
        if isinstance(key, ast.Constant) and key.value == "choices":
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "keys":
                return module.keys_of(value.func.value)
            found: list[ConfigValue] = module.constant(value)
            return found
    return None


def accepted(module: Module, annotation: ast.expr) -> Raw:
    types: list[str] = []
    values: list[ConfigValue] = []
    extra: Raw = {}
    for part in alternatives(annotation):
        if isinstance(part, ast.Name) and part.id not in PLAIN:
            return {"enum": enum_of(module, part), "x-checked-at": "config"}
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal":
            values += module.literal_values(part)
            continue
        types.append(json_type(module, part))
        if types[-1] == "array" and isinstance(part, ast.Subscript):
            item = part.slice
            is_enum = isinstance(item, ast.Name) and item.id not in PLAIN
            extra["items"] = {"enum": enum_of(module, item)} if is_enum else {"type": json_type(module, item)}
    raw: Raw = {"type": types[0] if len(types) == 1 else types, **extra}
    return {"anyOf": [raw, {"enum": values}]} if values else raw


def words(name: str, raw: Raw) -> str:
    """The type of a field in the words of `FIELDS`: `choice` for an Enum, else its types except null."""
    if name in READ_AS:
        return READ_AS[name]
    if "enum" in raw and raw.get("x-checked-at"):
        return CHOICE
    types = types_of(raw)
    return "|".join(word for kind, word in WORDS.items() if kind in types)


def types_of(raw: Raw) -> set[str]:
    if "enum" in raw:
        return {"boolean" if isinstance(value, bool) else "string" for value in raw["enum"] if value is not None}
    if "anyOf" in raw:
        return set().union(*map(types_of, raw["anyOf"]))
    return {raw["type"]} if isinstance(raw["type"], str) else set(raw["type"])
