"""All rules of all kinds, for the manual and for reports that name every rule."""

from __future__ import annotations

from functools import cache

from cfglint.findings.rule import Rule
from cfglint.frameworks import framework, kinds
from cfglint.rules.engine import rules_for
from cfglint.rules.project import project_rules


def every_rule() -> list[Rule]:
    """Every rule, sorted by code; loads all frameworks."""
    from cfglint.rules import memory  # noqa: F401

    found: dict[str, Rule] = {rule.code: rule for rule in project_rules()}
    further = tuple(dict.fromkeys(name for kind in kinds() for name in framework(kind).further_rules.split()))
    for kind in kinds():
        found.update((rule.code, rule) for rule in rules_for(kind, further))
    return [found[code] for code in sorted(found)]


def rule_of(code: str) -> Rule | None:
    return by_code().get(code)


@cache
def by_code() -> dict[str, Rule]:
    return {rule.code: rule for rule in every_rule()}
