"""Rules about arguments that the program of a launch line refuses, according to its source."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.launch.config import LaunchConfig
from cfglint.frameworks.launch.rules.lines import problems
from cfglint.source.annotations import Iterator


@rule("LCH003")
def refused_argument(config: LaunchConfig) -> Iterator[Finding]:
    return problems(config, "LCH003")


@rule("LCH016")
def missing_program_argument(config: LaunchConfig) -> Iterator[Finding]:
    return problems(config, "LCH016")


@rule("LCH017")
def invalid_argument_value(config: LaunchConfig) -> Iterator[Finding]:
    return problems(config, "LCH017")


@rule("LCH024")
def settings_of_training(config: LaunchConfig) -> Iterator[Finding]:
    return problems(config, "LCH024")
