"""Plans as a table of Markdown."""

from __future__ import annotations

from cfglint.report.plans import COLUMNS, as_markdown, remark


def test_a_row_of_markdown_is_a_row_whatever_its_cells_have(monkeypatch):
    monkeypatch.setattr("cfglint.report.plans.notes", lambda *_: [])
    row = ["a|b", *["1"] * (len(COLUMNS) - 1)]
    head, line, body = as_markdown([row], None).splitlines()
    assert body == "| a\\|b | " + " | ".join(row[1:]) + " |"
    assert head.count("|") == line.count("|") == len(COLUMNS) + 1


def test_a_list_of_gpus_is_not_cut_in_a_remark():
    """It was `CUDA_VISIBLE_DEVICES` 0 -> "0."""
    plan = {"feasible": True, "bubble": 0.0, "reasons": ['`CUDA_VISIBLE_DEVICES` 0 -> "0,1", because 2 GPUs are asked for']}
    assert remark(plan) == '`CUDA_VISIBLE_DEVICES` 0 -> "0,1"'
