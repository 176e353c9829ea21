"""The rows of TRL: `__post_init__` of its configuration classes, and the checks of their trainers' constructors that read nothing else."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from extract_rows import rows_of
from history_rows import Release
from row_sources import Package, Ref
from row_table_text import Function, Table, every
from schema_source import Tree

from cfglint.frameworks.trl.source_fields import classes, find, places

PACKAGE = "trl"
CONFIG, INIT = "config", "init"
POST_INIT = "__post_init__"
METHODS = {CONFIG: POST_INIT, INIT: ""}  # what `compare_rows.py` calls; of a constructor only parts are rows
BY_HAND = ("mixture",)  # builds the entries of `datasets`, whose keys a rule checks
PROCESSES = "self.accelerator.num_processes"  # which the configuration calls world_size


def table(folders: Mapping[Release, Path]) -> Table:
    """The rows of all releases."""
    made = Table()
    for version, folder in sorted(folders.items()):
        made.add(version, functions(folder))
    return made


def functions(folder: Path) -> Iterator[Function]:
    """The functions of a release: named like the sections of the tables."""
    tree = find(folder)
    package = Package(str(tree.root.parent), PACKAGE)
    for section in (each for each in classes(tree, experimental=True) if each not in BY_HAND):
        module, definition = source(package, tree, section)
        for owner, place in package.ancestors(definition, module):
            found = next((each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == POST_INIT), None)
            if found is not None:
                rows = [row for row in rows_of(package, place, found, (definition, module))[0] if "first" not in row]
                yield Function(section, CONFIG, "", rows)
                break
        yield from constructor(package, module.dotted.replace("_config", "_trainer"), definition.name.replace("Config", "Trainer"), section)


def original(sources: Any, name: str, folder: Path) -> Any:
    """The class of a section."""
    module, definition = source(Package(str(find(folder).root.parent), PACKAGE), find(folder), name)
    return getattr(sources.module(module.dotted), definition.name, None)


def source(package: Package, tree: Tree, section: str) -> tuple[Any, ast.ClassDef]:
    """The module and the class of a section."""
    for file, label in places(section):
        module = package.module("trl." + file.removesuffix(".py").replace("/", ".")) if (tree.root / file).exists() else None
        if module is not None and isinstance(module.names.get(label), ast.ClassDef):
            return module, module.names[label]
    raise KeyError(section)


def constructor(package: Package, path: str, label: str, section: str) -> Iterator[Function]:
    """The checks of a trainer's constructor that read only the arguments, which nothing before them changes."""
    module = package.module(path)
    trainer = module.names.get(label) if module is not None else None
    found = [each for each in getattr(trainer, "body", ()) if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    if found and any(each.arg == "args" for each in found[0].args.args):
        node = ast.FunctionDef("__init__", found[0].args, checks(ast.unparse(found[0])) or [ast.Pass()], [])
        rows = rows_of(package, module, node, bound={"args": Ref("root")})[0]
        if any("raise" in row for row in every(rows)):
            yield Function(section, INIT, "", rows)


@cache
def checks(constructor: str) -> list[ast.stmt]:
    """What is kept of a constructor, which many releases share."""
    [function] = ast.parse(constructor).body
    assert isinstance(function, ast.FunctionDef)
    return Checks(function).kept


class Checks:
    """The statements of a constructor that read only its `args`: `kept`, those that raise, with what they are under and need."""

    def __init__(self, function: ast.FunctionDef) -> None:
        parts: list[Any] = [*ast.walk(function)]
        self.changed = {part.attr for part in parts if is_stored(part, "args")}
        self.names = {"args", *dir(builtins), *stored(function)} - {each.arg for each in function.args.args if each.arg != "args"}
        self.copied = [part.attr for part in parts if is_stored(part, "self")]
        known: set[str] = set()
        while known != self.names:  # a local is known if everything that is stored in it is
            known = {*self.names}
            self.plain = Plain()
            self.kept = self.of([ast.parse(ast.unparse(each)).body[0] for each in function.body])

    def of(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """What is kept of statements."""
        kept: list[ast.stmt] = []
        for statement in map(self.plain.visit, body):
            if isinstance(statement, ast.Assign):
                kept += self.assigned(statement)
            elif isinstance(statement, ast.Raise):
                kept += [statement] if self.reads_arguments(statement) else []
            elif isinstance(statement, ast.If):
                known = self.reads_arguments(statement.test)
                branches = [self.of(branch) for branch in (statement.body, statement.orelse)]
                if known and any(branches):
                    kept.append(ast.If(statement.test, branches[0] or [ast.Pass()], branches[1]))
                elif not known:
                    self.names -= stored(statement)
            elif isinstance(statement, ast.For) and self.reads_arguments(statement.iter):
                body = self.of(statement.body)
                kept += [ast.For(statement.target, statement.iter, body, [])] if body else []
            else:
                self.names -= stored(statement)
        return kept

    def assigned(self, statement: ast.Assign) -> list[ast.stmt]:
        """An assignment to a local, if its value is known from then on; the attributes that keep an argument have its value."""
        known, target = self.reads_arguments(statement.value), statement.targets[0]
        if isinstance(target, ast.Attribute) and is_stored(target, "self") and known and self.copied.count(target.attr) == 1:
            self.plain.copies[target.attr] = statement.value
        self.names -= set() if known else stored(target)
        return [statement] if known and isinstance(target, ast.Name) else []

    def reads_arguments(self, node: ast.AST) -> bool:
        """Whether a statement or expression reads only arguments that stay as they are, and locals made of them."""
        parts = [*ast.walk(node)]
        names = {part.id for part in parts if isinstance(part, ast.Name)} - stored(node)
        read = [part.attr for part in parts if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "args"]
        whole = sum(isinstance(part, ast.Name) and part.id == "args" for part in parts) > len(read)
        return names <= self.names and not set(read) & self.changed and not whole


def stored(node: ast.AST) -> set[str]:
    """The locals to which a statement assigns."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)} - {"args"}


def is_stored(node: Any, name: str) -> bool:
    """Whether a node is the target of an assignment to an attribute of a name."""
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == name


class Plain(ast.NodeTransformer):
    """What a constructor reads of its arguments in one spelling; `copies` are the attributes of the trainer that keep one."""

    def __init__(self) -> None:
        self.copies: dict[str, ast.expr] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        text = ast.unparse(node) if isinstance(root, ast.Name) and root.id == "self" else ""
        if text == PROCESSES:
            return ast.Attribute(ast.Name("args", ast.Load()), "world_size", ast.Load())
        if text == "self.args":
            return ast.Name("args", ast.Load())
        if text.startswith("self.") and isinstance(node.ctx, ast.Load) and text.removeprefix("self.") in self.copies:
            return self.copies[node.attr]
        self.generic_visit(node)
        return node
