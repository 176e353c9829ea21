"""Extracts the facts about a program from its source."""

from __future__ import annotations

import ast
import os

from cfglint.launch.kinds import fields_of_class, is_script_class, kind_named, kind_of_class
from cfglint.launch.program import ARGPARSE, HF_PARSERS, Field, ProgramFacts
from cfglint.launch.programs.built_call import BuiltCall
from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.classes import SEQ2SEQ, known_fields, read_class
from cfglint.launch.programs.constructors import MOST, accelerators, constructor, constructors, engine_configs, instantiated, instantiations
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.documents import given_mapping, trains
from cfglint.launch.programs.flags import Flags, engine_files
from cfglint.launch.programs.literals import value_of
from cfglint.launch.programs.methods import with_methods
from cfglint.launch.programs.modules import Modules, ProgramModule
from cfglint.launch.programs.objects import PROJECT
from cfglint.launch.programs.parsers import FROM_FILE, Construction, added_arguments, constructions, is_strict, result_names
from cfglint.launch.programs.runs_of_program import Evaluated, Evaluations, scope_around
from cfglint.launch.programs.scopes import Scope, called, reachable
from cfglint.launch.programs.trainers import REPLACED, changed_fields, spread_over_gpus, trainers
from cfglint.launch.programs.unread import unread_parsers
from cfglint.source.annotations import Callable
from cfglint.source.budget import Budget
from cfglint.source.record import changed

SEARCHED = "sys.path."  # what a program changes if it imports from further folders
MOST_OF_PATHS = 2000  # steps of the statements that may compute such a folder


def read_program(path: str, package: str, folders: list[str], read: Callable[[str], str | None], entry: str = "") -> ProgramFacts | None:
    """The facts about a program; None if its file cannot be parsed. `folders` is the search path of its imports, `entry` its function
    that a command of the project calls.
    """
    modules = Modules(folders, read)
    main = modules.module_of(path, package)
    if main is not None and SEARCHED in main.text:
        modules.folders = with_own_folders(main, folders, read)
    scopes = reachable(modules, main, entry) if main is not None and main.tree.body else None
    if not scopes:
        return None
    made = constructions(scopes)
    if not any(construction.kind in HF_PARSERS for construction in made) and not constructors(scopes, made):
        scopes = with_methods(modules, scopes) or scopes
        made = constructions(scopes)
    built, methods = trainers(scopes)
    facts = ProgramFacts(path, trainer=next(iter(built)) if len(built) == 1 else "")
    facts.own_trainer, facts.own_methods = not built or not REPLACED.isdisjoint(methods), tuple(sorted(methods))
    facts.spreads = spread_over_gpus(scopes)
    parsers = [construction for construction in made if construction.kind in HF_PARSERS]
    if len(parsers) == 1 and len(made) == 1:
        fill(facts, parsers[0], scopes)
    elif (line_parser := parser_of_line(made)) is not None:
        flags = Flags(line_parser)
        facts.parser, facts.fields = ARGPARSE, flags.fields
        facts.complete, facts.refuses = flags.complete, flags.refuses
    facts.not_read = unread_parsers(facts, made)
    facts.is_called = bool(facts.parser) and not called(scopes, entry).isdisjoint(
        construction.scope for construction in made if construction.kind
    )
    facts.config_files = engine_files(scopes) or default_file(facts)
    facts.scopes = tuple(scopes)
    facts.evaluations = Evaluations(modules, scopes[0].module, entry)
    calls: list[BuiltCall] = [*constructors(scopes, made)]
    bare = Context((), False, read=read, folders=tuple(folders))  # Hydra composes its config with known words only
    instantiating = instantiations(scopes) if not calls else set()
    if instantiating:
        objects = facts.evaluations.under(bare).made.values()
        calls = [instantiated(scope_around(call.node, call.module, modules), call) for call in objects if call.node in instantiating]
    engines = engine_configs(scopes) if not calls else []
    if not calls and (engines or may_build(modules)):
        evaluated = facts.evaluations.under(Context((), True, read=read, folders=tuple(folders)))
        calls = evaluated_calls(evaluated, modules)
        trained = [engine for engine in engines if trains(evaluated.call(engine))]
        engines = trained if trained or accelerators(scopes) else engines
        calls = calls or [
            engine
            for engine in engines
            if given_mapping(evaluated.call(engine)) or given_mapping(facts.evaluations.under(bare).call(engine))
        ]
    facts.engines = tuple(engines)
    calls = calls or ([*accelerators(scopes)] if not facts.arguments else [])
    facts.built, facts.further = tuple(calls[:MOST]), len(calls[MOST:])
    return facts


