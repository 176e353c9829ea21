"""Programs that build their arguments in code: each such call as a document, with the facts about the program for it: the trainers that it
builds, the adapters that it puts on models, and what it imports of the frameworks.
"""

from __future__ import annotations

import ast

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.command import not_known
from cfglint.launch.kinds import ENGINE, LAUNCH, base_fields, kind_of_class, trainer_of_class
from cfglint.launch.machine import VISIBLE
from cfglint.launch.overrides import Override
from cfglint.launch.program import HF_PARSERS, AdapterCall, ImportedNames, OwnLoop, ProgramCall, ProgramFacts, TrainerCall
from cfglint.launch.programs.calls import OF_MODELS, MadeCall, field_names
from cfglint.launch.programs.classes import PACKAGES, SEQ2SEQ, known_fields
from cfglint.launch.programs.context import Context, with_texts
from cfglint.launch.programs.data_sets import recipe_of
from cfglint.launch.programs.documents import (
    BEFORE_OPTIMIZER,
    add,
    call_document,
    document_of_call,
    given_mapping,
    is_unknown_config,
    merged,
    place_elsewhere,
    place_of_literal,
    trains,
)
from cfglint.launch.programs.modules import Definition, External, Modules, ProgramModule
from cfglint.launch.programs.objects import (
    CALLBACKS,
    IS_TRAINED,
    RESUMES,
    STREAMED,
    Built,
    Class,
    MadeObject,
    Opaque,
    Sequence,
    Value,
    compares_releases,
    plain,
)
from cfglint.launch.programs.own_loops import own_loop
from cfglint.launch.programs.parsers import beyond_limit, constructions, unread_at, unread_call
from cfglint.launch.programs.reading import SPREADING, Constructor, computed_constructor, imports_unsloth
from cfglint.launch.programs.runs_of_program import Evaluated, counting_arguments, evaluation_of, scope_around
from cfglint.launch.programs.scopes import COMPUTED, AcceleratorCall, EngineConfig, is_caught, literal
from cfglint.source.annotations import Callable, Iterator, Mapping
from cfglint.source.change import EditRefused
from cfglint.source.document import SCALAR, Node
from cfglint.source.python.call import CallDocument
from cfglint.source.python.nodes import walk
from cfglint.source.record import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import AlternativeEntry

Reread = Callable[[Mapping[str, str]], ProgramFacts | None]  # reads the program with other contents of its files
PASSED = ("optimizer", "lr_scheduler", "mpu")
MOST = 200  # expressions that are followed
SEQ2SEQ_CLASS = "Seq2SeqTrainingArguments"
EXPERIMENTAL = ".experimental."  # other classes of the same names
MODEL_OF_TRAINER, REFERENCE_OF_TRAINER, CONFIG_OF_TRAINER = "model", "ref_model", "peft_config"
CHECKPOINT = "pretrained_model_name_or_path"
BITS = ("load_in_4bit", "load_in_8bit")
OWN_PARTS = (("optimizer", "learning rate", "weight decay"), ("schedule",))  # by the values of a trainer's `optimizers`


