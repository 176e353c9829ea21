"""The rules about the code of a program: its imports, the keywords of a trainer's constructor, and what it is given by them."""

from __future__ import annotations

from ast import literal_eval

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import IN_BRANCH, Fix, unpinned
from cfglint.findings.fix_builders import outside
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks import of_package
from cfglint.frameworks.huggingface.batch import no_length, wanted_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.rules import keyword, of, shown
from cfglint.frameworks.huggingface.trainer_options import refusals
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.history import NAME, SINCE, UNTIL, Span, holds
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.launch.kinds import fields_of_class
from cfglint.launch.program import ImportedNames, TrainerCall
from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.change import DELETE, INSERT, RENAME, Change, Edit
from cfglint.source.document import Document
from cfglint.source.python.call import CallDocument

EARLY_STOPPING = "EarlyStoppingCallback"
METRIC_ALONE = (4, 49)  # from here on the callback requires a metric only, not `load_best_model_at_end`
CHECK_LENGTH = ("Trainer", "Seq2SeqTrainer", "SFTTrainer")
NEVER: Version = (1 << 20,)
ANY = "**"  # in the place of a parameter: the constructor takes any keyword
NEW_NAME = 2  # the column of the name under which a decorator passes an argument on
CONVERTED = {"SFTTrainer": "SFTConfig"}  # trainers that build their own class of arguments of an object of another one
CONVERTS = (0, 15, 0)  # the release of trl from which on they do so
# What TRL's trainers read first of their arguments and TrainingArguments has not, by releases: empty where it depends on the model.
FIRST_READ: dict[str, tuple[tuple[Releases, str], ...]] = {
    "DPOTrainer": (
        (Releases((0, 9, 6), (0, 19)), "model_init_kwargs"),
        (Releases((0, 19), (0, 24)), ""),
        (Releases((0, 24)), "model_init_kwargs"),
    ),
    **dict.fromkeys(("KTOTrainer", "CPOTrainer", "ORPOTrainer"), ((Releases((0, 9, 6)), "model_init_kwargs"),)),
    "BCOTrainer": ((Releases((0, 11)), "model_init_kwargs"),),
    "GRPOTrainer": ((Releases((0, 15)), "model_init_kwargs"),),
    "RLOOTrainer": ((Releases((0, 22)), ""), (Releases((0, 24)), "model_init_kwargs")),
    "RewardTrainer": (
        (Releases((0, 15), (0, 20)), "disable_dropout"),
        (Releases((0, 20), (0, 24)), ""),
        (Releases((0, 24)), "model_init_kwargs"),
    ),
}


def trainer_calls(config: TrainerConfig) -> tuple[TrainerCall, ...]:
    program = config.facts.launch.code
    return program.trainer_calls if program is not None else ()


def trainer_call(config: TrainerConfig, name: str) -> TrainerCall | None:
    """The call that builds a trainer of a class, if the program has one."""
    return next((call for call in trainer_calls(config) if call.name == name), None)


def modelled_calls(config: TrainerConfig) -> Iterator[tuple[TrainerCall, Version]]:
    """The calls of trainers whose package is of a modelled release, with that release."""
    for call in trainer_calls(config):
        if call.package not in config.facts.outside:
            yield call, config.facts.version(call.package, RELEASES[call.package])


def unknowns(call: TrainerCall | ImportedNames, config: TrainerConfig) -> tuple[Reason, ...]:
    """What decides whether the program fails at a call or import: its branch, and the release of a package whose others are not asked."""
    is_asked = call.package in config.framework.packages() or call.package in config.facts.target
    return (*(() if call.is_certain else (IN_BRANCH,)), *(() if is_asked else (unpinned(call.package),)))


def is_within(spans: Iterable[Span], release: Version) -> bool:
    return any(holds(since, until, release) for since, until in spans)


def end_of(spans: Iterable[Span], release: Version) -> Version:
    """The last release up to a release that removed a name; `NEVER` if none did."""
    return max((until for _, until in spans if until and until <= release), default=NEVER)


def change_of(spans: Iterable[Span], release: Version, package: str) -> str:
    """When a name that a release does not have was removed, or added; empty where it never was there."""
    starts = [since for since, _ in spans if since > release]
    if end_of(spans, release) != NEVER:
        return f"it was removed in {package} {dotted(end_of(spans, release))}"
    return f"it was added in {package} {dotted(min(starts))}" if starts else ""