def with_own_folders(main: ProgramModule, folders: list[str], read: Callable[[str], str | None]) -> list[str]:
    """The search path of imports with the folders that the top level of a program adds to it: `sys.path.append(...)`."""
    if not any(SEARCHED in ast.unparse(node) for node in main.tree.body if isinstance(node, ast.Expr)):
        return folders
    evaluation = ProgramEvaluation(Modules([], read), Budget(MOST_OF_PATHS), Context((), True, read=read, folders=tuple(folders[:1])))
    first: list[str] = []
    last: list[str] = []
    for place, text in evaluation.searched_by(main):
        found = [text.removeprefix(PROJECT)] if text.startswith(PROJECT) else [f"{folder}/{text}" for folder in folders[:2]]
        (first if place == 0 else last).extend(map(os.path.normpath, found))
    return [*dict.fromkeys((*first, *folders[:1], *last, *folders[1:]))]


def may_build(modules: Modules) -> bool:
    """Whether the text of a module names a class of arguments as if it calls it."""
    return any(module.may_build for module in modules.known())


def evaluated_calls(evaluated: Evaluated, modules: Modules) -> list[BuiltCall]:
    """The calls that build arguments where only an evaluation finds them."""
    built_calls: list[BuiltCall] = []
    for call in evaluated.made.values():
        scope = scope_around(call.node, call.module, modules)
        built_calls.extend(constructor(scope, call.node))
    return built_calls


def parser_of_line(made: list[Construction]) -> Construction | None:
    """The one argparse parser that parses the launch line; None if there are others, but for those that parse a file alone."""
    parser = [construction for construction in made if not is_file_parser(construction)]
    return parser[0] if len(parser) == 1 and parser[0].kind == ARGPARSE and not parser[0].is_own else None


def is_file_parser(parser: Construction) -> bool:
    """Whether the code parses only files with a parser."""
    methods = [method for method, call in parser.uses() if call is not None or not method]
    return parser.kind in HF_PARSERS and bool(methods) and all(method in FROM_FILE for method in methods)


def default_file(facts: ProgramFacts) -> tuple[str, ...]:
    """The DeepSpeed file that is the default of an argument of the program."""
    field = facts.fields.get("deepspeed_config")
    name = field.default if field is not None else None
    return (name,) if facts.parser == ARGPARSE and isinstance(name, str) and name.endswith(".json") else ()


def fill(facts: ProgramFacts, parser: Construction, scopes: list[Scope]) -> None:
    """Add the arguments that the parser defines."""
    facts.parser = parser.kind
    types = parser.types()
    if types is None:
        return
    line, file, closed = is_strict(parser)
    facts.complete = closed
    fields: dict[str, Field] = {}
    defaults: dict[str, Field] = {}
    classes: list[str] = []
    named = result_names(parser, len(types))
    for index, node in enumerate(types):
        dataclass = read_class(parser.scope.modules, parser.scope.resolve(node))
        facts.complete = facts.complete and dataclass.complete
        if kind_of_class(dataclass.base):
            facts.complete = facts.complete and not facts.arguments
            facts.arguments, facts.exact = dataclass.base, dataclass.complete
            known = known_fields(dataclass.base)
            defaults = {name: field for name, field in dataclass.own.items() if name in known}
            fields.update(SEQ2SEQ if dataclass.base == "Seq2SeqTrainingArguments" else {})
            fields.update((name, field) for name, field in dataclass.own.items() if name not in known)
            names = set(named[index : index + 1])
            changed_here = {*changed_fields(scopes, names), *dataclass.assigned}
            facts.changed = tuple(sorted(name for name in changed_here if name in known))
        else:
            if is_script_class(dataclass.base):
                classes.append(dataclass.base)
            elif dataclass.base:
                facts.complete = False
            fields.update(dataclass.own)
    if any(True for _ in added_arguments(parser)):
        facts.complete = False
    replace_defaults(parser, known_fields(facts.arguments) if facts.arguments else set(), fields, defaults)
    facts.fields, facts.defaults, facts.classes = fields, defaults, tuple(classes)
    known_classes = kind_named(kind_of_class(facts.arguments)).script_classes() if facts.arguments else classes
    facts.taken = tuple(field for name in classes if name not in known_classes for field in sorted(fields_of_class(name)))
    facts.refuses, facts.refuses_in_file = line, file


def replace_defaults(parser: Construction, known: set[str], fields: dict[str, Field], defaults: dict[str, Field]) -> None:
    """Apply the defaults that `set_defaults` sets."""
    for method, call in parser.uses():
        for node in call.keywords if call is not None and method == "set_defaults" else ():
            if node.arg in fields:
                fields[node.arg] = changed(fields[node.arg], default=value_of(node.value, parser.scope))
            elif node.arg in known:
                takes = defaults[node.arg].takes if node.arg in defaults else ""
                defaults[node.arg] = Field("", value_of(node.value, parser.scope), parser.scope.module.path, node.value.lineno, takes)
