"""The fields of a package's configuration classes, dataclasses and pydantic models, as its sources have them.

A kind says where its classes lie, and what they have of their own (`ClassReading`). What inheritance, `field(...)`, `Field(...)`, defaults
and annotations mean is the same for all.
"""

from __future__ import annotations

import ast
from contextlib import suppress

from cfglint.evaluate import Reason, Unknown
from cfglint.source.annotations import Any, Collection, Mapping, Operand
from cfglint.source.python.package import Module, SourceError, Tree, pairs
from cfglint.source.record import Record

REQUIRED: Any = object()  # in the place of a default
UNREAD = Reason("release", "the source of the package")  # why a default is unknown
MAKERS = ("field", "Field")
LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf"}
TYPES: dict[str, Operand] = {name: name for name in ("int", "float", "bool", "str", "dict", "list", "tuple", "None", "Any")}
CONTAINERS = ("list", "dict", "tuple")


class ClassField(Record):
    """A field with the module that defines it, and the options of its `field(...)` or `Field(...)`, its default among them."""

    module: Module
    name: str
    annotation: ast.expr
    options: dict[str, ast.expr]

    def constant(self, option: str) -> Operand:
        return self.module.constant(self.options[option])

    @property
    def choices(self) -> list[Operand] | None:
        """The values that the metadata of a dataclass field lists for the command line."""
        metadata = self.options.get("metadata")
        for key, value in pairs(metadata) if isinstance(metadata, ast.Dict) else ():
            if isinstance(key, ast.Constant) and key.value == "choices":
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "keys":
                    return self.module.keys_of(value.func.value)
                found: list[Operand] = self.module.constant(value)
                return found
        return None


class ClassReading(Record):
    """How the classes of a package are read: `types` are annotations that stand for others, or for types of other packages, `outside`
    the base classes of other packages.
    """

    tree: Tree
    types: Mapping[str, Operand] = TYPES
    outside: Collection[str] = ("BaseModel",)
    is_untyped: bool = False  # whether a field needs no annotation: its type is that of its default

    def fields(self, module: Module, definition: ast.ClassDef) -> dict[str, ClassField]:
        """The fields of a class with those that it inherits, in the order of Python."""
        return {name: field for each in reversed(self.order(module, definition)) for name, field in self.own_fields(*each).items()}

    def order(self, module: Module, definition: ast.ClassDef) -> list[tuple[Module, ast.ClassDef]]:
        """The classes in which Python looks for an attribute, in their order: the class, and its bases within the package."""
        lists = []
        for base in definition.bases:
            name = ast.unparse(base)
            home, owner = (module.definition_of(base) if name not in self.outside else None) or (module, None)
            if isinstance(owner, ast.ClassDef):
                lists.append(self.order(home, owner))
            elif name not in self.outside and not self.tree.lenient:
                raise module.refuse(base, "a base class that is not in the package")
        lists.append([each[0] for each in lists])
        found = [(module, definition)]
        while any(lists):  # the first class that no other one is derived from
            later = {id(owner) for each in lists for _, owner in each[1:]}
            first = next((each[0] for each in lists if each and id(each[0][1]) not in later), None)
            if first is None:
                raise module.refuse(definition, "bases without an order")
            found.append(first)
            lists = [[item for item in each if item[1] is not found[-1][1]] for each in lists]
        return found

    def own_fields(self, module: Module, definition: ast.ClassDef) -> dict[str, ClassField]:
        found: dict[str, ClassField] = {}
        for statement in definition.body:
            if isinstance(statement, ast.AnnAssign):
                target: ast.expr = statement.target
                annotation = statement.annotation
            elif isinstance(statement, ast.Assign) and self.is_untyped:
                target, annotation = statement.targets[0], ast.Name(type(module.constant(statement.value)).__name__)
            else:
                continue
            options = options_of(statement.value)
            is_taken = "init" not in options or module.constant(options["init"]) is not False
            if isinstance(target, ast.Name) and is_taken and target.id != "model_config" and "ClassVar" not in ast.unparse(annotation):
                found[target.id] = ClassField(module, target.id, annotation, options)
        return found

    def default(self, field: ClassField) -> Operand:
        """The default of a field; `REQUIRED` without one."""
        node, factory = field.options.get("default"), field.options.get("default_factory")
        if node is None and factory is not None:
            node = factory.body if isinstance(factory, ast.Lambda) else ast.copy_location(ast.Call(factory, [], []), factory)
        return REQUIRED if node is None else self.constant(field.module, node)

    def constant(self, module: Module, node: ast.expr) -> Operand:
        try:
            return module.constant(node)
        except SourceError as refusal:
            return self.computed(module, node, refusal)

    def computed(self, module: Module, node: ast.expr, refusal: SourceError) -> Operand:
        """A default that the source computes: unknown in a lenient reading."""
        if self.tree.lenient:
            return Unknown(UNREAD)
        raise refusal

    def reads(self, field: ClassField) -> Operand:
        """The annotation of a field in lists; in a lenient reading one without a rule takes anything."""
        try:
            return self.form(field.module, field.annotation)
        except SourceError:
            if self.tree.lenient:
                return "Any"
            raise

    def form(self, module: Module, node: ast.expr) -> Operand:
        """An annotation in lists: `["|", "int", "None"]`, `["list", "str"]`, `["literal", "a", "b"]`, `["enum", NAME, "a", "b"]`,
        `["model", NAME]`.
        """
        text = ast.unparse(node)
        if text in self.types:
            return self.types[text]
        parts = alternatives(node)
        if len(parts) > 1:
            return union([self.form(module, part) for part in parts])
        if parts[0] is not node:
            return self.form(module, parts[0])
        if isinstance(node, ast.Subscript):
            outer = ast.unparse(node.value).rpartition(".")[2].lower()
            if outer == "literal":
                return ["literal", *module.literal_values(node)]
            if outer in CONTAINERS:
                return [outer, *(self.form(module, part) for part in arguments(node))]
        home, definition = (module.find(node.id) if isinstance(node, ast.Name) else module.definition_of(node)) or (module, None)
        if isinstance(definition, ast.ClassDef):
            is_enum = any(base.endswith("Enum") for base in home.bases(definition))
            return ["enum", definition.name, *home.enum_values(definition)] if is_enum else self.model(home, definition)
        return self.form(home, definition) if isinstance(definition, ast.expr) else self.other(module, node)

    def model(self, module: Module, definition: ast.ClassDef) -> Operand:
        """The form of a class of the package."""
        return ["model", definition.name]

    def other(self, module: Module, node: ast.expr) -> Operand:
        """The form of an annotation that is none of the usual ones."""
        raise module.refuse(node, "an annotation without a rule")