@rule("KEY206")
def unknown_trainer_argument(config: TrainerConfig) -> Iterator[Finding]:
    for call, release in modelled_calls(config):
        for framework in of_package(call.package):
            rows = framework.constructor(call.name)
            accepted = {row[NAME] for row in rows if holds(row[SINCE], row[UNTIL], release)}
            names = [key.raw for key, _ in call.document.roots[0].pairs()] if accepted and ANY not in accepted else []
            for name in (name for name in names if name not in accepted):
                change = change_of([(row[SINCE], row[UNTIL]) for row in rows if row[NAME] == name], release, call.package)
                refused = f"`{name}` is not accepted by {call.name}"
                message = f"{refused}: {change}" if change else f"unknown argument {refused}"
                text = f"TypeError: {call.name}.__init__() got an unexpected keyword argument {name!r}"
                others = [row[NEW_NAME] for row in rows if row[NAME] == name] + [row[NAME] for row in rows if row[NEW_NAME] == name]
                other = next((other for other in others if other in accepted), "")
                advice, fix = remedy(config, call, name, other, framework.field_in_place(call.name, name, release))
                yield about_keyword(config, call, name, message, text, advice, fix)


def about_keyword(
    config: TrainerConfig, call: TrainerCall, name: str, message: str, text: str, advice: str, fix: Fix | None = None
) -> Finding:
    setting, doubts = keyword(call.document, name), unknowns(call, config)
    return Finding(setting, message, exception=text, depends_on=doubts, on_key=True, help=advice, fix=fix)


def remedy(config: TrainerConfig, call: TrainerCall, name: str, other: str, field: tuple[str, str] | None) -> tuple[str, Fix | None]:
    """What to write in the place of a keyword: its other name, or a field of the configuration class, to which the fix moves a literal."""
    document, advice, is_known = config.documents[0], f"remove `{name}`", False
    removal: tuple[Document, Change | Edit] = (call.document, Change(DELETE, (name,)))
    parts = [removal]
    if other:
        advice, is_known = f"write `{other}=` in its place", config.facts.is_known(call.package)
        parts = [(call.document, Change(RENAME, (name,), other))]
    elif field is not None:
        advice = f"remove `{name}`, and set `{field[0]}({field[1]}=...)`"
        node, args = call.document.find((name,))[1], call.document.find(("args",))[1]
        text = call.document.source(node.start, node.end) if node is not None else ""
        if args is None or text != f"{call.document.source(args.start, args.end)}.{field[1]}":  # `args` does not have it yet
            is_there = isinstance(document, CallDocument) and (document.name, document.path) == (field[0], call.document.path)
            is_free = is_there and document.find((field[1],))[0] is None
            parts = [removal, (document, Change(INSERT, (), field[1], text))] if is_free and is_literal(text) else []
    fix = outside(parts, advice, is_known) if parts and not config.without_remedies else None
    if fix is not None and other:
        fix.by_release = not is_known
    return advice, fix


def is_literal(text: str) -> bool:
    """Whether code means the same at another place of a program."""
    try:
        literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return False
    return True


@rule("KEY212")
def refused_trainer_argument(config: TrainerConfig) -> Iterator[Finding]:
    for call, release in modelled_calls(config):
        given = {name: value for name, value in call.document.values.items() if not isinstance(value, Unknown)}
        for name, text, doubts in refusals(call.name, release, call.models, given.get):
            message = f"`{name}` is {shown(given[name])}, which {call.name} refuses"
            finding = about_keyword(config, call, name, message, text, f"remove `{name}`")
            finding.depends_on = (*finding.depends_on, *doubts)
            yield finding


@rule("KEY208")
def fields_of_another_class(config: TrainerConfig) -> Iterator[Finding]:
    for call, release in modelled_calls(config):
        target = CONVERTED.get(call.name)
        if target is None or release < CONVERTS or call.document.find(("args",))[1] is None:
            continue

        added = next((field for field in call.fields if field not in fields_of_class(target)), None)
        if added is not None:
            message = f"`{added}` of the class of `args` is not a field of {target}, into which {call.name} converts it"
            text = f"TypeError: {target}.__init__() got an unexpected keyword argument {added!r}"
            yield about_keyword(config, call, "args", message, text, f"derive the class of `args` from {target}")


@rule("KEY209")
def arguments_of_another_trainer(config: TrainerConfig) -> Iterator[Finding]:
    for call, release in modelled_calls(config):
        first = next((name for releases, name in FIRST_READ.get(call.name, ()) if release in releases), None)
        if first is None or first in call.fields or not call.base or call.document.find(("args",))[1] is None:
            continue
        needed = call.name.replace("Trainer", "Config")
        message = f"{call.name} requires a {needed}, and `args` is a {call.base}"
        text = f"AttributeError: '{call.base}' object has no attribute" + (f" {first!r}" if first else "")
        yield about_keyword(config, call, "args", message, text, f"build a {needed} in its place")


