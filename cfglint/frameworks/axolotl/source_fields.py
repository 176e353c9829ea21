"""The fields of axolotl's configuration models as the source of a release has them.

The top level is `AxolotlInputConfig` (utils/schemas/config.py), whose fields come from its base classes; each bundled
plugin adds the fields of its own `args.py`. `x-reads` is the annotation itself in lists, from which `check` knows what pydantic makes of
a value; `tools/schema_axolotl.py` makes JSON Schema keywords of it.
"""

from __future__ import annotations

import ast

from cfglint.source.annotations import Any, ConfigTable, Operand
from cfglint.source.python.class_fields import (
    LIMITS,
    REQUIRED,
    TYPES,
    ClassField,
    ClassReading,
    alternatives,
    arguments,
    options_of,
    tupled,
)
from cfglint.source.python.package import Module, SourceError, Tree, finder

Raw = dict[str, Any]
Fact = tuple[Any, ...]
Sections = dict[str, dict[str, Fact]]

MODULE = "utils/schemas/config.py"
OLD_MODULE = "utils/config/models/input/v0_4_1/__init__.py"  # up to 0.7.0
CLASS = "AxolotlInputConfig"
PLUGINS = "integrations"
# Enums of other packages with their values; those of transformers differ by its release, so rules take them from its own tables.
OUTSIDE = {"Resampling": (0, 1, 2, 3, 4, 5), "OptimizerNames": (), "SchedulerType": ()}
FORMS: dict[str, Operand] = {
    **TYPES,
    **{f"Strict{name.title()}": ["strict", name] for name in ("str", "bool", "int")},
    "PositiveInt": ["bounded", "int", {"exclusiveMinimum": 0}],
    "NonNegativeInt": ["bounded", "int", {"minimum": 0}],
    "PositiveFloat": ["bounded", "float", {"exclusiveMinimum": 0}],
    **{name: ["enum", name, *values] for name, values in OUTSIDE.items()},
}
BOUNDS = {**LIMITS, "min_length": "minItems", "max_length": "maxItems"}
IGNORED = frozenset(
    "default default_factory description json_schema_extra alias validation_alias allow_inf_nan strict title deprecated".split()
)
# Defaults that the source computes.
COMPUTED: Raw = {
    "dataset_processes": None,
    "mixlora_num_experts": 8,
    "mixlora_top_k": 2,
    "mixlora_router_aux_loss_coef": 0.01,
    "mixlora_router_init_range": 0.02,
    "mixlora_jitter_noise": 0.0,
}
PLUGIN = "plugin "  # sections of the fields that a plugin adds


find = finder("axolotl", "axolotl", MODULE, OLD_MODULE)


def plugins(tree: Tree) -> dict[str, tuple[Module, ast.ClassDef]]:
    """Plugin folder -> the class that it adds to the configuration, as its `get_input_args` names it."""
    found: dict[str, tuple[Module, ast.ClassDef]] = {}
    for folder in sorted((tree.root / PLUGINS).iterdir()):
        for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
            module = tree.module(".".join([tree.package, PLUGINS, folder.name, *([path.stem] if path.stem != "__init__" else [])]))
            functions = [node for node in ast.walk(module.syntax) if isinstance(node, ast.FunctionDef)] if module is not None else []
            ends = [node.body[-1] for node in functions if node.name == "get_input_args"]
            values = [end.value.value for end in ends if isinstance(end, ast.Return) and isinstance(end.value, ast.Constant)]
            named = next((value.rsplit(".", 1)[-1] for value in values if isinstance(value, str)), "")
            arguments = tree.module(f"{tree.package}.{PLUGINS}.{folder.name}.args")
            definition = arguments.definitions.get(named) if named and arguments else None
            if arguments is not None and isinstance(definition, ast.ClassDef):
                found[folder.name] = (arguments, definition)
    return found


