"""The dataclasses in a project's own Python files, which are parsed as syntax trees and never executed."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from functools import cache, lru_cache
from itertools import islice

from cfglint.source import files
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.folders import walk_entries
from cfglint.source.python.nodes import walk
from cfglint.source.root import root_of

MOST_FILES = 3000
LARGEST = 400_000  # bytes of a Python file
ASSIGNMENTS = 64  # number of cached answers about a module

_folders: dict[str, dict[str, str]] = {}


def fields_of_folder(folder: str) -> dict[str, str]:
    """The fields of all dataclasses in the Python files of a folder, with their annotations; empty if there are none."""
    folder = os.path.abspath(folder)
    if folder not in _folders:
        found: dict[str, str] = {}
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
        except OSError:
            names = []
        for name in names[:MOST_FILES]:
            found.update(fields_of_text(text_of(os.path.join(folder, name))))
        _folders[folder] = found
    return _folders[folder]


def constant_of_folder(folder: str, name: str) -> ConfigValue:
    """The literal that the only assignment to a name in the Python files of a folder gives it; None if there is none."""
    paths = sorted(os.path.join(folder, each) for each in os.listdir(folder) if each.endswith(".py"))
    nodes = [node for path in paths[:MOST_FILES] for node in assigned_to(name, text_of(path))]
    try:
        return ast.literal_eval(nodes[0]) if len(nodes) == 1 else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


@lru_cache(ASSIGNMENTS)
def assigned_to(name: str, text: str) -> list[ast.expr]:
    """What the statements at the top of a module assign to a name alone."""
    module = parsed(text) if name in text else None
    lines = [node for node in (module.body if module is not None else ()) if isinstance(node, ast.Assign)]
    return [node.value for node in lines if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)]


def declares_field(path: str, name: str) -> bool:
    return name in declared_below(root_of(path))


@cache
def declared_below(folder: str) -> set[str]:
    texts = map(text_of, islice((entry.path for entry in walk_entries(folder) if entry.name.endswith(".py")), MOST_FILES))
    return {field for text in texts if "dataclass" in text for field in fields_of_text(text)}


def text_of(path: str) -> str:
    return files.bytes_in_project(path, LARGEST).decode("utf-8", "replace")


def fields_of_text(text: str) -> dict[str, str]:
    """The annotated fields of the dataclasses in a module, with their annotations."""
    fields: dict[str, str] = {}
    try:
        module = tree_of(text)
    except SyntaxError:  # as in GPT-NeoX v2.0, whose deepspeed_args.py lacks a quote: lines of one indentation with a name and a type
        for line in text.splitlines() if "dataclass" in text else ():
            name, mark, kind = line.removeprefix("    ").partition(": ")
            if mark and line.startswith("    ") and name.isidentifier() and kind[:1].isalpha() and "=" in kind:
                fields[name] = kind.partition("=")[0].strip()
        return fields
    except (ValueError, RecursionError, MemoryError):
        return {}
    for node in walk(module):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(line) for line in node.decorator_list):
            fields.update((name, ast.unparse(line.annotation)) for name, line in annotated(node))
    return fields


def tree_of(text: str) -> ast.Module:
    """The syntax tree of a module, without Python's warnings about its strings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parsed(text: str) -> ast.Module | None:
    try:
        return tree_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def problem_of(path: str) -> str:
    """Why a Python file cannot be parsed; empty if it can, and for other files."""
    return syntax_problem(text_of(path)) if path.endswith(".py") else ""


def syntax_problem(text: str) -> str:
    """Why a module cannot be parsed, with its line; empty if it can."""
    try:
        tree_of(text)
    except SyntaxError as error:
        return f"does not parse with Python {sys.version_info.major}.{sys.version_info.minor}: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError):
        return "does not parse"
    return ""


def annotated(node: ast.ClassDef) -> Iterator[tuple[str, ast.AnnAssign]]:
    """(name, line) for the annotated names of a class."""
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id, line
