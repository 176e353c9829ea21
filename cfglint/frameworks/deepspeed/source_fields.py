"""The fields of DeepSpeed's pydantic models as the source of a release has them.

All other keys are looked up in the configuration one by one: a check takes these from the nearest modelled release.
"""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.frameworks.deepspeed._tables import MODELS
from cfglint.source.annotations import Any, Callable, ConfigTable, Iterator, Operand
from cfglint.source.python.package import Module, SourceError, Tree, pairs
from cfglint.source.record import Record

Raw = dict[str, Any]
MODEL_FILE = "runtime/config_utils.py"
CONFIG_FILE = "runtime/config.py"
CONFIG = "DeepSpeedConfig"
MODEL = "DeepSpeedConfigModel"
BASES = {MODEL, "BaseModel"}  # pydantic's own class is the base of `comms_logger` before 0.15.0
FIELD_OPTIONS = {"alias", "default", "default_factory", "description", "exclude", "ge", "gt", "json_schema_extra", "le", "lt"}
DEPRECATION = {"deprecated", "new_param", "new_param_fn", "set_new_param"}  # in `json_schema_extra`, before pydantic 2 in `Field()` itself
BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
READS: Raw = {  # annotations, as `x-reads` has them
    **{name: name for name in ("bool", "int", "float", "str", "Path", "list")},
    "tuple": "list",
    "List[str]": ["list", "str"],
    **dict.fromkeys(("dict", "Dict", "Dict[str, Any]"), "dict"),
    "Union[str, int]": ["|", "str", "int"],
    "object": "Any",
    "torch.dtype": "torch.dtype",
}


class SourceField(Record):
    """A field: the options of its `Field()`, the limits among them, its default, and how its value is read.

    The reading is a name, or a list that begins with `|`, `list`, `literal`, `enum`, `bounded` or `model`.
    """

    options: dict[str, ast.expr]
    bounds: ConfigTable
    default: Operand
    reads: Operand


def learned(path: Path, opens: Callable[[str], bool]) -> dict[str, dict[str, tuple[Any, ...]]]:
    tree = Tree(next((each for each in (path / "deepspeed", path) if (each / MODEL_FILE).exists()), path), lenient=True, opens=opens)
    classes = dict(model_classes(tree))
    return {section: dict(facts(*classes[title])) for section, (title, _) in MODELS.items() if title in classes}


def model_classes(tree: Tree) -> Iterator[tuple[str, tuple[Module, ast.ClassDef]]]:
    """(name, its place) of the classes that the configuration is made of: those that `DeepSpeedConfig` names, directly or through others.

    What makes them has "config" in its name; a model that only inference uses is not among them.
    """
    start = tree.file(CONFIG_FILE).definitions.get(CONFIG)
    waiting = [(tree.file(CONFIG_FILE), start)] if start is not None else []
    seen = {CONFIG}
    while waiting:
        module, definition = waiting.pop()
        if isinstance(definition, ast.ClassDef):
            yield definition.name, (module, definition)
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and "config" in node.id.lower() and node.id not in seen:
                seen.add(node.id)
                found = module.definition_of(node)
                waiting += [found] if found is not None else []


def facts(module: Module, definition: ast.ClassDef) -> Iterator[tuple[str, tuple[Any, ...]]]:
    sections = {title: section for section, (title, _) in MODELS.items()}
    for name, (home, statement) in model_fields(module, definition).items():
        inner, optional = without_none(statement.annotation)
        section = sections.get(ast.unparse(inner))
        field = read_field(home, statement)
        alias = str(home.constant(field.options["alias"])) if "alias" in field.options else ""
        if section:
            yield name, (("|", ("model", section), "None"), None, alias) if optional else (("model", section), {}, alias)
        else:
            yield name, (tupled(field.reads), tupled(field.default), alias)


