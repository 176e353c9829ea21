"""The keys and templates of a LLaMA-Factory checkout or fork that contains a file, read as syntax trees and never executed.

Used only for names that the released package does not have, so that a clean file costs nothing.
"""

from __future__ import annotations

import os

from cfglint.source.annotations import Iterator
from cfglint.source.root import leads_out, repository, root_of

PLACES = (os.path.join("src", "llamafactory"), "llamafactory", os.path.join("src", "llmtuner"))
ARGUMENTS = "hparams"
TEMPLATES = os.path.join("data", "template.py")

_found: dict[str, Checkout | None] = {}


class Checkout:
    """The names of fields and templates in the code of a checkout."""

    __slots__ = ("fields", "folder", "templates")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.fields: frozenset[str] = frozenset(field_names(os.path.join(folder, ARGUMENTS)))
        self.templates: frozenset[str] = frozenset(template_names(os.path.join(folder, TEMPLATES)))


def checkout_of(path: str) -> Checkout | None:
    """The checkout that contains a file, inside its work tree; None if there is none."""
    folder = package_of(os.path.dirname(os.path.abspath(path)))
    if folder is None:
        return None
    if folder not in _found:
        _found[folder] = Checkout(folder)
    return _found[folder]


def package_of(folder: str) -> str | None:
    """The folder of the package's code in the project of a folder."""
    for level in repository(os.path.join(folder, ARGUMENTS)):
        for place in PLACES:
            candidate = os.path.join(level, place)
            if os.path.isdir(os.path.join(candidate, ARGUMENTS)) and not leads_out(candidate, level):
                return candidate
    return None


def field_names(folder: str) -> Iterator[str]:
    """The annotated names of the classes in the modules of a folder: the fields of its dataclasses."""
    import ast

    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py"):
            continue
        for definition in tree_of(os.path.join(folder, name)).body:
            if isinstance(definition, ast.ClassDef):
                for statement in definition.body:
                    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                        yield statement.target.id


def template_names(path: str) -> Iterator[str]:
    """The names under which a module registers templates."""
    import ast

    if not os.path.exists(path):
        return
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
