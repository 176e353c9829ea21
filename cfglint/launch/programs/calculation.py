"""What Python makes of numbers, strings and paths of a program, within limits of size."""

from __future__ import annotations

import ast
import operator
import re

from cfglint.launch.programs.objects import LONGEST, PLAIN, FilePath, Value, unknown, unknown_from
from cfglint.source.annotations import Any, Callable

LARGEST = 10**15
WIDE = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(?:\d{4}|\d*\.\d{4})|\{[^{}]*:[^{}]*(?:\d{4}|\{)")
MOST_TURNS = 64  # turns of a loop or of a comprehension
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def calculated(operation: ast.operator, one: Any, other: Any) -> Value:
    function = BINARY.get(type(operation))
    numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
    texts = isinstance(one, str) and isinstance(other, PLAIN) and isinstance(operation, (ast.Add, ast.Mod))
    if function is None or not (numbers or texts):
        return unknown()
    if texts and isinstance(operation, ast.Mod) and is_wide(one):
        return unknown()
    if numbers and (abs(one) > LARGEST or abs(other) > LARGEST or (isinstance(operation, ast.Pow) and abs(other) > 64)):
        return unknown()
    try:
        result = function(one, other)
    except (ArithmeticError, ValueError, TypeError):
        return unknown()
    return Value(result) if isinstance(result, PLAIN) and len(str(result)) < LONGEST else unknown()


def with_unknown(operation: ast.operator, left: Value, right: Value) -> Value:
    """The result of an operation with an unknown number: `epochs * steps / steps` is `epochs`, whatever the steps are."""
    if isinstance(operation, (ast.Div, ast.FloorDiv)) and any(source is right for source in left.sources):
        return next((source for source in left.sources if source is not right), left)
    value = unknown_from(left, right)
    if isinstance(operation, ast.Mult):
        value.sources = (left, right)
    return value


def short(text: str, kind: Callable[[str], Any] = str) -> Value:
    return Value(kind(text)) if len(text) <= LONGEST else unknown()


def is_wide(text: str) -> bool:
    """Whether a format string asks for a width or a precision of thousands of characters, or takes it from an argument."""
    return WIDE.search(text) is not None


def path_part(path: FilePath, name: str) -> Value:
    head, _, tail = path.text.rstrip("/").rpartition("/")
    if name == "parent":
        return Value(FilePath(head or ("\0" if path.text.startswith("\0") else ".")))
    stem, mark, suffix = tail.rpartition(".")
    return Value(tail if name == "name" else (stem or tail) if name == "stem" else mark + suffix if stem else "")
