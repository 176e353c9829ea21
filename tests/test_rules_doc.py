"""The manual of the rules: the index `docs/rules.md`, and a page for every code on the command line."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main
from cfglint.report import manual
from cfglint.report.links import anchor
from cfglint.rules.catalogue import every_rule

RULES = every_rule()

every_page = each_case("rule", RULES, ids=lambda rule: rule.code)


def test_the_index_is_current(root, updating):
    """After a change of a rule: CFGLINT_UPDATE=1 pytest tests/test_rules_doc.py."""
    path, now = root / "docs" / "rules.md", index()
    if updating:
        path.write_text(now, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now


def test_the_book_has_all_pages(capsys):
    assert main(["rule", "--format", "markdown"]) == 0
    printed = capsys.readouterr().out
    assert all(manual.markdown(rule, 3) in printed for rule in RULES)


def index():
    """The rules by family, each with a link to its page. The anchors are those of the book, so that its links arrive."""
    parts = [manual.HEAD.format("Generated from the rules; a test keeps it and the pages current. `cfglint rule CODE` prints a page.")]
    for title, rules in manual.by_family(RULES):
        rows = (f'| <a id="{anchor(each.code)}"></a>[{each.code}](../pages/{each.code}.md) {manual.row(each)}' for each in rules)
        parts.append(f"## {title}\n\n{manual.COLUMNS}{''.join(rows)}")
    return "\n".join(parts)


@every_page
def test_a_page_has_what_people_search_and_what_they_do_then(rule):
    assert rule.code[:3] in manual.families()
    assert len(manual.summary(rule)) <= 120
    paragraphs = [each.partition(":")[0] for each in rule.page.split("\n\n")]
    assert paragraphs.count("Fix") == 1
    assert paragraphs[-1] == "Source"
    if rule.severity == "error" and rule.code != "SRC001":
        assert {"Run-time error", "Run-time errors", "Run-time error (GPT-NeoX)", "Run-time text"} & set(paragraphs)


@every_page
def test_a_page_ends_with_the_comment_that_accepts_a_finding(rule):
    for text in (manual.page(rule), manual.page(rule, "markdown")):
        is_last = text.splitlines()[-1].startswith(f"To accept one: `# cfglint: ignore[{rule.code}] REASON` at the end")
        assert is_last is (rule.code[:3] != "SUP" and rule.fails_at != "load")


@every_page
def test_every_page_can_be_asked_for(rule, capsys):
    assert main(["rule", rule.name]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{rule.code} {rule.name} ({rule.severity})\n\n{rule.page}\n")


@each_case("rule", RULES[::20], ids=lambda rule: rule.code)
def test_a_page_can_be_asked_for_by_its_code_and_as_json(rule, capsys):
    for wanted in (rule.code, rule.code.lower()):
        assert main(["rule", wanted]) == 0
        assert capsys.readouterr().out.startswith(f"{rule.code} {rule.name} (")
    assert main(["rule", rule.code, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["page"] == rule.page


def test_the_list_has_a_line_for_each(capsys):
    assert main(["rule"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [[rule.code, rule.severity, rule.name] for rule in RULES]


def test_an_unknown_code_names_those_of_its_family(capsys):
    assert main(["rule", "BAT999"]) == 2
    assert "BAT001, BAT002" in capsys.readouterr().err
