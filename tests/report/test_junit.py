"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.report import render
from hostile_texts import each_hostile_text


def parsed(outcomes):
    return ElementTree.fromstring(render("junit", outcomes).encode("utf-8"))


def test_a_finding_is_a_failed_test(make):
    found = make.diagnostic("1 is not 2", exception="AssertionError: no")
    case = parsed([make.outcome([found])]).find("testsuite/testcase")
    assert case.attrib == {"classname": "train.yaml", "name": "BAT001 batch-mismatch at 3:5", "file": "train.yaml", "line": "3"}
    failure = case.find("failure")
    assert failure.attrib == {"type": "error", "message": "1 is not 2"}
    assert failure.text == ("train.yaml:3:5: 1 is not 2\nnote: transformers 5.23.0 fails while checking the config: AssertionError: no")


def test_a_run_without_findings_passes(make):
    root = parsed([make.outcome([], files=["a.yaml", "b.json"])])
    suite = root.find("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("a.yaml b.json", "1", "0")
    assert suite.find("testcase").get("name") == "no findings"


def test_counts_add_up(make):
    first = make.outcome([make.diagnostic(), make.diagnostic(severity=WARNING), make.diagnostic(severity=INFO)])
    second = make.outcome([make.diagnostic(suppressed="comment")])
    root = parsed([first, second])
    assert (root.get("tests"), root.get("failures")) == ("4", "2")
    assert [suite.get("skipped") for suite in root] == ["0", "1"]
    assert root.find("testsuite/testcase/skipped").get("message") == "suppressed by comment"
    assert root.find("testsuite/testcase/system-out").text == "what is wrong"


def test_no_runs_are_an_empty_report():
    assert list(parsed([])) == []


@each_hostile_text
def test_hostile_text_is_well_formed(make, hostile):
    case = parsed([make.hostile(hostile)]).find("testsuite/testcase")
    assert [child.tag for child in case] == ["failure"]
    assert "\x1b" not in case.find("failure").text
