"""What many tests rely on: every case is tried, and the failures of all are told."""

from __future__ import annotations

import inspect
import sys

import pytest

from cases import each_case
from explained import explain


def test_every_case_is_tried_and_those_that_fail_are_named():
    tried = []

    @each_case("sign", "+-")
    @each_case(("number", "odd"), [(1, True), (2, True), (3, True), (4, True)])
    def told(capsys, sign, number, odd):
        tried.append((sign, number))
        if number == 4:
            raise LookupError("no such number")
        assert (number % 2 == 1) == odd

    with pytest.raises(pytest.fail.Exception) as failed:
        told(capsys=None)
    assert tried == [(sign, number) for sign in "+-" for number in (1, 2, 3, 4)]
    assert "2 of 2 cases failed" in str(failed.value)
    assert str(failed.value).count("2 of 4 cases failed") == 2
    assert all(text in str(failed.value) for text in ("['+']", "['-']", "[(2, True)]", "[(4, True)]", "LookupError: no such number"))
    assert "[(1, True)]" not in str(failed.value)
    assert list(inspect.signature(told).parameters) == ["capsys"]


def test_a_test_without_cases_is_a_mistake():
    with pytest.raises(AssertionError, match="checks nothing"):
        each_case("number", [])


def failing(text, word=""):
    """Lines of tests that raise exceptions themselves."""
    if text == "unpack":
        [_] = [each for each in "abc" if each > word]
    if text == "key":
        return {"a": 1}[word]
    if text == "attribute":
        return None if word == "" else text.nothing
    return text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
@each_case(
    ("text", "word", "note"),
    [
        ("unpack", "a", "[each for each in 'abc' if each > word] is ['b', 'c']"),
        ("unpack", "c", "[each for each in 'abc' if each > word] is []"),
        ("key", "b", "{'a': 1} is {'a': 1}"),
        ("attribute", "b", "text is 'attribute'"),
    ],
)
def test_an_exception_in_a_line_of_a_test_says_what_its_value_is(text, word, note):
    with pytest.raises((ValueError, LookupError, AttributeError)) as failed:
        failing(text, word)
    explain(failed.value)
    explain(failed.value)  # of a test and its case: said once
    assert failed.value.__notes__ == [note]
