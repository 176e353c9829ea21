"""The values of expressions that are literals, or names of constants."""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.programs.modules import Definition
from cfglint.launch.programs.scopes import Scope
from cfglint.source.annotations import Any

COMPUTED = Unknown(Reason("program", "the value"))
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
    return isinstance(node, ast.Assign) and not all(isinstance(target, ast.Name) for target in node.targets)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((node.value for node in call.keywords if node.arg == name), None)