class SourceReading(ClassReading):
    """Reads models; `models` are those that fields refer to, each once."""

    types = FORMS
    models: dict[str, dict[str, Raw]] = {}

    def keys(self, module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
        """The keys that a file has for a model, and what the source says of each."""
        return dict(self.key(field) for field in self.fields(module, definition).values())

    def key(self, field: ClassField) -> tuple[str, Raw]:
        module, limits = field.module, self.limits(field.module, field.options)
        default = COMPUTED[field.name] if field.name in COMPUTED else self.default(field)
        for call in (each for part in alternatives(field.annotation) for each in further(part)):
            options = options_of(call)
            if "default" in options and default is REQUIRED and called(call) == "Field":
                default = self.constant(module, options["default"])
            elif called(call) == "MinLen":
                limits["minItems"] = module.constant(call.args[0])
            elif called(call) == "conlist":
                limits |= {BOUNDS[each.arg]: module.constant(each.value) for each in call.keywords if each.arg in BOUNDS}
        raw: Raw = {**limits, "x-reads": self.reads(field), **({"x-required": True} if default is REQUIRED else {"default": default})}
        names, aliases = [field.name], field.options.get("validation_alias")
        if "alias" in field.options:
            names = [field.constant("alias")]
        elif isinstance(aliases, ast.Call):
            names = [module.constant(node) for node in aliases.args]
        return names[0], {**raw, "x-names": names} if names != [field.name] else raw

    def limits(self, module: Module, options: dict[str, ast.expr]) -> Raw:
        unknown = options.keys() - BOUNDS.keys() - IGNORED
        if unknown and not self.tree.lenient:
            raise module.refuse(options[min(unknown)], f"Field option without a rule ({min(unknown)})")
        return {BOUNDS[name]: module.constant(value) for name, value in options.items() if name in BOUNDS}

    def computed(self, module: Module, node: ast.expr, refusal: SourceError) -> Operand:
        """A member of an Enum of transformers is its name in lower case, a type of torch its name; a model has its own defaults."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.attr == "value":
            return self.constant(module, node.value)
        if isinstance(node, ast.Attribute):
            return node.attr.lower() if ast.unparse(node.value) in OUTSIDE else node.attr
        if isinstance(node, ast.Name):
            return None
        if isinstance(node, ast.Call) and module.definition_of(node.func) is not None:
            return {}
        return super().computed(module, node, refusal)

    def model(self, module: Module, definition: ast.ClassDef) -> Operand:
        name = definition.name
        if name not in self.models:
            self.models[name] = {}
            self.models[name] = self.keys(module, definition)
            if any("forbid" in ast.unparse(each) for each in definition.body if isinstance(each, ast.Assign)):
                self.models[name]["*"] = {"x-section-policy": "reject"}
        return ["model", name]

    def other(self, module: Module, node: ast.expr) -> Operand:
        calls = further(node)
        if calls == [node]:
            return ["list", self.form(module, calls[0].args[0])] if called(calls[0]) == "conlist" else super().other(module, node)
        if not isinstance(node, ast.Subscript) or not calls:
            return super().other(module, node)
        form = self.form(module, arguments(node)[0])
        for call in calls:
            options = {each.arg: each.value for each in call.keywords if each.arg is not None}
            if called(call) == "StringConstraints" and "pattern" in options:
                form = ["pattern", module.constant(options["pattern"])]
            elif called(call) == "Field" and isinstance(form, str) and (within := self.limits(module, options)):
                form = ["bounded", form, within]
        return form


def further(annotation: ast.expr) -> list[ast.Call]:
    """What says more of a type: in `Annotated[int, Field(ge=1)]` the calls behind it, and up to 0.6.0 `conlist(int, min_length=1)`."""
    parts = [annotation]
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        parts = arguments(annotation)[1:]
    return [each for each in parts if isinstance(each, ast.Call)]


def called(call: ast.Call) -> str:
    return ast.unparse(call.func)


def sections(tree: Tree) -> tuple[Sections, dict[str, dict[str, str]], list[str]]:
    """(section -> field -> fact, model -> further name -> name, the models that refuse other keys)."""
    reading = SourceReading(tree)
    source = tree.file(MODULE if (tree.root / MODULE).exists() else OLD_MODULE)
    own = reading.keys(source, source.class_named(CLASS))
    found: Sections = {"": {name: fact(raw) for name, raw in own.items()}}
    for plugin, (owner, definition) in plugins(tree).items():
        added = {name: fact(raw) for name, raw in reading.keys(owner, definition).items() if name not in own}
        if added:
            found[PLUGIN + plugin] = added
    closed = [name for name, fields in reading.models.items() if fields.pop("*", None) is not None]
    names: dict[str, dict[str, str]] = {}
    for model, fields in reading.models.items():
        found[model] = {name: fact(raw) for name, raw in fields.items()}
        further = {other: name for name, raw in fields.items() for other in raw.get("x-names", [])[1:]}
        if further:
            names[model] = further
    return found, names, closed


def fact(raw: ConfigTable) -> Fact:
    limits = tuple((name, raw[name]) for name in BOUNDS.values() if name in raw)
    more = (limits, True) if raw.get("x-required") else (limits,) if limits else ()
    return (tupled(raw["x-reads"]), raw.get("default"), *more)
