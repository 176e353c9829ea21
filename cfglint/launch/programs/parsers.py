"""Parsers of a program's arguments: the classes that they fill, the arguments of those of `argparse`, their treatment of further ones,
and what of them is not read, so that nothing is known of what it may set.

Source: transformers 5.23.0 hf_argparser.py (parse_args_into_dataclasses, parse_dict), trl 1.16.0 scripts/utils.py
(TrlParser.parse_args_and_config), CPython argparse.py (add_argument, parse_args), deepspeed 0.19.8 deepspeed/__init__.py
(_add_core_arguments).
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason
from cfglint.launch.argparse_types import converted
from cfglint.launch.kinds import every_kind, kind_of_class
from cfglint.launch.program import ARGPARSE, BEYOND_LIMIT, HF_PARSER, HF_PARSERS, MISSING, TRL_PARSER, Field, ProgramFacts, arguments_of
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.classes import PACKAGES, linearized
from cfglint.launch.programs.line_parsers import LineParser, ParserArgument
from cfglint.launch.programs.modules import FRAMEWORKS, Definition, External, ProgramModule, assigned_names
from cfglint.launch.programs.objects import NONE, Built, plain, shown
from cfglint.launch.programs.scopes import COMPUTED, FUNCTIONS, Scope, dotted, keyword, literal, value_of
from cfglint.source.annotations import Any, Iterator
from cfglint.source.python.nodes import walk
from cfglint.source.record import Record

OTHER_PARSERS = frozenset(
    ("fire", "typer", "click", "absl", "hydra", "simple_parsing", "jsonargparse", "tyro", "docopt", "plac", "omegaconf", "dargparser")
)
# Of packages that do more: the functions that compose or parse what a program is configured with.
PARSING = {
    "hydra": ("main", "compose", "initialize", "initialize_config_dir", "initialize_config_module"),
    "omegaconf": ("OmegaConf.from_cli",),
}
INTO_CLASSES = "parse_args_into_dataclasses"
AND_CONFIG = "parse_args_and_config"
FROM_FILE = ("parse_yaml_file", "parse_json_file", "parse_dict")
CHANGES_WORDS = ("append", "extend", "insert", "remove", "pop", "clear")
# Calls by which a method of an own parser takes values from elsewhere than the line and the files that the framework's own methods read.
ELSEWHERE = frozenset(("parse_dict", "open", "load", "loads", "safe_load", "full_load", "read_text", "set_defaults"))


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
        for node in (node for name in sorted(names) for node in self.scope.reads.get(name, ())):
            if self.is_at(node):
                above = module.parent(node)
                yield (above.attr, called(module.parent(above))) if isinstance(above, ast.Attribute) else ("", None)

    def is_at(self, node: ast.Name) -> bool:
        """Whether one of its names means this parser at a place, and not what another assignment of the same block gave the name."""
        statement = self.scope.module.parent(self.call)
        block = self.scope.module.parent(statement) if statement is not None else None
        lines = next((each for name in ("body", "orelse", "finalbody") if statement in (each := getattr(block, name, []))), [])
        others = [line for line in lines if line is not statement and isinstance(line, ast.Assign) and node.id in assigned_names(line)]
        # One that is made of what the name had gives it the same parser, as a function that returns its parser does.
        others = [line for line in others if not any(isinstance(name, ast.Name) and name.id == node.id for name in walk(line.value))]
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
        line = linearized(scope.modules, found)
        for each in line:
            kind = framework_parser(each.name) if isinstance(each, External) else None
            if kind == HF_PARSER and any(isinstance(own, Definition) and defines(own.node, AND_CONFIG) for own in line):
                return TRL_PARSER, True  # a copy of it
            if kind:
                return kind, True
    return None, False


def defines(node: ast.AST, method: str) -> bool:
    return isinstance(node, ast.ClassDef) and any(isinstance(line, FUNCTIONS) and line.name == method for line in node.body)


def framework_parser(name: str) -> str | None:
    """The parser with a dotted name; empty for those of libraries that are not modelled, None if it is not a parser."""
    package, _, last = name.partition(".")
    if name.rpartition(".")[2] in HF_PARSERS and package in PACKAGES:
        return name.rpartition(".")[2]
    if name in ("argparse.ArgumentParser", "argparse"):
        return "argparse" if last else None
    return "" if package in OTHER_PARSERS and last and last in PARSING.get(package, (last,)) else None


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
            line.append(strict and not is_tried(construction.scope.module, call))
            file.append(method == AND_CONFIG and line[-1] and flag(construction, call, "fail_with_unknown_args", True))
        elif method in FROM_FILE:
            file.append(flag(construction, call, "allow_extra_keys", False, position=1))
        elif method.startswith("parse"):
            line.append(False)
            file.append(False)
        elif method not in ("set_defaults", "print_help", "format_help", "error", "exit"):
            closed = False
    if construction.is_own or changes_words(construction.scope.module):
        return False, False, closed
    own_file = [each for each in file if each is not None]
    return bool(line) and all(line), bool(own_file) and all(own_file), closed


def flag(construction: Construction, call: ast.Call, name: str, wanted: bool, position: int | None = None) -> bool:
    if any(each.arg is None for each in call.keywords) or (position is not None and len(call.args) > position):
        return False
    node = keyword(call, name)
    return node is None or value_of(node, construction.scope) is wanted


def is_tried(module: ProgramModule, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Try) and each.handlers for each in module.above(node))


def changes_words(module: ProgramModule) -> bool:
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and dotted(node) == ["sys", "argv"]:
            above = module.parent(node)
            if not isinstance(node.ctx, ast.Load) or (isinstance(above, ast.Subscript) and not isinstance(above.ctx, ast.Load)):
                return True
            if isinstance(above, ast.Attribute) and above.attr in CHANGES_WORDS:
                return True
    return False


def result_names(construction: Construction, count: int) -> list[str]:
    """The names that the parsed classes are assigned to, in order, or none: `a, b = parse()`, `(a,) = parse()`, `a = parse()[0]`."""
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
    if of_classes and len(made) > 1 and not facts.parser:  # each of which may take a part of the line
        facts.parser, why = parser.kind, "it has several parsers"
    elif not of_classes:
        composed = any(dotted(other.call.func)[-2:] == ["hydra", "main"] for other in made)
        why = "`hydra.main` fills none of the classes that are modelled" if composed else "its parser is not modelled"
    elif (own := next(own_source(parser), None)) is not None:
        module, method, name = own
        path, line, why = module.path, method.lineno, f"own parser `{name}` in `{module.path}`"
    elif {method for method, _ in parser.uses()} == {"parse_dict"}:
        why = "the program makes the mapping that it parses"
    elif has_own_words(parser):
        why = "the program makes the words that it parses"
    elif (types := parser.types()) is None:
        why = "its classes are computed"
    else:
        for node in types:  # a class that may be that of a framework's arguments, and is neither the framework's nor found
            bases = linearized(parser.scope.modules, parser.scope.resolve(node))
            roots = [base for base in bases if not isinstance(base, Definition)]
            packages = {root.name: root.name.partition(".")[0] for root in roots if isinstance(root, External)}
            if roots and FRAMEWORKS.isdisjoint(packages.values()):
                why = f"`{shown(node)}` is not found in the project"
                break
            other = next((name for name, package in packages.items() if package in PACKAGES and not is_modelled(name)), None)
            if other is not None and not facts.arguments:  # it may be that of the trainer
                why = f"`{other}` is not modelled"
                break
    return (Reason("program", arguments_of(facts.path), why, path, line, opens=True),) if why else ()


def is_modelled(name: str) -> bool:
    """Whether the arguments of a framework's class are known, by its dotted name."""
    last = name.rpartition(".")[2]
    return bool(kind_of_class(last)) or any(last in kind.script_classes() for _, kind in every_kind())


