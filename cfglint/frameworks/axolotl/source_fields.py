"""The fields of axolotl's configuration models as the source of a release has them.

The top level is `AxolotlInputConfig` (utils/schemas/config.py), whose fields come from its base classes; each bundled
plugin adds the fields of its own `args.py`. `x-reads` is the annotation itself in lists, from which `check` knows what pydantic makes of
a value; `tools/schema_axolotl.py` makes JSON Schema keywords of it.
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason, Unknown
from cfglint.source.annotations import Any, ConfigTable, ConfigValue, Operand
from cfglint.source.dataclass_fields import annotated
from cfglint.source.python.package import Module, SourceError, Tree, finder
from cfglint.source.record import Record

Raw = dict[str, Any]
Fact = tuple[Any, ...]
Sections = dict[str, dict[str, Fact]]

MODULE = "utils/schemas/config.py"
OLD_MODULE = "utils/config/models/input/v0_4_1/__init__.py"  # up to 0.7.0
CLASS = "AxolotlInputConfig"
PLUGINS = "integrations"
SIMPLE = ("int", "float", "bool", "str", "dict", "list", "tuple", "None", "Any")
STRICT = {"StrictStr": "str", "StrictBool": "bool", "StrictInt": "int"}
BOUNDED = {
    "PositiveInt": ("int", {"exclusiveMinimum": 0}),
    "NonNegativeInt": ("int", {"minimum": 0}),
    "PositiveFloat": ("float", {"exclusiveMinimum": 0}),
}
# Enums of other packages with their values; those of transformers differ by its release, so rules take them from its own tables.
OUTSIDE = {"Resampling": (0, 1, 2, 3, 4, 5), "OptimizerNames": (), "SchedulerType": ()}
LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf"}
LENGTHS = {"min_length": "minItems", "max_length": "maxItems"}
IGNORED = frozenset(
    "default default_factory description json_schema_extra alias validation_alias allow_inf_nan strict title deprecated".split()
)
# Defaults that the source computes.
COMPUTED = {
    "mixlora_num_experts": 8,
    "mixlora_top_k": 2,
    "mixlora_router_aux_loss_coef": 0.01,
    "mixlora_router_init_range": 0.02,
    "mixlora_jitter_noise": 0.0,
}
REQUIRED = object()
PLUGIN = "plugin "  # sections of the fields that a plugin adds
UNREAD = Reason("release", "the source of the package")


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


class SourceReading(Record):
    """Reads models; `models` are those that fields refer to, each once."""

    tree: Tree
    models: dict[str, dict[str, Raw]] = {}

    def fields(self, module: Module, definition: ast.ClassDef) -> dict[str, Raw]:
        """The fields of a model with those that it inherits; a class overrides its bases, an earlier base the later ones."""
        found: dict[str, Raw] = {}
        for base in reversed(definition.bases):
            if isinstance(base, ast.Name):
                owner = module.definition_of(base)
                if owner is not None and isinstance(owner[1], ast.ClassDef):
                    found.update(self.fields(owner[0], owner[1]))
        for attribute, statement in annotated(definition):
            if not ast.unparse(statement.annotation).startswith("ClassVar") and attribute != "model_config":
                name, raw = self.field(module, statement, attribute)
                found[name] = raw
        return found

    def field(self, module: Module, statement: ast.AnnAssign, name: str) -> tuple[str, Raw]:
        """(the key in a file, what the source says of it); in a lenient reading an annotation without a rule takes anything."""
        limits: Raw = {}
        try:
            reads = self.reads(module, statement.annotation, limits)
        except SourceError:
            if not self.tree.lenient:
                raise
            reads = "Any"
        options = self.options(module, statement.value, limits)
        default = COMPUTED.get(name, options.pop("default"))
        within = limits.pop("default", default)
        default = within if default is REQUIRED else default
        raw: Raw = {**limits, "x-reads": reads}
        if default is not REQUIRED:
            raw["default"] = default
        else:
            raw["x-required"] = True
        names = options.get("names", [name])
        if names != [name]:
            raw["x-names"] = names
        return names[0], raw

    def options(self, module: Module, value: ast.expr | None, limits: Raw) -> Raw:
        """`default`, and `names` where the file uses others, of the right side of a field; limits go into `limits`."""
        if value is None:
            return {"default": REQUIRED}
        if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "Field"):
            return {"default": self.constant(module, value)}
        found: Raw = {"default": REQUIRED}
        if value.args and not (isinstance(value.args[0], ast.Constant) and value.args[0].value is ...):
            found["default"] = self.constant(module, value.args[0])
        for keyword in value.keywords:
            if keyword.arg == "default":
                found["default"] = self.constant(module, keyword.value)
            elif keyword.arg == "default_factory":
                found["default"] = self.made(module, keyword.value)
            elif keyword.arg == "alias":
                found["names"] = [module.constant(keyword.value)]
            elif keyword.arg == "validation_alias" and isinstance(keyword.value, ast.Call):
                found["names"] = [module.constant(node) for node in keyword.value.args]
            elif keyword.arg in LIMITS or keyword.arg in LENGTHS:
                limits[{**LIMITS, **LENGTHS}[keyword.arg]] = module.constant(keyword.value)
            elif keyword.arg not in IGNORED and not self.tree.lenient:
                raise module.refuse(value, f"Field option without a rule ({keyword.arg})")
        return found

    def constant(self, module: Module, node: ast.expr) -> Operand:
        """A default; one that the source computes stands in COMPUTED, so any value will do here."""
        try:
            if not isinstance(node, ast.Attribute):
                return module.constant(node)
            # a member of an Enum, of this package or not: those of transformers have the values of their names in lower case
            owner = node.value if node.attr == "value" and isinstance(node.value, ast.Attribute) else node
            if isinstance(owner.value, ast.Name) and owner.value.id in OUTSIDE:
                return owner.attr.lower()
            try:
                return module.constant(owner)
            except SourceError:  # a type of torch, which files write by this name
                return owner.attr
        except SourceError:
            if isinstance(node, (ast.Name, ast.Call)):
                return None
            if self.tree.lenient:
                return Unknown(UNREAD)
            raise

    def made(self, module: Module, factory: ast.expr) -> Operand:
        if isinstance(factory, ast.Name):
            return [] if factory.id == "list" else {}
        if isinstance(factory, ast.Lambda) and isinstance(factory.body, ast.Call):
            return {}  # a model with its own defaults
        if isinstance(factory, ast.Lambda):
            return self.constant(module, factory.body)
        if self.tree.lenient:
            return Unknown(UNREAD)
        raise module.refuse(factory, "a default factory without a rule")

    def reads(self, module: Module, node: ast.expr, limits: Raw) -> Operand:
        """An annotation as nested lists: `["|", "int", "None"]`, `["list", "str"]`, `["literal", "a", "b"]`, `["model", NAME]`."""
        if isinstance(node, ast.Constant):
            return "None" if node.value is None else self.reads(module, ast.parse(str(node.value), mode="eval").body, limits)
        if isinstance(node, ast.BinOp):
            return union([self.reads(module, node.left, limits), self.reads(module, node.right, limits)])
        if isinstance(node, ast.Name):
            return self.named(module, node, limits)
        if isinstance(node, ast.Subscript):
            return self.subscript(module, node, limits)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "conlist":  # up to 0.6.0
            limits.update({LENGTHS[keyword.arg]: module.constant(keyword.value) for keyword in node.keywords if keyword.arg in LENGTHS})
            return ["list", self.reads(module, node.args[0], {})]
        raise module.refuse(node, "an annotation without a rule")

    def named(self, module: Module, node: ast.Name, limits: Raw) -> Operand:
        if node.id in SIMPLE:
            return node.id
        if node.id in STRICT:
            return ["strict", STRICT[node.id]]
        if node.id in BOUNDED:
            return ["bounded", *BOUNDED[node.id]]
        if node.id in OUTSIDE:
            return ["enum", node.id, *OUTSIDE[node.id]]
        found = module.find(node.id)
        if found is None:
            raise module.refuse(node, "a type without a rule")
        owner, definition = found
        if isinstance(definition, ast.ClassDef):
            if "Enum" in owner.bases(definition):
                return ["enum", node.id, *owner.enum_values(definition)]
            if node.id not in self.models:
                self.models[node.id] = {}
                self.models[node.id] = self.fields(owner, definition)
                if any("forbid" in ast.unparse(each) for each in definition.body if isinstance(each, ast.Assign)):
                    self.models[node.id]["*"] = {"x-section-policy": "reject"}
            return ["model", node.id]
        if isinstance(definition, ast.expr):
            return self.reads(owner, definition, limits)
        raise module.refuse(node, "a type without a rule")

    def subscript(self, module: Module, node: ast.Subscript, limits: Raw) -> Operand:
        name = ast.unparse(node.value).rsplit(".", 1)[-1].lower()
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "literal":
            return ["literal", *module.literal_values(node)]
        if name == "optional":
            return union([self.reads(module, parts[0], limits), "None"])
        if name == "union":
            return union([self.reads(module, part, limits) for part in parts])
        if name == "annotated":
            return self.annotated(module, parts, limits)
        if name in ("list", "dict", "tuple"):
            return [name, *(self.reads(module, part, {}) for part in parts)]
        raise module.refuse(node, "an annotation without a rule")

    def annotated(self, module: Module, parts: list[ast.expr], limits: Raw) -> Operand:
        """`Annotated[T, MinLen(1)]`, `Annotated[str, StringConstraints(pattern=...)]`."""
        reads = self.reads(module, parts[0], limits)
        for part in parts[1:]:
            called = ast.unparse(part.func) if isinstance(part, ast.Call) else ""
            if isinstance(part, ast.Call) and called == "MinLen":
                limits["minItems"] = module.constant(part.args[0])
            elif isinstance(part, ast.Call) and called == "StringConstraints":
                pattern = [module.constant(keyword.value) for keyword in part.keywords if keyword.arg == "pattern"]
                reads = ["pattern", *pattern] if pattern else reads
            elif isinstance(part, ast.Call) and called == "Field":
                within: Raw = {}
                option = self.options(module, part, within)["default"]
                if option is not REQUIRED:
                    within["default"] = option
                if "default" in within:
                    limits["default"] = within.pop("default")
                if within and isinstance(reads, str):
                    reads = ["bounded", reads, within]
        return reads


def union(parts: list[ConfigValue]) -> Operand:
    flat: list[ConfigValue] = ["|"]
    for part in parts:
        for each in part[1:] if isinstance(part, list) and part and part[0] == "|" else [part]:
            if each not in flat:
                flat.append(each)
    return flat if len(flat) > 2 else flat[1]


def sections(tree: Tree) -> tuple[Sections, dict[str, dict[str, str]], list[str]]:
    """(section -> field -> fact, model -> further name -> name, the models that refuse other keys)."""
    reading = SourceReading(tree)
    source = tree.file(MODULE if (tree.root / MODULE).exists() else OLD_MODULE)
    own = reading.fields(source, source.class_named(CLASS))
    found: Sections = {"": {name: fact(raw) for name, raw in own.items()}}
    for plugin, (owner, arguments) in plugins(tree).items():
        added = {name: fact(raw) for name, raw in reading.fields(owner, arguments).items() if name not in own}
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
    limits = tuple((name, raw[name]) for name in (*LIMITS.values(), *LENGTHS.values()) if name in raw)
    more = (limits, True) if raw.get("x-required") else (limits,) if limits else ()
    return (tupled(raw["x-reads"]), raw.get("default"), *more)


def tupled(reads: object) -> Any:
    return tuple(tupled(part) for part in reads) if isinstance(reads, list) else reads
