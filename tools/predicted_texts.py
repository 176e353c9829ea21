"""The exceptions that the code of a rule can predict, as its syntax tree tells."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from raised_messages import Template, parts_of

from cfglint.findings.rule import Rule

UNKNOWN = ast.Name("?")  # no variable has this name


def predicted_texts(rule: Rule) -> list[Template] | None:
    """The exceptions of the findings of a rule, as templates; None if its code does not tell all of them."""
    module = ast.parse(Path(sys.modules[rule.check.__module__].__file__ or "").read_text(encoding="utf-8"))
    functions = {each.name: each for each in module.body if isinstance(each, ast.FunctionDef)}
    found: list[Template] = []
    for function in called(functions, rule.check.__name__):
        for node in ast.walk(function):
            if isinstance(node, ast.YieldFrom) and not is_local(node.value, functions):
                return None
            if isinstance(node, ast.Return) and is_rule(function, rule) and node.value is not None and not is_local(node.value, functions):
                return None
            if isinstance(node, ast.keyword) and node.arg == "exception":
                texts = texts_of(node.value, function)
                if texts is None:
                    return None
                found += texts
    return found or ([(rule.raises,)] if rule.raises else None)


def is_rule(function: ast.FunctionDef, rule: Rule) -> bool:
    """Whether a function is the rule itself, which returns findings."""
    return function.name == rule.check.__name__


def called(functions: dict[str, ast.FunctionDef], name: str) -> Iterator[ast.FunctionDef]:
    """A function of a module and those that it calls, directly or not."""
    names, seen = [name], set[str]()
    while names:
        each = names.pop()
        if each in functions and each not in seen:
            seen.add(each)
            yield functions[each]
            names += [node.id for node in ast.walk(functions[each]) if isinstance(node, ast.Name)]


def is_local(node: ast.expr, functions: dict[str, ast.FunctionDef]) -> bool:
    """Whether the findings of `yield from` come from a function of the same module."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions


def texts_of(node: ast.expr, function: ast.FunctionDef) -> list[Template] | None:
    """The strings that an expression may give, through variables of the function; None if that is not known."""
    if isinstance(node, ast.Constant) and node.value is None:
        return []
    parts = parts_of(node)
    if parts is not None:
        return [tuple(parts)] if any(len(part) > 1 for part in parts) else None
    if isinstance(node, ast.IfExp):
        both = [texts_of(each, function) for each in (node.body, node.orelse)]
    elif isinstance(node, ast.Name):
        both = [texts_of(value, function) for value in assigned(node.id, function)] or [None]
    else:
        return None
    return None if None in both else [text for each in both for text in each or ()]


def assigned(name: str, function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The values that are assigned to a variable of a function; a value that is unpacked stands for itself, and is not known."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield node.value
                elif any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(target)):
                    yield UNKNOWN
        elif isinstance(node, (ast.For, ast.comprehension)) and any(
            isinstance(e, ast.Name) and e.id == name for e in ast.walk(node.target)
        ):
            yield UNKNOWN
