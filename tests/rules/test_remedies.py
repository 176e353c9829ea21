"""What `help` says to do to an example is done: the finding is gone, and no new error takes its place."""

from __future__ import annotations

import json
from itertools import count

import pytest
import yaml

from cases import each_case
from cfglint.rules.catalogue import every_rule
from examples import by_family, kind_of, run_of
from remedies import done, remedies

RULES = every_rule()
UNCERTAIN = ("if that is meant",)


def errors(run):
    return {each.code for each in run.diagnostics if each.severity == "error"}


def still_found(run, found):
    return any((each.code, each.key, each.message) == (found.code, found.key, found.message) for each in run.diagnostics)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    above = tmp_path_factory.mktemp("remedies")
    return (f"{above}/{number}" for number in count())


def failures(rule, number, folders):
    """What goes wrong with the remedies of one example."""
    example = rule.bad_examples[number]
    if isinstance(example.text, dict) or kind_of(rule) == "launch" or example.facts.get("kind") == "launch":
        return
    run = run_of(rule, example.text, next(folders), example.facts)
    for found in [each for each in run.diagnostics if each.code == rule.code and each.help]:
        if any(words in found.help for words in UNCERTAIN):
            continue
        for actions in remedies(found.help):
            try:
                is_json = found.file.endswith(".json")
                values = done((json.loads if is_json else yaml.safe_load)(example.text), actions, found.key)
                text = json.dumps(values) if is_json else yaml.safe_dump(values, width=1000)
            except (TypeError, AttributeError, KeyError, IndexError, ValueError) as error:
                yield f"{rule.code}/{number + 1}: {actions} cannot be done: {error!r}"
                continue
            after = run_of(rule, text + "\n", next(folders), example.facts)
            if still_found(after, found):
                yield f"{rule.code}/{number + 1}: {actions} does not help"
            elif errors(after) - errors(run):
                yield f"{rule.code}/{number + 1}: {actions} leads to {sorted(errors(after) - errors(run))}"


@pytest.mark.slow
@each_case("family", by_family(RULES))
def test_what_help_says_helps(family, folders):
    rules = by_family(RULES)[family]
    assert [line for rule in rules for number in range(len(rule.bad_examples)) for line in failures(rule, number, folders)] == []
