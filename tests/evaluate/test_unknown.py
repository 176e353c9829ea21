"""Reasons why a value is not known."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown, because, distinct

BATCH = Reason("environment", "the variable `BATCH`", "pass --env BATCH=VALUE", name="BATCH")


def test_a_reason_says_where_it_was_met():
    assert because([BATCH.at("train.py", 31)]) == "not known, because train.py:31 reads the variable `BATCH` (pass --env BATCH=VALUE)"
    assert because([Reason("program", "the value")]) == "not known: the value"
    assert because([]) == "not known"


def test_the_first_place_of_a_reason_counts():
    first, second = BATCH.at("train.py", 31), BATCH.at("train.py", 40)
    assert [each.line for each in distinct([first, second])] == [31]
    assert first.at("other.py", 1).file == "train.py"


def test_an_unknown_value_is_not_true_and_equals_any_other():
    assert not Unknown(BATCH)
    assert Unknown(BATCH) == Unknown()
    assert str(Unknown()) == "<?>"