def options_of(value: ast.expr | None) -> dict[str, ast.expr]:
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in MAKERS:
        first = {"default": value.args[0]} if value.args and ast.unparse(value.args[0]) != "..." else {}
        return {**first, **{keyword.arg: keyword.value for keyword in value.keywords if keyword.arg is not None}}
    return {} if value is None else {"default": value}


def arguments(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def unquoted(annotation: ast.expr) -> ast.expr:
    """What an annotation in quotes stands for; the annotation itself if it has none, or if they hold no expression."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.parse(annotation.value, mode="eval").body
    return annotation


def alternatives(annotation: ast.expr) -> list[ast.expr]:
    """The members of `A | B`, `Optional[A]` and `Union[A, B]`, out of quotes where they stand in some."""
    annotation = unquoted(annotation)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*alternatives(annotation.left), *alternatives(annotation.right)]
    if isinstance(annotation, ast.Subscript):
        outer = ast.unparse(annotation.value).rpartition(".")[2]
        if outer == "Optional":
            return [*alternatives(annotation.slice), ast.Constant(None)]
        if outer == "Union":
            return [member for part in arguments(annotation) for member in alternatives(part)]
    return [annotation]


def union(parts: list[Operand]) -> Operand:
    members = [member for part in parts for member in members_of(part)]
    found = [member for index, member in enumerate(members) if member not in members[:index]]
    return ["|", *found] if len(found) > 1 else found[0]


def members_of(form: Operand) -> list[Operand]:
    """The members of a union, or the only one."""
    return list(form[1:]) if isinstance(form, list | tuple) and form[0] == "|" else [form]


def tupled(form: object) -> Any:
    """Nested lists as tuples: constants, which take no time to build."""
    return tuple(tupled(part) for part in form) if isinstance(form, list | tuple) else form
