"""The calls of a program that build its trainers, with the keywords that are written in them."""

from __future__ import annotations

import ast

from cfglint.evaluate import Unknown
from cfglint.launch.kinds import base_fields
from cfglint.launch.program import DataRecipe, ProgramFacts, TrainerCall
from cfglint.launch.programs import unsloth
from cfglint.launch.programs.calls import MadeCall, field_names
from cfglint.launch.programs.classes import SEQ2SEQ
from cfglint.launch.programs.data_sets import recipe_of
from cfglint.launch.programs.documents import add
from cfglint.launch.programs.imports import compares_releases, is_copied
from cfglint.launch.programs.modules import External
from cfglint.launch.programs.objects import CALLBACKS, IS_TRAINED, RESUMES, STREAMED, Built, Class, Opaque, Sequence, Value, plain
from cfglint.launch.programs.runs_of_program import Evaluated, scope_around
from cfglint.launch.programs.scopes import is_caught
from cfglint.source.annotations import ConfigValue, Iterator
from cfglint.source.python.call import CallDocument

PACKAGES = ("transformers", "trl")
SEQ2SEQ_CLASS = "Seq2SeqTrainingArguments"
EXPERIMENTAL = ".experimental."  # other classes of the same names


def trainer_calls(program: ProgramFacts, evaluated: Evaluated | None, node: ast.AST | None = None) -> tuple[TrainerCall, ...]:
    """The calls that build trainers; of a program that builds several arguments, those that are given the ones made at `node`."""
    if evaluated is None or unsloth.is_imported(program.modules):
        return ()
    return tuple(
        trainer_call(call, program)
        for call in evaluated.trainers.values()
        if is_modelled(call, program) and not is_for_release(call) and is_given(call, evaluated, node)
    )


def is_modelled(made: MadeCall, program: ProgramFacts) -> bool:
    """Whether the class of a trainer is one of the packages' own, and not of a copy in the project."""
    package = made.origin.partition(".")[0]
    return package in PACKAGES and EXPERIMENTAL not in made.origin and not is_copied(package, program)


def is_for_release(made: MadeCall) -> bool:
    """Whether the call is made under a condition about the release of the package."""
    return any(compares_releases(node, made.module) for node, _ in made.conditions)


def is_given(made: MadeCall, evaluated: Evaluated, node: ast.AST | None) -> bool:
    """Whether a trainer is given the arguments that are made at a node; one whose arguments are unknown belongs to the first."""
    key = made.arguments.get("args")
    value = key[1].data if key is not None else None
    by_result = {id(result): call for call, each in evaluated.made.items() for result in each.results}
    of_trainer = by_result.get(id(value)) if isinstance(value, Built) else next(iter(evaluated.made), None)
    return node is None or of_trainer is None or of_trainer is node


def trainer_call(made: MadeCall, program: ProgramFacts) -> TrainerCall:
    """A call with the keywords that are written in it, not those of mappings."""
    module = made.module
    offsets = module.offsets
    name = made.origin.rpartition(".")[2]
    document = CallDocument(module.path, module.text, name, *offsets.span(made.node))
    for node in written(made):
        add(document, str(node.arg), node, made.arguments[str(node.arg)][1], made, offsets, program)
    scope = scope_around(made.node, module, program.modules)
    certain = not made.conditions and not is_caught(made.node, scope, program.scopes)
    data = made.arguments["args"][1].data if "args" in made.arguments else None
    fields = added_fields(data) if isinstance(data, Built) else ()
    base = class_of_trainer(data) if isinstance(data, Built) else ""
    package = made.origin.partition(".")[0]
    return TrainerCall(name, package, document, certain, fields, callbacks(made), is_streamed(made), base, resumes(made), data_of(made))


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


def is_streamed(made: MadeCall) -> bool:
    """Whether the training set of a trainer is streamed, so that it has no length."""
    data = made.arguments["train_dataset"][1].data if "train_dataset" in made.arguments else None
    return isinstance(data, Opaque) and data.name == STREAMED


def data_of(made: MadeCall) -> DataRecipe | None:
    """The training set of a trainer, if that is loaded from local files."""
    return recipe_of(made.arguments["train_dataset"][1]) if "train_dataset" in made.arguments else None


def resumes(made: MadeCall) -> ConfigValue:
    """The checkpoint that `train` is given: a path, true for the last one, None for none; `Unknown` if that is not known."""
    trained = [result for result in made.results if RESUMES in result.slots and not result.is_open]
    slot = trained[0].slots[RESUMES] if len(trained) == 1 else None
    value = plain(slot) if isinstance(slot, Value) else Unknown()
    return value if value is None or isinstance(value, (bool, str)) else Unknown()


def class_of_trainer(built: Built) -> str:
    """The class of arguments of transformers that an object has, or that of its own class is derived from; empty for other ones."""
    own = built.made_of
    return built.name if built.name in ("TrainingArguments", SEQ2SEQ_CLASS) and (own is None or None not in own.line()) else ""


def added_fields(built: Built) -> tuple[str, ...]:
    """The fields of an object beyond those of `TrainingArguments`, in order; none if its class may give a trainer other ones."""
    own = built.made_of
    if built.name not in ("TrainingArguments", SEQ2SEQ_CLASS) or (own is not None and (None in own.line() or is_special(own))):
        return ()
    names = field_names(own) if own is not None else []
    return (*(SEQ2SEQ if built.name == SEQ2SEQ_CLASS else ()), *(name for name in names if name not in base_fields()))


def is_special(own: Class) -> bool:
    """Whether a class has its own `to_dict`, or fields that its constructor does not take."""
    classes = [each for each in own.line() if isinstance(each, Class)]
    return any("to_dict" in each.slots or "init=False" in ast.unparse(each.node) for each in classes)


def written(made: MadeCall) -> Iterator[ast.keyword]:
    return (keyword for keyword in made.node.keywords if keyword.arg is not None and keyword.arg in made.arguments)
