"""The source of everything that an expression is computed from: an unknown value may be another one if that has changed."""

from __future__ import annotations

import ast

from cfglint.launch.programs.modules import Definition, Modules, ProgramModule
from cfglint.source.annotations import Iterator

MOST = 200  # expressions that are followed


def trace(expression: ast.expr, module: ProgramModule, modules: Modules) -> tuple[str, ...]:
    """The source of an expression and of what is assigned to the names in it, in any order of the program."""
    found: dict[str, None] = {}
    waiting = [(expression, module)]
    while waiting and len(found) < MOST:
        node, where = waiting.pop()
        source = ast.unparse(node)
        if source in found:
            continue
        found[source] = None
        for each in ast.walk(node):
            if isinstance(each, (ast.Name, ast.Attribute)):
                waiting.extend(values_of(each, where, modules))
    return tuple(sorted(found))


def values_of(node: ast.Name | ast.Attribute, module: ProgramModule, modules: Modules) -> Iterator[tuple[ast.expr, ProgramModule]]:
    """The expressions that give a name or an attribute its value, each with its module."""
    if isinstance(node, ast.Attribute):
        for known in modules.known():
            yield from ((value, known) for value in known.givers.get(node.attr, ()))
        return
    yield from ((value, module) for value in module.givers.get(node.id, ()))
    behind = modules.lookup(module, node.id) if node.id in module.imports else None
    value = getattr(behind.node, "value", None) if isinstance(behind, Definition) else None
    if isinstance(behind, Definition) and isinstance(value, ast.expr):
        yield value, behind.module