@rule("KEY211")
def spread_model_in_several_processes(config: TrainerConfig) -> Iterator[Finding]:
    launch = config.facts.launch
    program = launch.code or launch.program
    processes = launch.line.processes if launch.line is not None else None
    if program is not None and program.spreads and processes is not None and processes > 1:
        message = f"the model is loaded with `device_map` {program.spreads}, and {processes} processes are started"
        note = "accelerate refuses such a model in several processes (ValueError)"
        yield Finding(config.setting(), message, note=note, help="start one process with `python`" | remove_key("device_map"))


@rule("KEY207")
def missing_import(config: TrainerConfig) -> Iterator[Finding]:
    program = config.facts.launch.code
    for names in program.imports if program is not None else ():
        package, pairs = names.package, names.document.roots[0].pairs()
        if package in config.facts.outside:
            continue
        release = config.facts.version(package, RELEASES[package])
        parts = names.module.split(".")
        modules = [
            (pairs[0], module, spans, f"ModuleNotFoundError: No module named {module!r}")
            for module in (".".join(parts[:count]) for count in range(2, len(parts) + 1))
            for framework in of_package(parts[0])
            if (spans := framework.importable(module)) and not is_within(spans, release)
        ][:1]
        members = [
            (pair, pair[0].raw, spans, f"ImportError: cannot import name {pair[0].raw!r} from {names.module!r}")
            for pair in pairs
            for framework in (of_package(package) if names.names else ())
            if (spans := framework.importable(names.module, pair[0].raw)) and not is_within(spans, release)
        ]
        # A name that the module had lost before it was removed itself is the first that fails.
        is_first = modules and all(end_of(modules[0][2], release) <= end_of(spans, release) for *_, spans, _ in members)
        for (key, node), what, spans, text in modules if is_first else members or modules:
            end = end_of(spans, release)
            advice = f"use a release of {package} that has `{what}`"
            if end != NEVER:
                advice = f"remove `{what}`, or use {package} before {dotted(end)}"
            setting = Setting((key.raw,), key.raw, WRITTEN, names.document, node, key)
            message, doubts = f"`{what}` cannot be imported: {change_of(spans, release, package)}", unknowns(names, config)
            yield Finding(setting, message, exception=text, depends_on=doubts, on_key=True, help=advice)


@rule("HFT070")
def early_stopping_without_metric(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    best, metric, when = args["load_best_model_at_end"], args["metric_for_best_model"], args.eval_strategy
    for call in trainer_calls(config):
        if EARLY_STOPPING not in call.callbacks:
            continue
        if config.version < METRIC_ALONE and best is False:
            key, needed, advice = "load_best_model_at_end", "load_best_model_at_end = True", set_key("load_best_model_at_end", True)
        elif metric is None and best is False and args["lr_scheduler_type"] != "reduce_lr_on_plateau":
            key, needed, advice = "metric_for_best_model", "metric_for_best_model to be defined", set_key("metric_for_best_model", "loss")
        elif when == "no" and "evaluation_strategy" not in config.values:  # else its former name is the cause
            key, needed, advice = args.strategy_key, "IntervalStrategy of steps or epoch", set_key(args.strategy_key, "epoch")
        else:
            continue
        message, text = f"`{EARLY_STOPPING}` requires `{key}`", f"AssertionError: {EARLY_STOPPING} requires {needed}"
        yield of_call(call, "callbacks", message, of(config, key), text, advice)


@rule("HFT071")
def streamed_data_without_steps(config: TrainerConfig) -> Iterator[Finding]:
    limit = config.arguments["max_steps"]
    for call in trainer_calls(config):
        if call.streams and call.name in CHECK_LENGTH and isinstance(limit, (int, float)) and limit <= 0:
            message = "`max_steps` is required: the training set is streamed and has no length"
            text, advice = no_length(config.version), wanted_steps(config)
            yield of_call(call, "train_dataset", message, of(config, "max_steps"), text, advice)


def of_call(call: TrainerCall, key: str, message: str, field: Setting, exception: str, advice: Remedy | str) -> Finding:
    """The finding about a keyword of a call that builds a trainer, and a field of its arguments that it requires."""
    is_written = call.document.find((key,))[1] is not None
    setting = keyword(call.document, key) if is_written else field
    related, doubts = (field,) if is_written else (), () if call.is_certain else (IN_BRANCH,)
    return Finding(setting, message, exception=exception, related=related, depends_on=doubts, on_key=is_written, help=advice)
