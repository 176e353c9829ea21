"""What the syntax of a statement or function alone says."""

from __future__ import annotations

import ast
from functools import lru_cache

from cfglint.launch.programs.branches import is_exit
from cfglint.launch.programs.scopes import FUNCTIONS

MOST_FUNCTIONS = 1024  # of which is known whether they are generators
IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")


def ends(body: list[ast.stmt]) -> bool:
    """Whether a handler certainly ends the program, or the function with an exception."""
    return isinstance(body[-1], ast.Raise) or is_exit(body[-1])


def is_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for a package that is not installed; packages are taken as installed."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(node, ast.Name) and node.id in IMPORT_ERRORS for node in types)


@lru_cache(MOST_FUNCTIONS)
def is_generator(node: ast.AST) -> bool:
    """Whether a function yields its results."""
    stack = list(getattr(node, "body", [])) if not isinstance(node, ast.Lambda) else []
    while stack:
        each = stack.pop()
        if isinstance(each, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(each, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(each))
    return False
