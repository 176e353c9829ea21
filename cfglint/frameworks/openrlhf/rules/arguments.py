"""Rules about words of the line that the parser of a program refuses, and about what the program itself refuses, whose checks are rows."""

from __future__ import annotations

from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.arguments.config import invalid, left_over
from cfglint.frameworks.arguments.parsing import LEFT
from cfglint.frameworks.openrlhf import KIND
from cfglint.frameworks.openrlhf.checks import FAILED
from cfglint.frameworks.openrlhf.config import OpenRlhfConfig
from cfglint.frameworks.openrlhf.fields import other_name
from cfglint.source.annotations import Iterator, Sequence


@rule("ORL001")
def unknown_openrlhf_argument(config: OpenRlhfConfig) -> Iterator[Finding]:
    for refused in config.refused if config.known else ():
        if refused.why == LEFT:
            name = refused.name
            yield left_over(config, refused, unrecognized, config.exists(name), other_name(name, config.program, config.known))


def unrecognized(words: Sequence[str]) -> str:
    return f"SystemExit: 2 (error: unrecognized arguments: {' '.join(words)})"


@rule("ORL002")
def invalid_openrlhf_argument(config: OpenRlhfConfig) -> Iterator[Finding]:
    return invalid(config)


@rule("ORL003")
def missing_openrlhf_program(config: OpenRlhfConfig) -> Iterator[Finding]:
    line = config.facts.launch.line
    if not config.known and line is not None and line.program is not None:
        name = line.program.string
        message = f"{config.release} has no program `{name}`"
        yield Finding(config.setting(), message, exception=f"No module named {name}", help="install a release that has it")


def refused(config: OpenRlhfConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            yield refusal.finding([config.setting(*path) for path in refusal.paths] or [config.setting()], config.values)


for page in (*pages_of_checks(KIND), FAILED):
    rule(page)(lambda config, code=page: refused(config, code))
