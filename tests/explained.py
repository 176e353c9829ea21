"""What an exception in a line of a test is about: `[found] = ...` alone says how many values came, and not which."""

from __future__ import annotations

import ast
import contextlib
from functools import cache
from pathlib import Path
from types import TracebackType

FOLDER = Path(__file__).resolve().parent
LONGEST = 2_000  # characters of a value
ABOUT = (ValueError, KeyError, IndexError, AttributeError, TypeError)


def explain(error: BaseException) -> None:
    """Add the value that was unpacked, or that has no such key or attribute, where a line of a test raises it itself."""
    if not isinstance(error, ABOUT) or error.__traceback__ is None or not hasattr(error, "add_note") or hasattr(error, "__notes__"):
        return
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    path = Path(last.tb_frame.f_code.co_filename)
    with contextlib.suppress(Exception):  # of the expression, which is evaluated again
        node = expression_at(path, last) if path.is_relative_to(FOLDER) else None
        if node is not None:
            value = eval(compile(ast.Expression(node), str(path), "eval"), {**last.tb_frame.f_globals, **last.tb_frame.f_locals})
            error.add_note(f"{ast.unparse(node)} is {value!r:.{LONGEST}}")


def expression_at(path: Path, place: TracebackType) -> ast.expr | None:
    """The expression whose value an exception is about."""
    positions = [*place.tb_frame.f_code.co_positions()][place.tb_lasti // 2]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Assign) and span(node.targets[0]) == positions:
            return node.value
        if isinstance(node, ast.Attribute | ast.Subscript) and span(node) == positions:
            return node.value
    return None


def span(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
