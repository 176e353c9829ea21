"""The rows of an argument class that decide without the model, the disk and what the package registers."""

from __future__ import annotations

from row_table_text import every
from rows_swift import needed

RAISE = {"raise": "ValueError", "say": "no"}


def guarded(*when):
    return {"when": [*when], **RAISE}


def test_a_row_that_only_the_model_decides_is_left_out():
    rows = [guarded(["attr", ["f", "model_meta"], "is_multimodal"]), guarded(["fact", "path exists", ["f", "a"]]), guarded(["f", "a"])]
    assert needed(rows, {"a", "model_meta"}, set()) == [guarded(["f", "a"])]


def test_membership_of_a_registry_is_not_known():
    assert needed([guarded(["not in", ["f", "a"], ["dict"]])], {"a"}, set()) == []


def test_what_refusals_and_later_functions_read_is_kept():
    sets = [{"when": [], "set": name, "be": 1} for name in ("a", "passed_on", "unread")]
    assert needed([*sets, guarded(["f", "a"])], {"a"}, {"passed_on"}) == [*sets[:2], guarded(["f", "a"])]


def test_an_attribute_that_is_no_field_is_not_known():
    [row] = needed([guarded(["or", ["f", "a"], ["f", "client"]])], {"a"}, set())
    assert row["when"] == [["or", ["f", "a"], ["?", "client"]]]


def test_loops_keep_what_refuses_in_them():
    loop = {"when": [], "each": "$item", "in": ["f", "a"], "rows": [{"when": [], "warn": "x"}, guarded(["v", "$item"])]}
    assert [row for row in every(needed([loop], {"a"}, set())) if "warn" in row] == []
