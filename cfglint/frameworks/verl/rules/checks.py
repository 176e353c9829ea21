"""Rules about verl's own checks: each failing check of `verl/checks.py` is a finding at its key."""

from __future__ import annotations

from cfglint.findings.diagnostic import Reason
from cfglint.findings.rule import Example, ExampleFacts, Finding, Rule, Text
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.rules.composition import LINE
from cfglint.source.annotations import Callable, Iterator


def check_of(
    code: str, stage: type[Rule], bad: Text | tuple[Text | Example, ...], good: str, example: ExampleFacts = LINE, *, source: str
) -> Callable[[Callable[[], None]], None]:
    """Register the rule of one kind of failing checks; its page is the docstring of the decorated function."""
    return rule_of(lambda config: failing(config, code), stage(code, source=source, bad=bad, good=good, example=example))


OWN_COPY = Reason("program", "the code of the project's own copy of verl")


def failing(config: VerlConfig, code: str) -> Iterator[Finding]:
    """The failing checks of a rule."""
    for each in config.failing:
        if each.kind == code:
            yield each.finding(map(config.setting, each.keys), config.values, depends_on=() if config.is_raised(each) else (OWN_COPY,))
