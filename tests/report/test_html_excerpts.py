"""Lines of files on pages: marks, listings and diffs."""

from __future__ import annotations

from cfglint.findings.diagnostic import FileEdit, Fix, Place
from cfglint.findings.rule import Rule
from cfglint.report.html import excerpt, rules

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


class TestDiff:
    def test_lines_that_go_and_come(self):
        fix = Fix("set bee to 3", [FileEdit("x.yaml", 10, 12, "3")], True, [])
        assert excerpt.diff(fix, {"x.yaml": TEXT}) == [("@", "x.yaml:1"), (" ", "a: 1"), ("-", "bee: 22"), ("+", "bee: 3"), (" ", "c: 3")]

    def test_a_file_that_is_not_there(self):
        assert excerpt.diff(Fix("x", [FileEdit("gone.yaml", 0, 0, "a")], True, []), {}) == []

    def test_line_ends_of_windows(self):
        fix = Fix("x", [FileEdit("x.yaml", 3, 4, "2")], True, [])
        assert excerpt.diff(fix, {"x.yaml": "a: 1\r\nb: 2\r\n"})[1:3] == [("-", "a: 1"), ("+", "a: 2")]


class TestRulePages:
    def test_paragraphs_code_and_kept_lines(self):
        def check():
            """What it finds, `in` short.

            A `key` <b> that
            goes on.

                kept   as it
                stands
            """

        page = rules.page(Rule("XYZ001", "name", "error", (), None, None, "keep", "bad", "", None, {}, check))
        assert page.summary == "What it finds, <code>in</code> short."
        assert page.body == "<p>A <code>key</code> &lt;b&gt; that goes on.</p><pre>kept   as it\nstands</pre>"
        assert page.examples == [("Found in", "bad")]

    def test_many_rules_go_without_examples(self):
        from cfglint.rules.catalogue import every_rule

        codes = [each.code for each in every_rule()]
        assert any(page.examples for page in rules.pages(codes[: rules.MOST_WITH_EXAMPLES]))
        assert not any(page.examples for page in rules.pages(codes))
        assert rules.pages(["NO0000"]) == []