def own_models(module: Module, definition: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
    for base in definition.bases:
        found = module.definition_of(base)
        if found is not None and isinstance(found[1], ast.ClassDef) and found[1].name != MODEL and MODEL in found[0].bases(found[1]):
            yield from own_models(found[0], found[1])
    yield module, definition


def model_fields(module: Module, definition: ast.ClassDef) -> dict[str, tuple[Module, ast.AnnAssign]]:
    fields: dict[str, tuple[Module, ast.AnnAssign]] = {}
    for home, node in own_models(module, definition):
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                fields[statement.target.id] = home, statement
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and not has_pydantic_2(home.tree):
                fields[statement.targets[0].id] = home, annotated(home, statement, statement.targets[0])
    return fields


def annotated(module: Module, statement: ast.Assign, target: ast.Name) -> ast.AnnAssign:
    """A field without an annotation, which pydantic 1 allows, with the type of its default."""
    kind = type(module.constant(statement.value)).__name__
    return ast.copy_location(ast.AnnAssign(target, ast.Name(kind), statement.value, 1), statement)


def has_pydantic_2(tree: Tree) -> bool:
    """Whether the models of a release are those of pydantic 2; before 0.15.0 they have an inner class `Config`."""
    definition = tree.file(MODEL_FILE).definitions.get(MODEL)
    if definition is None:
        raise SourceError(f"{tree.root / MODEL_FILE}: class {MODEL} is missing")
    return not any(isinstance(statement, ast.ClassDef) and statement.name == "Config" for statement in definition.body)


def without_none(annotation: ast.expr) -> tuple[ast.expr, bool]:
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Optional":
        return annotation.slice, True
    return annotation, False


def read_field(module: Module, statement: ast.AnnAssign) -> SourceField:
    options: dict[str, ast.expr] = {}
    value = statement.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Field":
        options = {str(keyword.arg): keyword.value for keyword in value.keywords}
        unknown = set(options) - FIELD_OPTIONS - DEPRECATION
        if unknown and not module.tree.lenient:
            raise module.refuse(value, f"Field options without a rule ({', '.join(sorted(unknown))})")
        value = value.args[0] if value.args else options.get("default", options.get("default_factory"))
    extra = options.get("json_schema_extra")
    if isinstance(extra, ast.Dict):
        options.update({str(module.constant(key)): node for key, node in pairs(extra)})
    elif extra is not None:
        raise module.refuse(extra, "not a dict")
    bounds = {keyword: module.constant(options[option]) for option, keyword in BOUNDS.items() if option in options}
    reads = readable(module, statement.annotation)
    if isinstance(value, ast.Constant) and value.value is None and reads[0] != "|" and not has_pydantic_2(module.tree):
        reads = ["|", reads, "None"]  # to pydantic 1 a default of null makes a field optional
    default = default_of(module, value) if value is not None else None
    return SourceField(options, bounds, default, ["bounded", reads, bounds] if bounds else reads)


def default_of(module: Module, value: ast.expr) -> Operand:
    if isinstance(value, ast.Lambda):
        value = value.body
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "list":
        value = value.args[0]
    if module.definition_of(value) is not None or ast.unparse(value).startswith("torch."):
        return None
    return module.constant(value)


def readable(module: Module, annotation: ast.expr) -> Operand:
    try:
        return reads_of(module, annotation)
    except SourceError:
        if module.tree.lenient:
            return "Any"
        raise


def reads_of(module: Module, annotation: ast.expr) -> Operand:
    inner, optional = without_none(annotation)
    if optional:
        return ["|", reads_of(module, inner), "None"]
    text = ast.unparse(inner)
    if text in READS:
        return READS[text]
    if isinstance(inner, ast.Subscript) and ast.unparse(inner.value) == "Literal":
        return ["literal", *module.literal_values(inner)]
    if isinstance(inner, ast.Subscript):
        return ["list", ["literal", *literal_named(module, inner.slice)]]
    definition = module.definition_of(inner)
    if definition is None or not isinstance(definition[1], ast.ClassDef):
        raise module.refuse(inner, "an annotation without a rule")
    return "Any" if MODEL in definition[0].bases(definition[1]) else ["enum", *definition[0].enum_values(definition[1])]


def literal_named(module: Module, node: ast.expr) -> list[Operand]:
    found = module.find(node.id) if isinstance(node, ast.Name) else None
    if found is None or not isinstance(found[1], ast.Subscript):
        raise module.refuse(node, "an annotation without a rule")
    return found[0].literal_values(found[1])


def tupled(value: object) -> Any:
    """Nested lists as tuples, the bounds of a value as pairs: constants, which take no time to build."""
    if isinstance(value, dict):
        made = {key: tupled(each) for key, each in value.items()}
        return tuple(made.items()) if made and set(made) <= set(BOUNDS.values()) else made
    return tuple(tupled(part) for part in value) if isinstance(value, (list, tuple)) else value
