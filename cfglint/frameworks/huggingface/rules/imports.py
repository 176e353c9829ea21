"""The rule about the names that a program imports of transformers and TRL."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.findings.rule import CODE, Example, Finding, rule
from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks import of_package
from cfglint.frameworks._releases import RELEASES
from cfglint.frameworks.history import holds
from cfglint.frameworks.versions import dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.history import Span
    from cfglint.frameworks.huggingface.config import TrainerConfig
    from cfglint.frameworks.program import ImportedNames
    from cfglint.frameworks.versions import Version
    from cfglint.source.document import Node

LINE = "torchrun --nproc_per_node 8 train.py\n"
TRAINS = "from transformers import Trainer, TrainingArguments\n\nTrainer(model, TrainingArguments('out')).train()\n"


@rule(
    "KEY207",
    "missing-import",
    ERROR,
    fails_at="load",
    bad=(
        {"train.sh": LINE, "train.py": "from trl import DataCollatorForCompletionOnlyLM\n" + TRAINS},
        {"train.sh": LINE, "train.py": "from transformers.deepspeed import HfDeepSpeedConfig\n" + TRAINS},
        Example(
            {"train.sh": LINE, "train.py": "from trl import GRPOConfig\n" + TRAINS},
            facts={"target": {"trl": "0.12.2", "transformers": "4.46.3"}},
        ),
    ),
    good={"train.sh": LINE, "train.py": "from trl import GRPOConfig\n" + TRAINS},
    example={"kind": "launch", "named": 1, "target": {"trl": "1.16.0", "transformers": "5.23.0"}},
    about=CODE,
)
def missing_import(config: TrainerConfig) -> Iterator[Finding]:
    """The program imports a module or a name that transformers or TRL does not have in the release of the run.

    The modules and the public names that were added or removed between the modelled releases are known; of other names nothing is said,
    nor of the models of transformers. An import under a condition, or in a `try`, gives a warning.

    Fix: import the name from where the release has it, or use a release that has it.

    Source: the modules of trl and transformers in each release.
    """
    program = config.facts.launch.program
    for each in program.imports if program is not None else ():
        if each.package not in config.facts.outside:
            yield from missing(config, each)


def missing(config: TrainerConfig, made: ImportedNames) -> Iterator[Finding]:
    """The module, or else the names, that an import does not find."""
    release = config.facts.version(made.package, RELEASES[made.package])
    stated = made.package in config.framework.packages() or made.package in config.facts.target  # else no other release is looked at
    gone = missing_module(made.module, release)
    if gone is not None:
        what, spans = gone
        yield finding(made, made.document.root.pairs()[0], what, spans, release, f"ModuleNotFoundError: No module named {what!r}", stated)
        return
    for pair in made.document.root.pairs():
        name = pair[0].raw
        for framework in of_package(made.package) if made.names else ():
            spans = framework.name_spans(made.module, name)
            if spans and not is_within(spans, release):
                raised = f"ImportError: cannot import name {name!r} from {made.module!r}"
                yield finding(made, pair, name, spans, release, raised, stated)


def finding(
    made: ImportedNames, pair: tuple[Node, Node], what: str, spans: tuple[Span, ...], release: Version, raised: str, stated: bool
) -> Finding:
    """The finding about a module or name that a release lacks."""
    return Finding(
        Setting((pair[0].raw,), pair[0].raw, WRITTEN, made.document, pair[1], pair[0]),
        f"`{what}` cannot be imported: {history(spans, release, made.package)}",
        exception=raised,
        severity=None if made.is_certain and stated else WARNING,
        on_key=True,
        for_any_parser=True,
        help=remedy(what, spans, release, made.package),
    )


def missing_module(module: str, release: Version) -> tuple[str, tuple[Span, ...]] | None:
    """The first part of a dotted name that is not a module of a release, with the releases that have it."""
    parts = module.split(".")
    for count in range(2, len(parts) + 1):
        name = ".".join(parts[:count])
        for framework in of_package(parts[0]):
            spans = framework.module_spans(name)
            if spans and not is_within(spans, release):
                return name, spans
    return None


def is_within(spans: tuple[Span, ...], release: Version) -> bool:
    """Whether a release is in one of some spans."""
    return any(holds(since, until, release) for since, until in spans)


def history(spans: tuple[Span, ...], release: Version, package: str) -> str:
    """When a name was removed, or added."""
    ends = [until for _, until in spans if until and until <= release]
    if ends:
        return f"it was removed in {package} {dotted(max(ends))}"
    return f"it was added in {package} {dotted(min(since for since, _ in spans if since > release))}"


def remedy(name: str, spans: tuple[Span, ...], release: Version, package: str) -> str:
    """What to do about a name."""
    ends = [until for _, until in spans if until and until <= release]
    return f"remove `{name}`, or use {package} before {dotted(max(ends))}" if ends else f"use a release of {package} that has `{name}`"
