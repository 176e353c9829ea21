"""Follow a configuration dict through Python code, and note every key that is looked up in it.

An abstract run: names are bound to what they may hold of the configuration, both sides of a condition are
taken, and calls within the package are entered. Where a part of the configuration goes to code that cannot
be entered, `SourceError` is raised, for a key might be looked up there.
"""

from __future__ import annotations

import ast
from typing import Any

from schema_source import Definition, Module, SourceError, Tree

Raw = dict[str, Any]
KeyPath = tuple[str, ...]

HARMLESS = {  # callees outside the package that look up no key
    "base64.urlsafe_b64decode",
    "copy.copy",
    "copy.deepcopy",
    "hjson.load",
    "hjson.loads",
    "json.dumps",
    "logger.info",
    "logger.warning",
    "open",
    "os.path.exists",
    "print",
    "super",
}
SAME_VALUE = {"copy.copy", "copy.deepcopy", "bool", "int", "str", "float", "list", "dict"}
BUILTINS = {
    *("all", "any", "bool", "dict", "float", "int", "isinstance", "len", "list"),
    *("map", "max", "min", "repr", "set", "sorted", "str", "type"),
}
NO_LOOK_UP = {"copy", "decode", "format", "isdigit", "keys", "lower", "strip", "update", "upper", "values"}  # methods of a value or mapping
JSON_TYPE: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}


class Section:
    """The configuration, or what stands in it under a path of keys."""

    def __init__(self, path: KeyPath) -> None:
        self.path = path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Section) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)


