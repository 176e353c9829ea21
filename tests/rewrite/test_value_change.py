"""Values before and after an edit, as reports show them."""

from __future__ import annotations

import pytest

from cfglint.rewrite.value_change import combined_changes, plain, value_at, value_changes
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change
from cfglint.source.parse import parse

YAML = parse("train.yaml", "a: 1\nb: '2'\nc: {d: 2e-5}\ne: [1, 2]\nf: yes\n", "yaml")
JSON = parse("ds.json", '{"a": 1, "b": "x", "c": {"d": 2e-5}}', "json")


@pytest.mark.parametrize(
    ("document", "text", "value"),
    [
        (YAML, "1", 1),
        (YAML, "2.0e-5", 2e-5),
        (YAML, "2e-5", "2e-5"),
        (YAML, "yes", True),
        (YAML, "null", None),
        (YAML, '"x"', "x"),
        (YAML, "'x'", "'x'"),
        (YAML, "[1, 2]", [1, 2]),
        (YAML, '{"a": 1}', {"a": 1}),
        (JSON, "2e-5", 2e-5),
        (JSON, '"x"', "x"),
        (JSON, "x", "x"),
        (JSON, "true", True),
    ],
)
def test_the_value_of_a_spelling(document, text, value):
    found = plain(text, document)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("document", "path", "value"),
    [
        (YAML, ("a",), 1),
        (YAML, ("b",), "2"),
        (YAML, ("c",), "{d: 2e-5}"),
        (YAML, ("c", "d"), "2e-5"),
        (YAML, ("e",), "[1, 2]"),
        (YAML, ("x",), None),
        (JSON, ("b",), "x"),
        (JSON, ("c", "d"), 2e-5),
    ],
)
def test_the_value_at_a_path(document, path, value):
    assert value_at(document, path) == value


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Change(INSERT, ("c",), "x", "5"), [("/c/x", None, 5)]),
        (Change(REPLACE, ("a",), text="2"), [("/a", 1, 2)]),
        (Change(DELETE, ("a",)), [("/a", 1, None)]),
        (Change(RENAME, ("c", "d"), "x"), [("/c/d", 2e-5, None), ("/c/x", None, 2e-5)]),
    ],
)
def test_the_values_of_a_change(change, expected):
    assert [(each.key, each.before, each.after) for each in value_changes(JSON, change)] == expected


def test_a_value_that_is_replaced_and_renamed_is_removed_once_and_added_once():
    changes = [(JSON, Change(REPLACE, ("a",), text="2")), (JSON, Change(RENAME, ("a",), "z")), (JSON, Change(REPLACE, ("b",), text="3"))]
    assert [(each.key, each.before, each.after) for each in combined_changes(changes)] == [
        ("/a", 1, None),
        ("/z", None, 2),
        ("/b", "x", 3),
    ]


def test_a_rename_after_another_value_was_replaced_keeps_its_own():
    changes = [(JSON, Change(REPLACE, ("b",), text="3")), (JSON, Change(RENAME, ("a",), "z"))]
    assert [(each.key, each.before, each.after) for each in combined_changes(changes)] == [("/b", "x", 3), ("/a", 1, None), ("/z", None, 1)]
