"""The calls of a program that load its model, quantise it and put an adapter on it: of transformers and PEFT."""

from __future__ import annotations

from cfglint.launch.program import AdapterCall, ProgramFacts
from cfglint.launch.programs import unsloth
from cfglint.launch.programs.calls import MadeCall
from cfglint.launch.programs.documents import document_of_call
from cfglint.launch.programs.model_objects import CONFIG_OF_TRAINER, argument
from cfglint.launch.programs.objects import MadeObject, Value
from cfglint.launch.programs.runs_of_program import Evaluated, scope_around
from cfglint.launch.programs.scopes import is_caught
from cfglint.source.annotations import Iterator
from cfglint.source.python.call import CallDocument

MODEL_OF_TRAINER = "model"
CHECKPOINT = "pretrained_model_name_or_path"
BITS = ("load_in_4bit", "load_in_8bit")


def adapter_calls(program: ProgramFacts, evaluated: Evaluated | None) -> tuple[AdapterCall, ...]:
    """The adapters that a program puts on its models, and the quantised models that it trains without one."""
    if evaluated is None or unsloth.is_imported(program.modules):
        return ()
    return (*attached_by_peft(program, evaluated), *given_to_trainers(program, evaluated))


def attached_by_peft(program: ProgramFacts, evaluated: Evaluated) -> Iterator[AdapterCall]:
    """The adapters of `get_peft_model`."""
    for call in evaluated.attached.values():
        named = {name: value for name, (_, value) in call.arguments.items()}
        model, config = argument(call.positional, named, 0, "model"), argument(call.positional, named, 1, CONFIG_OF_TRAINER)
        yield call_of(program, call, model, config.data if config is not None else None)


def given_to_trainers(program: ProgramFacts, evaluated: Evaluated) -> Iterator[AdapterCall]:
    """The adapters that a trainer of TRL is given, and models without an adapter."""
    for call in evaluated.trainers.values():
        named = {name: value for name, (_, value) in call.arguments.items()}
        model, config = argument(call.positional, named, 0, MODEL_OF_TRAINER), named.get(CONFIG_OF_TRAINER)
        if config is not None and config.data is not None:
            yield call_of(program, call, model, config.data)
        elif model is not None and isinstance(model.data, MadeObject) and not model.data.has_adapter and config is None:
            yield call_of(program, call, model, None, trains=True)


def call_of(program: ProgramFacts, made: MadeCall, model: Value | None, config: object, trains: bool = False) -> AdapterCall:
    loaded = model.data.made if model is not None and isinstance(model.data, MadeObject) else None
    adapter = config.made if isinstance(config, MadeObject) else None
    quantised = quantization_of(loaded) if loaded is not None else None
    scope = scope_around(made.node, made.module, program.modules)
    certain = not made.conditions and not is_caught(made.node, scope, program.scopes)
    certain = certain and all(not each.conditions for each in (loaded, adapter, quantised) if each is not None)
    return AdapterCall(
        document(adapter, program),
        document(loaded, program),
        document(quantised, program),
        checkpoint(loaded, model),
        loaded.name if loaded is not None else "",
        certain,
        trains,
        loaded is not None and "quantization_config" in loaded.arguments and quantised is None,
    )


def document(made: MadeCall | None, program: ProgramFacts) -> CallDocument | None:
    """The document of a call; None where it was not found, or has arguments that are not known by name."""
    return document_of_call(made, program) if made is not None and made.every else None


def quantization_of(loaded: MadeCall) -> MadeCall | None:
    """The `BitsAndBytesConfig` that a model is loaded with, or the loading call that has its fields, as before transformers 5."""
    key = loaded.arguments.get("quantization_config")
    if key is None:
        return loaded if any(name in loaded.arguments and loaded.arguments[name][1].data is True for name in BITS) else None
    return key[1].data.made if isinstance(key[1].data, MadeObject) else None


def checkpoint(loaded: MadeCall | None, model: Value | None) -> str:
    """The name or folder of the checkpoint that is loaded; empty if it is unknown."""
    if loaded is None:
        return model.data if model is not None and isinstance(model.data, str) else ""
    value = loaded.positional[0] if loaded.positional else loaded.arguments[CHECKPOINT][1] if CHECKPOINT in loaded.arguments else None
    return value.data if value is not None and isinstance(value.data, str) else ""
