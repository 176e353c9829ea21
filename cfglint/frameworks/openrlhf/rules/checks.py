"""Rules about OpenRLHF's own checks, which are rows: each failing one is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.openrlhf import KIND
from cfglint.frameworks.openrlhf.checks import FAILED
from cfglint.frameworks.openrlhf.config import OpenRlhfConfig
from cfglint.source.annotations import Iterator


def refused(config: OpenRlhfConfig, code: str) -> Iterator[Finding]:
    for refusal in config.failing:
        if refusal.kind == code:
            yield refusal.finding([config.setting(*path) for path in refusal.paths] or [config.setting()], config.values)


for page in pages_of_checks(KIND):
    rule(page)(lambda config, code=page: refused(config, code))


@rule(FAILED)
def openrlhf_value_type(config: OpenRlhfConfig) -> Iterator[Finding]:
    yield from refused(config, FAILED)
