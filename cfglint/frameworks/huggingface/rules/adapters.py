"""Adapters of PEFT and quantised models. Imported only for a run that has them."""

from __future__ import annotations

from cfglint.findings.diagnostic import Reason
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.findings.wording import counted
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.peft import quantization
from cfglint.frameworks.peft.adapters import Outcome, Place, outcome
from cfglint.frameworks.peft.checkpoints import path_in_project
from cfglint.frameworks.peft.lora import SAVED, TARGETS, Refused, unknown_in
from cfglint.launch.program import AdapterCall
from cfglint.source.annotations import Iterator
from cfglint.source.python.call import CallDocument


def adapters_of(config: TrainerConfig) -> list[tuple[Place, Outcome]]:
    """The adapters of a run, with what PEFT does."""
    program = config.facts.launch.code
    calls = program.adapters if program is not None else ()
    found = [place_of(config, each, each.adapter) for each in calls if each.adapter is not None]
    found += config.part("adapters", [])
    return [(each, outcome(each, config.facts)) for each in found]


def place_of(config: TrainerConfig, call: AdapterCall, document: CallDocument) -> Place:
    """An adapter that a program makes."""
    return Place(dict(document.values), call.checkpoint, call.loader, document.path, config.version, document, {}, doubts(call))


def doubts(call: AdapterCall) -> tuple[Reason, ...]:
    """What is not known of an adapter that a program makes."""
    return () if call.is_certain else (Reason("branch", "a condition of the program"),)


@rule("PFT001")
def adapter_refused(config: TrainerConfig) -> Iterator[Finding]:
    for place, found in adapters_of(config):
        refused = found.refused
        if refused is None:
            continue
        is_published = found.modules is not None and not path_in_project(place.checkpoint, place.origin)
        published = (Reason("file", f"`{place.checkpoint}`", "a published model, not in the project"),) if is_published else ()
        older = () if found.is_certain else (Reason("release", "the release of peft", "older ones accept it"),)
        yield Finding(
            place.setting(config, refused.key),
            refused.message,
            exception=refused.exception,
            fails_at=refused.stage,
            depends_on=(*place.depends_on, *published, *older),
            help=refused.remedy or None,
            for_any_parser=True,
        )


@rule("PFT002")
def target_without_module(config: TrainerConfig) -> Iterator[Finding]:
    for place, found in adapters_of(config):
        if found.attached is None or found.modules is None or not found.attached.without_module:
            continue
        names, modules = found.attached.without_module, found.modules
        has = [each for each in modules.leaves() if not each.isdigit()]
        yield Finding(
            place.setting(config, TARGETS),
            f"`{TARGETS}`: {modules.model_type} has no {', '.join(names)}",
            note="PEFT ignores them silently: these layers get no adapter",
            help=f"it has {', '.join(has[:12])}",
        )


@rule("PFT003")
def saved_module_missing(config: TrainerConfig) -> Iterator[Finding]:
    for place, found in adapters_of(config):
        attached, modules = found.attached, found.modules
        if attached is None or modules is None:
            continue
        if attached.trains_all:
            yield Finding(
                place.setting(config, SAVED),
                f"`{SAVED}` is a string, whose letters are taken for names: the complete model is trained",
                help=f"write a list: {SAVED}=[{place.values[SAVED]!r}]",
            )
        elif attached.without_saved:
            names = attached.without_saved
            yield Finding(
                place.setting(config, SAVED),
                f"`{SAVED}`: {modules.model_type} has no {', '.join(names)}",
                note=f"PEFT ignores {'it' if len(names) == 1 else counted(len(names), 'name')} silently",
                help=f"remove {', '.join(names)} from `{SAVED}`",
            )


@rule("PFT004")
def quantization_refused(config: TrainerConfig) -> Iterator[Finding]:
    program = config.facts.launch.code
    for call in program.adapters if program is not None else ():
        for document, refused in refusals(config, call):
            key, node = document.find((refused.key,))
            place = Setting((refused.key,), document.values.get(refused.key), WRITTEN, document, node or document.roots[0], key)
            yield Finding(
                place,
                refused.message,
                exception=refused.exception,
                depends_on=doubts(call),
                help=refused.remedy or None,
                for_any_parser=True,
            )
    of_file: list[tuple[Setting, Refused]] = config.part("quantization", [])
    for written, refused in of_file:
        yield Finding(written, refused.message, exception=refused.exception, help=refused.remedy or None)


def refusals(config: TrainerConfig, call: AdapterCall) -> Iterator[tuple[CallDocument, Refused]]:
    """What is refused of the quantization of a model in a program, and of its adapter, with the call that it is about."""
    if call.quantization is None:
        return
    unknown = set(unknown_in(call.quantization.values))
    values = {name: value for name, value in call.quantization.values.items() if name not in unknown}
    try:
        quantization.checked(values)
    except Refused as refused:
        yield call.quantization, refused
        return
    if not quantization.is_quantised(values):
        return
    if call.adapter is not None:
        try:
            quantization.attached(call.adapter.values, place_of(config, call, call.adapter).modules())
        except Refused as refused:
            yield call.adapter, refused
    elif call.is_trained:
        yield call.quantization, quantization.trained("")
