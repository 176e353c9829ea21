"""Rules about ms-swift's own checks: each failing check of `swift/checks.py` is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import Example, ExampleFacts, Text
from cfglint.frameworks.swift.rules import LINE, failing
from cfglint.source.annotations import Callable


def check_of(
    code: str, bad: Text | tuple[Text | Example, ...], good: str, example: ExampleFacts = LINE, *, source: str
) -> Callable[[Callable[[], None]], None]:
    """Register the rule of one kind of failing checks; its page is the docstring of the decorated function."""
    return rule_of(lambda config: failing(config, code), config_error(code, source=source, bad=bad, good=good, example=example))
