"""Parsers of a program's arguments: the classes that they fill, and their treatment of arguments that no class has.

Source: transformers 5.23.0 hf_argparser.py (parse_args_into_dataclasses, parse_dict), trl 1.16.0 scripts/utils.py
(TrlParser.parse_args_and_config).
"""

from __future__ import annotations

import ast

from cfglint.launch.program import HF_PARSERS
from cfglint.launch.programs.classes import linearized
from cfglint.launch.programs.modules import Definition, External, assigned_names
from cfglint.launch.programs.scopes import Scope, dotted, keyword, literal, value_of
from cfglint.source.annotations import Iterator
from cfglint.source.record import Record

OTHER_PARSERS = frozenset(
    ("fire", "typer", "click", "absl", "hydra", "simple_parsing", "jsonargparse", "tyro", "docopt", "plac", "omegaconf", "dargparser")
)
INTO_CLASSES = "parse_args_into_dataclasses"
AND_CONFIG = "parse_args_and_config"
FROM_FILE = ("parse_yaml_file", "parse_json_file", "parse_dict")
CHANGES_WORDS = ("append", "extend", "insert", "remove", "pop", "clear")


class Construction(Record):
    """A parser that a program creates: its class, whether that is the framework's own, and the call."""

    kind: str
    is_own: bool
    call: ast.Call
    scope: Scope

    def types(self) -> list[ast.expr] | None:
        given = self.call.args[0] if self.call.args else keyword(self.call, "dataclass_types")
        if isinstance(given, ast.Name):
            named = self.scope.resolve(given)
            node = named.node if isinstance(named, Definition) else None
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else node
            if isinstance(value, (ast.Tuple, ast.List)) and isinstance(named, Definition) and given.id not in named.module.ambiguous:
                given = value
        if isinstance(given, (ast.Tuple, ast.List)):
            return None if any(isinstance(element, ast.Starred) for element in given.elts) else given.elts
        return [given] if given is not None and dotted(given) else None

    def uses(self) -> Iterator[tuple[str, ast.Call | None]]:
        """(method, call) for each use of the parser; the call is None if the parser itself is passed on."""
        module = self.scope.module
        parent = module.parent(self.call)
        if isinstance(parent, ast.Attribute):
            yield parent.attr, called(module.parent(parent))
            return
        names = assigned_names(parent)
        if not names:
            yield "", None
        for node in ast.walk(self.scope.node):
            if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load) and self.is_at(node):
                above = module.parent(node)
                yield (above.attr, called(module.parent(above))) if isinstance(above, ast.Attribute) else ("", None)

    def is_at(self, node: ast.Name) -> bool:
        """Whether one of its names means this parser at a place, and not what another assignment of the same block gave the name."""
        statement = self.scope.module.parent(self.call)
        block = self.scope.module.parent(statement) if statement is not None else None
        lines = next((each for name in ("body", "orelse", "finalbody") if statement in (each := getattr(block, name, []))), [])
        others = [line for line in lines if line is not statement and isinstance(line, ast.Assign) and node.id in assigned_names(line)]
        # One that is made of what the name had gives it the same parser, as a function that returns its parser does.
        others = [line for line in others if not any(isinstance(name, ast.Name) and name.id == node.id for name in ast.walk(line.value))]
        begins = any(other.lineno < self.call.lineno for other in others)
        ends = min((other.end_lineno or other.lineno for other in others if other.lineno > self.call.lineno), default=node.lineno)
        return node.id not in assigned_names(statement) or (node.lineno <= ends and (not begins or node.lineno >= self.call.lineno))


def called(node: ast.AST | None) -> ast.Call | None:
    return node if isinstance(node, ast.Call) else None


def constructions(scopes: list[Scope]) -> list[Construction]:
    found: list[Construction] = []
    for scope in scopes:
        for call in scope.calls():
            kind, is_own = parser_class(scope, call.func)
            if kind is not None:
                found.append(Construction(kind, is_own, call, scope))
        for node in getattr(scope.node, "decorator_list", []):  # which turns a function into a command: click, typer, hydra
            named = scope.resolve(node.func if isinstance(node, ast.Call) else node)
            if isinstance(named, External) and named.name.partition(".")[0] in OTHER_PARSERS:
                found.append(Construction("", False, ast.Call(node, [], []), scope))
    return found


