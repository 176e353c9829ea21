"""The rules about the code of a program: its imports, and the keywords of a trainer's constructor."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.diagnostic import IN_BRANCH, unpinned
from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks import of_package
from cfglint.frameworks.base import Framework
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.history import NAME, SINCE, UNTIL, Row, Span, holds
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.source.annotations import Any, Iterator
from cfglint.source.document import Document, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.program import ImportedNames, TrainerCall
    from cfglint.source.change import Edit

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


@rule("KEY206")
def unknown_trainer_argument(config: TrainerConfig) -> Iterator[Finding]:
    program = config.facts.launch.code
    for call in program.trainer_calls if program is not None else ():
        for framework in of_package(call.package):
            rows = framework.constructor(call.name)
            if rows and call.package not in config.facts.outside:
                yield from refused(config, call, framework, rows)


def refused(config: TrainerConfig, call: TrainerCall, framework: Framework, rows: tuple[Row, ...]) -> Iterator[Finding]:
    release = config.facts.version(call.package, RELEASES[call.package])
    accepted = names_at(rows, release)
    if not accepted or ANY in accepted:
        return
    for key, node in call.document.roots[0].pairs():
        if key.raw not in accepted:
            yield Finding(
                Setting((key.raw,), call.document.values[key.raw], WRITTEN, call.document, node, key),
                message(key.raw, call, rows, release),
                exception=f"TypeError: {call.name}.__init__() got an unexpected keyword argument {key.raw!r}",
                depends_on=unknowns(call, config),
                on_key=True,
                **remedy(config, call, key.raw, other_name(key.raw, rows, release), framework.field_in_place(call.name, key.raw, release)),
            )


def names_at(rows: tuple[Row, ...], release: Version) -> set[str]:
    return {row[NAME] for row in rows if holds(row[SINCE], row[UNTIL], release)}


def message(name: str, call: TrainerCall, rows: tuple[Row, ...], release: Version) -> str:
    ends = [row[UNTIL] for row in rows if row[NAME] == name and row[UNTIL] and row[UNTIL] <= release]
    if ends:
        return f"`{name}` is not accepted by {call.name}: it was removed in {call.package} {dotted(max(ends))}"
    starts = [row[SINCE] for row in rows if row[NAME] == name and row[SINCE] > release]
    if starts:
        return f"`{name}` is not accepted by {call.name}: it was added in {call.package} {dotted(min(starts))}"
    return f"unknown argument `{name}` is not accepted by {call.name}"


def other_name(name: str, rows: tuple[Row, ...], release: Version) -> str:
    accepted = names_at(rows, release)
    others = [row[NEW_NAME] for row in rows if row[NAME] == name] + [row[NAME] for row in rows if row[NEW_NAME] == name]
    return next((other for other in others if other in accepted), "")


def remedy(config: TrainerConfig, call: TrainerCall, name: str, other: str, field: tuple[str, str] | None) -> dict[str, Any]:
    from cfglint.findings.fix_builders import outside
    from cfglint.source.change import DELETE, INSERT, RENAME, Change
    from cfglint.source.python.call import CallDocument

    document, advice, is_known = config.documents[0], f"remove `{name}`", False
    removal: tuple[Document, Change | Edit] = (call.document, Change(DELETE, (name,)))
    parts = [removal]
    if other:
        advice, is_known = f"write `{other}=` in its place", config.facts.is_known(call.package)
        parts = [(call.document, Change(RENAME, (name,), other))]
    elif field is not None:
        advice = f"remove `{name}`, and set `{field[0]}({field[1]}=...)`"
        node, args = call.document.find((name,))[1], call.document.find(("args",))[1]
        text = text_of(call, node) if node is not None else ""
        if args is None or text != f"{text_of(call, args)}.{field[1]}":  # `args` does not have it yet
            is_there = isinstance(document, CallDocument) and (document.name, document.path) == (field[0], call.document.path)
            is_free = is_there and document.find((field[1],))[0] is None
            parts = [removal, (document, Change(INSERT, (), field[1], text))] if is_free and is_literal(text) else []
    fix = outside(parts, advice, is_known) if parts and not config.without_remedies else None
    if fix is not None and other:
        fix.by_release = not is_known
    return {"help": advice, "fix": fix}


def text_of(call: TrainerCall, node: Node) -> str:
    from cfglint.source.python.edits import source_of

    return source_of(call.document, node.start, node.end)


def is_literal(text: str) -> bool:
    from ast import literal_eval

    try:
        literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return False
    return True


@rule("KEY208")
def fields_of_another_class(config: TrainerConfig) -> Iterator[Finding]:
    program = config.facts.launch.code
    for call in program.trainer_calls if program is not None else ():
        release = config.facts.version(call.package, RELEASES[call.package])
        if call.name not in CONVERTED:
            continue
        from cfglint.launch.kinds import fields_of_class

        added = [field for field in call.fields if field not in fields_of_class(CONVERTED[call.name])]
        key, node = call.document.find(("args",))
        if added and node is not None and release >= CONVERTS and call.package not in config.facts.outside:
            target = CONVERTED[call.name]
            yield Finding(
                Setting(("args",), call.document.values["args"], WRITTEN, call.document, node, key),
                f"`{added[0]}` of the class of `args` is not a field of {target}, into which {call.name} converts it",
                exception=f"TypeError: {target}.__init__() got an unexpected keyword argument {added[0]!r}",
                depends_on=unknowns(call, config),
                on_key=True,
                help=f"derive the class of `args` from {target}",
            )


@rule("KEY209")
def arguments_of_another_trainer(config: TrainerConfig) -> Iterator[Finding]:
    program = config.facts.launch.code
    for call in program.trainer_calls if program is not None else ():
        release = config.facts.version(call.package, RELEASES[call.package])
        first = next((name for releases, name in FIRST_READ.get(call.name, ()) if release in releases), None)
        key, node = call.document.find(("args",))
        if first is None or first in call.fields or not call.base or node is None or call.package in config.facts.outside:
            continue
        needed = call.name.replace("Trainer", "Config")
        yield Finding(
            Setting(("args",), call.document.values["args"], WRITTEN, call.document, node, key),
            f"{call.name} requires a {needed}, and `args` is a {call.base}",
            exception=f"AttributeError: '{call.base}' object has no attribute" + (f" {first!r}" if first else ""),
            depends_on=unknowns(call, config),
            on_key=True,
            help=f"build a {needed} in its place",
        )


@rule("KEY211")
def spread_model_in_several_processes(config: TrainerConfig) -> Iterator[Finding]:
    launch = config.facts.launch
    program = launch.code or launch.program
    processes = launch.line.processes if launch.line is not None else None
    if program is not None and program.spreads and processes is not None and processes > 1:
        yield Finding(
            config.setting(),
            f"the model is loaded with `device_map` {program.spreads}, and {processes} processes are started",
            note="accelerate refuses such a model in several processes (ValueError)",
            help="start one process with `python`" | remove_key("device_map"),
        )


@rule("KEY207")
def missing_import(config: TrainerConfig) -> Iterator[Finding]:
    program = config.facts.launch.code
    for imported_names in program.imports if program is not None else ():
        if imported_names.package not in config.facts.outside:
            yield from missing_names(config, imported_names)


def unknowns(call: TrainerCall | ImportedNames, config: TrainerConfig) -> Iterator[Reason]:
    """What decides whether the program fails at a call or import: its branch, and the release of a package whose others are not asked."""
    if not call.is_certain:
        yield IN_BRANCH
    if call.package not in config.framework.packages() and call.package not in config.facts.target:
        yield unpinned(call.package)


def missing_names(config: TrainerConfig, made: ImportedNames) -> Iterator[Finding]:
    release = config.facts.version(made.package, RELEASES[made.package])
    gone = missing_module(made.module, release)
    if gone is not None:
        what, spans = gone
        yield of_import(
            made, made.document.roots[0].pairs()[0], what, spans, release, f"ModuleNotFoundError: No module named {what!r}", config
        )
        return
    for pair in made.document.roots[0].pairs():
        name = pair[0].raw
        for framework in of_package(made.package) if made.names else ():
            spans = framework.importable(made.module, name)
            if spans and not is_within(spans, release):
                raised = f"ImportError: cannot import name {name!r} from {made.module!r}"
                yield of_import(made, pair, name, spans, release, raised, config)


def of_import(
    made: ImportedNames, pair: tuple[Node, Node], what: str, spans: tuple[Span, ...], release: Version, raised: str, config: TrainerConfig
) -> Finding:
    ends = [until for _, until in spans if until and until <= release]
    return Finding(
        Setting((pair[0].raw,), pair[0].raw, WRITTEN, made.document, pair[1], pair[0]),
        f"`{what}` cannot be imported: {change_of(spans, release, made.package)}",
        exception=raised,
        depends_on=unknowns(made, config),
        on_key=True,
        help=f"remove `{what}`, or use {made.package} before {dotted(max(ends))}"
        if ends
        else f"use a release of {made.package} that has `{what}`",
    )


def missing_module(module: str, release: Version) -> tuple[str, tuple[Span, ...]] | None:
    """The first part of a dotted name that is not a module of a release, with the releases that have it."""
    parts = module.split(".")
    for count in range(2, len(parts) + 1):
        name = ".".join(parts[:count])
        for framework in of_package(parts[0]):
            spans = framework.importable(name)
            if spans and not is_within(spans, release):
                return name, spans
    return None


def is_within(spans: tuple[Span, ...], release: Version) -> bool:
    return any(holds(since, until, release) for since, until in spans)


def change_of(spans: tuple[Span, ...], release: Version, package: str) -> str:
    ends = [until for _, until in spans if until and until <= release]
    if ends:
        return f"it was removed in {package} {dotted(max(ends))}"
    return f"it was added in {package} {dotted(min(since for since, _ in spans if since > release))}"