class BuiltArguments:
    """A call that builds the arguments of a run: its document and kind, and the facts about the program for it.

    `doubts` are why the program may not reach the call, or build others. `alternative`: it is in one of several branches of a condition.
    `lacks_line`: the program takes arguments, if its line is not known.
    """

    __slots__ = ("alternative", "document", "doubts", "kind", "lacks_line", "passed", "program", "trainer")

    def __init__(self, program: ProgramFacts, which: int, reread: Reread, context: Context) -> None:
        call = program.built[which]
        evaluated = evaluation_of(program, context)
        made = evaluated.reached(call)
        if call.is_computed and made is not None and made.name != call.name:
            call = computed_constructor(made, call.scope)
        conditional = bool(made.conditions) if made is not None else call.is_conditional
        self.alternative: AlternativeEntry | None = None
        self.kind = call.kind
        of_program = f"of `{program.path.rpartition('/')[2]}`"
        places = [f"a condition {of_program}"] if conditional else []
        places += [f"the `try` {of_program}"] if is_caught(call.node, call.scope, program.scopes) else []
        conditions = [node for node, _ in made.conditions] if made is not None else []
        asks = any(compares_releases(node, call.scope.module) for node in (*conditions, *call.scope.module.above(call.node)))
        self.doubts = tuple(Reason("release" if asks else "branch", place, "", program.path) for place in places)
        if isinstance(call, Constructor):
            facts = call.facts(program, evaluated)
        else:
            facts = changed(program, not_read=unread_call(call.name, evaluated.call(call), program, evaluated.complete))
        self.program = trained(facts, program, evaluated, call.node)
        self.trainer = call.trainer
        self.passed = passed_to_engine(evaluated)
        self.lacks_line = evaluated.takes_words
        self.document = document_of(program, which, reread, context)
        if call.kind == LAUNCH and evaluated.evaluation.is_ended and not (self.document.has_loop or self.program.not_read):
            what = f"the training of `{program.path.rpartition('/')[2]}`"
            self.program.not_read = (Reason("program", what, "the program ends before it trains", program.path),)

    @property
    def not_known(self) -> tuple[Reason, ...]:
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
        made = MadeCall(parser.kind, parser.call, module, ())
        for name, value in self.program.assigned.items():
            add(self.document, name, parser.call, value, made, module.offsets, program)
        self.document.set_later = frozenset(self.program.late)
        evaluated = evaluation_of(program, context)
        fillings = [each.filling for each in evaluated.evaluation.filled]
        if fillings and all(filling is not None and filling.in_place for filling in fillings):
            self.doubts = ()  # the line has no part in them
        self.lacks_line = bool(self.doubts)
        self.document.files = frozenset(evaluated.files)
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


def visible_gpus(program: ProgramFacts, context: Context) -> int | None:
    """The number of GPUs that a program itself makes visible, by a variable that it sets; None if it does not, or that is not known."""
    devices = evaluation_of(program, context).evaluation.environment.slots.get(VISIBLE)
    names = devices.data.split(",") if isinstance(devices, Value) and isinstance(devices.data, str) else []
    return len(names) if names and all(name.strip().isdigit() for name in names) else None


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
    evaluated = evaluation_of(program, context)
    if not evaluated.engines and (not evaluated.accelerators or evaluated.trainers):
        return None
    return own_loop(next(iter(evaluated.accelerators.values()), None), evaluated, program)


def of_training(program: ProgramFacts, context: Context) -> ProgramFacts:
    """The facts without what is built beside the arguments of a parser, if a trainer gets these alone."""
    evaluated = evaluation_of(program, context)
    counting = counting_arguments(evaluated) if program.built and evaluated.complete else []
    if not any(each in counting for each in evaluated.evaluation.filled):
        return program
    calls = {call for call, made in evaluated.made.items() if any(each in counting for each in made.results)}
    return changed(program, built=tuple(each for each in program.built if each.call in calls))


def under_line(program: ProgramFacts, context: Context) -> ProgramFacts:
    """The facts with what only the words of a line decide: those of its training, and the engines, if the program builds nothing else."""
    trained_alone = of_training(program, context)
    if trained_alone is not program:
        return trained_alone
    evaluated = evaluation_of(program, context)
    others = tuple(built_call for built_call in program.built if built_call.kind == LAUNCH)
    if not program.engines or any(built_call.kind not in (LAUNCH, ENGINE) for built_call in program.built):
        return program
    made = [(engine, evaluated.call(engine)) for engine in program.engines]
    made = [each for each in made if trains(each[1])] if program.built else made  # not that of an average or a reference
    known = [built_call for built_call, call in made if given_mapping(call) is not None]
    if known:
        return changed(program, built=tuple(known))
    hidden = next((call for _, call in made if is_unknown_config(call)), None)
    if hidden is None:
        return program
    unread = () if others else (unread_at(hidden.name, hidden, "its config is computed"),)
    return changed(program, built=others, not_read=program.not_read + unread)


