"""Tables of rows: what a release has that another one has not."""

from __future__ import annotations

from row_table_text import Function, Table

BEFORE, NOW = (1, 0), (2, 0)
PAGES = {"A": ("is refused",), "B": ("check_words",), "C": ("no GPU",), "D": ("*",)}


def test_pages_and_questions_by_release():
    table = Table()
    table.add(BEFORE, [Function("check_words", "config", "", [{"when": [["f", "word"]], "raise": "ValueError", "say": "it is refused"}])])
    asked = {"when": [["fact", "device_count"]], "raise": "ValueError", "say": "no GPU"}
    table.add(NOW, [Function("check_device", "config", "", [asked])])
    assert [table.spoken_of(release, PAGES) for release in (BEFORE, NOW)] == [{"A", "B"}, {"C"}]
    assert table.questions(NOW) - table.questions(BEFORE) == {"device_count"}
