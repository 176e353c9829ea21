"""The releases of rules that were found in the sources of packages: the generated data, and what the engine makes of it."""

from __future__ import annotations

import pytest

from cfglint.findings import rule as rules
from cfglint.findings._rule_releases import RULE_RELEASES
from cfglint.findings.releases import Releases
from cfglint.findings.rule import Rule
from cfglint.frameworks import framework, modelled_releases
from cfglint.frameworks.releases.versions import parse_version
from cfglint.rules.catalogue import every_rule
from cfglint.rules.engine import has_check, rules_for, rules_of
from cfglint.run.allowed_releases import ends_of_check
from examples import launch_of, run_of

BY_CODE = {rule.code: rule for rule in every_rule()}
GENERATED = [(package, code, spans) for package, of_rules in RULE_RELEASES.items() for code, spans in of_rules.items()]


@pytest.mark.parametrize(("package", "code", "spans"), GENERATED, ids=[code for _, code, _ in GENERATED])
def test_generated_releases_are_those_of_a_rule_that_declares_none(package, code, spans):
    assert not BY_CODE[code].own_releases
    assert {(each.package, each.since, each.until) for each in BY_CODE[code].releases} >= {(package, *span) for span in spans}
    ends = [end for span in spans for end in span]
    assert ends == sorted(ends[:-1]) + ends[-1:]
    assert all(end in map(parse_version, every(package)) for end in ends if end)


def every(package):
    from cfglint.frameworks.releases._dates import RELEASES

    return [each.partition("@")[0] for each in RELEASES[package].split()]


@pytest.mark.parametrize(("package", "code", "spans"), GENERATED, ids=[code for _, code, _ in GENERATED])
def test_a_rule_finds_its_examples_in_releases_that_have_its_check_only(package, code, spans, tmp_path):
    rule, (since, until) = BY_CODE[code], spans[-1]
    modelled = modelled_releases(package)
    having = [each for each in modelled if parse_version(each) in Releases(since, until)]
    lacking = [each for each in modelled if not any(parse_version(each) in Releases(*span) for span in spans)]
    expected = {having[-1]: "finds an example", **dict.fromkeys((*lacking[-1:], *lacking[:1]), "finds none")}
    assert {each: "finds an example" if found(rule, tmp_path, package, each) else "finds none" for each in expected} == expected


def found(rule, folder, package, release):
    for example in rule.bad_examples:
        facts = {**rule.example, **example.facts}
        facts["target"] = {**facts.get("target", {}), package: release}
        if any(each.code == rule.code for each in run_of(rule, example.text, str(folder), facts).diagnostics):
            return True
    return False


def test_a_check_of_a_package_that_another_one_takes_the_place_of_is_not_limited():
    """GPT-NeoX runs its own DeepSpeed, of which no release is asked."""
    rule = Rule("BAT999", list, "name", "error")
    rule.releases = (Releases((), (0, 9, 0), package="deepspeed"),)
    deepspeed = launch_of("deepspeed", {"ds.json": '{"train_batch_size": 8}'}, "", {}).configs[0]
    neox = launch_of("neox", {"a.yml": "train_batch_size: 8\n"}, "", {}).configs[0]
    assert not has_check(rule, deepspeed)
    assert has_check(rule, neox)


def test_the_ends_of_a_check_are_asked_for():
    """TRL 0.13.0 to 0.18.2 has no such check, whatever the other probes between the ends hit."""
    rule = Rule("TRL999", list, "name", "error", kinds=("trl",))
    rule.releases = (Releases((), (0, 13, 0)), Releases((0, 19, 0)))
    rules.BY_CODE["TRL999"] = [rule]
    try:
        assert ends_of_check("TRL999", "trl") == {(0, 13, 0), (0, 19, 0)}
        assert ends_of_check("TRL999", "transformers") == set()
    finally:
        del rules.BY_CODE["TRL999"]


@pytest.mark.parametrize("kind", ["deepspeed", "huggingface", "trl", "axolotl", "accelerate", "neox"])
def test_the_kept_rules_of_a_release_are_those_that_have_their_check_in_it(kind):
    package = framework(kind).package
    for release in (modelled_releases(package)[0], modelled_releases(package)[-1]) * 2:
        config = launch_of(kind, {"a.yml": "a: 1\n"}, "", {"target": {package: release}}).configs[0]
        assert rules_of(config) == [rule for rule in rules_for(config.kind, ()) if not rule.releases or has_check(rule, config)]
