"""Programs that build their arguments in code: each such call as a document, with the facts about the program for it."""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.command import not_known
from cfglint.launch.kinds import kind_of_class, trainer_of_class
from cfglint.launch.program import HF_PARSERS, OwnLoop, ProgramCall, ProgramFacts
from cfglint.launch.programs.calls import OF_MODELS
from cfglint.launch.programs.classes import known_fields
from cfglint.launch.programs.constructors import SPREADING, Constructor
from cfglint.launch.programs.context import Context, with_texts
from cfglint.launch.programs.documents import BEFORE_OPTIMIZER, call_document, given_mapping, is_unknown_config, place_of_literal
from cfglint.launch.programs.modules import Definition, Modules, ProgramModule
from cfglint.launch.programs.own_loops import own_loop
from cfglint.launch.programs.parsers import constructions
from cfglint.launch.programs.runs_of_program import Evaluated, evaluation_of
from cfglint.launch.programs.scopes import COMPUTED, AcceleratorCall, EngineConfig, is_caught, literal
from cfglint.launch.programs.trainer_calls import adapter_calls, imports, trainer_calls
from cfglint.launch.programs.unread import unread_at, unread_call
from cfglint.launch.registered import LAUNCH
from cfglint.source.annotations import Callable, Iterator, Mapping
from cfglint.source.change import EditRefused
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import AlternativeEntry

Reread = Callable[[Mapping[str, str]], ProgramFacts | None]  # reads the program with other contents of its files
PASSED = ("optimizer", "lr_scheduler", "mpu")
MOST = 200  # expressions that are followed


class BuiltArguments:
    """A call that builds the arguments of a run: its document and kind, and the facts about the program for it.

    `doubts` are why the program may not reach the call, or build others. `alternative`: it is in one of several branches of a condition.
    """

    __slots__ = ("alternative", "document", "doubts", "kind", "passed", "program", "trainer")

    def __init__(self, program: ProgramFacts, which: int, reread: Reread, context: Context) -> None:
        call = program.built[which]
        evaluated = evaluation_of(program, context)
        made = evaluated.reached(call)
        conditional = bool(made.conditions) if made is not None else call.is_conditional
        self.alternative: AlternativeEntry | None = None
        self.kind = call.kind
        of_program = f"of `{program.path.rpartition('/')[2]}`"
        branch = (Reason("branch", f"a condition {of_program}", "", program.path),) if conditional else ()
        caught = is_caught(call.node, call.scope, program.scopes)
        self.doubts = (*branch, *((Reason("branch", f"the `try` {of_program}", "", program.path),) if caught else ()))
        if isinstance(call, Constructor):
            facts = call.facts(program, evaluated)
        else:
            facts = changed(program, not_read=unread_call(call.name, evaluated.call(call), program, evaluated.complete))
        self.program = trained(facts, program, evaluated, call.node)
        self.trainer = call.trainer
        self.passed = passed_to_engine(evaluated)
        self.document = document_of(program, which, reread, context)

    @property
    def not_known(self) -> tuple[Reason, ...]:
        """The important fields whose final values are unknown."""
        return not_known(self.document.unknown, self.program.changed, known_fields(self.program.arguments))


class ParsedArguments(BuiltArguments):
    """The arguments that a parser fills, of a program whose launch line is not known: what it makes of a line without arguments."""

    __slots__ = ()

    def __init__(self, program: ProgramFacts, reread: Reread, context: Context) -> None:
        parser = next(construction for construction in constructions(list(program.scopes)) if construction.kind in HF_PARSERS)
        module = parser.scope.module
        self.kind = kind_of_class(program.arguments)
        self.passed, self.alternative = None, None
        self.doubts = (Reason("argument", "its launch line", "it is not known"),)
        self.program = with_trainers(program, context)
        self.trainer = trainer_of_class(program.arguments)
        self.document = ProgramCall(module.path, module.text, parser.kind, *module.offsets.span(parser.call))
        for name, field in program.defaults.items():
            if field.written is not None and not isinstance(field.default, Unknown) and literal(field.written[0]) is not COMPUTED:
                self.document.defaults[name] = place_of_literal(self.document, name, field.written[0], field.written[1], field.default)
        self.document.files = frozenset(program_module.path for program_module in program.modules.known())
        self.document.again_with = lambda texts: parsed_again(self.document, texts, reread, context)
        self.document.again = lambda text: parsed_again(self.document, {module.path: text}, reread, context)


