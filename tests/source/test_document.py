"""Positions and look-ups on the span tree."""

from __future__ import annotations

import pytest

from cfglint.source.document import pointer
from cfglint.source.parse import parse


def test_lines_are_those_of_editors_not_of_yaml():
    text = 'a: "x\u2028y"\nb: 1\n'
    document = parse("a.yaml", text, "yaml")
    key, _ = document.find(("b",))
    assert document.position(key.start) == (2, 1)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_every_line_break_ends_a_line(line_break):
    text = line_break.join(["a: 1", "b: 2", ""])
    document = parse("a.yaml", text, "yaml")
    assert document.position(document.find(("b",))[1].start) == (2, 4)
    assert document.line(1) == "a: 1"
    assert document.line(2) == "b: 2"


def test_columns_count_characters_not_bytes():
    document = parse("a.yaml", "é😀: 1\n", "yaml")
    assert document.position(document.find(("é😀",))[1].start) == (1, 5)


def test_find_takes_the_last_of_equal_keys():
    document = parse("a.json", '{"a": 1, "a": 2}', "json")
    assert document.find(("a",))[1].raw == "2"


def test_find_looks_through_merge_keys_last():
    document = parse("a.yaml", "base: &b {x: 1, y: 2}\nmine:\n  <<: *b\n  y: 3\n", "yaml")
    assert document.find(("mine", "x"))[1].raw == "1"
    assert document.find(("mine", "y"))[1].raw == "3"


def test_find_stops_at_a_merge_of_itself():
    document = parse("a.yaml", "a: &a\n  <<: *a\n  x: 1\n", "yaml")
    assert document.find(("a", "nothing")) == (None, None)


def test_find_follows_an_alias_and_list_items():
    document = parse("a.yaml", "a: &a [1, {b: 2}]\nc: *a\n", "yaml")
    assert document.find(("c", 1, "b"))[1].raw == "2"
    assert document.find(("c", 2)) == (None, None)


def test_walk_gives_outer_before_inner_in_the_order_of_the_text():
    document = parse("a.yaml", "a: {b: 1}\nc: [2]\n", "yaml")
    assert [path for path, _, _ in document.walk()] == [(), ("a",), ("a", "b"), ("c",), ("c", 0)]


def test_pointer_escapes():
    assert pointer(("a/b", "c~d", 0)) == "/a~1b/c~0d/0"


@pytest.mark.parametrize("length", [5, 31, 32, 33, 40])
def test_a_look_up_in_a_mapping_of_any_length(length):
    """The last of duplicate keys counts, and a merged mapping is behind the own keys."""
    lines = [f"k{number}: {number}" for number in range(length - 3)]
    text = "\n".join(["b: &b {x: 1, y: 2}", "c:", *(f"  {line}" for line in [*lines, "k0: last", "<<: *b", "y: own"]), ""])
    document = parse("a.yaml", text, "yaml")
    found = {name: document.find(("c", name)) for name in ("k0", "k1", "y", "x", "none")}
    assert {name: value.raw if value is not None else None for name, (_, value) in found.items()} == {
        "k0": "last", "k1": "1", "y": "own", "x": "1", "none": None,
    }  # fmt: skip
    assert text[found["k0"][0].start : found["k0"][1].end] == "k0: last"