def config_of_engine(evaluated: Evaluated) -> tuple[str, bool]:
    """The file that a program gives its only engine, empty if that is not known, and whether it builds the engine for certain."""
    if passed_to_engine(evaluated) is None:
        return "", False
    [call] = evaluated.engines.values()
    path = call.engine_config.data if call.engine_config is not None else None
    return path if isinstance(path, str) and path.endswith((".json", ".hjson")) else "", not call.conditions


def with_trainers(program: ProgramFacts, context: Context) -> ProgramFacts:
    return trained(program, program, evaluation_of(program, context))


def trained(facts: ProgramFacts, program: ProgramFacts, evaluated: Evaluated, node: ast.AST | None = None) -> ProgramFacts:
    """The facts with the trainers, the adapters and the imports of a program; `node` makes the arguments of the trainers."""
    trainers, adapters = trainer_calls(program, evaluated, node), tuple(adapter_calls(program, evaluated))
    given = ((call, call.document.values.get("packing")) for call in trainers)  # an argument of SFTTrainer before TRL 0.13
    packs = next((f"`packing` of {call.name}" for call, value in given if value or isinstance(value, Unknown)), "")
    facts = changed(facts, trainer_calls=trainers, adapters=adapters, imports=imports(program, evaluated))
    facts.own_samples = facts.own_samples or packs
    if facts.parser in HF_PARSERS and node is None:
        add_filled(facts, evaluated)
    return facts


def overrides_of(program: ProgramFacts) -> tuple[Override, ...]:
    """What a program gives the arguments that its parser fills, in place of the words of the line."""
    overrides: list[Override] = []
    for name, value in program.assigned.items():
        content = plain(value)
        path = value.module.path if value.module is not None else program.path
        override = Override(name, [str(content)], f"`{path}`:", values=(content,))
        override.is_late = name in program.late
        override.argument = place_elsewhere(CallDocument(path, "", name, 0, 0), name, False, value, content)
        if override.argument is not None:
            document = override.argument.document
            node = document.find(override.argument.path)[1]
            override.place = (document, node) if node is not None else None
        overrides.append(override)
    return tuple(overrides)


def add_filled(facts: ProgramFacts, evaluated: Evaluated) -> None:
    """Add what the arguments that a parser fills have besides those of the line: what a file in its place says, and what the code sets."""
    given = (result.slots.get("args") for call in evaluated.trainers.values() for result in call.results)
    built = [value.data for value in given if isinstance(value, Value) and isinstance(value.data, Built)]
    filled = [(each, each.filling) for each in built or evaluated.evaluation.filled if each.filling is not None]
    filled = [(each, filling) for each, filling in filled if not filling.in_place] or filled
    fields = known_fields(facts.arguments)
    final = merged([{**each.arguments, **each.in_training} for each, _ in filled])
    of_line = [filling.line for _, filling in filled]
    final = {name: value for name, value in final.items() if name in fields and any(line.get(name) is not value for line in of_line)}
    unread = tuple(filling.unread for _, filling in filled if filling.unread is not None)
    is_open = any(each.is_open for each, _ in filled)
    changed_fields = fields if is_open and not unread else {name for name, value in final.items() if isinstance(plain(value), Unknown)}
    changed_fields = changed_fields | {name for _, filling in filled for name in filling.taken - final.keys()}
    evaluated_stores = evaluated.stores if filled and evaluated.complete else frozenset()
    unread_stores = {name for place, name in facts.stores if place not in evaluated_stores}
    facts.assigned = {} if unread else {name: value for name, value in final.items() if name not in changed_fields | unread_stores}
    facts.late = {name for each, _ in filled for name in each.in_training if name in facts.assigned}
    facts.changed = tuple(sorted(unread_stores | (set() if unread else changed_fields)))
    facts.not_read += unread
    if not evaluated.complete:
        facts.not_read += (beyond_limit(facts),)


def parsed_arguments(program: ProgramFacts, reread: Reread, context: Context) -> BuiltArguments | None:
    fills = program.parser in HF_PARSERS and program.arguments and not program.built
    return ParsedArguments(program, reread, context) if fills else None


