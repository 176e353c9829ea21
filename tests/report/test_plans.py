"""Plans as a table of Markdown."""

from __future__ import annotations

from cfglint.report.plans import COLUMNS, as_markdown


def test_a_row_of_markdown_is_a_row_whatever_its_cells_have(monkeypatch):
    monkeypatch.setattr("cfglint.report.plans.notes", lambda *_: [])
    row = ["a|b", *["1"] * (len(COLUMNS) - 1)]
    head, line, body = as_markdown([row], None).splitlines()
    assert body == "| a\\|b | " + " | ".join(row[1:]) + " |"
    assert head.count("|") == line.count("|") == len(COLUMNS) + 1
