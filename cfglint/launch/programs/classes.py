"""The dataclasses that a parser fills: their fields, with types and defaults, and the framework's class that they derive from.

Source: CPython dataclasses.py (_process_class: fields of the bases first, the last definition of a name is used, in its first
place), transformers 5.23.0 hf_argparser.py:143-260 (_parse_dataclass_field).
"""

from __future__ import annotations

import ast

from cfglint.launch.kinds import base_fields, fields_of_class
from cfglint.launch.program import MISSING, Field
from cfglint.launch.programs.modules import Definition, External, Modules
from cfglint.launch.programs.scopes import COMPUTED, Scope, dotted, keyword, top_level, value_of
from cfglint.source.annotations import Any
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.class_fields import alternatives, unquoted
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record

SEQ2SEQ_PATH = "transformers/training_args_seq2seq.py"
SEQ2SEQ = {  # transformers 5.23.0 training_args_seq2seq.py
    "sortish_sampler": Field("bool", False, SEQ2SEQ_PATH, 1, "?"),
    "predict_with_generate": Field("bool", False, SEQ2SEQ_PATH, 1, "?"),
    "generation_max_length": Field("int", None, SEQ2SEQ_PATH, 1),
    "generation_num_beams": Field("int", None, SEQ2SEQ_PATH, 1),
    "generation_config": Field("str", None, SEQ2SEQ_PATH, 1),
}
MOST_BASES = 40
PACKAGES = ("transformers", "trl")  # of the classes of arguments
HARMLESS = ("typing", "typing_extensions", "abc", "enum")  # packages of bases without fields
SIMPLE = ("int", "float", "str", "bool")
FACTORIES: dict[str, Any] = {"list": [], "dict": {}, "tuple": (), "set": COMPUTED}


def known_fields(name: str) -> set[str]:
    return {*base_fields(), *fields_of_class(name)}


class Dataclass(Record):
    """A class that a parser fills.

    `own` are the fields that the project defines, `base` is the framework's class that it is or
    derives from, empty without one. `complete`: every class that it derives from is known; `missing` is one that is not in the project.
    `defined` are its definition and those of its bases in the project.
    """

    own: dict[str, Field] = {}
    base: str = ""
    complete: bool = True
    missing: str = ""
    defined: list[ast.ClassDef] = []

    @property
    def assigned(self) -> list[tuple[ast.AST, str]]:
        return [store for node in self.defined for store in assigned_fields(node)]


def read_class(modules: Modules, found: Definition | External | None) -> Dataclass:
    result = Dataclass()
    for each in linearized(modules, found):
        if isinstance(each, External):
            package, name = each.name.partition(".")[0], each.name.rpartition(".")[2]
            if package not in PACKAGES:  # whose class of the same name is another one
                result.missing = result.missing or ("" if package in HARMLESS else each.name)
                result.complete = False
                continue
            if result.base and result.base != name:
                result.complete = False
            result.base = result.base or name
        elif isinstance(each, Definition) and isinstance(each.node, ast.ClassDef):
            node, scope = each.node, top_level(modules, each.module)
            decorators = [dotted(mark.func if isinstance(mark, ast.Call) else mark) for mark in node.decorator_list]
            if any(parts[-1:] == ["dataclass"] for parts in decorators):
                fields = ((name, field(line, scope)) for name, line in annotated(node))
                result.own.update((name, made) for name, made in fields if made is not None)
            else:  # its annotations are not fields
                result.complete = result.complete and not decorators
            result.defined.append(each.node)
        else:
            result.complete = False
    return result


def linearized(modules: Modules, found: Definition | External | None) -> list[Definition | External | None]:
    """A class and its base classes, the most basic ones first; None for an unknown one."""
    order: list[Definition | External | None] = []
    pending = [found]
    while pending and len(order) < MOST_BASES:
        each = pending.pop(0)
        order.append(each)
        if isinstance(each, Definition) and isinstance(each.node, ast.ClassDef):
            scope = top_level(modules, each.module)
            if each.node.name in each.module.ambiguous:
                order.append(None)
            for base in (base for base in each.node.bases if dotted(base)[-1:] not in (["object"], ["ABC"])):
                imported = each.module.imports.get(each.node.name) if dotted(base) == [each.node.name] else None
                pending.append(modules.dotted(imported) if imported else scope.resolve(base))
    return order[::-1] if not pending else [None, *order[::-1]]


def assigned_fields(node: ast.ClassDef) -> list[tuple[ast.AST, str]]:
    """The attributes that the methods of a class set, each with its place."""
    stores = (each for each in walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    return [(each, each.attr) for each in stores if dotted(each)[:-1] == ["self"]]


def field(line: ast.AnnAssign, scope: Scope) -> Field | None:
    """Parse a field from its definition; None for class variables and fields that are not arguments."""
    annotation = unquoted(line.annotation)
    outer = dotted(annotation.value if isinstance(annotation, ast.Subscript) else annotation)[-1:]
    if outer in (["ClassVar"], ["InitVar"], ["KW_ONLY"]):
        return None
    default = MISSING if line.value is None else value_of(line.value, scope)
    if isinstance(line.value, ast.Call) and dotted(line.value.func)[-1:] in (["field"], ["HfArg"]):
        if value_of(keyword(line.value, "init"), scope) is False:
            return None
        default = default_of(line.value, scope)
    kind, takes, choices = type_of(annotation, scope, default)
    found = Field(kind, default, scope.module.path, line.lineno, takes, choices)
    expression = keyword(line.value, "default") if isinstance(line.value, ast.Call) else line.value
    found.written = (expression, scope.module) if expression is not None else None
    return found


def default_of(call: ast.Call, scope: Scope) -> Any:
    node, factory = keyword(call, "default"), keyword(call, "default_factory")
    if any(each.arg is None for each in call.keywords):
        return COMPUTED
    if node is not None:
        return value_of(node, scope)
    if factory is None:
        return MISSING
    if isinstance(factory, ast.Lambda):
        return value_of(factory.body, scope)
    return FACTORIES.get(".".join(dotted(factory)), COMPUTED)


def type_of(node: ast.expr, scope: Scope, default: object) -> tuple[str, str, tuple[Any, ...]]:
    """(type, number of words after the option, allowed values) that the parser derives from an annotation."""
    names = [each for each in alternatives(node) if not (isinstance(each, ast.Constant) and each.value is None)]
    if len(names) == 1:
        node = names[0]
    elif any(dotted(each) == ["str"] for each in names):
        return "", "1" if len(names) == 2 else "", ()
    name = dotted(node)[-1:]
    if isinstance(node, ast.Subscript):
        outer = dotted(node.value)[-1:]
        if outer in (["List"], ["list"]):
            inner = dotted(node.slice)[-1:]
            return (f"list:{inner[0]}" if inner and inner[0] in SIMPLE else "list"), "+", ()
        if outer == ["Literal"]:
            values = value_of(node.slice, scope)
            return "choice", "1", () if values is COMPUTED else values if isinstance(values, tuple) else (values,)
        return "", "1", ()
    if name == ["bool"]:
        return "bool", "1" if default is None else "?", ()
    return (name[0] if name and name[0] in SIMPLE else ""), "1", ()
