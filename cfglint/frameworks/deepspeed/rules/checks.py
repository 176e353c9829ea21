"""What `DeepSpeedConfig` refuses: its checks are rows (`_rows.py`), of which the pages have words of the messages."""

from __future__ import annotations

from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.deepspeed import FRAMEWORK
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import SECTIONS
from cfglint.source.annotations import Iterator

for page in (page for page in pages_of_checks(FRAMEWORK.kind) if page != "DSP002"):  # which has a function for the models
    rule(page)(lambda config, code=page: refused(config, code))


def refused(config: DeepSpeedConfig, code: str) -> Iterator[Finding]:
    for refusal in config.refusals:
        if refusal.kind == code:
            yield refusal.finding(
                [config.at(*path) if path[0] in SECTIONS else config.setting(*path) for path in refusal.paths], config.values
            )