def parsed_again(document: ProgramCall, texts: Mapping[str, str], reread: Reread, context: Context) -> ProgramCall:
    program, context = reread(texts), context.changed(read=with_texts(context.read, texts))
    again = parsed_arguments(program, lambda later: reread({**texts, **later}), context) if program is not None else None
    if again is None:
        raise EditRefused("the edited program would parse its arguments in another way", document.extent[0])
    again.document.program = again.program
    return again.document


def document_of(program: ProgramFacts, which: int, reread: Reread, context: Context) -> ProgramCall:
    evaluated = evaluation_of(program, context)
    documents = [call_document(call, program, evaluated) for call in program.built]
    found, call = documents[which], program.built[which]
    found.number = which
    if isinstance(call, (AcceleratorCall, EngineConfig)):
        found.loop = own_loop(evaluated.call(call) if isinstance(call, AcceleratorCall) else None, evaluated, program)
    found.trace = lambda key: trace(key, found.traced[key][0], found.traced[key][1], program.modules) if key in found.traced else ()
    found.others = {number: each for number, each in enumerate(documents) if each is not found}
    found.again = lambda text: read_again(found, {found.path: text}, reread, which, context)
    found.again_with = lambda texts: read_again(found, texts, reread, which, context)
    found.on_gpus = lambda gpus: built_again(found, program, reread, which, context.on_gpus(gpus))
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


def trace(key: str, expression: ast.expr, module: ProgramModule, modules: Modules) -> tuple[str, ...]:
    """The source of the expression that gives a key, and of what is assigned to the names in it, in any order of the program; of a mapping
    that is spread (`**options`) that of the key's entry alone.
    """
    found: dict[str, None] = {}
    above = module.parent(expression)
    waiting = [(expression, module, isinstance(above, ast.keyword) and above.arg is None)]
    while waiting and len(found) < MOST:
        node, where, is_spread = waiting.pop()
        entries = entries_for(key, node) if is_spread else None
        if entries is not None:
            waiting += [(value, where, is_inner) for value, is_inner in entries]
            continue
        source = ast.unparse(node)
        if source in found:
            continue
        found[source] = None
        is_spread = is_spread and isinstance(node, (ast.Name, ast.Attribute))
        for name in walk(node):
            if isinstance(name, ast.Attribute):
                values = ((value, known) for known in modules.known() for value in known.attribute_givers.get(name.attr, ()))
                waiting += [(value, known, is_spread and name is node) for value, known in values]
            elif isinstance(name, ast.Name):
                waiting += [(value, where, is_spread) for value in where.givers.get(name.id, ())]
                behind = modules.lookup(where, name.id) if name.id in where.imports else None
                value = getattr(behind.node, "value", None) if isinstance(behind, Definition) else None
                if isinstance(behind, Definition) and isinstance(value, ast.expr):
                    waiting.append((value, behind.module, is_spread))
    return tuple(sorted(found))