class Constant:
    """A value that the source states."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Instance:
    """An object of a class of the package; holds what its attributes are bound to."""

    def __init__(self, module: Module, definition: ast.ClassDef) -> None:
        self.module = module
        self.definition = definition
        self.attributes: dict[str, list[Any]] = {}


Values = list[Any]  # the sections, constants and instances that an expression can be


class Following:
    """Follows the configuration dict through the code and notes the keys that are looked up in it.

    `skipped` are functions whose look-ups make no keys. A subclass says what classes are models, whose
    fields are keys, and notes them.
    """

    def __init__(self, tree: Tree, skipped: set[str]) -> None:
        self.tree = tree
        self.skipped = skipped
        self.keys: dict[KeyPath, Raw] = {}
        self.models: set[KeyPath] = set()
        self._active: list[tuple[str, tuple[KeyPath, ...]]] = []

    def nested(self) -> dict[str, Raw]:
        """The noted keys as nested properties."""
        top: dict[str, Raw] = {}
        for path, raw in self.keys.items():
            level = top
            for depth, step in enumerate(path[:-1], 1):
                above = level.setdefault(step, {})
                if "properties" not in above:
                    above.pop("default", None)
                    above.setdefault("type", "object")
                    above["properties"] = {}
                    if path[:depth] not in self.models:
                        above["x-section-policy"] = "ignore"
                level = above["properties"]
            level.setdefault(path[-1], {}).update(raw)
        return top

    def is_model(self, module: Module, definition: ast.ClassDef) -> bool:
        """Whether a class declares keys as its fields."""
        raise NotImplementedError

    def model(self, module: Module, definition: ast.ClassDef, path: KeyPath) -> None:
        """Note the fields of a model as keys of the section at `path`."""
        raise NotImplementedError

    # Code

    def construct(self, module: Module, definition: ast.ClassDef, arguments: list[Values]) -> Instance:
        """Follow the making of an object."""
        instance = Instance(module, definition)
        for statement in definition.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                self._function(module, statement, [[instance], *arguments], {})
        return instance

    def _function(self, module: Module, definition: ast.FunctionDef, arguments: list[Values], named: dict[str, Values]) -> Values:
        """What a call returns, following the body unless it runs already with the same sections."""
        names = [argument.arg for argument in definition.args.args]
        scope: dict[str, Values] = dict(zip(names, arguments, strict=False))
        for name, default in zip(reversed(names), reversed(definition.args.defaults), strict=False):
            scope.setdefault(name, self._value(Scope(module, {}), default))
        scope.update({name: values for name, values in named.items() if name in names})
        sections = tuple(value.path for values in scope.values() for value in values if isinstance(value, Section))
        running = (module.place(definition), sections)
        if running in self._active:
            return []
        self._active.append(running)
        returned: Values = []
        self._block(Scope(module, scope), definition.body, returned, certain=True)
        self._active.pop()
        return returned

    def _block(self, scope: Scope, statements: list[ast.stmt], returned: Values, certain: bool) -> None:
        for statement in statements:
            self._statement(scope, statement, returned, certain)

    def _statement(self, scope: Scope, statement: ast.stmt, returned: Values, certain: bool) -> None:
        if isinstance(statement, ast.Assign):
            values = self._value(scope, statement.value)
            for target in statement.targets:
                self._assign(scope, target, values, certain)
        elif isinstance(statement, ast.Return):
            returned += self._value(scope, statement.value) if statement.value is not None else []
        elif isinstance(statement, ast.For):
            self._loop(scope, statement, returned)
        elif isinstance(statement, ast.ImportFrom):
            scope.imported.update(scope.module.names_of(statement))
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            raise scope.module.refuse(statement, "a definition inside a function that reads the configuration")
        else:
            for expression in ast.iter_child_nodes(statement):
                if isinstance(expression, ast.expr):
                    self._value(scope, expression)
            for block in ("body", "orelse", "finalbody"):
                self._block(scope, getattr(statement, block, []), returned, certain=False)
            for handler in getattr(statement, "handlers", []):
                self._block(scope, handler.body, returned, certain=False)

    def _assign(self, scope: Scope, target: ast.expr, values: Values, certain: bool) -> None:
        """Bind a name; one that is bound under a condition may also be what it was before."""
        if isinstance(target, ast.Name):
            scope.names[target.id] = values if certain else [*scope.names.get(target.id, []), *values]
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            for owner in scope.names.get(target.value.id, []):
                if isinstance(owner, Instance):
                    owner.attributes[target.attr] = values if certain else [*owner.attributes.get(target.attr, []), *values]
        elif isinstance(target, ast.Subscript):
            self._value(scope, target.slice)

    def _loop(self, scope: Scope, statement: ast.For, returned: Values) -> None:
        """A loop over a table runs for each of its keys; one over a section copies it over a table of defaults."""
        source = statement.iter
        inner = source.func.value if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) else source
        names = [node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)]
        over = self._value(scope, inner)
        for value in over:
            if isinstance(value, Constant) and isinstance(value.value, dict):
                for key, default in value.value.items():
                    for name, bound in zip(names, (key, default), strict=False):
                        scope.names[name] = [Constant(bound)]
                    self._block(scope, statement.body, returned, certain=False)
            elif isinstance(value, Constant) and isinstance(value.value, list) and isinstance(statement.target, ast.Name):
                for item in value.value:
                    scope.names[statement.target.id] = [Constant(item)]
                    self._block(scope, statement.body, returned, certain=False)
        if any(isinstance(value, Section) for value in over):
            self._copied_over(scope, statement, over)
        for name in names:
            scope.names[name] = []
        self._block(scope, statement.body, returned, certain=False)

    def _copied_over(self, scope: Scope, statement: ast.For, over: Values) -> None:
        for inner in statement.body:
            if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Subscript):
                for table in self._value(scope, inner.targets[0].value):
                    if isinstance(table, Constant) and isinstance(table.value, dict):
                        for section in over:
                            if isinstance(section, Section):
                                for key, default in table.value.items():
                                    self._look_up(section, key, [Constant(default)], scope.module, statement)

    # Expressions

    def _value(self, scope: Scope, node: ast.expr) -> Values:
        """What an expression can be, noting the keys that it looks up."""
        if isinstance(node, ast.Name):
            return self._name(scope, node)
        if isinstance(node, ast.Attribute):
            return self._attribute(scope, node)
        if isinstance(node, ast.Call):
            return self._call(scope, node)
        if isinstance(node, ast.Subscript):
            return self._subscript(scope, node)
        if isinstance(node, ast.IfExp):
            self._value(scope, node.test)
            return [*self._value(scope, node.body), *self._value(scope, node.orelse)]
        if isinstance(node, ast.Compare):
            return self._compare(scope, node)
        if isinstance(node, ast.DictComp):
            return self._projection(scope, node)
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
            for generator in node.generators:
                self._value(scope, generator.iter)
            return []
        if isinstance(node, ast.Constant) or (isinstance(node, (ast.Dict, ast.List, ast.Tuple)) and not scope.mentions_names(node)):
            return [Constant(scope.module.constant(node))]
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._value(scope, part)
        return self._constant(scope, node)

    def _constant(self, scope: Scope, node: ast.expr) -> Values:
        try:
            return [Constant(scope.module.constant(node))]
        except SourceError:
            return []

    def _name(self, scope: Scope, node: ast.Name) -> Values:
        if node.id in scope.names:
            return scope.names[node.id]
        return self._constant(scope, node)

    def _attribute(self, scope: Scope, node: ast.Attribute) -> Values:
        values = self._value(scope, node.value) if not isinstance(node.value, ast.Name) else scope.names.get(node.value.id, [])
        found = [one for value in values if isinstance(value, Instance) for one in value.attributes.get(node.attr, [])]
        return found or self._constant(scope, node)

    def _subscript(self, scope: Scope, node: ast.Subscript) -> Values:
        keys = self._value(scope, node.slice)
        return [
            self._look_up(section, key.value, [], scope.module, node)
            for section in self._value(scope, node.value)
            if isinstance(section, Section)
            for key in keys
            if isinstance(key, Constant) and isinstance(key.value, str)
        ]

    def _compare(self, scope: Scope, node: ast.Compare) -> Values:
        left = self._value(scope, node.left)
        for operation, right in zip(node.ops, node.comparators, strict=True):
            values = self._value(scope, right)
            if isinstance(operation, (ast.In, ast.NotIn)):
                for section in values:
                    for key in left:
                        if isinstance(section, Section) and isinstance(key, Constant) and isinstance(key.value, str):
                            self._look_up(section, key.value, [], scope.module, node)
        return []

    def _projection(self, scope: Scope, node: ast.DictComp) -> Values:
        """`{key: config.get(key, {}) for key in (...)}` is a part of the configuration, and stands for it."""
        generator = node.generators[0]
        if isinstance(generator.target, ast.Name):
            for values in self._value(scope, generator.iter):
                for key in values.value if isinstance(values, Constant) else []:
                    scope.names[generator.target.id] = [Constant(key)]
                    sections = self._value(scope, node.value)
        return [Section(section.path[:-1]) for section in sections if isinstance(section, Section)][:1]

    def _call(self, scope: Scope, node: ast.Call) -> Values:
        arguments = [self._value(scope, argument) for argument in node.args]
        named = {keyword.arg: self._value(scope, keyword.value) for keyword in node.keywords if keyword.arg}
        spread = [value for keyword in node.keywords if keyword.arg is None for value in self._value(scope, keyword.value)]
        if isinstance(node.func, ast.Attribute):
            found = self._method(scope, node, node.func, arguments)
            if found is not None:
                return found
        called = self._definition(scope, node.func)
        handed = [value for values in (*arguments, *named.values(), spread) for value in values if isinstance(value, (Section, Instance))]
        if called is not None:
            return self._followed(called, arguments, named, spread) if handed else []
        return self._outside(scope, node, arguments)

    def _method(self, scope: Scope, node: ast.Call, function: ast.Attribute, arguments: list[Values]) -> Values | None:
        """A method of the configuration or of an object that is followed; None when it is neither."""
        owners = self._value(scope, function.value)
        sections = [owner for owner in owners if isinstance(owner, Section)]
        if sections and function.attr in ("get", "pop"):
            default = arguments[1] if len(arguments) > 1 else [Constant(None)] if function.attr == "get" else []
            keys = [key.value for key in arguments[0] if isinstance(key, Constant)]
            return [self._look_up(section, key, default, scope.module, node) for section in sections for key in keys]
        if sections and function.attr in NO_LOOK_UP | {"items"}:
            return list(sections)
        if sections:
            raise scope.module.refuse(node, f"the method {function.attr} of a part of the configuration")
        for owner in owners:
            if isinstance(owner, Instance):
                return self._own_method(owner, function.attr, arguments)
        return None

    def _own_method(self, owner: Instance, name: str, arguments: list[Values]) -> Values:
        for statement in owner.definition.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return self._function(owner.module, statement, [[owner], *arguments], {})
        return []

    def _definition(self, scope: Scope, function: ast.expr) -> tuple[Module, Definition] | None:
        if isinstance(function, ast.Name) and function.id in scope.imported:
            source, original = scope.imported[function.id]
            module = self.tree.module(source)
            return module.definition_of(ast.Name(original)) if module is not None else None
        return scope.module.definition_of(function)

    def _followed(self, called: tuple[Module, Definition], arguments: list[Values], named: dict[str, Values], spread: Values) -> Values:
        module, definition = called
        if isinstance(definition, ast.FunctionDef):
            return [] if definition.name in self.skipped else self._function(module, definition, arguments, named)
        if self.is_model(module, definition):
            for section in spread:
                if isinstance(section, Section):
                    self.model(module, definition, section.path)
            return []
        if "Enum" in module.bases(definition):
            for section in arguments[0] if arguments else []:
                if isinstance(section, Section):
                    self.keys[section.path]["enum"] = module.enum_values(definition)
            return []
        return [self.construct(module, definition, arguments)]

    def _outside(self, scope: Scope, node: ast.Call, arguments: list[Values]) -> Values:
        name = ast.unparse(node.func)
        handed = [value for values in arguments for value in values if isinstance(value, Section)]
        if handed and name not in HARMLESS | BUILTINS and not name.endswith(".format"):
            raise scope.module.refuse(node, "hands a part of the configuration to code that cannot be followed")
        return handed if name in SAME_VALUE else []

    def _look_up(self, section: Section, key: str, default: Values, module: Module, node: ast.AST) -> Section:
        path = (*section.path, key)
        raw = self.keys.setdefault(path, {})
        for value in default:
            if isinstance(value, Constant):
                self._default(raw, value.value, module, node)
        return Section(path)

    def _default(self, raw: Raw, value: Any, module: Module, node: ast.AST) -> None:
        if "default" in raw and raw["default"] not in (None, {}) and value not in (None, {}) and raw["default"] != value:
            raise module.refuse(node, f"a second default, {value!r} beside {raw['default']!r}")
        if raw.get("default") in (None, {}):
            raw["default"] = value
            if value is not None:
                raw["type"] = JSON_TYPE[type(value)]


class Scope:
    """The names of a running function."""

    def __init__(self, module: Module, names: dict[str, Values]) -> None:
        self.module = module
        self.names = names
        self.imported: dict[str, tuple[str, str]] = {}

    def mentions_names(self, node: ast.expr) -> bool:
        """Whether a display has anything but literals in it."""
        return any(isinstance(part, (ast.Name, ast.Call, ast.Attribute)) for part in ast.walk(node))