def spreads_model(program: ProgramFacts, context: Context) -> str | None:
    """The `device_map` by which the one process of a program has its model on all GPUs, so that none has samples of its own; empty if it
    has none, None if that is not known.
    """
    if program.spreads or program.evaluations is None:
        return program.spreads
    parts = [part for part in evaluation_of(program, context).parts.values() if any(word in part.name for word in OF_MODELS)]
    maps = [part.arguments["device_map"][1] for part in parts if "device_map" in part.arguments]
    spreading = next((str(value.data) for value in maps if value.is_plain and value.data in SPREADING), "")
    return spreading or ("" if all(value.known for value in maps) and all(part.every for part in parts) else None)


def passed_to_engine(evaluated: Evaluated) -> dict[str, str] | None:
    """The objects that a program passes to its only engine, with the names of their classes; None if they are not known."""
    [call] = evaluated.engines.values() if len(evaluated.engines) == 1 else [None]
    if call is None or not call.every or not evaluated.complete or len(call.positional) > BEFORE_OPTIMIZER:
        return None
    values = {name: call.arguments[name][1] for name in PASSED if name in call.arguments}
    if not all(value.known for value in values.values()):
        return None
    return {name: getattr(value.data, "name", "") for name, value in values.items() if value.data is not None}


def loop_of(program: ProgramFacts, context: Context) -> OwnLoop | None:
    """The training loop of a program that makes an engine of DeepSpeed, or an `Accelerator` and no trainer; None without one."""
    evaluated = evaluation_of(program, context)
    if not evaluated.engines and (not evaluated.accelerators or evaluated.trainers):
        return None
    return own_loop(next(iter(evaluated.accelerators.values()), None), evaluated, program)


def with_engines(program: ProgramFacts, context: Context) -> ProgramFacts:
    """The facts with the engines whose configs only the words of a line decide, if the program builds nothing else."""
    if not program.engines or any(built_call.kind != LAUNCH for built_call in program.built):
        return program
    evaluated = evaluation_of(program, context)
    made = [(engine, evaluated.call(engine)) for engine in program.engines]
    known = [built_call for built_call, call in made if given_mapping(call) is not None]
    if known:
        return changed(program, built=tuple(known))
    hidden = next((call for _, call in made if is_unknown_config(call)), None)
    unread = (unread_at("deepspeed.initialize", hidden, "its config is computed"),) if hidden is not None and not program.built else ()
    return changed(program, not_read=program.not_read + unread)


def config_of_engine(evaluated: Evaluated) -> tuple[str, bool]:
    """The file that a program gives its only engine, empty if that is not known, and whether it builds the engine for certain."""
    if passed_to_engine(evaluated) is None:
        return "", False
    [call] = evaluated.engines.values()
    given = [call.arguments[key][1].data for key in ("config", "config_params") if key in call.arguments]
    name = next((path for path in given[:1] if isinstance(path, str) and path.endswith((".json", ".hjson"))), "")
    return name, not call.conditions


def with_trainers(program: ProgramFacts, context: Context) -> ProgramFacts:
    return trained(program, program, evaluation_of(program, context))


def trained(facts: ProgramFacts, program: ProgramFacts, evaluated: Evaluated, node: ast.AST | None = None) -> ProgramFacts:
    """The facts with the trainers, the adapters and the imports of a program; `node` makes the arguments of the trainers."""
    trainers, adapters = trainer_calls(program, evaluated, node), tuple(adapter_calls(program, evaluated))
    return changed(facts, trainer_calls=trainers, adapters=adapters, imports=imports(program, evaluated))


