"""SARIF 2.1.0."""

from __future__ import annotations

import json
import os
from urllib.parse import unquote_to_bytes

import pytest

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.report import links, render, sarif

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, *[os.pardir] * 3, "shared", "standards", "sarif-2.1.0.schema.json")


TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {"type": "object", "required": ["uri"], "properties": {"uri": {"type": "string"}}},
                "region": {
                    "type": "object",
                    "required": ["startLine", "startColumn", "endLine", "endColumn"],
                    "additionalProperties": {"type": ["integer", "object"], "minimum": 1},
                },
            },
        }
    },
}
RULE = {
    "type": "object",
    "required": ["id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"],
    "properties": {
        "id": {"type": "string", "maxLength": 255},
        "name": {"type": "string", "maxLength": 255},
        "shortDescription": {"required": ["text"], "properties": {"text": {"maxLength": 1024}}},
        "fullDescription": {"required": ["text"]},
        "helpUri": {"type": "string", "pattern": "^https://"},
        "help": {"required": ["text", "markdown"]},
        "properties": {"properties": {"tags": {"type": "array", "maxItems": 20}}},
    },
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "level", "message", "locations", "partialFingerprints"],
    "properties": {
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "locations": {"type": "array", "minItems": 1, "items": LOCATION},
        "relatedLocations": {"type": "array", "items": {**LOCATION, "required": ["physicalLocation", "message"]}},
        "fixes": {"type": "array", "items": {"required": ["description", "artifactChanges"]}},
    },
}
DRIVER = {"required": ["name", "semanticVersion", "rules"], "properties": {"rules": {"type": "array", "items": RULE}}}
RUN = {
    "type": "object",
    "required": ["tool", "results"],
    "properties": {
        "tool": {"required": ["driver"], "properties": {"driver": DRIVER}},
        "results": {"type": "array", "maxItems": 25_000, "items": RESULT},
    },
}
# https://docs.github.com/code-security/reference/code-scanning/sarif-files/sarif-support
GITHUB = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {"version": {"const": "2.1.0"}, "runs": {"type": "array", "minItems": 1, "maxItems": 20, "items": RUN}},
}


def run_of(outcomes):
    log = json.loads(render("sarif", outcomes))
    assert log["version"] == "2.1.0"
    assert len(log["runs"]) == 1
    return log["runs"][0]


@pytest.fixture(scope="module")
def validator():
    if not os.path.exists(SCHEMA):
        pytest.skip(f"the official schema is not at {os.path.normpath(SCHEMA)}")
    from jsonschema import Draft7Validator

    with open(SCHEMA, encoding="utf-8") as file:
        return Draft7Validator(json.load(file))


def everything(make):
    """Findings of every shape."""
    full = make.diagnostic("1 is not [2](3)", exception="AssertionError: no", related="with 4", fix="write 2")
    several = make.diagnostic(severity=WARNING)
    several.place.end_line = 7
    silenced = [make.diagnostic(suppressed=by) for by in ("comment", "configuration", "baseline")]
    found = [full, several, make.diagnostic(severity=INFO, key=""), *silenced]
    bug = make.diagnostic("internal error", severity=WARNING, code="INT000", name="internal-error")
    return [make.outcome([*found, bug]), make.outcome([], files=["b.json"])]


def test_valid_by_the_official_schema(make, validator):
    log = json.loads(render("sarif", everything(make)))
    assert [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(log)] == []


def test_hostile_text_is_valid_too(make, validator):
    log = json.loads(render("sarif", [make.hostile(text) for text in make.texts]))
    json.dumps(log, ensure_ascii=False).encode("utf-8")
    assert [error.message for error in validator.iter_errors(log)] == []


def test_valid_by_what_github_reads(make):
    """The part of SARIF that GitHub's code scanning requires, as its documentation lists it."""
    from jsonschema import Draft7Validator

    for outcomes in (everything(make), [make.hostile(text) for text in make.texts], []):
        log = json.loads(render("sarif", outcomes))
        assert [f"{list(error.absolute_path)}: {error.message}" for error in Draft7Validator(GITHUB).iter_errors(log)] == []


