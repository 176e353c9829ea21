"""Equal findings as one paragraph, for people."""

from __future__ import annotations

import json

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.report import render
from cfglint.report.grouping import grouped


def test_a_copied_mistake_is_one_paragraph_and_every_one_in_json(make):
    outcomes = [make.outcome([make.diagnostic("copied", WARNING, file=f"{number}.yaml")]) for number in range(52)]
    text = render("text", outcomes)
    assert text.count("copied") == 1
    assert text.endswith("note: the same in 51 other places: 1.yaml:3, 2.yaml:3, 3.yaml:3 and 48 more (`--format concise` lists all)\n")
    assert len(json.loads(render("json", outcomes))["diagnostics"]) == 52
    assert len(json.loads(render("sarif", outcomes))["runs"][0]["results"]) == 52
    assert len(render("concise", outcomes).splitlines()) == 52


def test_errors_come_first_then_what_is_found_most_often(make):
    found = [make.diagnostic("note", INFO), make.diagnostic("once", WARNING), make.diagnostic("twice", WARNING)]
    found += [make.diagnostic("twice", WARNING, line=8), make.diagnostic("no")]
    groups = grouped([make.outcome(found)])
    assert [(group.first.message, len(group.found)) for group in groups] == [("no", 1), ("twice", 2), ("once", 1), ("note", 1)]
    assert not any(group.across for group in groups)


def test_whatever_a_person_would_read_keeps_findings_apart(make):
    same = {"message": "m", "severity": WARNING}
    apart = [make.diagnostic(**same), make.diagnostic(**same, fix="write 8"), make.diagnostic(**same, related="`x` is 2 here")]
    apart += [make.diagnostic(**same, code="BAT002"), make.diagnostic("m"), make.diagnostic("m", exception="ValueError: m")]
    other_release = make.outcome([make.diagnostic("m", exception="ValueError: m")])
    other_release.target = {"transformers": "4.42.4"}
    assert len(grouped([make.outcome(apart), other_release])) == 7


def test_suppressed_findings_are_in_no_group(make):
    assert grouped([make.outcome([make.diagnostic(suppressed="comment")])]) == []


def test_in_a_large_report_one_cause_is_one_paragraph_whatever_the_values_are(make):
    """Of a rule about one key; what is about no key, or found twice alone, stays apart."""
    found = [make.diagnostic(f"`seed` is {number}", WARNING, key="/seed", file=f"{number}.yaml") for number in range(30)]
    found += [make.diagnostic(f"`lr` is {number}", WARNING, key="/a/lr") for number in range(2)]
    found += [make.diagnostic(f"no key {number}", WARNING, key="") for number in range(3)]
    groups = grouped([make.outcome(found)], causes=True)
    assert [len(group.found) for group in groups] == [30, 1, 1, 1, 1, 1]
    assert "the same rule and key, with other values, in 29 other places: 1.yaml:3" in render("text", [make.outcome(found)])
    assert len(grouped([make.outcome(found[:5])], causes=True)) == 5