def parsed_arguments(program: ProgramFacts, reread: Reread, context: Context) -> BuiltArguments | None:
    """The arguments that the parser of a program fills; None if it fills none of a trainer."""
    fills = program.parser in HF_PARSERS and program.arguments and not program.built
    return ParsedArguments(program, reread, context) if fills else None


def parsed_again(document: ProgramCall, texts: Mapping[str, str], reread: Reread, context: Context) -> ProgramCall:
    program = reread(texts)
    again = parsed_arguments(program, lambda later: reread({**texts, **later}), context) if program is not None else None
    if again is None:
        raise EditRefused("the edited program would parse its arguments in another way", document.extent[0])
    again.document.program = again.program
    return again.document


def document_of(program: ProgramFacts, which: int, reread: Reread, context: Context) -> ProgramCall:
    """The document of one of the calls that build arguments, with the values of the others."""
    evaluated = evaluation_of(program, context)
    documents = [call_document(call, program, evaluated) for call in program.built]
    found, call = documents[which], program.built[which]
    found.number = which
    if isinstance(call, (AcceleratorCall, EngineConfig)):
        found.loop = own_loop(evaluated.call(call) if isinstance(call, AcceleratorCall) else None, evaluated, program)
    found.trace = lambda key: trace(found.traced[key][0], found.traced[key][1], program.modules) if key in found.traced else ()
    found.others = {number: each for number, each in enumerate(documents) if each is not found}
    found.again = lambda text: read_again(found, {found.path: text}, reread, which, context)
    found.again_with = lambda texts: read_again(found, texts, reread, which, context)
    found.on_gpus = lambda gpus: built_again(found, program, reread, which, context.changed(gpus=gpus))
    found.files = frozenset((found.path, *evaluated.files))
    return found


def read_again(document: ProgramCall, texts: Mapping[str, str], reread: Reread, which: int, context: Context) -> ProgramCall:
    program = reread(texts)
    if program is None or len(program.built) != len(document.others) + 1:
        raise EditRefused("the edited program would build its arguments in another way", document.extent[0])
    context = context.changed(read=with_texts(context.read, texts))
    return built_again(document, program, lambda later: reread({**texts, **later}), which, context)


def built_again(document: ProgramCall, program: ProgramFacts, reread: Reread, which: int, context: Context) -> ProgramCall:
    again = BuiltArguments(program, which, reread, context)
    again.document.program, again.document.partners = again.program, document.partners
    return again.document


def trace(expression: ast.expr, module: ProgramModule, modules: Modules) -> tuple[str, ...]:
    """The source of an expression and of what is assigned to the names in it, in any order of the program."""
    found: dict[str, None] = {}
    waiting = [(expression, module)]
    while waiting and len(found) < MOST:
        node, where = waiting.pop()
        source = ast.unparse(node)
        if source in found:
            continue
        found[source] = None
        for each in ast.walk(node):
            if isinstance(each, (ast.Name, ast.Attribute)):
                waiting.extend(values_of(each, where, modules))
    return tuple(sorted(found))


def values_of(node: ast.Name | ast.Attribute, module: ProgramModule, modules: Modules) -> Iterator[tuple[ast.expr, ProgramModule]]:
    """The expressions that give a name or an attribute its value, each with its module."""
    if isinstance(node, ast.Attribute):
        for known in modules.known():
            yield from ((value, known) for value in known.givers.get(node.attr, ()))
        return
    yield from ((value, module) for value in module.givers.get(node.id, ()))
    behind = modules.lookup(module, node.id) if node.id in module.imports else None
    value = getattr(behind.node, "value", None) if isinstance(behind, Definition) else None
    if isinstance(behind, Definition) and isinstance(value, ast.expr):
        yield value, behind.module
