"""The edit that turns the content of a file into another one is as short as possible."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.findings.diagnostic import Diagnostic, Place
from cfglint.server.positions import Lines

server = pytest.importorskip("cfglint.server.language_server")


@each_case(
    ("before", "after", "edit"),
    [
        ("a: 1\n", "a: 2\n", ((0, 3), (0, 4), "2")),
        ("a: 1\n", "a: 1\nb: 2\n", ((1, 0), (1, 0), "b: 2\n")),
        ("a: 1\nb: 2\n", "a: 1\n", ((1, 0), (2, 0), "")),
        ("aa", "aaa", ((0, 2), (0, 2), "a")),
        ("aaa", "aa", ((0, 2), (0, 3), "")),
        ("abab", "ab", ((0, 2), (0, 4), "")),
        ("", "x", ((0, 0), (0, 0), "x")),
        ("x", "", ((0, 0), (0, 1), "")),
        ("same", "same", ((0, 4), (0, 4), "")),
        ("a\nb\nc", "a\nX\nc", ((1, 0), (1, 1), "X")),
    ],
)
def test_replacement(before, after, edit):
    found = server.replacement(Lines(before), after)
    start, end = found.range.start, found.range.end
    assert ((start.line, start.character), (end.line, end.character), found.new_text) == edit


def test_the_page_of_a_rule_is_at_its_address_else_in_the_clone(root):
    found = Diagnostic("BAT001", "name", "error", Place("a.json", 1, 1, 1, 2, 0, 1, "x"), "/key", "x", page="https://example.org/BAT001.md")
    assert server.page_link(found).href == "https://example.org/BAT001.md"
    found.page = ""
    assert server.page_link(found).href == (root / "pages" / "BAT001.md").as_uri()
    found.code = "BAT999"
    assert server.page_link(found) is None
