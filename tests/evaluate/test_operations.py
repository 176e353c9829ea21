"""Operations on values of which some are unknown."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Reason, Unknown
from cfglint.evaluate.operations import BINARY, all_of, any_or_all, applied, either, inside, negated, truth, unknown

BATCH = Reason("environment", "the variable `BATCH`")
STEPS = Reason("program", "`steps(4)`")
ONE, OTHER = Unknown(BATCH), Unknown(STEPS)


def reasons(value):
    """The reasons of an unknown value; a known one as it is."""
    return value.reasons if isinstance(value, Unknown) else value


@each_case(
    ("operator", "left", "right", "expected"),
    [
        ("*", 2, 8, 16),
        ("*", 2, ONE, (BATCH,)),
        ("+", ONE, OTHER, (BATCH, STEPS)),
        ("+", ONE, Unknown(BATCH), (BATCH,)),
        ("==", "a", "a", True),
        ("==", ONE, ONE, (BATCH,)),
        ("<", 1, ONE, (BATCH,)),
        ("in", 1, [1, ONE], (BATCH,)),
        ("not in", 3, [1, 2], True),
        ("is", True, 1, False),
        ("is not", None, None, False),
    ],
)
def test_an_operation_is_unknown_with_the_reasons_of_its_values(operator, left, right, expected):
    assert reasons(applied(BINARY[operator], left, right)) == expected


def test_what_python_refuses_is_raised():
    with pytest.raises(ZeroDivisionError):
        applied(BINARY["/"], 1, 0)


@each_case(
    ("values", "wanted", "expected"),
    [
        ([True, True], True, True),
        ([True, False], True, False),
        ([ONE, False], True, False),  # decides, whatever the first one is
        ([ONE, True], True, (BATCH,)),
        ([ONE, True], False, True),
        ([ONE, False, OTHER], False, (STEPS, BATCH)),
        ([True, ValueError], False, True),  # Python does not get to it
        ([ONE, ValueError], True, (BATCH,)),  # it may not get to it
    ],
)
def test_and_and_or_decide_where_they_can(values, wanted, expected):
    def test_of(value):
        def holds(_):
            if isinstance(value, type):
                raise value
            return value

        return holds

    assert reasons(all_of(list(map(test_of, values)), wanted, ValueError)(None)) == expected


def test_a_failure_before_anything_unknown_is_raised():
    with pytest.raises(ZeroDivisionError):
        all_of([lambda _: 1 // 0, lambda _: True], True, ZeroDivisionError)(None)


@each_case(("value", "is_true", "is_false"), [(0, False, True), ([0], True, False), (None, False, True), (ONE, (BATCH,), (BATCH,))])
def test_truth_and_its_opposite(value, is_true, is_false):
    assert (reasons(truth(value)), reasons(negated(value))) == (is_true, is_false)


@each_case(
    ("one", "other", "expected"),
    [(4, 4, 4), (4, 8, (STEPS,)), (1, True, (STEPS,)), (4, ONE, (STEPS, BATCH)), (None, None, None)],
)
def test_one_of_two_values_is_known_if_they_are_equal(one, other, expected):
    assert reasons(either(OTHER, one, other)) == expected


@each_case(
    ("decisive", "items", "expected"),
    [(True, [0, ONE, 1], True), (True, [0, ONE], (BATCH,)), (False, [1, ONE], (BATCH,)), (False, [1, 0, ONE], False), (True, [], False)],
)
def test_any_and_all_of_items(decisive, items, expected):
    assert reasons(any_or_all(decisive, items)) == expected


def test_what_is_unknown_inside_of_containers():
    assert reasons(inside({"a": [1, ONE], "b": OTHER})) == (BATCH, STEPS)
    assert inside({"a": [1]}) is None
    assert unknown(1, 2) is None
