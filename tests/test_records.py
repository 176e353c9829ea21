"""The records themselves: small, each case with a purpose; and a failure says which case differs, and how."""

from __future__ import annotations

import pytest

from records import check, check_cases, check_folder

CASES = "neox {}\n\n=== twice two\n2 2\n=> 4\n\n=== twice three\n2 3\n=> 6\n"


def product(text):
    first, second = map(int, text.split())
    return [str(first * second)]


def total(text):
    return [str(sum(map(int, text.split())))]


class TestFailures:
    def test_the_case_is_shown_with_its_input(self, tmp_path):
        record = tmp_path / "tests" / "cases.txt"
        record.parent.mkdir()
        record.write_text(CASES)
        check_cases(record, product, updating=False)
        with pytest.raises(pytest.fail.Exception) as failure:
            check_cases(record, total, updating=False)
        assert str(failure.value) == (
            "tests/cases.txt: 1 of 2 cases differ; CFGLINT_UPDATE=1 records what comes now\n\n"
            "[twice three]\n  given:    2 3\n  expected: => 6\n  came:     => 5"
        )

    def test_a_new_case_and_one_that_is_gone(self, tmp_path):
        record = tmp_path / "tests" / "cases.txt"
        check(record, {"a": ["1"], "b": ["2"]}, updating=True)
        with pytest.raises(pytest.fail.Exception) as failure:
            check(record, {"a": ["1"], "c": ["3"]}, updating=False)
        assert "[b]\n  is recorded, and there is no such case now" in str(failure.value)
        assert "[c]\n  is not recorded; this came of it:\n  3" in str(failure.value)

    def test_a_file_of_which_nothing_comes(self, tmp_path):
        check_folder(tmp_path / "tests", {"a": {"x": ["1"]}, "b": {"x": ["1"]}}, updating=True)
        with pytest.raises(pytest.fail.Exception, match=r"b\.txt: no longer recorded"):
            check_folder(tmp_path / "tests", {"a": {"x": ["1"]}}, updating=False)
        check_folder(tmp_path / "tests", {"a": {"x": ["1"]}}, updating=True)
        assert [path.name for path in (tmp_path / "tests").iterdir()] == ["a.txt"]


def test_an_update_keeps_what_the_cases_share(tmp_path):
    record = tmp_path / "tests" / "cases.txt"
    record.parent.mkdir()
    record.write_text(CASES)
    check_cases(record, total, updating=True)
    assert record.read_text() == CASES.replace("6", "5")
