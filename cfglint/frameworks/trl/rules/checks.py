"""What TRL's classes and trainers refuse: the checks are rows (`rows.json`), of which the pages have words of the messages."""

from __future__ import annotations

from cfglint.findings.rule import Finding, pages_of_checks, rule
from cfglint.frameworks.trl import KIND
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.rules import of
from cfglint.source.annotations import Iterator

METHOD = ("loss_type",)  # fields that a launch line is not expected to set


def refused(config: TrlConfig, code: str) -> Iterator[Finding]:
    """The refusals of a page."""
    for refusal in config.refusals:
        if refusal.kind == code:
            places = [of(config, path[0]) if len(path) == 1 else config.setting(*path) for path in refusal.paths or [()]]
            decisive = config.unset(*(each for each in refusal.read if each not in METHOD))
            yield refusal.finding(places, config.values, depends_on=decisive, note=refusal.note)


for page in pages_of_checks(KIND):
    rule(page)(lambda config, code=page: refused(config, code))
