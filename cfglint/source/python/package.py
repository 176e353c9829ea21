"""The sources of a package as syntax trees, importing nothing: definitions, constants and what names stand for.

What these helpers do not understand they refuse with `SourceError`, naming the file and line: a table
that is silently incomplete would be worse than none. The tools read unpacked wheels with them, and a check the source of an installed or
vendored package whose release is not modelled.
"""

from __future__ import annotations

import ast
import operator
import sys

from cfglint.source import files
from cfglint.source.annotations import Any, Callable, ConfigValue, Folder

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Mult: operator.mul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: operator.pow,
    ast.Div: operator.truediv,
    ast.LShift: operator.lshift,
    ast.USub: operator.neg,
}
MADE: dict[str, Callable[..., Any]] = {"list": list, "dict": dict}

Definition = ast.FunctionDef | ast.ClassDef


class SourceError(Exception):
    """A source has something that the reader of fields has no rule for."""


def pairs(node: ast.Dict) -> list[tuple[ast.expr, ast.expr]]:
    """The key and value expressions of a dict display, without what `**` spreads into it."""
    return [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]


class Module:
    """One source file: its definitions, constants and imports."""

    def __init__(self, tree: Tree, name: str, path: Folder) -> None:
        self.tree = tree
        self.name = name
        self.path = path
        self.is_package = path.name == "__init__.py"
        try:
            text, _, _ = files.read(str(path))
        except files.FileProblem as problem:
            raise SourceError(str(problem)) from None
        self.syntax = ast.parse(text, str(path))
        self.definitions: dict[str, Definition] = {}
        self.assigned: dict[str, ast.expr] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.starred: list[str] = []
        for statement in self.syntax.body:
            self._note(statement)

    def _note(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            self.definitions[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    self.assigned[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
            self.assigned[statement.target.id] = statement.value
        elif isinstance(statement, ast.ImportFrom):
            self.imported.update(self.names_of(statement))
            if any(alias.name == "*" for alias in statement.names):
                self.starred.append(self.absolute(statement))
        elif isinstance(statement, (ast.Try, ast.With, ast.If)):
            for inner in statement.body:
                self._note(inner)

    def names_of(self, statement: ast.ImportFrom) -> dict[str, tuple[str, str]]:
        """Local name -> (module, name there) of an import statement."""
        source = self.absolute(statement)
        return {alias.asname or alias.name: (source, alias.name) for alias in statement.names if alias.name != "*"}

    def absolute(self, statement: ast.ImportFrom) -> str:
        """The full name of the module that a `from` statement names."""
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".")
        keep = len(parts) - statement.level + (1 if self.is_package else 0)
        return ".".join([*parts[:keep], *([statement.module] if statement.module else [])])

    def find(self, name: str) -> tuple[Module, Definition | ast.expr] | None:
        """The definition or constant behind a name, through imports; None for what lies outside the tree."""
        if name in self.definitions:
            return self, self.definitions[name]
        if name in self.assigned:
            return self, self.assigned[name]
        if name in self.imported:
            source, original = self.imported[name]
            module = self.tree.module(source)
            return module.find(original) if module is not None else None
        for source in reversed(self.starred):
            module = self.tree.module(source)
            found = module.find(name) if module is not None else None
            if found is not None:
                return found
        return None

    def class_named(self, name: str) -> ast.ClassDef:
        """A class of the module; SourceError when it is missing."""
        definition = self.definitions.get(name)
        if not isinstance(definition, ast.ClassDef):
            raise SourceError(f"{self.path}: class {name} is missing")
        return definition

    def place(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 0)}"

    def refuse(self, node: ast.AST, what: str) -> SourceError:
        return SourceError(f"{self.place(node)}: {what}: {ast.unparse(node)[:120]}")

    def definition_of(self, node: ast.expr) -> tuple[Module, Definition] | None:
        """The function or class that `name` or `module.name` stands for; None for what lies outside the tree."""
        definition = None
        if isinstance(node, ast.Name):
            definition = self.find(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.imported:
            module = self.tree.module(".".join(self.imported[node.value.id]))
            definition = module.find(node.attr) if module is not None else None
        if definition is None or not isinstance(definition[1], (ast.FunctionDef, ast.ClassDef)):
            return None
        return definition[0], definition[1]

    def constant(self, node: ast.expr) -> Any:
        """The value of a constant expression; SourceError when it is none."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.constant(item) for item in node.elts]
        if isinstance(node, ast.Dict):
            return {self.constant(key): self.constant(value) for key, value in pairs(node)}
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](self.constant(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](self.constant(node.left), self.constant(node.right))
        if isinstance(node, ast.JoinedStr):
            return "".join(str(self.constant(part.value if isinstance(part, ast.FormattedValue) else part)) for part in node.values)
        if isinstance(node, ast.Name):
            found = self.find(node.id)
            if found is not None and isinstance(found[1], ast.expr):
                return found[0].constant(found[1])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) == ("sys", "maxsize"):
                return sys.maxsize
            found = self.find(node.value.id)
            if found is not None and isinstance(found[1], ast.ClassDef):
                for statement in found[1].body:
                    if isinstance(statement, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.attr for t in statement.targets):
                        return found[0].constant(statement.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pp_int":
            return int(self.constant(node.args[0]))  # DeepSpeed's integer that only prints itself in another way
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MADE and not node.keywords:
            return MADE[node.func.id](*map(self.constant, node.args))
        raise self.refuse(node, "not a constant")

    def keys_of(self, node: ast.expr) -> list[str]:
        """The keys of a mapping, whose values need not be constants: `{...}`, `dict(**other, key=1)`, or a name of these."""
        if isinstance(node, ast.Dict):
            return [self.constant(key) for key in node.keys if key is not None]
        if isinstance(node, ast.Name):
            found = self.find(node.id)
            if found is not None and isinstance(found[1], ast.expr):
                return found[0].keys_of(found[1])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
            return [key for keyword in node.keywords for key in ([keyword.arg] if keyword.arg else self.keys_of(keyword.value))]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
            return self.keys_of(node.func.value)
        called = self.definition_of(node.func) if isinstance(node, ast.Call) else None
        last = called[1].body[-1] if called is not None else None
        if called is not None and isinstance(last, ast.Return) and last.value is not None:
            return called[0].keys_of(last.value)
        raise self.refuse(node, "not a mapping with constant keys")

    def bases(self, definition: ast.ClassDef) -> list[str]:
        names = []
        for base in definition.bases:
            name = base.id if isinstance(base, ast.Name) else ast.unparse(base)
            names.append(name)
            found = self.find(name)
            if found is not None and isinstance(found[1], ast.ClassDef):
                names += found[0].bases(found[1])
        return names

    def literal_values(self, node: ast.Subscript) -> list[ConfigValue]:
        return [self.constant(part) for part in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]

    def enum_values(self, definition: ast.ClassDef) -> list[ConfigValue]:
        """The values of an Enum class without repeats, types of torch and descriptors; for several values to a member all of them."""
        values: list[ConfigValue] = []
        for statement in definition.body:
            if not isinstance(statement, ast.Assign):
                continue
            parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
            for part in parts:
                if isinstance(part, ast.Call) or ast.unparse(part).startswith("torch."):
                    continue
                value = self.constant(part)
                if value not in values:
                    values.append(value)
        return values


class Tree:
    """The sources of one package: `root` is the folder that has its top `__init__.py`.

    `lenient`: what cannot be read is left out or unknown, instead of a `SourceError`. `opens` tells whether a file may be read.
    """

    def __init__(self, root: Folder, lenient: bool = False, opens: Callable[[str], bool] | None = None) -> None:
        if not (root / "__init__.py").exists():
            raise SourceError(f"{root}: no package (no __init__.py)")
        self.root = root
        self.package = root.name
        self.lenient = lenient
        self._opens = opens
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """A module of the package by its full name; None for others and for missing ones."""
        if name not in self._modules:
            self._modules[name] = None
            parts = name.split(".")
            if parts[0] == self.package:
                base = self.root.joinpath(*parts[1:])
                for path in (base.with_suffix(".py"), base / "__init__.py"):
                    if path.is_file() and (self._opens is None or self._opens(str(path))):
                        self._modules[name] = Module(self, name, path)
                        break
        return self._modules[name]

    def may_open(self, path: Folder) -> bool:
        """Whether a file of the package may be read."""
        return self._opens is None or self._opens(str(path))

    def file(self, path: str) -> Module:
        """A module by its path within the package; SourceError when there is none."""
        name = ".".join([self.package, *path.removesuffix(".py").removesuffix("__init__").rstrip("/").split("/")]).rstrip(".")
        module = self.module(name)
        if module is None:
            raise SourceError(f"{self.root / path}: the file is missing")
        return module

    def version(self, path: str, name: str = "__version__") -> str:
        module = self.file(path)
        if name not in module.assigned:
            raise SourceError(f"{module.path}: {name} is missing")
        return str(module.constant(module.assigned[name]))


def finder(package: str, title: str, *marks: str) -> Callable[..., Tree]:
    """A function that finds a package in site-packages, in a checkout, or in its own folder, which has one of some files."""

    def find(path: Folder, lenient: bool = False, opens: Callable[[str], bool] | None = None) -> Tree:
        for folder in (path / package, path / "src" / package, path):
            if any((folder / mark).exists() for mark in marks):
                return Tree(folder, lenient, opens)
        raise SourceError(f"{path}: no {title} source ({marks[0]})")

    return find
