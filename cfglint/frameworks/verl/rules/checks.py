"""Rules about verl's own checks: each failing check of `verl/checks.py` is a finding at its key."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.source.annotations import Iterator

OWN_COPY = Reason("program", "the code of the project's own copy of verl")


def failing(config: VerlConfig, code: str) -> Iterator[Finding]:
    for refusal in config.failing:
        if refusal.kind == code:
            yield refusal.finding(
                map(config.setting, refusal.keys), config.values, depends_on=() if config.is_raised(refusal) else (OWN_COPY,)
            )


for page in pages_of_checks("verl"):
    rule(page)(lambda config, code=page: failing(config, code))
