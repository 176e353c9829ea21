"""Modules of a project as syntax trees, and the definitions that the names in them refer to."""

from __future__ import annotations

import ast
import os
import re
from functools import cached_property

from cfglint.evaluate import Reason
from cfglint.launch.kinds import argument_classes
from cfglint.source.annotations import Any, Callable, Iterator
from cfglint.source.dataclass_fields import LARGEST, parsed, syntax_problem
from cfglint.source.python.literals import NotebookOffsets, Offsets
from cfglint.source.python.nodes import children, walk
from cfglint.source.python.notebook import Notebook, read_notebook
from cfglint.source.record import Record

MOST_MODULES = 60  # modules of a project that are parsed for one program
MOST_KEPT = 3_000_000  # characters of the modules that are kept for other programs; a tree takes thirty times as many bytes
DEEPEST = 8  # depth of re-exported names that is followed
UNSLOTH = "unsloth"  # which replaces classes of the frameworks
COMPUTING = ("partial", "getattr")
# Packages that are always those of the framework, even if a project has a folder of the same name.
FRAMEWORKS = frozenset(("transformers", "trl", "accelerate", "deepspeed", "peft", "torch", "typing", "dataclasses"))


# unsloth 2026.10.9 trainer.py; `embedding_learning_rate` is an additional parameter
DERIVED = {"UnslothTrainingArguments": "trl.SFTConfig", "UnslothTrainer": "trl.SFTTrainer"}


class External(Record):
    """A name that no module of the project defines, as a dotted name."""

    name: str


def external(name: str) -> External:
    """A dotted name outside of the project; for a class that unsloth derives from one of TRL, that class."""
    package, _, last = name.rpartition(".")
    return External(DERIVED[last]) if package in ("unsloth", "unsloth.trainer") and last in DERIVED else External(name)


class Definition(Record):
    """A class, a function or an assigned value of a module of the project."""

    module: ProgramModule
    node: ast.AST


TRAINING = re.compile(r"Trainer\b|TrainingArguments|Accelerator\(|deepspeed\.|\b(?:train|run)\w*\(").search


