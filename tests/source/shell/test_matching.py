"""Strings that match patterns of the shell and extended regular expressions, as bash 5.2 says; patterns without a certain meaning."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.evaluate import Unknown
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.shell.matching import MOST_REPEATS, contains, ends, expression, fits, glob, replaced, trimmed
from cfglint.source.shell.placed_text import literal


@each_case(
    ("pattern", "inside", "outside"),
    [
        ("b", ("b", "abc"), ("", "ac")),
        ("^ab", ("ab", "abc"), ("cab", "a")),
        ("ab$", ("ab", "cab"), ("abc",)),
        ("^$", ("",), ("a",)),
        ("a.c", ("abc", "xa.cx"), ("ac", "a")),
        ("^ab*c$", ("ac", "abc", "abbbc"), ("abb", "axc")),
        ("^ab+c$", ("abc", "abbc"), ("ac",)),
        ("^ab?c$", ("ac", "abc"), ("abbc",)),
        ("^a{2}$", ("aa",), ("a", "aaa")),
        ("^a{2,}$", ("aa", "aaaa"), ("a",)),
        ("^a{1,3}b$", ("ab", "aaab"), ("b", "aaaab")),
        ("^a{0}b$", ("b",), ("ab",)),
        ("^(ab|c)+$", ("ab", "c", "abcab"), ("", "b")),
        ("^(a|b|cd)e", ("ae", "be", "cde"), ("ce", "e")),
        ("qwen|llama", ("my-qwen", "llama3"), ("mistral",)),
        ("[0-9]+", ("a1", "42"), ("a", "")),
        ("^[^0-9]+$", ("ab", "a-b"), ("a1", "")),
        ("^[a-c_.-]+$", ("ab_c", "a.b-c"), ("d",)),
        ("^[]a]$", ("]", "a"), ("b",)),
        ("^[^]a]$", ("b",), ("]", "a")),
        ("^[[:digit:][:upper:]x]+$", ("1Ax",), ("1a",)),
        ("^[[:space:]]$", (" ", "\t"), ("a",)),
        (r"a\.b", ("a.b",), ("axb",)),
        (r"^\(\$\)$", ("($)",), ("$",)),
        ("a,}b", ("a,}b",), ("ab",)),
        ("é", ("café",), ("cafe",)),
    ],
)
def test_regular_expressions(pattern, inside, outside):
    assert [contains(pattern, each, Budget()) for each in (*inside, *outside)] == [True] * len(inside) + [False] * len(outside)


@each_case(
    "pattern",
    [
        *("(a", "a)", "()", "a|", "|a", "a||b", "*a", "+", "?", "{2}", "a**", "a+?", "a{2}{3}", "^*", "$+", r"\d", "a\\", r"\1"),
        *("a{", "a{x}", "a{2,1}", "a{1,x}", "a{1000}", "a{,2}", "[a", "[", "[[:word:]]", "[[:digit:]", "[[.a.]]", "[[=a=]]", r"[\a]"),
        *(
            "[A-z]",
            "[é-ü]",
            "[z-a]",
            f"a{{{MOST_REPEATS + 1}}}",
            f"a{{0,{MOST_REPEATS + 1}}}",
            f"a{{{MOST_REPEATS + 1},}}",
            f"a{{{'1' * 5000}}}",
            "(" * 500 + "a" + ")" * 500,
        ),
    ],
)
def test_regular_expressions_without_a_certain_meaning(pattern):
    assert contains(pattern, "aaa", Budget()) == Unknown()


def test_the_most_repetitions_are_accepted():
    assert contains(f"^a{{{MOST_REPEATS}}}$", "a" * MOST_REPEATS, Budget())
    assert not contains(f"^a{{0,{MOST_REPEATS}}}$", "a" * (MOST_REPEATS + 1), Budget())


@each_case(
    ("pattern", "inside", "outside"),
    [
        ("a*", ("a", "abc"), ("", "ba")),
        ("*.json", (".json", "a.json"), ("a.jsonl", "json")),
        ("a?c", ("abc", "a.c"), ("ac", "abbc")),
        ("[ab]*", ("a", "bc"), ("c", "")),
        ("[!ab]", ("c", "!"), ("a", "cc")),
        ("[^ab]", ("c",), ("b",)),
        ("[a-c]x", ("bx",), ("dx", "ax.")),
        ("[]]", ("]",), ("[",)),
        ("[-a]", ("-", "a"), ("b",)),
        ("[a-]", ("-", "a"), ("b",)),
        (r"[\]]", ("]",), ("\\",)),
        ("a[", ("a[",), ("a",)),
        (r"\*a", ("*a",), ("xa",)),
        ("a\\", ("a\\",), ("a",)),
        ("[[:alpha:]]*", ("qwen",), ("7b",)),
        ("a(b)", ("a(b)",), ("ab",)),
        ("plain", ("plain",), ("plain2", "plai")),
    ],
)
def test_patterns_of_the_shell(pattern, inside, outside):
    assert [fits(literal(pattern), each, Budget()) for each in (*inside, *outside)] == [True] * len(inside) + [False] * len(outside)


@each_case("pattern", ["+([0-9])", "a@(b|c)", "x!(y)", "?(a)b", "*(ab)", "[[:word:]]x", "[A-z]"])
def test_patterns_without_a_certain_meaning(pattern):
    assert fits(literal(pattern), "a1", Budget()) == Unknown()


def test_a_letter_of_another_script_is_in_a_range_or_not_as_the_locale_decides():
    assert (fits(literal("[a-z]"), "é", Budget()), fits(literal("[xé]"), "é", Budget()), fits(literal("[xy]"), "é", Budget())) == (
        Unknown(),
        True,
        False,
    )


@each_case(
    ("operator", "pattern", "kept"),
    [
        ("#", "*/", "b/c.tar.gz"),
        ("##", "*/", "c.tar.gz"),
        ("%", ".*", "a/b/c.tar"),
        ("%%", ".*", "a/b/c"),
        ("#", "x", "a/b/c.tar.gz"),
        ("%", "x", "a/b/c.tar.gz"),
        ("##", "*", ""),
        ("%", "*", "a/b/c.tar.gz"),
        ("#", "+(a)", None),
    ],
)
def test_a_part_that_is_removed_at_one_side(operator, pattern, kept):
    value = "a/b/c.tar.gz"
    found = trimmed(value, pattern, operator, Budget())
    assert (None if found is None else value[slice(*found)]) == kept


@each_case(
    ("operator", "pattern", "expected"),
    [
        ("/", "b", "a-cabc"),
        ("//", "b", "a-ca-c"),
        ("//", "[ab]", "--c--c"),
        ("/", "b*", "a-"),
        ("/#", "a*c", "-"),
        ("/#", "ab", "-cabc"),
        ("/#", "b", "abcabc"),
        ("/%", "bc", "abca-"),
        ("/%", "b", "abcabc"),
        ("/%", "b*", "a-"),
        ("/", "x", "abcabc"),
        ("//", "", "abcabc"),
        ("/", "+(a)", None),
        ("/", "*\\*", None),
    ],
)
def test_a_part_that_is_replaced(operator, pattern, expected):
    assert replaced("abcabc", pattern, "-", operator, Budget()) == expected


def test_a_match_that_takes_too_long_is_not_known_and_ends_a_script_without_steps():
    value = "a" * 40_000
    assert contains("(a|aa|aaa)*b", value, Budget()) == Unknown()
    assert fits(literal("*a*a*a*b"), value, Budget()) == Unknown()
    assert replaced(value, "a*b", "x", "//", Budget()) is None
    assert replaced(value, "a*b", "x", "/#", Budget()) is None
    assert trimmed(value, "*b", "#", Budget()) is None
    with pytest.raises(Exhausted):
        contains("a*b", value, Budget(1))


def test_all_ends_of_a_match():
    assert ends(glob("a*"), "xabc", {1}, Budget()) == {2, 3, 4}
    assert ends(expression("a|ab"), "ab", {0}, Budget()) == {1, 2}
