"""The fields of DeepSpeed's pydantic models as the source of a release has them.

All other keys are looked up in the configuration one by one: a check takes these from the nearest modelled release.
"""

from __future__ import annotations

import ast
from pathlib import Path

from cfglint.frameworks.deepspeed._tables import MODELS
from cfglint.source.annotations import Any, Callable, ConfigTable, Iterator, Operand
from cfglint.source.python.class_fields import LIMITS, REQUIRED, TYPES, ClassField, ClassReading, members_of
from cfglint.source.python.package import Module, SourceError, Tree, pairs
from cfglint.source.record import Record

MODEL_FILE = "runtime/config_utils.py"
CONFIG_FILE = "runtime/config.py"
CONFIG = "DeepSpeedConfig"
MODEL = "DeepSpeedConfigModel"
BASES = {MODEL, "BaseModel"}  # pydantic's own class is the base of `comms_logger` before 0.15.0
FIELD_OPTIONS = {"alias", "default", "default_factory", "description", "exclude", "json_schema_extra", *LIMITS}
DEPRECATION = {"deprecated", "new_param", "new_param_fn", "set_new_param"}  # in `json_schema_extra`, before pydantic 2 in `Field()` itself
FORMS: dict[str, Operand] = {
    **TYPES,
    "tuple": "list",
    **dict.fromkeys(("Dict", "Dict[str, Any]"), "dict"),
    "Path": "Path",
    "object": "Any",
    "torch.dtype": "torch.dtype",
    **{title: ["model", title] for title, _ in MODELS.values()},
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
    classes, reading = dict(model_classes(tree)), ModelReading.of(tree)
    return {section: dict(facts(reading, *classes[title])) for section, (title, _) in MODELS.items() if title in classes}


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


def facts(reading: ModelReading, module: Module, definition: ast.ClassDef) -> Iterator[tuple[str, tuple[Any, ...]]]:
    sections = {title: section for section, (title, _) in MODELS.items()}
    for name, each in reading.fields(module, definition).items():
        field = reading.read(each)
        alias = str(each.module.constant(field.options["alias"])) if "alias" in field.options else ""
        models = [form[1] for form in members_of(field.reads) if form[0] == "model"]
        if models and models[0] in sections:
            form, is_optional = ("model", sections[models[0]]), "None" in field.reads
            yield name, (("|", form, "None"), None, alias) if is_optional else (form, {}, alias)
        else:
            yield name, ("Any" if models else tupled(field.reads), tupled(field.default), alias)


def has_pydantic_2(tree: Tree) -> bool:
    """Whether the models of a release are those of pydantic 2; before 0.15.0 they have an inner class `Config`."""
    return not any(isinstance(each, ast.ClassDef) and each.name == "Config" for each in tree.file(MODEL_FILE).class_named(MODEL).body)


class ModelReading(ClassReading):
    types = FORMS
    outside = BASES

    @classmethod
    def of(cls, tree: Tree) -> ModelReading:
        return cls(tree, is_untyped=not has_pydantic_2(tree))  # which pydantic 1 allows

    def read(self, field: ClassField) -> SourceField:
        module, options = field.module, {**field.options}
        unknown = sorted(options.keys() - FIELD_OPTIONS - DEPRECATION)
        if unknown and not self.tree.lenient:
            raise module.refuse(options[unknown[0]], f"Field options without a rule ({', '.join(unknown)})")
        extra = options.get("json_schema_extra")
        if isinstance(extra, ast.Dict):
            options.update({str(module.constant(key)): node for key, node in pairs(extra)})
        elif extra is not None:
            raise module.refuse(extra, "not a dict")
        bounds = {keyword: module.constant(options[option]) for option, keyword in LIMITS.items() if option in options}
        default, reads = self.default(field), self.reads(field)
        if self.is_untyped and "default" in options and ast.unparse(options["default"]) == "None" and reads[0] != "|":
            reads = ["|", reads, "None"]  # to pydantic 1 a default of null makes a field optional
        return SourceField(options, bounds, None if default is REQUIRED else default, ["bounded", reads, bounds] if bounds else reads)

    def computed(self, module: Module, node: ast.expr, refusal: SourceError) -> Operand:
        made = node.func if isinstance(node, ast.Call) else node
        if module.definition_of(made) is not None or ast.unparse(made).startswith("torch."):
            return None
        raise refusal

    def form(self, module: Module, node: ast.expr) -> Operand:
        form = super().form(module, node)
        return ["enum", *form[2:]] if form[0] == "enum" else form  # without the name of the class


def tupled(value: object) -> Any:
    """Nested lists as tuples, the bounds of a value as pairs: constants, which take no time to build."""
    if isinstance(value, dict):
        made = {key: tupled(each) for key, each in value.items()}
        return tuple(made.items()) if made and set(made) <= set(LIMITS.values()) else made
    return tuple(tupled(part) for part in value) if isinstance(value, (list, tuple)) else value
