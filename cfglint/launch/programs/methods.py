"""The methods that a program may run: those of the project's classes that it instantiates."""

from __future__ import annotations

import ast

from cfglint.launch.programs.classes import linearized
from cfglint.launch.programs.modules import Definition, Modules
from cfglint.launch.programs.scopes import FUNCTIONS, MOST_SCOPES, Scope, code_of, named_in
from cfglint.source.annotations import Iterator

UNASKED = ("__init__", "__post_init__", "__new__")  # run for each object that is made


def with_methods(modules: Modules, scopes: list[Scope]) -> list[Scope] | None:
    """The scopes together with the methods that they call; None above the limit.

    A method counts if its class is called somewhere and its name is used as an attribute of any object.
    """
    found = list(scopes)
    seen = {scope.node for scope in scopes}
    names = set(UNASKED)
    classes: dict[ast.AST, list[tuple[str, Definition]]] = {}
    read = 0
    while read < len(found):
        added, read = found[read:], len(found)
        for scope in added:
            names.update(node.attr for node in scope.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load))
            for made in instantiated(scope):
                if made.node not in classes:
                    classes[made.node] = methods_of(made, modules)
        called = [method for methods in classes.values() for name, method in methods if name in names]
        for definition in [*called, *functions(added)]:
            if definition.node not in seen:
                seen.add(definition.node)
                found.append(Scope(modules, definition.module, definition.node))
        if len(found) > MOST_SCOPES or modules.is_full:
            return None
    return found


def functions(scopes: list[Scope]) -> Iterator[Definition]:
    """The functions and module levels that some scopes name."""
    for scope in scopes:
        for definition in named_in(scope):
            node = code_of(definition)
            if node is not None:
                yield Definition(definition.module, node)


def instantiated(scope: Scope) -> Iterator[Definition]:
    """The classes that a scope calls."""
    for call in scope.calls():
        made = scope.resolve(call.func)
        if isinstance(made, Definition) and isinstance(made.node, ast.ClassDef):
            yield made


def methods_of(made: Definition, modules: Modules) -> list[tuple[str, Definition]]:
    """The methods of a class and of its base classes by name, without overridden ones."""
    methods: list[tuple[str, Definition]] = []
    overridden: set[str] = set()
    for each in reversed(linearized(modules, made)):
        if not isinstance(each, Definition) or not isinstance(each.node, ast.ClassDef):
            continue
        nodes = [line for line in each.node.body if isinstance(line, FUNCTIONS) and line.name not in overridden]
        methods.extend((method.name, Definition(each.module, method)) for method in nodes)
        overridden.update(method.name for method in nodes if not calls_super(method))
    return methods


def calls_super(method: ast.AST) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(method))
