"""The rules of Megatron-SWIFT: each failing check of `checks.py` is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.swift.rules import (
    arguments,  # noqa: F401
    failing,
)
from cfglint.source.annotations import Iterator


@rule("SWM001")
def missing_megatron_swift_input(config: MegatronSwiftConfig) -> Iterator[Finding]:
    return failing(config, "SWM001")


@rule("SWM002")
def indivisible_megatron_swift_sizes(config: MegatronSwiftConfig) -> Iterator[Finding]:
    return failing(config, "SWM002")


@rule("SWM003")
def megatron_swift_conflict(config: MegatronSwiftConfig) -> Iterator[Finding]:
    return failing(config, "SWM003")