def test_addresses_are_those_of_the_installation(make, monkeypatch):
    driver = run_of([make.outcome([make.diagnostic()])])["tool"]["driver"]
    assert {"informationUri", "helpUri"}.isdisjoint({*driver, *driver["rules"][0]})
    monkeypatch.setattr(links, "home", lambda: ("https://git.example.com/cfglint", "abc"))
    monkeypatch.setattr(sarif, "home", links.home)
    driver = run_of([make.outcome([make.diagnostic()])])["tool"]["driver"]
    assert driver["informationUri"] == "https://git.example.com/cfglint"
    assert driver["rules"][0]["helpUri"] == "https://git.example.com/cfglint/blob/abc/pages/BAT001.md"


def test_the_rules_that_fired_with_their_pages(make):
    found = [make.diagnostic(code=code) for code in ("KEY100", "BAT001", "BAT001")]
    run = run_of([make.outcome(found)])
    rules = run["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == ["BAT001", "KEY100"]
    assert [each["ruleIndex"] for each in run["results"]] == [1, 0, 0]
    assert run_of([])["tool"]["driver"]["rules"] == []
    mismatch = rules[0]
    assert mismatch["name"] == "BatchMismatch"
    assert "Check batch related parameters" in mismatch["help"]["text"]
    assert mismatch["help"]["markdown"].startswith("## BAT001")
    assert mismatch["defaultConfiguration"] == {"level": "error"}


def test_a_result_points_at_its_rule_and_place(make):
    run = run_of([make.outcome([make.diagnostic("1 is not 2", exception="AssertionError: no", source="key: text")])])
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "BAT001"
    assert result["message"]["text"] == "1 is not 2\nnote: transformers 5.23.0 fails while checking the config: AssertionError: no"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.yaml", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9, "snippet": {"text": " tex"}}
    assert run["columnKind"] == "unicodeCodePoints"
    assert "SRCROOT" in run["originalUriBaseIds"]


def test_silenced_findings_carry_their_suppression(make):
    found = [make.diagnostic(suppressed=by) for by in ("comment", "configuration", "baseline", None)]
    kinds = [[each["kind"] for each in result.get("suppressions", [])] for result in run_of([make.outcome(found)])["results"]]
    assert kinds == [["inSource"], ["external"], ["external"], []]


def test_fingerprints_survive_moved_lines(make):
    before = [make.diagnostic("stands again at line 7"), make.diagnostic("lr 1 (train.yaml:12), not 2")]
    after = [make.diagnostic("stands again at line 9", line=8), make.diagnostic("lr 1 (train.yaml:14), not 2", line=5)]
    prints = [[each["partialFingerprints"] for each in run_of([make.outcome(found)])["results"]] for found in (before, after)]
    assert prints[0] == prints[1]
    assert prints[0][0] != prints[0][1]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("./conf/a b.yaml", "conf/a%20b.yaml"),
        ("../a.yaml", "../a.yaml"),
        ("a%#?.yaml", "a%25%23%3F.yaml"),
        ("é.yaml", "%C3%A9.yaml"),
    ],
)
def test_relative_files_are_relative_uris(make, file, uri):
    location = run_of([make.outcome([make.diagnostic(file=file)], files=[file])])["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": uri, "uriBaseId": "SRCROOT"}


def test_an_absolute_file_is_an_absolute_uri(make):
    location = run_of([make.outcome([make.diagnostic(file="/data/a.yaml")])])["results"][0]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "file:///data/a.yaml"}


def test_a_name_that_is_no_text_keeps_its_bytes(make):
    location = run_of([make.outcome([make.diagnostic(file="caf\udce9.yaml")])])["results"][0]["locations"][0]
    assert unquote_to_bytes(location["physicalLocation"]["artifactLocation"]["uri"]) == b"caf\xe9.yaml"


def test_fixes_are_replacements(make):
    fix = run_of([make.outcome([make.diagnostic(fix="write 8")])])["results"][0]["fixes"][0]
    assert fix["description"] == {"text": "write 8"}
    change = fix["artifactChanges"][0]
    assert change["artifactLocation"] == {"uri": "train.yaml", "uriBaseId": "SRCROOT"}
    assert change["replacements"] == [{"deletedRegion": {"charOffset": 20, "charLength": 4}, "insertedContent": {"text": "8"}}]


def test_a_bug_of_ours_is_a_failed_invocation_and_no_result(make):
    run = run_of([make.outcome([make.diagnostic("internal error", severity=WARNING, code="INT000")])])
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"][0]["descriptor"] == {"id": "INT000"}


def test_what_looks_like_a_link_is_none(make):
    text = run_of([make.outcome([make.diagnostic("see [here](1)")])])["results"][0]["message"]["text"]
    assert text == "see \\[here\\](1)"
