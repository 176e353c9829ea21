"""How messages write values and numbers."""

from __future__ import annotations

from cases import each_case
from cfglint.findings.wording import counted, described, listed, look_alikes, shortened, spelled, with_look_alikes_named


@each_case(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (2.5, "2.5"),
        ("auto", '"auto"'),
        ([1, "a", None], '[1, "a", null]'),
        ((1, 2), "[1, 2]"),
        ({"a": True, 2: "b"}, '{"a": true, 2: "b"}'),
        ({}, "{}"),
        ([], "[]"),
        ("x" * 60, '"' + "x" * 60 + '"'),
        ("x" * 61, '"' + "x" * 57 + '..."'),
        (int("9" * 61), "9" * 57 + "..."),
        ([10**9] * 9, "[" + "1000000000, " * 4 + "10000000..."),
    ],
)
def test_a_value_is_spelled_as_in_a_file(value, text):
    assert spelled(value) == text


@each_case(("length", "cut"), [(59, False), (60, False), (61, True)])
def test_a_long_text_is_cut_to_sixty_characters(length, cut):
    found = shortened("x" * length)
    assert (found.endswith("..."), len(found)) == (cut, min(length, 60))


def test_a_value_in_a_message_about_its_type():
    assert [described(value) for value in ("1.0", 1.0, None)] == ['the string "1.0"', "1.0", "null"]


@each_case(("number", "text"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (1000, "1000 steps")])
def test_a_number_with_its_noun(number, text):
    assert counted(number, "step") == text


@each_case(("values", "text"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_a_list_in_words(values, text):
    assert listed(values) == text
    assert listed(values, "and") == text.replace("or", "and")


@each_case(
    ("word", "names"),
    [
        ("train_batch_size", []),
        ("tr\u0430in_batch_size", ["U+0430 CYRILLIC SMALL LETTER A"]),
        ("le\u0430rning_r\u0430t\u0435", ["U+0430 CYRILLIC SMALL LETTER A", "U+0435 CYRILLIC SMALL LETTER IE"]),
        ("\uff42f16", ["U+FF42 FULLWIDTH LATIN SMALL LETTER B"]),
        ("m\u0131cro", ["U+0131 LATIN SMALL LETTER DOTLESS I"]),
        ("caf\u00e9_size", []),
        ("\u5b66\u4e60_rate", []),
        ("\u0440\u0430\u0437\u043c\u0435\u0440", []),
    ],
)
def test_letters_that_look_like_others(word, names):
    assert look_alikes(word) == names


def test_a_message_names_the_letter_behind_its_key():
    message = "unknown key `tr\u0430in`; did you mean `train`?"
    assert with_look_alikes_named(message) == "unknown key `tr\u0430in` (with U+0430 CYRILLIC SMALL LETTER A); did you mean `train`?"
