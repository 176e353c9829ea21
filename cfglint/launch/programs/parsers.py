"""Parsers of a program's arguments, from its syntax alone: the classes that they fill, the arguments that code adds to those of `argparse`,
their treatment of further arguments, and what of them is not read, so that nothing is known of what it may set.

Source: transformers 5.23.0 hf_argparser.py (parse_args_into_dataclasses, parse_dict), trl 1.16.0 scripts/utils.py
(TrlParser.parse_args_and_config), CPython argparse.py (add_argument, parse_args), deepspeed 0.19.8 deepspeed/__init__.py
(_add_core_arguments).
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason
from cfglint.launch.argparse_types import converted
from cfglint.launch.kinds import kind_of_class
from cfglint.launch.program import ARGPARSE, HF_PARSERS, MISSING, Field, ProgramFacts, arguments_of
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.classes import linearized
from cfglint.launch.programs.modules import FRAMEWORKS, Definition, External, ProgramModule, assigned_names
from cfglint.launch.programs.objects import Built, shown
from cfglint.launch.programs.scopes import COMPUTED, FUNCTIONS, Scope, dotted, keyword, literal, value_of
from cfglint.source.annotations import Any, Iterator
from cfglint.source.record import Record, changed

OTHER_PARSERS = frozenset(
    ("fire", "typer", "click", "absl", "hydra", "simple_parsing", "jsonargparse", "tyro", "docopt", "plac", "omegaconf", "dargparser")
)
INTO_CLASSES = "parse_args_into_dataclasses"
AND_CONFIG = "parse_args_and_config"
FROM_FILE = ("parse_yaml_file", "parse_json_file", "parse_dict")
CHANGES_WORDS = ("append", "extend", "insert", "remove", "pop", "clear")
# Calls by which a method of an own parser takes values from elsewhere than the line and the files that the framework's own methods read.
ELSEWHERE = frozenset(("parse_dict", "open", "load", "loads", "safe_load", "full_load", "read_text", "set_defaults"))
DEEPEST = 5  # depth of functions that pass the parser on
DEEPSPEED = "deepspeed/__init__.py"
ADDED = {  # arguments added by deepspeed.add_config_arguments
    "deepspeed": Field("bool", False, DEEPSPEED, 1, "0"),
    "deepspeed_config": Field("str", None, DEEPSPEED, 1),
    "deepscale": Field("bool", False, DEEPSPEED, 1, "0"),
    "deepscale_config": Field("str", None, DEEPSPEED, 1),
}
STORED = {"store_true": True, "store_false": False}
WITHOUT_VALUE = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")
GROUPS = ("add_argument_group", "add_mutually_exclusive_group")
HARMLESS = ("print_help", "format_help", "print_usage", "error", "exit")
PLAIN_KEYWORDS = frozenset(("description", "prog", "usage", "epilog", "formatter_class", "add_help", "conflict_handler"))


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


def unread_parsers(facts: ProgramFacts, made: list[Construction]) -> tuple[Reason, ...]:
    """The parsers of a program that are not understood, so that the values of its arguments are not known."""
    if facts.parser == ARGPARSE or not made:
        return ()
    of_classes = [construction for construction in made if construction.kind in HF_PARSERS]
    parser = (of_classes or made)[0]
    path, line = parser.scope.module.path, getattr(parser.call, "lineno", 0)
    why = ""
    if of_classes and len(made) > 1:  # each of which may take a part of the line
        facts.parser, why = parser.kind, "it has several parsers"
    elif not of_classes:
        composed = any(dotted(other.call.func)[-2:] == ["hydra", "main"] for other in made)
        why = "`hydra.main` fills none of the classes that are modelled" if composed else "its parser is not modelled"
    elif (own := next(own_source(parser), None)) is not None:
        module, method, name = own
        path, line, why = module.path, method.lineno, f"own parser `{name}` in `{module.path}`"
    elif {method for method, _ in parser.uses()} == {"parse_dict"}:
        why = "the program makes the mapping that it parses"
    elif (types := parser.types()) is None:
        why = "its classes are computed"
    else:
        for node in types:  # a class that may be that of a framework's arguments, and is neither the framework's nor found
            bases = linearized(parser.scope.modules, parser.scope.resolve(node))
            roots = [base for base in bases if not isinstance(base, Definition)]
            if roots and not any(isinstance(root, External) and root.name.partition(".")[0] in FRAMEWORKS for root in roots):
                why = f"`{shown(node)}` is not found in the project"
                break
    return (Reason("program", arguments_of(facts.path), why, path, line, opens=True),) if why else ()


def unread_training(name: str, program: ProgramFacts) -> Reason:
    calls = (node for scope in program.scopes for node in scope.nodes if isinstance(node, ast.Call))
    named = next(((call, each) for call in calls for each in dotted(call.func)[-1:] if kind_of_class(each)), None)
    if named is None:
        return Reason("program", f"the training of `{name}`", "it builds none of the arguments that are modelled", program.path)
    call, made = named
    return Reason("program", f"the training of `{name}`", f"`{made}` is not found in what it imports", program.path, call.lineno)


def unread_call(name: str, made: MadeCall, program: ProgramFacts, complete: bool) -> tuple[Reason, ...]:
    if not complete:
        what = f"the code of `{program.path.rpartition('/')[2]}`"
        return (Reason("program", what, "its evaluation stopped at the limit of steps", program.path, opens=True),)
    if not made.every:
        words = [keyword.value for keyword in made.node.keywords if keyword.arg is None] + [
            node.value for node in made.node.args if isinstance(node, ast.Starred)
        ]
        why = f"`{shown(words[0])}` is not known" if words else "they are not evaluated"
        return (unread_at(name, made, why),)
    if any(isinstance(result, Built) and result.is_open for result in made.results):
        return (unread_at(name, made, "the program passes them to code that may change them"),)
    return ()


def unread_at(name: str, made: MadeCall, why: str) -> Reason:
    return Reason("program", f"the arguments of `{name}`", why, made.module.path, made.node.lineno, opens=True)


def own_source(parser: Construction) -> Iterator[tuple[ProgramModule, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """The methods of a parser of the project that take values from elsewhere, each with its module and the name of the class."""
    for cls in linearized(parser.scope.modules, parser.scope.resolve(parser.call.func)) if parser.is_own else ():
        if isinstance(cls, Definition) and isinstance(cls.node, ast.ClassDef):
            for method in (line for line in cls.node.body if isinstance(line, FUNCTIONS)):
                calls = (node.func for node in ast.walk(method) if isinstance(node, ast.Call))
                if any((dotted(call) or [getattr(call, "attr", "")])[-1] in ELSEWHERE for call in calls):
                    yield cls.module, method, cls.node.name


class Flags:
    """The arguments of a parser: `fields` by name; `complete`: no others are added; `refuses`: an unknown argument ends the program."""

    def __init__(self, construction: Construction) -> None:
        self.fields: dict[str, Field] = {}
        self.complete = {node.arg for node in construction.call.keywords} <= PLAIN_KEYWORDS
        self.parses: list[bool] = []
        self._construction = construction
        self._calls: set[ast.Call] = set()
        self._reset: set[str | None] = set()  # the arguments whose default is set elsewhere; None if that may be any
        scope = construction.scope
        names = assigned_names(scope.module.parent(construction.call))
        if names:
            self._follow(scope, names, 0)
        else:
            self.complete = False
        for name, field in self.fields.items() if self._reset else ():
            if name in self._reset or None in self._reset:
                self.fields[name] = changed(field, default=COMPUTED)
        self.refuses = bool(self.parses) and all(self.parses) and not changes_words(scope)

    def _follow(self, scope: Scope, names: set[str], depth: int) -> None:
        for node in ast.walk(scope.node):
            if not isinstance(node, ast.Name) or node.id not in names or not isinstance(node.ctx, ast.Load):
                continue
            if scope is self._construction.scope and not self._construction.is_at(node):
                continue
            above = scope.module.parent(node)
            call = called(scope.module.parent(above)) if isinstance(above, ast.Attribute) else None
            if isinstance(above, ast.Attribute) and call is not None and call.func is above:
                name = above.attr
                if call in self._calls:
                    continue
                self._calls.add(call)
                if name == "add_argument":
                    self._add(scope, call)
                elif name in GROUPS:
                    groups = assigned_names(scope.module.parent(call))
                    self.complete = self.complete and bool(groups)
                    self._follow(scope, groups, depth)
                elif name == "parse_args":
                    self.parses.append(not call.args and not call.keywords and not in_try(scope, call))
                elif name.startswith("parse"):
                    self.parses.append(False)
                elif name == "set_defaults":
                    self._reset.update(node.arg for node in call.keywords)
                elif name not in HARMLESS:
                    self.complete = False
            elif isinstance(above, ast.Call) and node in above.args:
                function, position = scope.resolve(above.func), above.args.index(node)
                if isinstance(function, External) and function.name == "deepspeed.add_config_arguments":
                    self.fields.update(ADDED)
                elif isinstance(function, Definition) and isinstance(function.node, FUNCTIONS) and depth < DEEPEST:
                    parameters = [*function.node.args.posonlyargs, *function.node.args.args]
                    if position < len(parameters) and assigned_names(scope.module.parent(above)) <= names:
                        self._follow(Scope(scope.modules, function.module, function.node), {parameters[position].arg}, depth + 1)
                    else:
                        self.complete = False
                else:
                    self.complete = False
            elif not (isinstance(above, ast.Return) and depth):
                self.complete = False

    def _add(self, scope: Scope, call: ast.Call) -> None:
        options = [value_of(node, scope) for node in call.args]
        if not options or not all(isinstance(each, str) and each.startswith("-") for each in options):
            self.complete = False  # a positional argument takes leftover words
            return
        field = added_field(scope, call)
        field.options = tuple(options)
        self.complete = self.complete and not field.short  # short options are not distinguished from values
        for option in options:
            if option.startswith("--"):
                self.fields[option[2:].replace("-", "_")] = field
        if is_optional_boolean(call):
            self.fields.update({f"no_{option[2:].replace('-', '_')}": field for option in options})


def is_optional_boolean(call: ast.Call) -> bool:
    return dotted(keyword(call, "action") or call)[-1:] == ["BooleanOptionalAction"]


def added_field(scope: Scope, call: ast.Call) -> Field:
    place = (scope.module.path, call.lineno)
    required = keyword(call, "required") is not None and value_of(keyword(call, "required"), scope) is True
    default: Any = MISSING if required else None
    if keyword(call, "default") is not None and not required:
        default = value_of(keyword(call, "default"), scope)
    action = value_of(keyword(call, "action"), scope) if keyword(call, "action") is not None else None
    number = value_of(keyword(call, "nargs"), scope)
    takes = "1" if keyword(call, "nargs") is None else number if number is not COMPUTED and number in ("?", "+", "*") else ""
    if action in WITHOUT_VALUE or is_optional_boolean(call):
        takes = "0"
    elif keyword(call, "action") is not None and action not in ("store", "append", "extend"):
        takes = ""
    if takes == "0":
        stored: Any = COMPUTED
        if action in STORED or is_optional_boolean(call):
            stored = STORED.get(action, True) if isinstance(action, str) else True
        elif action == "store_const":
            stored = value_of(keyword(call, "const"), scope)
        unset = not stored if isinstance(stored, bool) and not is_optional_boolean(call) else None
        default = unset if keyword(call, "default") is None and not required else default
        return Field("bool" if isinstance(stored, bool) else "", default, *place, takes, (), stored)
    node = keyword(call, "type")
    kind = ["str"] if node is None else dotted(node)[-1:]
    typed = kind[0] if kind and kind[0] in ("int", "float", "str") else ""
    listed = value_of(keyword(call, "choices"), scope) if keyword(call, "choices") is not None else ()
    choices = tuple(listed) if typed and isinstance(listed, (list, tuple)) else ()  # another type may convert the string first
    if isinstance(default, str) and typed != "str":  # is converted as a word of the line is
        value = converted(typed, default)
        default = COMPUTED if value is None else value
    return Field(typed, default, *place, takes, choices)