class ProgramModule:
    """A parsed module: `names` are the definitions at its top level, `imports` the dotted names that it imports, `stars` its `import *`.

    `text` is the content of its file, of which the code of a `notebook` is a part.
    """

    def __init__(self, path: str, package: str, text: str, tree: ast.Module, notebook: Notebook | None = None) -> None:
        self.path, self.notebook, self.package, self.text, self.tree = path, notebook, package, text, tree
        self.names: dict[str, ast.AST] = {}
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.ambiguous: set[str] = set()
        self.before_star: dict[str, set[str]] = {}  # the names that an `import *` may bind again
        self._training: dict[ast.AST, bool] = {}
        self._read(tree.body, always=True)

    def may_train(self, node: ast.expr | ast.stmt) -> bool:
        """Whether a part of it has a word that code has which trains, or calls such code."""
        if node not in self._training:
            self._training[node] = TRAINING(self.text, *self.offsets.span(node)) is not None
        return self._training[node]

    def _read(self, body: list[ast.stmt], *, always: bool) -> None:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                self._define(node.name, node, always)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                before = len(self.stars)
                for name, dotted in imported(node, self.package, self.stars):
                    if always:  # the last definition of a name counts
                        self.imports[name] = dotted
                        self.names.pop(name, None)
                    else:
                        self.imports.setdefault(name, dotted)
                for star in self.stars[before:] if always else ():
                    self.before_star[star] = {*self.imports, *self.names}
            for target in targets_of(node):
                for name in target_names(target):
                    self._define(name, node, always and not isinstance(node, ast.AugAssign))
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                others = (getattr(node, "orelse", []), getattr(node, "finalbody", []))
                for inner in (node.body, *others, *(handler.body for handler in getattr(node, "handlers", ()))):
                    self._read(inner, always=False)

    def _define(self, name: str, node: ast.AST, always: bool) -> None:
        if name in self.names or not always:
            self.ambiguous.add(name)
        self.names[name] = node

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return walk(self.tree)

    @cached_property
    def offsets(self) -> Offsets:
        return Offsets(self.text) if self.notebook is None else NotebookOffsets(self.notebook)

    @cached_property
    def givers(self) -> dict[str, list[ast.expr]]:
        """The expressions that the module assigns to each name and attribute, or gives as the default of an option."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = targets_of(node)
                names = {name for target in targets for name in target_names(target)}
                for name in names | {target.attr for target in targets if isinstance(target, ast.Attribute)}:
                    found.setdefault(name, []).append(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                for option in node.args:
                    if isinstance(option, ast.Constant) and isinstance(option.value, str):
                        found.setdefault(option.value.lstrip("-").replace("-", "_"), []).append(node)
        return found

    @cached_property
    def attribute_givers(self) -> dict[str, list[ast.expr]]:
        """Those of `givers` that may give an attribute of another object: not the names that are local to a function."""
        functions = (node for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        inside = (node for function in functions for node in walk(function))
        names = {id(node.value) for node in inside if isinstance(node, (ast.Assign, ast.AnnAssign)) and is_local(node)}
        return {name: [value for value in values if id(value) not in names] for name, values in self.givers.items()}

    @property
    def code(self) -> str:
        return self.text if self.notebook is None else self.notebook.code

    @cached_property
    def may_build(self) -> bool:
        classes = (*argument_classes(),)
        return any(name in self.code for name in classes) and (self.calls(classes) or self.computes_calls)

    @property
    def computes_calls(self) -> bool:
        """Whether it calls what it has looked up, made with `partial`, or given a name: `classes["SFTConfig"](...)`, `Args = SFTConfig`."""
        aliases = {last_name(node.value) for node in self.nodes if isinstance(node, ast.Assign)}
        return any(isinstance(node, ast.Subscript) or name in COMPUTING for node, name in self.called) or not aliases.isdisjoint(
            argument_classes()
        )

    def calls(self, endings: tuple[str, ...]) -> bool:
        return any(name.endswith(endings) for _, name in self.called)

    @cached_property
    def called(self) -> list[tuple[ast.expr, str]]:
        """What it calls, each with its last name."""
        nodes = (node.func for node in self.nodes if isinstance(node, ast.Call))
        return [(node, last_name(node)) for node in nodes]

    @cached_property
    def repeated_keywords(self) -> list[ast.keyword]:
        nodes: list[ast.keyword] = []
        for call in self.nodes:
            seen: set[str] = set()
            for node in call.keywords if isinstance(call, ast.Call) else ():
                if node.arg is not None and node.arg in seen:
                    nodes.append(node)
                seen.add(node.arg or "")
        return nodes

    @cached_property
    def imported_packages(self) -> set[str]:
        statements = [node for node in self.nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        return {dotted.partition(".")[0] for node in statements for _, dotted in imported(node, "", [])}

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in children(node)}

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self.parent(node)) is not None:
            yield parent
            node = parent


def last_name(node: ast.expr) -> str:
    """`Trainer` of `transformers.Trainer` and of `Trainer`; empty of anything else."""
    return getattr(node, "attr", getattr(node, "id", ""))


def target_names(target: ast.expr) -> Iterator[str]:
    for node in walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def is_local(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether an assignment, in a function, gives names alone."""
    return all(isinstance(each, ast.Name) for target in targets_of(node) for each in (getattr(target, "elts", None) or [target]))


def imported(node: ast.Import | ast.ImportFrom, package: str, stars: list[str]) -> Iterator[tuple[str, str]]:
    """(name, dotted name) for each import of a statement; modules of `import *` are added to `stars`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        return
    origin = node.module or ""
    if node.level:
        parts = package.split(".") if package else []
        parts = parts[: len(parts) - node.level + 1]
        origin = ".".join([*parts, *([node.module] if node.module else [])])
    for alias in node.names:
        if alias.name == "*":
            stars.append(origin)
        else:
            yield alias.asname or alias.name, f"{origin}.{alias.name}" if origin else alias.name


def targets_of(node: ast.AST | None) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


def assigned_names(node: ast.AST | None) -> set[str]:
    return {target.id for target in targets_of(node) if isinstance(target, ast.Name)}


class ParsedModules:
    """The modules that were parsed last, which the next program of a project may import as well: their trees are never changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, ProgramModule | None]] = {}  # by path and package, with the content
        self._size = 0

    def get(self, path: str, package: str, text: str) -> ProgramModule | None:
        known = self._known.pop((path, package), ("", None))
        self._size -= len(known[0])
        if known[0] != text:
            notebook = read_notebook(text) if path.endswith(".ipynb") else None
            code = notebook.code if notebook is not None else text if not path.endswith(".ipynb") else None
            tree = parsed(code) if code is not None and len(code) <= LARGEST else None
            known = text, ProgramModule(path, package, text, tree, notebook) if tree is not None else None
        self._known[path, package] = known
        self._size += len(text)
        while self._size > MOST_KEPT and len(self._known) > 1:
            oldest, _ = self._known.pop(next(iter(self._known)))
            self._size -= len(oldest)
        return known[1]


