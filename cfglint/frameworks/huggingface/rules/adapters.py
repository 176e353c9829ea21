"""Adapters of PEFT and quantised models. Imported only for a run that has them."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import counted
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import keyword
from cfglint.frameworks.peft import quantization
from cfglint.frameworks.peft.adapters import OWN_CODE, Outcome, Place, outcome
from cfglint.frameworks.peft.lora import SAVED, TARGETS, unknown_in
from cfglint.frameworks.refusal import Refusal
from cfglint.launch.program import AdapterCall
from cfglint.source.annotations import Iterator, Sequence
from cfglint.source.python.call import CallDocument

FSDP2_BY_DEFAULT = (5, 10)


def calls_of(config: TrainerConfig) -> Sequence[AdapterCall]:
    return config.facts.launch.code.adapters if config.facts.launch.code is not None else ()


def adapters_of(config: TrainerConfig) -> list[tuple[Place, Outcome]]:
    if config.adapters is None:
        places = [place_of(config, call, call.adapter) for call in calls_of(config) if call.adapter is not None]
        places += config.part("adapters", [])
        config.adapters = [(place, outcome(place, config.facts)) for place in places]
    return config.adapters


def place_of(config: TrainerConfig, call: AdapterCall, document: CallDocument) -> Place:
    own_code = call.model is None or call.model.values.get(OWN_CODE, False) is not False
    values, doubtful = dict(document.values), doubts(config, call)
    return Place(values, call.checkpoint, call.loader, document.path, config.version, own_code, document, {}, doubtful)


def doubts(config: TrainerConfig, call: AdapterCall) -> tuple[Reason, ...]:
    launch = config.facts.launch
    conditions = () if call.is_certain else (Reason("branch", "a condition of the program"),)
    parses = launch.line is None and launch.code is not None and launch.code.parser  # the defaults of a parser need not be what it gets
    return (*conditions, *((Reason("argument", "the arguments of the program", "no line that starts it is known"),) if parses else ()))


@rule("PFT001")
def adapter_refused(config: TrainerConfig) -> Iterator[Finding]:
    for place, found in adapters_of(config):
        refused = found.refused
        if refused is None:
            continue
        is_named = found.modules is not None and place.is_named_model(config.facts.here)
        published = (Reason("file", f"`{place.checkpoint}`", "a published model, not in the project"),) if is_named else ()
        older = () if found.is_certain else (Reason("release", "the release of peft", "older ones accept it"),)
        places, doubted = (place.setting(config, refused.key),), (*place.depends_on, *published, *older)
        yield refused.finding(places, config.values, depends_on=doubted, for_any_parser=True)


@rule("PFT002")
def target_without_module(config: TrainerConfig) -> Iterator[Finding]:
    for place, found in adapters_of(config):
        if found.attached is None or found.modules is None or not found.attached.without_module:
            continue
        names, modules = found.attached.without_module, found.modules
        has = [leave for leave in modules.leaves() if not leave.isdigit()]
        message = f"`{TARGETS}`: {modules.model_type} has no {', '.join(names)}"
        remedy = f"it has {', '.join(has[:12])}"
        yield Finding(place.setting(config, TARGETS), message, note="PEFT ignores them silently: these layers get no adapter", help=remedy)


@rule("PFT003")
def saved_module_missing(config: TrainerConfig) -> Iterator[Finding]:
    for place, found in adapters_of(config):
        attached, modules = found.attached, found.modules
        if attached is None or modules is None:
            continue
        if attached.trains_all:
            message = f"`{SAVED}` is a string, whose letters are taken for names: the complete model is trained"
            yield Finding(place.setting(config, SAVED), message, help=f"write a list: {SAVED}=[{place.values[SAVED]!r}]")
        elif attached.without_saved:
            names = attached.without_saved
            message = f"`{SAVED}`: {modules.model_type} has no {', '.join(names)}"
            note = f"PEFT ignores {'it' if len(names) == 1 else counted(len(names), 'name')} silently"
            yield Finding(place.setting(config, SAVED), message, note=note, help=f"remove {', '.join(names)} from `{SAVED}`")


@rule("PFT004")
def quantization_refused(config: TrainerConfig) -> Iterator[Finding]:
    for call in calls_of(config):
        for document, refused in refusals(config, call):
            places = [keyword(document, refused.key)]
            yield refused.finding(places, config.values, depends_on=doubts(config, call), for_any_parser=True)
    of_file: list[tuple[Setting, Refusal]] = config.part("quantization", [])
    for written, refused in of_file:
        yield refused.finding([written], config.values)


@rule("PFT006")
def removed_quantization_argument(config: TrainerConfig) -> Iterator[Finding]:
    for call in calls_of(config):
        name = next((each for each in quantization.BITS if call.model is not None and each in call.model.values), None)
        if call.model is None or name is None:
            continue
        setting = keyword(call.model, name)
        message = f"`from_pretrained` has no argument `{name}`"
        text = f"TypeError: __init__() got an unexpected keyword argument '{name}'"
        remedy = f"set `quantization_config=BitsAndBytesConfig({name}={call.model.values[name]})`"
        yield Finding(setting, message, exception=text, depends_on=doubts(config, call), help=remedy, for_any_parser=True)


@rule("PFT005")
def quantised_model_in_several_processes(config: TrainerConfig) -> Iterator[Finding]:
    processes = config.world_size
    if processes is None or processes <= 1:
        return
    section = config.section("fsdp_config") or {}
    fsdp1 = config.uses_fsdp and (config.version < FSDP2_BY_DEFAULT or section.get("version", section.get("fsdp_version")) == 1)
    if config.launcher is not None:
        fsdp1 = config.launcher.fsdp_version == "1"
    for call in calls_of(config):
        if call.quantization is None or not quantization.is_quantised(call.quantization.values):
            continue
        places = call.model.values.get("device_map") if call.model is not None else None
        device = places.get("") if isinstance(places, dict) and len(places) == 1 else places
        is_first = device == "cuda:0" or (device == 0 and not isinstance(device, bool) and isinstance(places, dict))
        if call.model is not None and not config.uses_deepspeed and is_first:
            setting = keyword(call.model, "device_map")
            message = f"`device_map` puts the quantised model of each of {processes} processes on the first GPU"
            text = "ValueError: You can't train a model that has been loaded in 8-bit or 4-bit precision on a different device than"
            remedy = 'set `device_map={"": PartialState().process_index}`' | remove_key("device_map")
            yield Finding(setting, message, exception=text, depends_on=doubts(config, call), help=remedy)
        values = call.quantization.values
        if fsdp1 and values.get("load_in_4bit") is True and values.get(quantization.STORAGE) in (None, "uint8"):
            setting = keyword(call.quantization, "load_in_4bit")
            yield without_storage(setting, f"{quantization.STORAGE}=torch.bfloat16", doubts(config, call))
    of_file: Setting | None = config.part("integer_storage", None)
    if of_file is not None and fsdp1:
        name = of_file.path[-1] if of_file.path[-1] != "load_in_4bit" else quantization.STORAGE
        yield without_storage(of_file, f"{name}: bfloat16", ())


def without_storage(written: Setting, line: str, how: tuple[Reason, ...]) -> Finding:
    message = f"4-bit weights are stored as integers without `{quantization.STORAGE}`, and FSDP cannot flatten them with the other"
    text, remedy = "ValueError: Cannot flatten integer dtype tensors", f"set `{line}`, the type of the other parameters"
    return Finding(written, f"{message} parameters", exception=text, depends_on=how, help=remedy)


def refusals(config: TrainerConfig, call: AdapterCall) -> Iterator[tuple[CallDocument, Refusal]]:
    """What is refused of the quantization of a model in a program, and of its adapter, with the call that it is about."""
    document = call.quantization
    if document is None:
        return
    unknown = set(unknown_in(document.values))
    values = {name: value for name, value in document.values.items() if name not in unknown}
    try:
        quantization.checked(values)
        if quantization.is_quantised(values) and call.adapter is not None:
            document = call.adapter
            quantization.attached(document.values, place_of(config, call, document).modules())
        elif quantization.is_quantised(values) and call.is_trained:
            quantization.trained()
    except Refusal as refused:
        yield document, refused
