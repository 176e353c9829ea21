"""The layers of the package: imports point downwards, without a circle, and the top level stays small."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from draw_architecture import PARTS

import cfglint

PACKAGE = Path(cfglint.__file__).parent
LAYERS = ("__main__", *PARTS, "__init__", "version")
MOST_FILES = 4  # next to the folders: __init__, __main__, version and py.typed
RUNNING, TYPED = range(2)  # the lists of `imports_of`
WRONG_BLOCK = re.compile(r"^TYPE_CHECKING\b(?! = False$).*=.*$", re.MULTILINE)


@cache
def imports_of(path):
    """The imports of a module: (those that run, those for a type checker alone); the tree is not kept, which is large."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    every = list(statements(tree.body))
    typed = [inner for node in every if typing_only(node) for inner in statements(node.body)]
    return [[node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)] for nodes in (every, typed)]


def test_no_block_for_a_type_checker_runs():
    """`TYPE_CHECKING` is false in every module, so that a run loads nothing for annotations alone."""
    texts = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert {path: found[0] for path, text in texts.items() if (found := WRONG_BLOCK.search(text))} == {}
    assert WRONG_BLOCK.search("TYPE_CHECKING = True") is not None


def typing_only(node):
    """Whether a statement is a block that only a type checker sees."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def statements(body):
    """The statements of a body and of all the bodies in it, without those of the blocks that only a type checker sees."""
    for node in body:
        yield node
        for inner in ("orelse",) if typing_only(node) else ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, inner, ()))


def ours(nodes):
    """(module, line) of everything of ours that is imported."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "cfglint":
            yield from ((f"cfglint.{each.name}", node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cfglint."):
            yield node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names if each.name.startswith("cfglint"))


def layer(module):
    """The part of the top level that a module belongs to; the names of the library are those of `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "__init__"


def upwards(which):
    """(module, line, what it imports) of imports of a part above its own; `which` are those of `imports_of`."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        own = inside.parts[0].removesuffix(".py")
        for module, line in ours(imports_of(path)[which]):
            # `__init__` gives the library's names on demand: `cfglint.check` is that of `api`.
            if own != "__init__" and LAYERS.index(layer(module)) < LAYERS.index(own):
                yield inside.as_posix(), line, module


def test_no_import_points_upwards():
    assert list(upwards(RUNNING)) == []


def test_no_annotation_names_a_type_of_a_part_above():
    assert list(upwards(TYPED)) == []


def test_every_part_of_the_top_level_has_a_layer():
    names = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names == set(LAYERS)
    assert len(names) <= 21
    assert sum(path.is_file() for path in PACKAGE.iterdir()) <= MOST_FILES


def test_no_circle():
    """Late imports and those of a type checker count, too: a framework names what computes something from its files as strings."""
    assert circle(graph()) == []


def graph():
    """Module -> the modules that it imports in some way."""
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    found = {}
    for name, path in paths.items():
        nodes = [node for which in imports_of(path) for node in which if isinstance(node, ast.ImportFrom) and node.module]
        found[name] = {target for node in nodes for target in targets(node, paths)} & (paths.keys() - {name})
    return found


def module_name(path):
    """The name under which a module is imported."""
    return ".".join(("cfglint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def targets(node, modules):
    """The modules that a `from` import needs: those that it names, else the one that holds the names."""
    for each in node.names:
        name = f"{node.module}.{each.name}"
        yield name if name in modules else node.module


def circle(found):
    """Modules each of which imports the next, from one back to itself; none without such a circle."""
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_what_a_module_offers_exists():
    for path in PACKAGE.rglob("*.py"):
        if "\n__all__ = " in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            module = importlib.import_module(name)
            assert [each for each in module.__all__ if not hasattr(module, each)] == [], name