module_in = ParsedModules().get


class Modules:
    """The modules that a program may import, searched in `folders`; `read` returns the content of a file, or None."""

    def __init__(self, folders: list[str], read: Callable[[str], str | None]) -> None:
        self.folders, self.read = folders, read
        self._by_path: dict[str, ProgramModule | None] = {}  # None for a path without a module
        self._by_name: dict[str, ProgramModule | None] = {}  # by dotted names
        self.count = 0  # of the files that were read
        self.asked: list[str] = []  # the dotted names that were looked up
        self.is_full = False  # whether there were more modules than the limit
        self.unparsed: dict[str, Reason] = {}  # why files cannot be read
        self.top_levels: dict[ProgramModule, Any] = {}  # the `Scope` of each that was asked for

    def module_of(self, path: str, package: str = "") -> ProgramModule | None:
        if path not in self._by_path:
            text = self.read(path)
            if text is not None and self.count >= MOST_MODULES:
                self.is_full = True
                return None
            self.count += text is not None
            self._by_path[path] = module = module_in(path, package, text) if text is not None else None
            if text is not None and module is None and path.endswith(".py") and (problem := syntax_problem(text)):
                self.unparsed[path] = Reason("program", f"`{path}`", f"it {problem}", path)
        return self._by_path[path]

    def known(self) -> Iterator[ProgramModule]:
        return (module for module in self._by_path.values() if module is not None)

    def named(self, dotted: str) -> ProgramModule | None:
        self.asked.append(dotted)
        if dotted not in self._by_name:
            ends = (("/__init__.py", dotted), (".py", dotted.rpartition(".")[0]))
            paths = ((f"{folder}/{dotted.replace('.', '/')}{end}", package) for folder in self.folders for end, package in ends)
            modules = (self.module_of(os.path.normpath(path), package) for path, package in paths)
            self._by_name[dotted] = next((module for module in modules if module is not None), None)
        return self._by_name[dotted]

    def lookup(self, module: ProgramModule, name: str, depth: int = 0) -> Definition | External | None:
        if depth > DEEPEST:
            return None
        again = self.bound_again(module, name, depth)
        if again is not None:
            return again
        if name in module.names:
            return Definition(module, module.names[name])
        if name in module.imports:
            return self.dotted(module.imports[name], depth + 1)
        for star in module.stars:
            origin = self.named(star) if star.partition(".")[0] not in FRAMEWORKS else None
            found = self.lookup(origin, name, depth + 1) if origin is not None else None
            if found is not None:
                return found
        return None

    def bound_again(self, module: ProgramModule, name: str, depth: int = 0) -> Definition | External | None:
        """The definition that a later `import *` of a module of the project gives a name; None without one."""
        for star in reversed(module.stars):
            if name in module.before_star.get(star, ()) and star.partition(".")[0] not in FRAMEWORKS:
                origin = self.named(star)
                found = self.lookup(origin, name, depth + 1) if origin is not None and origin is not module else None
                if found is not None:
                    return found
        return None

    def dotted(self, name: str, depth: int = 0) -> Definition | External | None:
        parts = name.split(".")
        if parts[0] in FRAMEWORKS or depth > DEEPEST:
            return External(name)
        for count in range(len(parts) - 1, 0, -1):
            module = self.named(".".join(parts[:count]))
            if module is not None:
                return self.lookup(module, parts[count], depth + 1) if count == len(parts) - 1 else None
        return external(name)