def parser_class(scope: Scope, node: ast.expr) -> tuple[str | None, bool]:
    """(parser that a class is or derives from, whether it is that class itself); None for a class that is not a parser."""
    found = scope.resolve(node)
    if isinstance(found, External):
        return framework_parser(found.name), False
    if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
        for each in linearized(scope.modules, found):
            kind = framework_parser(each.name) if isinstance(each, External) else None
            if kind:
                return kind, True
    return None, False


def framework_parser(name: str) -> str | None:
    """The parser with a dotted name; empty for those of libraries that are not modelled, None if it is not a parser."""
    package, _, last = name.partition(".")
    if name.rpartition(".")[2] in HF_PARSERS and package in ("transformers", "trl"):
        return name.rpartition(".")[2]
    if name in ("argparse.ArgumentParser", "argparse"):
        return "argparse" if last else None
    return "" if package in OTHER_PARSERS and last else None


def is_strict(construction: Construction) -> tuple[bool, bool, bool]:
    """(unknown arguments of the line end the program, so do unknown keys of a file, no arguments are added elsewhere)."""
    line, file, closed = [], [], True
    for method, call in construction.uses():
        if call is None:
            return False, False, False
        if method in (INTO_CLASSES, AND_CONFIG):
            names = {node.arg for node in call.keywords}
            of_line = not call.args and None not in names and not names & {"args", "args_filename", "args_file_flag"}
            strict = of_line and flag(construction, call, "return_remaining_strings", False)
            line.append(strict and not in_try(construction.scope, call))
            file.append(method == AND_CONFIG and line[-1] and flag(construction, call, "fail_with_unknown_args", True))
        elif method in FROM_FILE:
            file.append(flag(construction, call, "allow_extra_keys", False, position=1))
        elif method.startswith("parse"):
            line.append(False)
            file.append(False)
        elif method not in ("set_defaults", "print_help", "format_help", "error", "exit"):
            closed = False
    if construction.is_own or changes_words(construction.scope):
        return False, False, closed
    own_file = [each for each in file if each is not None]
    return bool(line) and all(line), bool(own_file) and all(own_file), closed


def flag(construction: Construction, call: ast.Call, name: str, wanted: bool, position: int | None = None) -> bool:
    """Whether a parameter has the wanted value, by default or explicitly."""
    if any(each.arg is None for each in call.keywords) or (position is not None and len(call.args) > position):
        return False
    node = keyword(call, name)
    return node is None or value_of(node, construction.scope) is wanted


def in_try(scope: Scope, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Try) and each.handlers for each in scope.module.above(node))


def changes_words(scope: Scope) -> bool:
    for node in ast.walk(scope.module.tree):
        if isinstance(node, ast.Attribute) and dotted(node) == ["sys", "argv"]:
            above = scope.module.parent(node)
            if not isinstance(node.ctx, ast.Load) or (isinstance(above, ast.Subscript) and not isinstance(above.ctx, ast.Load)):
                return True
            if isinstance(above, ast.Attribute) and above.attr in CHANGES_WORDS:
                return True
    return False


def result_names(construction: Construction, count: int) -> list[str]:
    """The names that the parsed classes are assigned to, in order; empty if the result is not unpacked.

    `a, b = parse()`, `(a,) = parse()`, `a = parse()[0]`.
    """
    module = construction.scope.module
    for _, call in construction.uses():
        parent = module.parent(call) if call is not None else None
        index = literal(parent.slice) if isinstance(parent, ast.Subscript) else None
        if index is not None:
            parent = module.parent(parent) if parent is not None else None
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            continue
        target = parent.targets[0]
        if isinstance(index, int) and isinstance(target, ast.Name) and -count <= index < count:
            return [target.id if place == index % count else "" for place in range(count)]
        if index is None and isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) >= count:
            return [element.id if isinstance(element, ast.Name) else "" for element in target.elts]
    return []
