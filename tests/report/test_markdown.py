"""The comment for a pull request, as GitHub's Markdown sees it."""

from __future__ import annotations

import re

import pytest

from cases import each_case
from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.report import render
from cfglint.report.markdown import MARK
from hostile_texts import each_hostile_text

markdown_it = pytest.importorskip("markdown_it", reason="without markdown-it-py nothing renders the comment")
RENDERER = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
OURS = {"table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "pre", "h3", "p", "strong"}


def tags(text):
    """The names of all HTML elements in the rendered comment."""
    return set(re.findall(r"</?([a-zA-Z][\w-]*)", RENDERER.render(text)))


def test_a_table_of_runs_and_folded_findings(make):
    found = [make.diagnostic("1 is not 2", exception="AssertionError: no"), make.diagnostic("odd", severity=WARNING)]
    text = render("markdown", [make.outcome(found, files=["train.yaml", "ds.json"], global_batch=256, total_steps=1512)])
    lines = text.splitlines()
    assert lines[:2] == [MARK, "### cfglint: 1 error, 1 warning in 1 run"]
    assert "| `train.yaml, ds.json` | 8 | **no** (config) | 256 | 1512 | 1 | 1 | 0 |" in lines
    assert "<details><summary><code>train.yaml, ds.json</code>: 1 error, 1 warning</summary>" in lines
    assert "train.yaml:3:5: error BAT001 batch-mismatch: 1 is not 2" in lines
    assert text.count("<details>") == text.count("</details>") == 1


def test_nothing_found(make):
    text = render("markdown", [make.outcome([], gpus=None), make.outcome([make.diagnostic(suppressed="comment", severity=INFO)])])
    assert "### cfglint: nothing found in 2 runs" in text
    assert "| `train.yaml` |  | yes |  |  | 0 | 0 | 0 |" in text
    assert "<details>" not in text


def test_no_runs():
    assert render("markdown", []) == f"{MARK}\n### cfglint: nothing found in 0 runs\n\n"


def test_the_worst_comes_first(make):
    fine = make.outcome([], files=["fine.yaml"])
    odd = make.outcome([make.diagnostic(severity=WARNING)], files=["odd.yaml"])
    dead = make.outcome([make.diagnostic(severity=INFO), make.diagnostic("worst")], files=["dead.yaml"])
    text = render("markdown", [fine, odd, dead])
    assert text.index("`dead.yaml`") < text.index("`odd.yaml`") < text.index("`fine.yaml`")
    assert text.index("error BAT001") < text.index("info BAT001")


@each_case("character", ["x", "é", "\U0001f600", "`", "\x1b"])
def test_fits_into_a_comment_however_much_there_is(make, character):
    outcomes = []
    for number in range(400):
        found = [make.diagnostic(f"{number}.{each} {character * 300}") for each in range(5)]
        outcomes.append(make.outcome(found, files=[f"{character * 50}{number}.yaml"]))
    text = render("markdown", outcomes)
    assert 30_000 < len(text.encode("utf-8")) < 65_536
    assert text.count("<details>") == text.count("</details>") > 5
    assert "340 more runs are not in the table." in text
    told = text.count("error BAT001")
    assert f"{2000 - told} more findings do not fit into a comment" in text


def test_one_run_with_more_than_fits(make):
    text = render("markdown", [make.outcome([make.diagnostic(f"{number} {'x' * 500}") for number in range(500)])])
    assert 50_000 < len(text) < 65_536
    assert "more findings do not fit" in text


def test_one_finding_that_never_fits(make):
    text = render("markdown", [make.outcome([make.diagnostic("x" * 100_000)])])
    assert len(text) < 65_536
    assert "1 more finding does not fit" in text


def test_what_several_runs_have_in_common_is_told_once(make):
    outcomes = [make.outcome([make.diagnostic("copied", file=f"{name}.yaml")], files=[f"{name}.yaml"]) for name in "abcdef"]
    outcomes[2].diagnostics.append(make.diagnostic("alone", file="c.yaml"))
    text = render("markdown", outcomes)
    assert text.count("copied") == 1
    assert "<details><summary>In several runs: 6 errors</summary>" in text
    assert "note: the same in 5 other places: b.yaml:3, c.yaml:3, d.yaml:3 and 2 more" in text
    assert "<code>c.yaml</code>: 1 error</summary>" in text
    assert text.index("copied") < text.index("alone")


@each_hostile_text
def test_hostile_text_becomes_no_markup(make, hostile):
    text = render("markdown", [make.hostile(hostile)])
    text.encode("utf-8")
    assert "\x1b" not in text
    assert tags(text) <= OURS
    rendered = RENDERER.render(text)
    assert rendered.count("<details>") == rendered.count("</details>") == 1
    assert rendered.count("<h3>") == 1
    assert rendered.count("<tr>") == 2
    assert rendered.count("<td") == 8


def test_mentions_and_links_stand_in_code_only(make):
    text = render("markdown", [make.hostile("@octocat #1 https://example.org a@b.org")])
    outside = re.sub(r"<(pre|code)\b.*?</\1>", "", RENDERER.render(text), flags=re.DOTALL)
    assert "@" not in outside
    assert "https" not in outside
