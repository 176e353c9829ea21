"""The parts of a model that a program makes: the model itself, its quantization, and its adapter, by transformers and PEFT."""

from __future__ import annotations

from cfglint.launch.programs.objects import MadeObject, Value
from cfglint.source.annotations import Any, Callable

LORA, QUANTIZATION = "LoraConfig", "BitsAndBytesConfig"
ATTACH, PREPARE, LOAD = "get_peft_model", "prepare_model_for_kbit_training", "from_pretrained"
CONFIG_OF_TRAINER = "peft_config"
OF_MODELS = ("Model", "For")  # in the names of classes that load models


def made_object(
    name: str, given: list[Value], named: dict[Any, Value], record: Callable[[str], Any], attach: Callable[[str], Any]
) -> Value | None:
    """The result of a call that makes a part of a model; None for other calls. `record` notes a call under a name, `attach` one that puts
    an adapter on a model.
    """
    package, _, last = name.rpartition(".")
    of_peft = package.partition(".")[0] == "peft"
    if of_peft and last == PREPARE:
        return argument(given, named, 0, "model")
    if (of_peft and last == LORA) or (not of_peft and last == QUANTIZATION):
        return Value(MadeObject(name, record(last)))
    if of_peft and last == ATTACH:
        attach(last)
        base = argument(given, named, 0, "model")
        found = MadeObject(name, base.data.made if base is not None and isinstance(base.data, MadeObject) else None)
        found.has_adapter = True
        return Value(found)
    if not of_peft and last == LOAD and any(word in package for word in OF_MODELS):
        return Value(MadeObject(name, record(package.rpartition(".")[2])))
    return None


def argument(given: list[Value], named: dict[Any, Value], place: int, name: str) -> Value | None:
    return named.get(name) or (given[place] if place < len(given) else None)
