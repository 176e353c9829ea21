"""The keys and templates of a LLaMA-Factory checkout or fork that contains a file, read as syntax trees and never executed.

Used only for names that the released package does not have, so that a clean file costs nothing.
"""

from __future__ import annotations

import os

from cfglint.source.annotations import Iterator
from cfglint.source.record import Record
from cfglint.source.root import leads_out, repository, root_of

PLACES = (os.path.join("src", "llamafactory"), "llamafactory", os.path.join("src", "llmtuner"))
ARGUMENTS = "hparams"
TEMPLATES = os.path.join("data", "template.py")

_found: dict[str, Checkout | None] = {}


class Checkout(Record):
    """The names of fields and templates in the code of a checkout."""

    fields: frozenset[str]
    templates: frozenset[str]


def checkout_of(path: str) -> Checkout | None:
    """The checkout that contains a file, inside its work tree; None if there is none."""
    folder = package_of(os.path.dirname(os.path.abspath(path)))
    if folder is None:
        return None
    if folder not in _found:
        classes = os.path.join(folder, ARGUMENTS)
        modules = [os.path.join(classes, name) for name in sorted(os.listdir(classes)) if name.endswith(".py")]
        registered = os.path.join(folder, TEMPLATES)
        templates = template_names(registered) if os.path.exists(registered) else ()
        _found[folder] = Checkout(frozenset(name for module in modules for name in field_names(module)), frozenset(templates))
    return _found[folder]


def package_of(folder: str) -> str | None:
    """The folder of the package's code in the project of a folder."""
    for level in repository(os.path.join(folder, ARGUMENTS)):
        for place in PLACES:
            candidate = os.path.join(level, place)
            if os.path.isdir(os.path.join(candidate, ARGUMENTS)) and not leads_out(candidate, level):
                return candidate
    return None


def field_names(path: str) -> Iterator[str]:
    """The annotated names of the classes in a module: the fields of its dataclasses."""
    import ast

    for definition in tree_of(path).body:
        for statement in definition.body if isinstance(definition, ast.ClassDef) else ():
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                yield statement.target.id


def template_names(path: str) -> Iterator[str]:
    """The names under which a module registers templates."""
    import ast

    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and "register_template" in node.func.id:
            for keyword in node.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    yield keyword.value.value


def tree_of(path: str):  # type: ignore[no-untyped-def]  # ast.Module, whose import waits for the first call
    """The syntax tree of a module; an empty one if it cannot be opened or parsed, or is a link out of the project."""
    import ast

    from cfglint.source import files

    try:
        return ast.parse(files.read(path, root_of(path))[0])
    except (files.FileProblem, SyntaxError, ValueError, RecursionError):
        return ast.parse("")
