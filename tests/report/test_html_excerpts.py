"""Lines of files on pages: marks, listings and diffs."""

from __future__ import annotations

from cfglint.findings.diagnostic import FileEdit, Fix, Place
from cfglint.findings.pages import Example, Page
from cfglint.findings.rule import Rule
from cfglint.report.html import excerpt
from cfglint.report.html.page import MOST_WITH_EXAMPLES, rule_page, rule_pages

TEXT = "a: 1\nbee: 22\nc: 3\n\nd: 4\ne: 5\nf: 6\n"
LINES = TEXT.splitlines()


def place(line, column, end_column, file="x.yaml", source=None):
    return Place(file, line, column, line, end_column, 0, 0, LINES[line - 1] if source is None else source)


class TestMarked:
    def test_a_value(self):
        line = excerpt.marked(place(2, 6, 8))
        assert (line.number, line.before, line.mark, line.after) == (2, "bee: ", "22", "")

    def test_an_empty_span_marks_a_character(self):
        assert excerpt.marked(place(2, 1, 1)).mark == "b"

    def test_a_long_line_is_cut_around_the_value(self):
        long = "x" * 1000 + "VALUE" + "y" * 1000
        line = excerpt.marked(place(1, 1001, 1006, source=long))
        assert line.mark == "VALUE"
        assert len(line.before + line.mark + line.after) == excerpt.WIDEST

    def test_an_empty_line_shows_nothing(self):
        assert excerpt.marked(place(1, 1, 1, source="  ")) is None


class TestAround:
    def test_neighbours(self):
        assert [each.number for each in excerpt.around(place(2, 1, 4), [], LINES)] == [1, 2, 3]

    def test_a_related_place_nearby_is_marked_in_the_same_excerpt(self):
        told = excerpt.around(place(1, 4, 5), [place(3, 4, 5), place(3, 1, 2, file="other.yaml")], LINES)
        assert [(each.number, each.mark, each.main) for each in told if each.mark] == [(1, "1", True), (3, "3", False)]

    def test_without_the_file(self):
        assert [each.number for each in excerpt.around(place(2, 1, 4), [], None)] == [2]


class TestListing:
    def test_all_lines(self):
        told = excerpt.listing(TEXT, {2: "error"}, [3], full=True)
        assert [each.number for each in told] == [1, 2, 3, 4, 5, 6, 7]
        assert [each.severity for each in told][1] == "error"
        assert [each.number for each in told if each.anchored] == [3]
        assert not any(each.gap for each in told)

    def test_around_what_is_linked(self):
        told = excerpt.listing(TEXT, {}, [6], full=False)
        assert [(each.number, each.gap) for each in told] == [(4, True), (5, False), (6, False), (7, False)]


def signed(found):
    return [(each.sign, f"{each.before}[{each.mark}]{each.after}" if each.mark else each.before) for each in found]


class TestDiff:
    FIX = Fix("set bee to 3", [FileEdit("x.yaml", 10, 12, "3")], True, [])
    CHANGED = [("-", "bee: 22"), ("+", "bee: 3")]

    def test_lines_that_go_and_come(self):
        assert signed(excerpt.diff(self.FIX, {"x.yaml": TEXT})) == [("@", "x.yaml:1"), (" ", "a: 1"), *self.CHANGED, (" ", "c: 3")]

    def test_the_place_of_the_finding_is_in_it(self):
        near = signed(excerpt.diff(self.FIX, {"x.yaml": TEXT}, place(3, 4, 5), [place(2, 6, 8), place(1, 4, 5)]))
        assert near == [("@", "x.yaml:1"), (" ", "a: [1]"), ("-", "bee: [22]"), ("+", "bee: 3"), (" ", "c: [3]"), (" ", "")]
        far = signed(excerpt.diff(self.FIX, {"x.yaml": TEXT}, place(6, 4, 5), []))
        assert far[:5] == [("@", "x.yaml:1"), (" ", "a: 1"), *self.CHANGED, (" ", "c: 3")]
        assert far[5:] == [("@", "x.yaml:5"), (" ", "d: 4"), (" ", "e: [5]"), (" ", "f: 6")]

    def test_the_place_is_in_another_file(self):
        texts = {"x.yaml": TEXT, "y.yaml": "z: 1\n"}
        found = signed(excerpt.diff(self.FIX, texts, place(1, 4, 5, "y.yaml", "z: 1"), [place(2, 6, 8)]))
        assert found[:3] == [("@", "y.yaml:1"), (" ", "z: [1]"), ("@", "x.yaml:1")]

    def test_lines_at_both_ends(self):
        first, last = FileEdit("x.yaml", 0, 0, "new: 1\n"), FileEdit("x.yaml", len(TEXT), len(TEXT), "end: 2\n")
        found = signed(excerpt.diff(Fix("x", [first, last], True, []), {"x.yaml": TEXT}))
        assert found[:3] == [("@", "x.yaml:1"), ("+", "new: 1"), (" ", "a: 1")]
        assert found[-2:] == [(" ", "f: 6"), ("+", "end: 2")]

    def test_a_file_that_is_not_there(self):
        assert excerpt.diff(Fix("x", [FileEdit("gone.yaml", 0, 0, "a")], True, []), {}) == []

    def test_line_ends_of_windows(self):
        fix = Fix("x", [FileEdit("x.yaml", 3, 4, "2")], True, [])
        assert signed(excerpt.diff(fix, {"x.yaml": "a: 1\r\nb: 2\r\n"}))[1:3] == [("-", "a: 1"), ("+", "a: 2")]


class TestRulePages:
    def test_paragraphs_code_and_kept_lines(self, monkeypatch):
        text = "What it finds, `in` short.\n\nA `key` <b> that\ngoes on.\n\n    kept   as it\n    stands"
        monkeypatch.setattr(Rule, "written", Page({"source": "x"}, text, [Example("bad")]))
        shown = rule_page(Rule("XYZ001", list, "name", "error"))
        assert shown.summary == "What it finds, <code>in</code> short."
        assert shown.body == "<p>A <code>key</code> &lt;b&gt; that goes on.</p><pre>kept   as it\nstands</pre><p>Source: x.</p>"
        assert shown.examples == [("Fails", "bad")]

    def test_many_rules_go_without_examples(self):
        from cfglint.rules.catalogue import every_rule

        codes = [each.code for each in every_rule()]
        assert any(each.examples for each in rule_pages({*codes[:MOST_WITH_EXAMPLES]}))
        assert not any(each.examples for each in rule_pages({*codes}))
        assert rule_pages({"NO0000"}) == []
