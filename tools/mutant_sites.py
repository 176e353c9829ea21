"""Random semantic changes of Python source: what can be changed, one change drawn of it, and the text that comes of it."""

from __future__ import annotations

import ast
import copy
import difflib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
DROPPED = (ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Raise, ast.Return)
RELEASE = "release"  # drawn on demand only: a change of a constant moves a release as well


@dataclass(frozen=True)
class Site:
    """A place that one kind of change applies to: `order` is its number among the nodes of its module."""

    kind: str
    order: int
    at_import: bool


@dataclass
class Mutant:
    """A change of one place of one module."""

    path: str
    kind: str
    line: int
    function: str  # the outermost function or method around it, empty where it runs with the import
    tree: ast.Module
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The change as a unified diff with a line around it."""
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), self.path, self.path, lineterm="", n=1)
        return "\n".join(lines)


def drawn(root: Path, under: str, count: int, seed: int, only: str = "") -> list[Mutant]:
    """Changes of the hand-written modules in a folder of the package, the modules by their size, the kinds of change alike."""
    chance = random.Random(seed)
    files = sorted(path for path in (root / under).rglob("*.py") if is_written_by_hand(path)) or [root / under]
    sizes = [path.stat().st_size for path in files]
    read = cache(lambda path: Module(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")))
    made: dict[tuple[str, Site], Mutant] = {}
    for _ in range(100 * count):  # a small folder may have less
        module = read(chance.choices(files, sizes)[0])
        found = sorted({site.kind for site in module.sites if site.kind == only or (not only and site.kind != RELEASE)})
        if len(made) < count and found:
            kind = chance.choice(found)
            site = chance.choice([each for each in module.sites if each.kind == kind])
            mutant = None if (module.path, site) in made else module.mutant(site)
            if mutant is not None:
                made[module.path, site] = mutant
    return list(made.values())


def is_written_by_hand(path: Path) -> bool:
    """Whether a module is no generated table."""
    return not path.name.startswith("_") or path.name in ("__init__.py", "__main__.py")


class Module:
    """The source of a module and the places in it that can be changed."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self.functions = dict(functions(self.tree))
        self.sites = list(sites(self.tree))

    def mutant(self, site: Site) -> Mutant | None:
        """The module with one change; None where the change is none, or cannot be written in place of the former text."""
        tree = copy.deepcopy(self.tree)
        node = list(ast.walk(tree))[site.order]
        former = list(ast.walk(self.tree))[site.order]
        assert isinstance(former, (ast.expr, ast.stmt))
        new = CHANGES[site.kind](node)
        if ast.dump(new) == ast.dump(former):
            return None
        Replace(node, new).visit(tree)
        ast.fix_missing_locations(tree)
        text = self.written(former, new, tree)
        if text is None:
            return None
        function = "" if site.at_import else self.functions.get(site.order, "")
        return Mutant(self.path, site.kind, former.lineno, function, tree, self.text, text)

    def written(self, former: ast.expr | ast.stmt, new: ast.AST, tree: ast.Module) -> str | None:
        """The source with the text of one node replaced, in parentheses where it needs them."""
        for text in (ast.unparse(new), f"({ast.unparse(new)})"):
            result = replaced(self.text, former, text)
            try:
                if ast.dump(ast.parse(result)) == ast.dump(tree):
                    return result
            except SyntaxError:
                continue
        return None


