"""Workflow commands: one line a finding, whatever the file holds."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.report import render
from hostile_texts import each_hostile_text


def decoded(line):
    """(command, properties, message) as the runner reads a line."""
    _, head, message = line.split("::", 2)
    command, _, given = head.partition(" ")
    properties = {}
    for part in given.split(","):
        name, _, value = part.partition("=")
        for code, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            value = value.replace(code, char)
        properties[name] = value
    return command, properties, message.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


def test_a_finding_is_an_annotation_at_its_place(make):
    found = make.diagnostic("1 is not 2", exception="AssertionError: no", fix="write 2")
    line = render("github", [make.outcome([found])])
    assert line == (
        "::error file=train.yaml,line=3,endLine=3,col=5,endColumn=9,title=BAT001 batch-mismatch"
        "::1 is not 2%0Anote: transformers 5.23.0 fails while checking the config: AssertionError: no%0Ahelp: write 2 (cfglint fix)\n"
    )


def test_a_finding_of_several_runs_is_one_annotation(make):
    assert render("github", [make.outcome([make.diagnostic()]), make.outcome([make.diagnostic()])]).count("::error") == 1


def test_a_file_is_named_as_the_repository_names_it(make):
    found = make.diagnostic(file="./conf/train.yaml")
    assert decoded(render("github", [make.outcome([found])]))[1]["file"] == "conf/train.yaml"


def test_severities_are_error_warning_notice(make):
    found = [make.diagnostic(severity=severity) for severity in ("error", WARNING, INFO)]
    lines = render("github", [make.outcome(found)]).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]


def test_no_columns_for_a_finding_of_several_lines(make):
    found = make.diagnostic()
    found.place.end_line = 5
    assert "col=" not in render("github", [make.outcome([found])])


def test_silenced_findings_are_left_out(make):
    assert render("github", [make.outcome([make.diagnostic(suppressed="comment")])]) == ""


def test_percent_colon_and_comma_come_back(make):
    found = make.diagnostic("100% :: of, it", file="a,b:c%.yaml")
    _, properties, message = decoded(render("github", [make.outcome([found])]).rstrip("\n"))
    assert properties["file"] == "a,b:c%.yaml"
    assert message == "100% :: of, it"


@each_hostile_text
def test_hostile_text_stays_inside_its_command(make, hostile):
    text = render("github", [make.hostile(hostile)])
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.startswith("::error file=dir")
    assert "\r" not in text
    assert "\x1b" not in text
    text.encode("utf-8")
    properties = decoded(text[:-1])[1]
    assert list(properties) == ["file", "line", "endLine", "col", "endColumn", "title"]
