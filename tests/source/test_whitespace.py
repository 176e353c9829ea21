"""Where lines begin."""

from __future__ import annotations

from cases import each_case
from cfglint.source.tree_edits import line_start


@each_case("end", ["\n", "\r\n", "\r"])
def test_a_line_begins_behind_the_end_of_the_one_before_it(end):
    text = f"a: 1{end}b: 2{end}"
    second = len(f"a: 1{end}")
    assert [line_start(text, offset) for offset in (0, 4, second, second + 3, len(text))] == [0, 0, second, second, len(text)]
