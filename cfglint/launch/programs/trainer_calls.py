"""The calls of a program that build its trainers, with the keywords that are written in them."""

from __future__ import annotations

import ast
import re

from cfglint.evaluate import Unknown
from cfglint.launch.kinds import base_fields
from cfglint.launch.program import AdapterCall, ImportedNames, ProgramFacts, TrainerCall
from cfglint.launch.programs import unsloth
from cfglint.launch.programs.calls import MadeCall, field_names
from cfglint.launch.programs.classes import SEQ2SEQ
from cfglint.launch.programs.data_sets import recipe_of
from cfglint.launch.programs.documents import add, document_of_call
from cfglint.launch.programs.modules import External, Modules, ProgramModule
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
    plain,
)
from cfglint.launch.programs.runs_of_program import Evaluated, scope_around
from cfglint.launch.programs.scopes import is_caught
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.document import SCALAR, Node
from cfglint.source.python.call import CallDocument

PACKAGES = ("transformers", "trl")
SEQ2SEQ_CLASS = "Seq2SeqTrainingArguments"
EXPERIMENTAL = ".experimental."  # other classes of the same names
MODEL_OF_TRAINER, CONFIG_OF_TRAINER = "model", "peft_config"
CHECKPOINT = "pretrained_model_name_or_path"
BITS = ("load_in_4bit", "load_in_8bit")
# Words in a condition that looks at the release or at the constructor itself.
COMPARES_RELEASES = re.compile(r"version|signature|parameters|hasattr|inspect|varnames|getfullargspec", re.IGNORECASE)


def trainer_calls(program: ProgramFacts, evaluated: Evaluated | None, node: ast.AST | None = None) -> tuple[TrainerCall, ...]:
    """The calls that build trainers; of a program that builds several arguments, those that are given the ones made at `node`."""
    if evaluated is None or unsloth.is_imported(program.modules):
        return ()
    calls: list[TrainerCall] = []
    for call in evaluated.trainers.values():
        package = call.origin.partition(".")[0]
        is_modelled = package in PACKAGES and EXPERIMENTAL not in call.origin and not is_copied(package, program)
        is_for_release = any(compares_releases(test, call.module) for test, _ in call.conditions)
        if is_modelled and not is_for_release and is_given(call, evaluated, node):
            calls.append(trainer_call(call, program))
    return tuple(calls)


def is_given(made: MadeCall, evaluated: Evaluated, node: ast.AST | None) -> bool:
    """Whether a trainer is given the arguments that are made at a node; one whose arguments are unknown belongs to the first."""
    key = made.arguments.get("args")
    value = key[1].data if key is not None else None
    by_result = {id(result): call for call, each in evaluated.made.items() for result in each.results}
    of_trainer = by_result.get(id(value)) if isinstance(value, Built) else next(iter(evaluated.made), None)
    return node is None or of_trainer is None or of_trainer is node


def trainer_call(made: MadeCall, program: ProgramFacts) -> TrainerCall:
    """A call with the keywords that are written in it, not those of mappings."""
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
        own = built.made_of.line() if built.made_of is not None else []
        base = built.name if None not in own else ""
        classes = [cls for cls in own if isinstance(cls, Class)]
        # Others may be given by its own `to_dict`, and by fields that its constructor does not take.
        if base and not any("to_dict" in cls.slots or "init=False" in ast.unparse(cls.node) for cls in classes):
            names = field_names(built.made_of) if built.made_of is not None else []
            fields = (*(SEQ2SEQ if base == SEQ2SEQ_CLASS else ()), *(name for name in names if name not in base_fields()))
    data = arguments.get("train_dataset")
    is_streamed = data is not None and isinstance(data.data, Opaque) and data.data.name == STREAMED
    recipe = recipe_of(data) if data is not None else None
    return TrainerCall(name, package, document, certain, fields, callbacks(made), is_streamed, base, resumes(made), recipe)


def callbacks(made: MadeCall) -> tuple[str, ...]:
    """The classes of transformers of the callbacks of a trainer that is trained, without those that only some branches add."""
    trained = [result for result in made.results if result.slots.get(IS_TRAINED) is True and not result.is_open]
    listed = made.arguments["callbacks"][1].data if "callbacks" in made.arguments else None
    values = list(listed.items) if isinstance(listed, Sequence) else []
    for each in trained:
        added = each.slots.get(CALLBACKS)
        values += added if isinstance(added, tuple) else ()
    names = (value.data.name.split(".") for value in values if isinstance(value.data, (Opaque, External)))
    return tuple(name[-1] for name in names if name[0] == "transformers") if trained else ()


def resumes(made: MadeCall) -> ConfigValue:
    """The checkpoint that `train` is given: a path, true for the last one, None for none; `Unknown` if that is not known."""
    trained = [result for result in made.results if RESUMES in result.slots and not result.is_open]
    slot = trained[0].slots[RESUMES] if len(trained) == 1 else None
    value = plain(slot) if isinstance(slot, Value) else Unknown()
    return value if value is None or isinstance(value, (bool, str)) else Unknown()


def adapter_calls(program: ProgramFacts, evaluated: Evaluated | None) -> Iterator[AdapterCall]:
    """The adapters that a program puts on its models, and the quantised models that it trains without one."""
    if evaluated is None or not evaluated.parts or unsloth.is_imported(program.modules):
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
    documents = [document_of_call(call, program) if call is not None and call.every else None for call in (adapter, loaded, quantised)]
    return AdapterCall(
        documents[0],
        documents[1],
        documents[2],
        checkpoint.data if checkpoint is not None and isinstance(checkpoint.data, str) else "",
        loaded.name if loaded is not None else "",
        certain,
        trains,
        "quantization_config" in arguments and quantised is None,
    )


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
            if package.partition(".")[0] not in PACKAGES or is_copied(package.partition(".")[0], program):
                continue
            document = CallDocument(module.path, module.text, "import", *module.offsets.span(node))  # whose keys are the names
            for name in aliases:
                start = module.offsets.offset(name.lineno, name.col_offset)
                key = Node(SCALAR, start, start + len(name.name), name.name)
                document.add(key, key, name.name)
            names = tuple(name.name for name in aliases if name.name != "*") if isinstance(node, ast.ImportFrom) else ()
            found.setdefault(node, ImportedNames(package, names, document, each.is_certain))
    return tuple(found.values())


def compares_releases(node: ast.AST, module: ProgramModule) -> bool:
    """Whether the condition of a statement is about the release of a package, itself or by the value of a name."""
    test = getattr(node, "test", None)
    names = {each.id for each in ast.walk(test) if isinstance(each, ast.Name)} if test is not None else set()
    values = [given for name in names for given in module.givers.get(name, ())]
    return any(COMPARES_RELEASES.search(ast.unparse(each)) for each in (test, *values) if each is not None)


def is_copied(package: str, program: ProgramFacts) -> bool:
    """Whether the program may import a package from a copy in the project, whose names are its own."""
    modules: Modules = program.modules
    return modules.named(package) is not None
