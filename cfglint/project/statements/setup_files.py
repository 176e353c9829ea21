"""Requirements in setup.py and setup.cfg, which are parsed and never executed."""

from __future__ import annotations

import ast
from configparser import ConfigParser, Error

from cfglint.project.statements.statement import Stated, is_side_group, stated_by
from cfglint.source.annotations import Collection, Iterable, Iterator
from cfglint.source.python.nodes import walk

KEYWORD = "install_requires"
EXTRAS = "extras_require"
TABLES = ("_deps", "deps", "_dependencies", "dependencies")  # transformers' table of all dependencies, and those of its forks
DEEPEST = 20  # names that refer to other names


def of_cfg(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a setup.cfg states: `install_requires`, then the extras."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
        yield from stated_in(parser.get("options", KEYWORD, fallback="").splitlines(), file, packages)
        extras = dict(parser.items("options.extras_require")) if parser.has_section("options.extras_require") else {}
    except Error:
        return
    for name, requirements in extras.items():
        if not is_side_group(name):
            yield from stated_in(requirements.splitlines(), file, packages, optional=True)


def of_script(text: str, file: str, packages: Collection[str]) -> Iterator[Stated]:
    """What a setup.py states: `install_requires`, then the extras, then the rest of a table of dependencies."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    script = SetupScript(module)
    main = script.keywords(KEYWORD) or script.names.get(KEYWORD, [])
    yield from stated_in([text for value in main for text in script.strings(value, 0)], file, packages)
    extras = [inner for value in script.keywords(EXTRAS) for name, inner in script.pairs(value) if not is_side_group(name)]
    yield from stated_in([text for inner in extras for text in script.strings(inner, 0)], file, packages, optional=True)
    yield from stated_in(script.table.values(), file, packages, optional=True)


def stated_in(requirements: Iterable[str], file: str, packages: Collection[str], optional: bool = False) -> Iterator[Stated]:
    return stated_by((requirement.partition(" #")[0] for requirement in requirements), file, packages, optional)


class SetupScript:
    """A setup.py as a syntax tree: the values of its names, and its table of dependencies, each by the name of the package."""

    def __init__(self, module: ast.Module) -> None:
        self.nodes = walk(module)
        self.names: dict[str, list[ast.expr]] = {}  # the values that a name gets or that are added to it
        self.entries: dict[str, list[tuple[str, ast.expr]]] = {}  # name -> the (key, value) pairs that are put into its mapping
        for node in self.nodes:
            function = node.func if isinstance(node, ast.Call) and node.args else None
            if isinstance(function, ast.Attribute) and function.attr in ("append", "extend") and isinstance(function.value, ast.Name):
                assert isinstance(node, ast.Call)
                self.names.setdefault(function.value.id, []).append(node.args[0])
            if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    self.names.setdefault(target.id, []).append(node.value)
                elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and isinstance(target.slice, ast.Constant):
                    self.entries.setdefault(target.value.id, []).append((str(target.slice.value), node.value))
        self.table = {name_of(each): each for name in TABLES for each in self.strings_of_name(name, 0)}

    def keywords(self, name: str) -> list[ast.expr]:
        """The values that calls pass as a keyword."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        return [keyword.value for call in calls for keyword in call.keywords if keyword.arg == name]

    def pairs(self, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
        """The entries of a mapping, also of one that a name refers to."""
        if isinstance(value, ast.Dict):
            for key, inner in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant):
                    yield str(key.value), inner
        elif isinstance(value, ast.Name):
            for node in self.names.get(value.id, []):
                if not isinstance(node, ast.Name):
                    yield from self.pairs(node)
            yield from self.entries.get(value.id, [])

    def strings_of_name(self, name: str, depth: int) -> Iterator[str]:
        """The strings of everything that a name gets."""
        for value in self.names.get(name, []):
            yield from self.strings(value, depth + 1)

    def strings(self, value: ast.expr, depth: int) -> Iterator[str]:
        """The requirements in an expression: strings, lists and sums of them, the values of a mapping, names, `deps["trl"]`, and what a
        function such as `deps_list("trl", "peft")` or `list(names)` returns.
        """
        if depth > DEEPEST:
            return
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from value.value.splitlines()
        elif isinstance(value, (ast.List, ast.Tuple, ast.Set, ast.Starred, ast.Dict, ast.BinOp)):
            if isinstance(value, ast.BinOp):
                parts = [value.left, value.right]
            elif isinstance(value, ast.Dict):
                parts = value.values
            else:
                parts = [value.value] if isinstance(value, ast.Starred) else value.elts
            for part in parts:
                yield from self.strings(part, depth + 1)
        elif isinstance(value, ast.Name):
            yield from self.strings_of_name(value.id, depth)
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and isinstance(value.slice, ast.Constant):
            key = str(value.slice.value)
            nodes = [inner for entry, inner in self.pairs(ast.Name(value.value.id)) if entry == key]
            if nodes:
                for inner in nodes:
                    yield from self.strings(inner, depth + 1)
            elif name_of(key) in getattr(self, "table", {}):
                yield self.table[name_of(key)]
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            table: dict[str, str] = getattr(self, "table", {})
            for argument in value.args:
                if not isinstance(argument, ast.Constant):
                    yield from (table.get(text, text) for text in self.strings(argument, depth + 1))
                elif argument.value in table:
                    yield table[argument.value]


def name_of(requirement: str) -> str:
    end = next((place for place, char in enumerate(requirement) if char in " \t[(<>=!~;@^"), len(requirement))
    return requirement[:end].lower().replace("_", "-")
