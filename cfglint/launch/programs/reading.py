"""Extracts the facts about a program from its source."""

from __future__ import annotations

import ast
import os

from cfglint.launch.kinds import every_kind, fields_of_class, kind_named, kind_of_class
from cfglint.launch.program import ARGPARSE, HF_PARSERS, Field, ProgramFacts
from cfglint.launch.programs import config_files
from cfglint.launch.programs.calls import ProgramEvaluation
from cfglint.launch.programs.classes import SEQ2SEQ, known_fields, linearized, read_class
from cfglint.launch.programs.constructors import (
    MOST,
    PACKAGE_OF_NAMES,
    REPLACED,
    Constructor,
    accelerators,
    changed_fields,
    constructor,
    constructors,
    spread_over_gpus,
    trainers,
)
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.documents import given_mapping, trains
from cfglint.launch.programs.modules import Definition, External, Modules, ProgramModule
from cfglint.launch.programs.objects import PROJECT
from cfglint.launch.programs.parsers import (
    FROM_FILE,
    Construction,
    Flags,
    constructions,
    engine_values,
    is_strict,
    result_names,
    unread_parsers,
)
from cfglint.launch.programs.runs_of_program import Evaluations, scope_around
from cfglint.launch.programs.scopes import (
    FUNCTIONS,
    MOST_SCOPES,
    BuiltCall,
    EngineConfig,
    Scope,
    called,
    code_of,
    dotted,
    named_in,
    reachable,
    value_of,
)
from cfglint.source.annotations import Callable
from cfglint.source.budget import Budget
from cfglint.source.record import changed

SEARCHED = "sys.path."  # what a program changes if it imports from further folders
MOST_OF_PATHS = 2000  # steps of the statements that may compute such a folder
UNASKED = ("__init__", "__post_init__", "__new__")  # run for each object that is made


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
    if len(made) == 1 and made[0].kind in HF_PARSERS:
        fill(facts, made[0], scopes)
    elif (line_parser := parser_of_line(made)) is not None:
        flags = Flags(line_parser)
        facts.parser, facts.fields = ARGPARSE, flags.fields
        facts.complete, facts.refuses = flags.complete, flags.refuses
    facts.not_read = unread_parsers(facts, made)
    parsers = {construction.scope for construction in made if construction.kind}
    facts.is_called = bool(facts.parser) and not called(scopes, entry).isdisjoint(parsers)
    given_to_engines = [(call, scope, config) for scope in scopes for call, config in engine_values(scope)]
    names = [value_of(config, scope) for _, scope, config in given_to_engines]
    files = dict.fromkeys(name for name in names if isinstance(name, str) and name.endswith((".json", ".hjson")))
    default = facts.fields["deepspeed_config"].default if facts.parser == ARGPARSE and "deepspeed_config" in facts.fields else None
    facts.config_files = tuple(files) or ((default,) if isinstance(default, str) and default.endswith(".json") else ())
    facts.scopes = tuple(scopes)
    facts.evaluations = Evaluations(modules, scopes[0].module, entry)
    calls: list[BuiltCall] = [*constructors(scopes, made)]
    bare = Context((), False, read=read, folders=tuple(folders))  # Hydra composes its config with known words only
    named = ((call, scope.resolve(call.func)) for scope in scopes for call in scope.calls() if not calls and dotted(call.func)[-1:])
    instantiating = {call for call, function in named if isinstance(function, External) and function.name in config_files.INSTANTIATING}
    for call in facts.evaluations.under(bare).made.values() if instantiating else ():
        if call.node in instantiating:
            cls = read_class(modules, External(f"{PACKAGE_OF_NAMES}.{call.name}"))
            calls.append(Constructor(call.name, cls, call.node, scope_around(call.node, call.module, modules)))
    engines = [EngineConfig("deepspeed.initialize", *given) for given in given_to_engines] if not calls else []
    if not calls and (engines or any(module.may_build for module in modules.known())):
        evaluated = facts.evaluations.under(Context((), True, read=read, folders=tuple(folders)))
        for call in evaluated.made.values():
            calls += constructor(scope_around(call.node, call.module, modules), call.node)
        trained = [engine for engine in engines if trains(evaluated.call(engine))]
        engines = trained if trained or accelerators(scopes) else engines
        if not calls:
            under_bare = facts.evaluations.under
            calls += [each for each in engines if given_mapping(evaluated.call(each)) or given_mapping(under_bare(bare).call(each))]
    facts.engines = tuple(engines)
    calls = calls or ([*accelerators(scopes)] if not facts.arguments else [])
    facts.built, facts.further = tuple(calls[:MOST]), len(calls[MOST:])
    return facts