def entries_for(key: str, node: ast.expr) -> list[tuple[ast.expr, bool]] | None:
    """The expressions in a mapping that may give a key, each with whether it is a mapping that is spread; None for another expression."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [(value, name is None) for name, value in pairs if not isinstance(name, ast.Constant) or name.value == key]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        given = [(keyword.value, keyword.arg is None) for keyword in node.keywords if keyword.arg in (None, key)]
        return [*given, *((argument, True) for argument in node.args)]
    return None


def trainer_calls(program: ProgramFacts, evaluated: Evaluated | None, node: ast.AST | None = None) -> tuple[TrainerCall, ...]:
    """The calls that build trainers; of a program that builds several arguments, those that are given the ones made at `node`."""
    if evaluated is None or imports_unsloth(program.modules, evaluated):
        return ()
    calls: list[TrainerCall] = []
    by_result = {id(result): call for call, made in evaluated.made.items() for result in made.results}
    for call in evaluated.trainers.values():
        package = call.origin.partition(".")[0]
        is_modelled = package in PACKAGES and EXPERIMENTAL not in call.origin and program.modules.named(package) is None
        is_for_release = any(compares_releases(test, call.module) for test, _ in call.conditions)
        key = call.arguments.get("args")
        value = key[1].data if key is not None else None  # one whose arguments are unknown belongs to the first that are made
        owner = by_result.get(id(value)) if isinstance(value, Built) else next(iter(evaluated.made), None)
        if is_modelled and not is_for_release and (node is None or owner is None or owner is node):
            calls.append(trainer_call(call, program))
    return tuple(calls)


def trainer_call(made: MadeCall, program: ProgramFacts) -> TrainerCall:
    module, offsets, arguments = made.module, made.module.offsets, {name: value for name, (_, value) in made.arguments.items()}
    package, name = made.origin.partition(".")[0], made.origin.rpartition(".")[2]
    document = CallDocument(module.path, module.text, name, *offsets.span(made.node))
    for keyword in made.node.keywords:
        if keyword.arg in arguments:
            add(document, str(keyword.arg), keyword, arguments[str(keyword.arg)], made, offsets, program)
    scope = scope_around(made.node, module, program.modules)
    certain = not made.conditions and not is_caught(made.node, scope, program.scopes)
    built = arguments["args"].data if "args" in arguments else None
    fields: tuple[str, ...] = ()
    base = ""  # the class of arguments of transformers that is given, or that the program's own class is derived from
    if isinstance(built, Built) and built.name in ("TrainingArguments", SEQ2SEQ_CLASS):
        own = built.made_of.line if built.made_of is not None else []
        base = built.name if None not in own else ""
        classes = [cls for cls in own if isinstance(cls, Class)]
        # Others may be given by its own `to_dict`, and by fields that its constructor does not take.
        if base and not any("to_dict" in cls.slots or "init=False" in ast.unparse(cls.node) for cls in classes):
            names = field_names(built.made_of) if built.made_of is not None else []
            fields = (*(SEQ2SEQ if base == SEQ2SEQ_CLASS else ()), *(name for name in names if name not in base_fields()))
    data = arguments.get("train_dataset")
    is_streamed = data is not None and isinstance(data.data, Opaque) and data.data.name == STREAMED
    recipe = recipe_of(data) if data is not None else None
    trained = [result for result in made.results if result.slots.get(IS_TRAINED) is True and not result.is_open]
    listed = arguments["callbacks"].data if "callbacks" in arguments else None
    values = list(listed.items) if isinstance(listed, Sequence) else []
    for result in trained:
        added = result.slots.get(CALLBACKS)
        values += added if isinstance(added, tuple) else ()
    names_of_callbacks = (value.data.name.split(".") for value in values if isinstance(value.data, (Opaque, External)))
    callbacks = tuple(parts[-1] for parts in names_of_callbacks if parts[0] == "transformers") if trained else ()
    resumed = [result.slots[RESUMES] for result in made.results if RESUMES in result.slots and not result.is_open]
    resumes = plain(resumed[0]) if len(resumed) == 1 and isinstance(resumed[0], Value) else Unknown()
    resumes = resumes if resumes is None or isinstance(resumes, (bool, str)) else Unknown()
    given = arguments["optimizers"].data if "optimizers" in arguments else None
    pair = given.items if isinstance(given, Sequence) and len(given.items) == len(OWN_PARTS) and not given.is_open else None
    if pair is not None:
        own_parts = tuple(part for parts, value in zip(OWN_PARTS, pair, strict=True) if value.data is not None for part in parts)
    else:
        own_parts = tuple(part for parts in OWN_PARTS for part in parts) if given is not None else ()
    models = kind_of_model(made, MODEL_OF_TRAINER, 0), kind_of_model(made, REFERENCE_OF_TRAINER, 1)
    return TrainerCall(name, package, document, certain, fields, callbacks, is_streamed, base, resumes, recipe, own_parts, models)


def kind_of_model(made: MadeCall, parameter: str, place: int) -> str:
    given = [made.arguments[parameter][1]] if parameter in made.arguments else made.positional[place : place + 1]
    data = given[0].data if given else None if made.every else Unknown()
    return "none" if data is None else "a name" if isinstance(data, str) else "an object" if isinstance(data, Opaque) else ""


def adapter_calls(program: ProgramFacts, evaluated: Evaluated | None) -> Iterator[AdapterCall]:
    """The adapters that a program puts on its models, and the quantised models that it trains without one."""
    has_copy = program.modules.named("peft") is not None  # which may have been changed
    if evaluated is None or not evaluated.parts or has_copy or imports_unsloth(program.modules, evaluated):
        return
    for call in (*evaluated.attached.values(), *evaluated.trainers.values()):
        named = {name: value for name, (_, value) in call.arguments.items()}
        model, config = named.get(MODEL_OF_TRAINER) or next(iter(call.positional), None), named.get(CONFIG_OF_TRAINER)
        if call.node in evaluated.attached:  # by `get_peft_model`
            config = config or next(iter(call.positional[1:]), None)
            yield call_of(program, call, model, config)
        elif config is not None and config.data is not None:
            yield call_of(program, call, model, config)
        elif model is not None and isinstance(model.data, MadeObject) and not model.data.has_adapter and config is None:
            yield call_of(program, call, model, None, trains=True)


def call_of(program: ProgramFacts, made: MadeCall, model: Value | None, config: Value | None, trains: bool = False) -> AdapterCall:
    loaded, adapter = made_of(model), made_of(config)
    arguments = {name: value for name, (_, value) in loaded.arguments.items()} if loaded is not None else {}
    quantised: MadeCall | None = None
    if "quantization_config" in arguments:
        quantised = made_of(arguments["quantization_config"])
    elif any(name in arguments and arguments[name].data is True for name in BITS):
        quantised = loaded  # which has the fields itself, as before transformers 5
    scope = scope_around(made.node, made.module, program.modules)
    certain = not made.conditions and not is_caught(made.node, scope, program.scopes)
    certain = certain and all(not each.conditions for each in (loaded, adapter, quantised) if each is not None)
    checkpoint = arguments.get(CHECKPOINT) if loaded is not None else model
    if loaded is not None and loaded.positional:
        checkpoint = loaded.positional[0]
    # Without those of calls that have arguments which are not known by name.
    calls = (call if call is not None and call.every else None for call in (adapter, loaded, quantised))
    documents = [document_of_call(call, program) if call is not None else None for call in calls]
    name = checkpoint.data if checkpoint is not None and isinstance(checkpoint.data, str) else ""
    is_open = "quantization_config" in arguments and quantised is None
    return AdapterCall(documents[0], documents[1], documents[2], name, loaded.name if loaded is not None else "", certain, trains, is_open)


def made_of(value: Value | None) -> MadeCall | None:
    return value.data.made if value is not None and isinstance(value.data, MadeObject) else None


def imports(program: ProgramFacts, evaluated: Evaluated | None) -> tuple[ImportedNames, ...]:
    found: dict[ast.AST, ImportedNames] = {}
    for each in evaluated.imports if evaluated is not None else ():
        node, module = each.node, each.module
        if any(compares_releases(test, module) for test in each.tests):
            continue
        imported = [(node.module or "", node.names)] if isinstance(node, ast.ImportFrom) else [(name.name, [name]) for name in node.names]
        for package, aliases in imported:
            first = package.partition(".")[0]
            if first not in PACKAGES or program.modules.named(first) is not None:  # a copy in the project has names of its own
                continue
            document = CallDocument(module.path, module.text, "import", *module.offsets.span(node))  # whose keys are the names
            for name in aliases:
                start = module.offsets.offset(name.lineno, name.col_offset)
                key = Node(SCALAR, start, start + len(name.name), name.name)
                document.add(key, key, name.name)
            names = tuple(name.name for name in aliases if name.name != "*") if isinstance(node, ast.ImportFrom) else ()
            found.setdefault(node, ImportedNames(package, names, document, each.is_certain))
    return tuple(found.values())
