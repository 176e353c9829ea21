"""Long values of a setting: shortened so that the place where they begin to differ is shown."""

from __future__ import annotations

from itertools import product

from cases import each_case
from cfglint.review.settings import LONGEST, shortened, shortened_pair

LENGTHS = (0, 1, LONGEST // 3 - 1, LONGEST // 3, LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST)


@each_case(("same", "rest"), [*product(LENGTHS, ("", "b", "b" * LONGEST, "b" * 2 * LONGEST))])
def test_the_first_difference_of_two_values_is_shown(same, rest):
    before, after = "a" * same + "x" + rest, "a" * same + rest
    for one, other in ((before, after), (after, before), (before, before.replace("x", "y"))):
        shown = shortened_pair(one, other)
        assert shown[0] != shown[1]
        assert all(len(each) <= LONGEST + 6 for each in shown)
        if max(len(one), len(other)) <= LONGEST:
            assert shown == (one, other)
        elif same > LONGEST // 3:
            assert all(each.startswith("..." + "a" * (LONGEST // 3)) for each in shown)
        else:
            assert not any(each.startswith("...") for each in shown)


@each_case(
    ("text", "first", "expected"),
    [
        ("a" * LONGEST, 0, "a" * LONGEST),
        ("a" * (LONGEST + 1), 0, "a" * LONGEST + "..."),
        ("b" + "a" * LONGEST, 1, "..." + "a" * LONGEST),
        ("bb" + "a" * (LONGEST + 1), 2, "..." + "a" * LONGEST + "..."),
        ("", 0, ""),
    ],
)
def test_a_value_from_an_offset_on(text, first, expected):
    assert shortened(text, first) == expected
