"""GitLab's code quality report."""

from __future__ import annotations

import json

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.report import render
from hostile_texts import each_hostile_text


def issues(outcomes):
    return json.loads(render("gitlab", outcomes))


def test_an_issue_has_what_gitlab_requires(make):
    issue = issues([make.outcome([make.diagnostic("1 is not 2", file="./conf/a.yaml")])])[0]
    assert issue["description"] == "BAT001: 1 is not 2"
    assert issue["check_name"] == "batch-mismatch"
    assert issue["severity"] == "critical"
    assert issue["location"] == {"path": "conf/a.yaml", "lines": {"begin": 3, "end": 3}}
    assert len(issue["fingerprint"]) == 32


def test_severities_are_gitlabs(make):
    found = [make.diagnostic(severity=severity) for severity in (WARNING, INFO)]
    assert [each["severity"] for each in issues([make.outcome(found)])] == ["minor", "info"]


def test_fingerprints_survive_moved_lines_and_stay_apart(make):
    before = issues([make.outcome([make.diagnostic("x"), make.diagnostic("x"), make.diagnostic("y")])])
    after = issues([make.outcome([make.diagnostic("x", line=30), make.diagnostic("x", line=31), make.diagnostic("y", line=32)])])
    assert [each["fingerprint"] for each in before] == [each["fingerprint"] for each in after]
    assert len({each["fingerprint"] for each in before}) == 3


def test_silenced_findings_are_left_out(make):
    assert issues([make.outcome([make.diagnostic(suppressed="baseline")])]) == []


@each_hostile_text
def test_hostile_text_is_json_that_can_be_sent(make, hostile):
    issue = issues([make.hostile(hostile)])[0]
    json.dumps(issue, ensure_ascii=False).encode("utf-8")
    assert "\x1b" not in issue["description"]
