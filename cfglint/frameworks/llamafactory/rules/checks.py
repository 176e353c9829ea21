"""What LLaMA-Factory's classes and parser refuse: the checks are rows (`rows.json`), of which the pages have words of the messages."""

from __future__ import annotations

from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.llamafactory import KIND
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.source.annotations import Iterator


def refused(config: LlamaFactoryConfig, code: str) -> Iterator[Finding]:
    """The refusals of a page."""
    for refusal in config.refusals:
        if refusal.kind == code:
            places = [config.field(path[0]) if len(path) == 1 else config.setting(*path) for path in refusal.paths or [()]]
            yield refusal.finding(places, config.values, depends_on=config.unset(*refusal.read))


for page in pages_of_checks(KIND):
    rule(page)(lambda config, code=page: refused(config, code))
