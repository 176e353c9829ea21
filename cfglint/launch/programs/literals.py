"""The values of expressions that are literals, or names of constants."""

from __future__ import annotations

import ast

from cfglint.frameworks.unknown import Unknown
from cfglint.launch.programs.modules import Definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.launch.programs.modules import Module
    from cfglint.launch.programs.scopes import Scope

COMPUTED = Unknown(("the program computes it",))
CHANGES = ("update", "pop", "popitem", "setdefault", "clear", "append", "extend", "insert", "remove", "sort", "reverse")
LONGEST = 10_000  # characters of the source of a literal
EXACT = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)


def literal(node: ast.expr | None) -> Any:
    """The value of a literal expression; `COMPUTED` for any other expression."""
    if node is None or (node.end_col_offset or 0) > LONGEST:
        return COMPUTED
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return arithmetic(node)
    return COMPUTED if isinstance(value, (bytes, complex, set)) or value is ... else value


def arithmetic(node: ast.expr) -> Any:
    """The value of `2 * 8` and `1 / 3`: an operation on two numbers."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, EXACT):
        return COMPUTED
    left, right = literal(node.left), literal(node.right)
    if type(left) not in (int, float) or type(right) not in (int, float) or abs(left) > 1e15 or abs(right) > 1e15:
        return COMPUTED
    if isinstance(node.op, (ast.Div, ast.FloorDiv)):
        if not right:
            return COMPUTED
        return left / right if isinstance(node.op, ast.Div) else left // right
    return left + right if isinstance(node.op, ast.Add) else left - right if isinstance(node.op, ast.Sub) else left * right


def value_of(node: ast.expr | None, scope: Scope) -> Any:
    """The value of an expression in a scope: a literal, or a constant by its name."""
    found = literal(node)
    if found is not COMPUTED or not isinstance(node, ast.Name):
        return found
    named = scope.resolve(node)
    if not isinstance(named, Definition) or node.id in named.module.ambiguous:
        return COMPUTED
    if isinstance(named.node, (ast.Assign, ast.AnnAssign)):
        return literal(named.node.value) if not is_unpacked(named.node) else COMPUTED
    inside = scope.values.get(node.id)
    return literal(inside) if inside is named.node and not scope.is_conditional(named.node) else COMPUTED


def is_unpacked(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether an assignment unpacks its value to several names."""
    return isinstance(node, ast.Assign) and not all(isinstance(each, ast.Name) for each in node.targets)


def assigned(node: ast.Name, scope: Scope) -> tuple[ast.expr | None, Module]:
    """(the only expression assigned to a name, its module); None if there are several, or if it may not be reached."""
    if node.id in scope.bound:
        value = scope.values.get(node.id)
        return (None if value is None or scope.is_conditional(value) else value), scope.module
    found = scope.resolve(node)
    if not isinstance(found, Definition) or node.id in found.module.ambiguous:
        return None, scope.module
    if not isinstance(found.node, (ast.Assign, ast.AnnAssign)) or is_unpacked(found.node):
        return None, found.module
    return found.node.value, found.module


def is_mutated(name: str, module: Module) -> bool:
    """Whether code changes a list or mapping in place, or passes it to a function of the project."""
    for node in module.uses.get(name, ()):
        above = module.parent(node)
        if isinstance(above, ast.Subscript) and above.value is node:
            while isinstance(above, ast.Subscript):
                if not isinstance(above.ctx, ast.Load):
                    return True
                above = module.parent(above)
        if isinstance(above, ast.Attribute) and above.attr in CHANGES:
            return True
        if isinstance(above, ast.Call) and node in above.args and isinstance(above.func, ast.Name) and above.func.id in module.names:
            return True
    return False


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """A keyword argument of a call."""
    return next((each.value for each in call.keywords if each.arg == name), None)
