"""Renamed files, by what is in them."""

from __future__ import annotations

from cfglint.review.renames import renamed

LINES = "".join(f"key_{number}: {number}\n" for number in range(10))


def test_the_same_content():
    assert renamed({"a.yaml": LINES, "b.yaml": "x: 1\n"}, {"c.yaml": LINES, "b.yaml": "x: 1\n"}) == {"c.yaml": "a.yaml"}


def test_of_the_same_content_the_same_base_name():
    before = {"old/a.yaml": LINES, "old/b.yaml": LINES}
    assert renamed(before, {"new/b.yaml": LINES, "new/a.yaml": LINES}) == {"new/a.yaml": "old/a.yaml", "new/b.yaml": "old/b.yaml"}


def test_similar_content():
    assert renamed({"a.yaml": LINES}, {"b.yaml": LINES.replace("key_3: 3", "key_3: 4")}) == {"b.yaml": "a.yaml"}


def test_other_content():
    assert renamed({"a.yaml": LINES}, {"b.yaml": "something: else\n"}) == {}
    assert renamed({"a.yaml": ""}, {"b.yaml": "x: 1\n"}) == {}


def test_the_most_similar_pair_wins():
    near, far = LINES.replace("key_3: 3", "key_3: 4"), LINES.replace("key_3: 3", "k: 4").replace("key_4: 4", "k: 5")
    assert renamed({"a.yaml": LINES}, {"far.yaml": far, "near.yaml": near}) == {"near.yaml": "a.yaml"}


def test_a_name_that_stays_is_never_another_ones():
    assert renamed({"a.yaml": LINES, "b.yaml": "x: 1\n"}, {"b.yaml": LINES}) == {}


def test_large_files_are_not_compared_with_each_other():
    before = {f"{number}.yaml": "a: 1\n" * 100_000 for number in range(20)} | {"same.yaml": "x: 1\n" * 100_000}
    after = {f"new{number}.yaml": f"{number}: 1\n" * 100_000 for number in range(20)} | {"there.yaml": "x: 1\n" * 100_000}
    assert renamed(before, after) == {"there.yaml": "same.yaml"}


def test_of_equally_similar_files_the_one_with_more_characters_in_common_is_chosen():
    before = {"sft.json": "a: 1\nb: 2\nlong_name: 3\nd: 4\n"}
    after = {"b.json": "a: 1\nb: 2\nx: 3\ny: 3\n", "c.json": "a: 1\nlong_name: 3\nx: 5\ny: 5\n"}
    assert renamed(before, after) == {"c.json": "sft.json"}
