"""The layers of the package: imports point downwards, without a circle, and the top level stays small."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import cfglint

PACKAGE = Path(cfglint.__file__).parent
# From the top downwards; a module may import those after its own.
LAYERS = (
    *("__main__", "cli", "server", "api", "report", "review", "generators", "explanation", "rewrite", "run", "launch", "project", "rules"),
    *("frameworks", "findings", "batch", "source", "__init__"),
)
MOST_FILES = 3  # next to the folders: __init__, __main__ and py.typed


@cache
def imports_of(path):
    """The imports of a module: (at its top, anywhere, for a type checker alone); the tree is not kept, which is large."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    every = list(statements(tree.body))
    typed = [inner for node in every if typing_only(node) for inner in statements(node.body)]
    return [[node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)] for nodes in (tree.body, every, typed)]


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
    """The part of the top level that a module belongs to; names such as `__version__` are those of `__init__`."""
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
    assert list(upwards(1)) == []


def test_no_annotation_names_a_type_of_a_part_above():
    assert list(upwards(2)) == []


def test_every_part_of_the_top_level_has_a_layer():
    names = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names == set(LAYERS)
    assert len(names) <= 20
    assert sum(path.is_file() for path in PACKAGE.iterdir()) <= MOST_FILES


def test_no_circle_between_modules_at_their_tops():
    graph = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(("cfglint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        body = [node for node in imports_of(path)[0] if isinstance(node, ast.ImportFrom) and node.module]
        graph[name] = {target for node in body for target in targets(node)}
    circles = [name for name in graph if name in reachable(graph, name)]
    assert circles == []


def targets(node):
    """The modules that a `from` import needs: those that it names, else the one that holds the names."""
    for each in node.names:
        name = f"{node.module}.{each.name}"
        path = PACKAGE.parent / name.replace(".", "/")
        yield name if path.with_suffix(".py").exists() or (path / "__init__.py").exists() else node.module


def reachable(graph, start):
    """The modules that are imported when one is, itself only through a circle."""
    seen, waiting = set(), list(graph[start])
    while waiting:
        name = waiting.pop()
        if name in graph and name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return seen