def replaced(source: str, node: ast.expr | ast.stmt, text: str) -> str:
    """The source with the text of a node replaced; columns of a syntax tree count bytes."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = b"".join(lines)
    return (whole[:start] + text.encode() + whole[end:]).decode()


class Replace(ast.NodeTransformer):
    """Puts a node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The node to have here."""
        if node is self.old:
            return self.new
        return self.generic_visit(node)


def functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(number of a node, qualified name of the outermost function or method whose body it is in)."""
    names: dict[ast.AST, str] = {}

    def enter(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for statement in child.body:
                    names.update(dict.fromkeys(ast.walk(statement), prefix + child.name))
            elif isinstance(child, ast.Lambda):
                names.update(dict.fromkeys(ast.walk(child.body), f"{prefix}<lambda>"))
            else:
                enter(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)

    enter(tree, "")
    for order, node in enumerate(ast.walk(tree)):
        if node in names:
            yield order, names[node]


def sites(tree: ast.Module) -> Iterator[Site]:
    """Every place of a module that some kind of change applies to."""
    left_out = set(without_behaviour(tree))
    late = dict(functions(tree))
    tests = {each.test for each in ast.walk(tree) if isinstance(each, (ast.If, ast.While, ast.IfExp))}
    tests |= {test for each in ast.walk(tree) if isinstance(each, ast.comprehension) for test in each.ifs}
    bounds = set(releases(tree))
    for order, node in enumerate(ast.walk(tree)):
        if node not in left_out:
            for kind in (*kinds(node, node in tests), *((RELEASE,) if node in bounds else ())):
                yield Site(kind, order, order not in late)


def releases(tree: ast.Module) -> Iterator[ast.AST]:
    """What is a bound of releases: a tuple that is one constant or given to `Releases`, and the last number given to `since`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Releases"):
            yield from (each for each in [*node.args, *(keyword.value for keyword in node.keywords)] if is_release(each))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "since" and node.args:
            yield from (each for each in node.args[-1:] if is_release(ast.Tuple(node.args)))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and is_release(node.value):
            yield node.value


def is_release(node: ast.expr) -> bool:
    """Whether an expression is a tuple of one to three small numbers."""
    numbers = [element.value for element in node.elts if isinstance(element, ast.Constant)] if isinstance(node, ast.Tuple) else []
    return isinstance(node, ast.Tuple) and 0 < len(numbers) == len(node.elts) < 4 and all(isinstance(number, int) for number in numbers)


def kinds(node: ast.AST, is_test: bool) -> Iterator[str]:
    """The kinds of change that a node allows."""
    if isinstance(node, ast.Compare) and any(type(each) in COMPARISONS for each in node.ops):
        yield "comparison"
    if isinstance(node, ast.BoolOp):
        yield "and-or"
    if is_test or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        yield "negation"
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        yield "constant"
    if isinstance(node, DROPPED):
        yield "statement"
    if isinstance(node, ast.Call) and len(node.args) > 1 and not any(isinstance(each, ast.Starred) for each in node.args):
        yield "arguments"
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield "arithmetic"


def without_behaviour(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that only say something: docstrings, annotations, codes of rules, imports for types, and texts inside f-strings."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, clean=False):
            yield from ast.walk(node.body[0])
        if isinstance(node, ast.JoinedStr):  # its parts have no position of their own before Python 3.12
            yield from ast.walk(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from ast.walk(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TYPE_CHECKING":
            yield from ast.walk(node)
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                yield from ast.walk(annotation)
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "rule":
                yield from ast.walk(decorator)


def compared(node: ast.Compare) -> ast.AST:
    """Another comparison: the boundary on the other side, or the opposite."""
    place = next(at for at, each in enumerate(node.ops) if type(each) in COMPARISONS)
    node.ops[place] = COMPARISONS[type(node.ops[place])]()
    return node


def joined(node: ast.BoolOp) -> ast.AST:
    """`and` for `or`, and the other way round."""
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return node


def negated(node: ast.expr) -> ast.AST:
    """The opposite of a condition."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.copy_location(ast.UnaryOp(ast.Not(), copy.copy(node)), node)


def other_constant(node: ast.Constant) -> ast.AST:
    """The other boolean, the next number, a string with a letter more."""
    value = node.value
    if isinstance(value, bool):
        node.value = not value
    elif isinstance(value, (int, float)):
        node.value = value + 1
    elif isinstance(value, str):
        node.value = f"{value}x"
    return node


def next_release(node: ast.Tuple | ast.Constant) -> ast.AST:
    """The release with the next last number."""
    last = node.elts[-1] if isinstance(node, ast.Tuple) else node
    assert isinstance(last, ast.Constant)
    assert isinstance(last.value, int)
    last.value += 1
    return node


def dropped(node: ast.stmt) -> ast.AST:
    """A statement that does nothing."""
    return ast.copy_location(ast.Pass(), node)


def swapped(node: ast.Call) -> ast.AST:
    """The first two arguments in the other order."""
    node.args[:2] = reversed(node.args[:2])
    return node


def other_operator(node: ast.BinOp) -> ast.AST:
    """Another operation of arithmetic."""
    node.op = ARITHMETIC[type(node.op)]()
    return node


CHANGES: dict[str, Callable[..., ast.AST]] = {
    "comparison": compared,
    "and-or": joined,
    "negation": negated,
    "constant": other_constant,
    "statement": dropped,
    RELEASE: next_release,
    "arguments": swapped,
    "arithmetic": other_operator,
}
