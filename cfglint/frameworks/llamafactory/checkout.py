"""The keys and templates of a LLaMA-Factory checkout or fork that contains a file, read as syntax trees and never executed.

Used only for names that the released package does not have, so that a clean file costs nothing.
"""

from __future__ import annotations

import ast
import functools
import os

from cfglint.source import files
from cfglint.source.record import Record
from cfglint.source.root import leads_out, repository, root_of

ARGUMENTS = (("hparams", ""), ("configs", "finetuning_args.py"))  # the folder of its classes, which a fork may rename, and what is in it


class Checkout(Record):
    fields: frozenset[str]
    templates: frozenset[str]


def checkout_of(path: str) -> Checkout | None:
    """The checkout that contains a file, inside its work tree; None if there is none."""
    return next((checkout for level in repository(path) if (checkout := checkout_in(level)) is not None), None)


@functools.cache
def checkout_in(level: str) -> Checkout | None:
    """The checkout whose root is a folder; None if it is none. Kept, as all files below the folder ask."""
    for above in (os.path.join(level, "src"), level):
        packages = sorted(os.listdir(above)) if os.path.isdir(above) else []
        for classes, mark in ((os.path.join(above, package, name), mark) for package in packages for name, mark in ARGUMENTS):
            if os.path.exists(os.path.join(classes, mark)) and not leads_out(classes, level):
                return names_in(classes)
    return None


def names_in(classes: str) -> Checkout:
    """The annotated names of its classes, the fields of dataclasses, and the names under which it registers templates."""
    modules = [tree_of(os.path.join(classes, name)) for name in sorted(os.listdir(classes)) if name.endswith(".py")]
    definitions = (each for module in modules for each in module.body if isinstance(each, ast.ClassDef))
    annotated = (each.target for definition in definitions for each in definition.body if isinstance(each, ast.AnnAssign))
    templates = ast.walk(tree_of(os.path.join(os.path.dirname(classes), "data", "template.py")))
    calls = (node for node in templates if isinstance(node, ast.Call))
    registering = (call for call in calls if isinstance(call.func, ast.Name) and "register_template" in call.func.id)
    named = (word.value for call in registering for word in call.keywords if word.arg == "name")
    return Checkout(
        frozenset(target.id for target in annotated if isinstance(target, ast.Name)),
        frozenset(value.value for value in named if isinstance(value, ast.Constant) and isinstance(value.value, str)),
    )


def tree_of(path: str):  # type: ignore[no-untyped-def]  # ast.Module, whose import waits for the first call
    """The syntax tree of a module; an empty one if it cannot be opened or parsed, or is a link out of the project."""
    try:
        return ast.parse(files.read(path, root_of(path))[0])
    except (files.FileProblem, SyntaxError, ValueError, RecursionError):
        return ast.parse("")