def has_own_words(parser: Construction) -> bool:
    """Whether a parser is only given words that the program itself makes, in place of those of the launch line."""
    calls = [call for method, call in parser.uses() if method in (INTO_CLASSES, AND_CONFIG) and call is not None]
    given = [call.args[0] if call.args else keyword(call, "args") for call in calls]
    found = [parser.scope.resolve(node) if isinstance(node, ast.Name) else None for node in given]
    values = [named.node if isinstance(named, Definition) else node for named, node in zip(found, given, strict=True)]
    values = [value.value if isinstance(value, ast.Assign) else value for value in values]
    made = [value for value in values if isinstance(value, (ast.List, ast.Tuple, ast.Call)) and not is_rest(value)]
    return bool(values) and len(made) == len(values)


def is_rest(value: ast.expr) -> bool:
    """Whether an expression is what another parser leaves of the line."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "parse_known_args"


def unread_training(name: str, program: ProgramFacts) -> Reason:
    calls = [(scope, node) for scope in program.scopes for node in scope.nodes if isinstance(node, ast.Call)]
    named = next(((scope, call, each) for scope, call in calls for each in dotted(call.func)[-1:] if kind_of_class(each)), None)
    parser = next((call for _, call in calls if dotted(call.func)[-1:] and dotted(call.func)[-1] in HF_PARSERS), None)
    accelerators = [call for _, call in calls if dotted(call.func)[-1:] == ["Accelerator"]]
    if named is None and accelerators:
        why = "it makes several `Accelerator`s" if len(accelerators) > 1 else "whether it makes its `Accelerator` is not known"
        return Reason("program", f"the training of `{name}`", why, program.path, accelerators[0].lineno)
    if named is None and parser is not None:  # beside another one, which takes the line
        why = f"the program makes what its `{shown(parser.func)}` parses"
        return Reason("program", f"the training of `{name}`", why, program.path, parser.lineno)
    if named is None:
        elsewhere = next(((module, call) for module in program.modules.known() for call in builders(module)), None)
        if elsewhere is None:
            return Reason("program", f"the training of `{name}`", "it builds none of the arguments that are modelled", program.path)
        module, call = elsewhere
        why = f"the code that leads to `{shown(call.func)}` in {module.path} was not followed"
        return Reason("program", f"the training of `{name}`", why, module.path, call.lineno)
    scope, call, made = named
    found = scope.resolve(call.func)
    why = f"`{made}` is not found in what it imports"
    if isinstance(found, External):
        why = f"`{found.name}` is neither in the project nor a class that is modelled"
    return Reason("program", f"the training of `{name}`", why, program.path, call.lineno)


def builders(module: ProgramModule) -> Iterator[ast.Call]:
    """The calls of a module by which it may build the arguments of a framework."""
    for node in module.nodes if module.may_build else ():
        if isinstance(node, ast.Call) and any(map(kind_of_class, dotted(node.func)[-1:])):
            yield node


def unread_call(name: str, made: MadeCall, program: ProgramFacts, complete: bool) -> tuple[Reason, ...]:
    if not complete:
        return (beyond_limit(program),)
    if not made.every:
        words = [keyword.value for keyword in made.node.keywords if keyword.arg is None] + [
            node.value for node in made.node.args if isinstance(node, ast.Starred)
        ]
        why = f"`{shown(words[0])}` is not known" if words else "they are not evaluated"
        return (unread_at(name, made, why),)
    if any(isinstance(result, Built) and result.is_open for result in made.used):
        return (unread_at(name, made, "the program passes them to code that may change them"),)
    return ()


def beyond_limit(program: ProgramFacts) -> Reason:
    what = f"the code of `{program.path.rpartition('/')[2]}`"
    return Reason("program", what, BEYOND_LIMIT, program.path, opens=True)


def unread_at(name: str, made: MadeCall, why: str) -> Reason:
    return Reason("program", f"the arguments of `{name}`", why, made.module.path, made.node.lineno, opens=True)


def own_source(parser: Construction) -> Iterator[tuple[ProgramModule, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """The methods of a parser of the project that take values from elsewhere, each with its module and the name of the class."""
    for cls in linearized(parser.scope.modules, parser.scope.resolve(parser.call.func)) if parser.is_own else ():
        if isinstance(cls, Definition) and isinstance(cls.node, ast.ClassDef):
            for method in (line for line in cls.node.body if isinstance(line, FUNCTIONS)):
                calls = (node.func for node in walk(method) if isinstance(node, ast.Call))
                if any((dotted(call) or [getattr(call, "attr", "")])[-1] in ELSEWHERE for call in calls):
                    yield cls.module, method, cls.node.name


def options_of(parsers: list[LineParser]) -> tuple[dict[str, Field], bool, bool]:
    """(the arguments by name, whether there are no others, whether an unknown one ends the program) of the parsers that one call makes."""
    fields: dict[str, Field] = {}
    is_complete = len(parsers) == 1
    for parser in parsers:
        is_complete = is_complete and not parser.is_open and not parser.commands
        for argument in parser.arguments:
            # A positional argument takes leftover words, and short options are not distinguished from values.
            if argument.is_positional or not all(option.startswith("--") for option in argument.options):
                is_complete = False
            if argument.is_positional:
                continue
            field = field_of(argument, parser)
            long = [option for option in argument.options if option.startswith("--")]
            fields.update((option[2:].replace("-", "_"), field) for option in long)
            if argument.is_flag_pair:
                fields.update((f"no_{option[2:].replace('-', '_')}", field) for option in long)
    parses = [parse for parser in parsers for parse in parser.parses]
    refuses = bool(parses) and all(parse.is_strict and not is_tried(parse.module, parse.node) for parse in parses)
    return fields, is_complete and bool(parses), refuses and not changes_words(parses[0].module)


def field_of(argument: ParserArgument, parser: LineParser) -> Field:
    kind, takes = argument.type_name, argument.takes
    stored: Any = True
    if takes == "0":
        constant = plain(argument.const) if argument.action.data == "store_const" else COMPUTED
        stored = argument.stores if argument.stores is not None else True if argument.is_flag_pair else constant
        kind = "bool" if isinstance(stored, bool) else ""
    value = parser.defaults.get(argument.name) or argument.default
    default = plain(value)
    if argument.required:
        default = COMPUTED if argument.is_conditional else MISSING
    elif value is NONE and argument.stores is not None:
        default = not argument.stores
    elif isinstance(default, str) and takes != "0" and kind != "str":  # is converted as a word of the line is
        word = converted(kind, default)
        default = COMPUTED if word is None else word
    listed = plain(argument.choices)
    choices = tuple(listed) if kind and isinstance(listed, (list, tuple)) else ()  # another type may convert the string first
    return Field(kind, default, *argument.place, takes, choices if takes != "0" else (), stored, tuple(argument.options))
