"""Excerpts of files on pages: which lines are shown around a place."""

from __future__ import annotations

from cfglint.findings.diagnostic import Fix, Place
from cfglint.report.html import excerpt

LINES = tuple(f"key{number}: {number}" for number in range(1, 13))


def place(line, file="x.yaml"):
    return Place(file, line, 7, line, 8, 0, 0, LINES[line - 1])


class TestAround:
    def numbers(self, *places):
        return [each.number for each in excerpt.around(places[0], list(places[1:]), LINES)]

    def test_the_line_has_its_neighbours(self):
        assert self.numbers(place(5)) == [4, 5, 6]
        assert self.numbers(place(1)) == [1, 2]
        assert self.numbers(place(12)) == [11, 12]

    def test_a_place_up_to_four_lines_away_is_shown_with_it(self):
        assert self.numbers(place(5), place(9)) == [4, 5, 6, 7, 8, 9, 10]
        assert self.numbers(place(5), place(10)) == [4, 5, 6]
        assert self.numbers(place(5), place(1)) == [1, 2, 3, 4, 5, 6]

    def test_a_place_of_another_file_is_not(self):
        assert self.numbers(place(5), place(6, "y.yaml")) == [4, 5, 6]
        assert [each.mark for each in excerpt.around(place(5), [place(6, "y.yaml")], LINES)] == ["", "5", ""]

    def test_only_the_first_mark_is_the_main_one(self):
        assert [(each.mark, each.main) for each in excerpt.around(place(5), [place(6)], LINES)][1:3] == [("5", True), ("6", False)]

    def test_a_fix_shows_a_place_up_to_four_lines_away(self):
        near, far, other = place(9), place(10), place(6, "y.yaml")
        found = excerpt.diff(Fix("x", [], True, []), {"x.yaml": "\n".join(LINES)}, place(5), [near, far, other])
        assert [each.number for each in found if each.mark] == [5, 9]


class TestListing:
    def test_two_lines_around_a_link(self):
        found = excerpt.listing("\n".join(LINES) + "\n", {6: "error"}, [6], full=False)
        assert [(each.number, each.gap, each.severity, each.anchored) for each in found] == [
            (4, True, "", False),
            (5, False, "", False),
            (6, False, "error", True),
            (7, False, "", False),
            (8, False, "", False),
        ]

    def test_all_lines(self):
        found = excerpt.listing("a\nb", {}, [], full=True)
        assert [(each.number, each.text, each.gap) for each in found] == [(1, "a", False), (2, "b", False)]