def with_own_folders(main: ProgramModule, folders: list[str], read: Callable[[str], str | None]) -> list[str]:
    if not any(SEARCHED in ast.unparse(node) for node in main.tree.body if isinstance(node, ast.Expr)):
        return folders
    evaluation = ProgramEvaluation(Modules([], read), Budget(MOST_OF_PATHS), Context((), True, read=read, folders=tuple(folders[:1])))
    first: list[str] = []
    last: list[str] = []
    for place, text in evaluation.searched_by(main):
        found = [text.removeprefix(PROJECT)] if text.startswith(PROJECT) else [f"{folder}/{text}" for folder in folders[:2]]
        (first if place == 0 else last).extend(map(os.path.normpath, found))
    return [*dict.fromkeys((*first, *folders[:1], *last, *folders[1:]))]


def parser_of_line(made: list[Construction]) -> Construction | None:
    """The one argparse parser that parses the launch line; None if there are others, but for those that parse a file alone."""
    parsers: list[Construction] = []
    for parser in made:
        methods = [method for method, call in parser.uses() if call is not None or not method]
        if parser.kind not in HF_PARSERS or not methods or any(method not in FROM_FILE for method in methods):
            parsers.append(parser)
    return parsers[0] if len(parsers) == 1 and parsers[0].kind == ARGPARSE and not parsers[0].is_own else None


def fill(facts: ProgramFacts, parser: Construction, scopes: list[Scope]) -> None:
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
            if any(dataclass.base in kind.script_classes() for _, kind in every_kind()):
                classes.append(dataclass.base)
            elif dataclass.base:
                facts.complete = False
            fields.update(dataclass.own)
    known = known_fields(facts.arguments) if facts.arguments else set()
    for method, call in parser.uses():
        if method == "add_argument" and call is not None:
            facts.complete = False
        for word in call.keywords if call is not None and method == "set_defaults" else ():
            value = value_of(word.value, parser.scope)
            if word.arg in fields:
                fields[word.arg] = changed(fields[word.arg], default=value)
            elif word.arg in known:
                takes = defaults[word.arg].takes if word.arg in defaults else ""
                defaults[word.arg] = Field("", value, parser.scope.module.path, word.value.lineno, takes)
    facts.fields, facts.defaults, facts.classes = fields, defaults, tuple(classes)
    known_classes = kind_named(kind_of_class(facts.arguments)).script_classes() if facts.arguments else classes
    facts.taken = tuple(field for name in classes if name not in known_classes for field in sorted(fields_of_class(name)))
    facts.refuses, facts.refuses_in_file = line, file


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
        named: list[Definition] = []
        for scope in added:
            names.update(node.attr for node in scope.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load))
            made = (scope.resolve(call.func) for call in scope.calls())
            for cls in (cls for cls in made if isinstance(cls, Definition) and isinstance(cls.node, ast.ClassDef)):
                if cls.node not in classes:
                    classes[cls.node] = methods_of(cls, modules)
            code = ((definition.module, code_of(definition)) for definition in named_in(scope))
            named += [Definition(module, node) for module, node in code if node is not None]
        called = [method for methods in classes.values() for name, method in methods if name in names]
        for definition in [*called, *named]:
            if definition.node not in seen:
                seen.add(definition.node)
                found.append(Scope(modules, definition.module, definition.node))
        if len(found) > MOST_SCOPES or modules.is_full:
            return None
    return found


def methods_of(made: Definition, modules: Modules) -> list[tuple[str, Definition]]:
    methods: list[tuple[str, Definition]] = []
    overridden: set[str] = set()
    for each in reversed(linearized(modules, made)):
        if not isinstance(each, Definition) or not isinstance(each.node, ast.ClassDef):
            continue
        nodes = [line for line in each.node.body if isinstance(line, FUNCTIONS) and line.name not in overridden]
        methods.extend((method.name, Definition(each.module, method)) for method in nodes)
        supers = {method for method in nodes if any(isinstance(node, ast.Name) and node.id == "super" for node in ast.walk(method))}
        overridden.update(method.name for method in nodes if method not in supers)
    return methods
