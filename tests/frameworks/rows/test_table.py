"""A function of rows runs only for files with a key that it looks up; the results are those of all functions."""

from __future__ import annotations

import pytest

from cfglint.frameworks.rows.evaluation import Evaluation
from cfglint.frameworks.rows.table import Function, Selection, Table

RAISE = {"raise": "ValueError", "say": "no"}


def selected(rows, keys, field="", defaults=()):
    """Whether the second file, with these keys, gets a function."""
    function = Function("check", field, rows)
    selection = Selection([function], lambda: Evaluation(dict(defaults), lambda name, *arguments: None))
    assert [*selection.that_use({field}, {})] == [function]  # the first file gets all of them
    return [*selection.that_use(keys, {**dict(defaults), **dict.fromkeys(keys, True)})] == [function]


@pytest.mark.parametrize(
    ("rows", "keys", "is_called"),
    [
        ([{"when": [["f", "adapter"], ["f", "lora_r"]], **RAISE}], {"adapter", "lora_r"}, True),
        ([{"when": [["f", "adapter"], ["f", "lora_r"]], **RAISE}], {"adapter"}, False),
        ([{"when": [["f", "adapter"], [">", ["f", "lora_r"], 1]], **RAISE}], {"adapter"}, True),
        ([{"when": [["f", "adapter"], ["==", ["f", "lora_r"], ["f", "lora_s"]]], **RAISE}], {"adapter"}, True),
        ([{"when": [["f", "adapter"]], "let": "$x", "be": ["f", "lora_r"]}, {"when": [["v", "$x"]], **RAISE}], {"adapter"}, False),
        ([{"when": [["f", "adapter"], ["f", "lora_r"]], **RAISE}], {"lora_r"}, False),  # without `adapter` it is never looked up
        ([{"when": [], "set": "packing", "be": True}], set(), True),
        ([{"when": [["not", ["f", "datasets"]]], **RAISE}], set(), True),
        ([{"when": [["fact", "unanswered"]], **RAISE}], set(), True),
        ([{"when": [["in", "x", ["self"]]], **RAISE}], set(), True),
        ([{"when": [], "todo": "by hand"}], set(), True),
    ],
)
def test_function_for_the_keys_of_a_file(rows, keys, is_called):
    assert selected(rows, keys) is is_called


def test_validator_of_a_field_needs_the_field():
    rows = [{"when": [["f", "seed"]], **RAISE}]
    assert [selected(rows, keys, "seed") for keys in ({"seed"}, {"rank"})] == [True, False]


def test_defaults_count_as_nothing():
    rows = [{"when": [[">", ["f", "size"], 1]], **RAISE}]
    assert [selected(rows, keys, defaults={"size": 1}) for keys in ({"size"}, {"rank"})] == [True, False]


def test_functions_of_a_release():
    table = Table({
        "rows": {"one": {"when": [], **RAISE}, "two": {"when": [], "drop": "x"}},
        "before": {"a": [[[1, 0, 0], [1, 2, 0], "one"], [[1, 2, 0], None, "two one"]], "b seed": [[[1, 1, 0], None, "one"]]},
        "orders": {"before": [[[1, 0, 0], ["a", "*", "b seed"]], [[1, 2, 0], ["b seed", "*", "a"]]]},
    })  # fmt: skip
    named = {
        release: [(each.name, each.field, len(each.rows)) for each in table.functions("before", release)]
        for release in ((1, 0, 0), (1, 1, 0), (1, 3, 0))
    }
    assert named == {
        (1, 0, 0): [("a", "", 1)],
        (1, 1, 0): [("a", "", 1), ("b", "seed", 1)],
        (1, 3, 0): [("b", "seed", 1), ("a", "", 2)],
    }
    assert [table.place("before", release, "*") for release in named] == [1, 1, 1]
