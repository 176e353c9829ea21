"""JSON and hjson as a span tree: exact spans, and a note of every step away from strict JSON."""

from __future__ import annotations

import time

import pytest

from cases import each_case
from cfglint.source import json
from cfglint.source.document import LIMIT


def whats(document):
    """The kinds of relaxations in a document."""
    return [what for _, _, what in document.relaxations]


def test_strict_json_has_no_relaxations():
    document = json.parse("a.json", '{"a": [1, -2.5e+3, true, null, "x"], "b": {}, "c": {"d": []}}\n')
    assert not document.problems
    assert not document.relaxations
    assert document.find(("a", 1))[1].raw == "-2.5e+3"


@each_case(
    ("text", "path", "own"),
    [
        ('{"a": "x\\n\\"y"}', ("a",), '"x\\n\\"y"'),
        ('{"a" : 12 }', ("a",), "12"),
        ('{"a": {"b": [1, {}]}}', ("a",), '{"b": [1, {}]}'),
        ('{"😀": "é", "b": 1}', ("b",), "1"),
        ("{a: foo bar // x\n}", ("a",), "foo bar // x"),
        ("a: 1\nb: {c: 2}\n", ("b", "c"), "2"),
        ("{a: '''\n  x\n  '''}", ("a",), "'''\n  x\n  '''"),
        ("{'a': 'b'}", ("a",), "'b'"),
    ],
)
def test_a_span_is_the_value_itself(text, path, own):
    document = json.parse("a.json", text)
    node = document.find(path)[1]
    assert not document.problems
    assert text[node.start : node.end] == own


@each_case(
    ("text", "what"),
    [
        ('{"a": 1} // c', json.COMMENT),
        ('# c\n{"a": 1}', json.COMMENT),
        ('{"a": /* c */ 1}', json.COMMENT),
        ('{"a": 1,}', json.TRAILING_COMMA),
        ('{"a": [1,]}', json.TRAILING_COMMA),
        ('{"a": 1\n"b": 2}', json.MISSING_COMMA),
        ("{\"a\": 'x'}", json.QUOTES),
        ('{"a": "\\\'"}', json.ESCAPE),
        ("{a: 1}", json.BARE_KEY),
        ('{"a": x\n}', json.BARE_STRING),
        ('{"a": 08\n}', json.BARE_STRING),
        ('{"a": NaN}', json.CONSTANT),
        ('{"a": [-Infinity, 1]}', json.CONSTANT),
        ("\"a\": '''x'''\n", json.NO_BRACES),
        ("", json.EMPTY),
        ("// nothing\n", json.EMPTY),
    ],
)
def test_relaxations(text, what):
    document = json.parse("a.json", text)
    assert not document.problems
    assert what in whats(document)


def test_comments_keep_their_spans():
    text = '{ // one\n  "a": "// no", # two\n  /* three\n */ "b": 1\n}\n'
    document = json.parse("a.json", text)
    assert [text[start:end] for start, end in document.comments] == ["// one", "# two", "/* three\n */"]


@each_case(
    ("text", "raw"),
    [
        (r'{"a": "\u00e9\ud83d\ude00\t\/"}', "é😀\t/"),
        (r'{"a": "\ud83d"}', "\ud83d"),
        ("{\n     a: '''\n        one\n          two\n        three\n        '''}", "one\n  two\nthree"),
        ("  a:  '''\n     x'''", "x"),
        ('{"a": ""}', ""),
        ('{"a": "\\\\"}', "\\"),
    ],
)
def test_the_text_of_strings(text, raw):
    assert json.parse("a.json", text).find(("a",))[1].raw == raw


@each_case(
    ("text", "exception"),
    [
        ('{"a": 1', "Bad key name (eof): line 1 column 8 (char 7)"),
        ('{"a": [1', "Expecting value: line 1 column 9 (char 8)"),
        ('{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"),
        ('{"a": "x}', "Unterminated string starting at: line 1 column 7 (char 6)"),
        ('{\n"a": "\\q"}', "Invalid \\X escape sequence 'q': line 2 column 8 (char 9)"),
        ('{"a": 1} x', "Extra data: line 1 column 10 - line 1 column 11 (char 9 - 10)"),
        ("{a b: 1}", "Found whitespace in your key name (use quotes to include): line 1 column 3 (char 2)"),
        ("[", "End of input while parsing an array (did you forget a closing ']'?): line 1 column 2 (char 1)"),
    ],
)
def test_what_hjson_refuses(text, exception):
    problem = json.parse("a.json", text).problems[0]
    assert problem.exception == f"hjson.scanner.HjsonDecodeError: {exception}"


def test_a_comment_without_an_end_is_the_error_that_hjson_makes_of_it():
    assert json.parse("a.json", '{"a": 1 /* ').problems[0].exception == "IndexError: string index out of range"


def test_what_stands_before_an_error_stays_in_the_tree():
    document = json.parse("a.json", '{"a": {"b": 1}, "c": [1, 2}, "d"')
    assert document.find(("a", "b"))[1].raw == "1"
    assert document.find(("c", 0))[1].raw == "1"


def test_a_key_without_a_value_stays_in_the_tree():
    document = json.parse("a.json", '{"a": 1, "zero_optimization": }')
    assert document.problems
    assert [key.raw for key, _ in document.root.pairs()] == ["a", "zero_optimization"]


def test_a_byte_order_mark_counts_in_the_place_of_an_error():
    problem = json.parse("a.json", '{"a" 1}', bom=True).problems[0]
    assert problem.exception.endswith("(char 6)")
    assert problem.start == 5


def test_constants_may_be_bare_strings():
    document = json.parse("a.json", '{"a": NaN, "b": 1\n}', constants=False)
    assert document.find(("a",))[1].raw == 'NaN, "b": 1'


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 201 + "]" * 201])
def test_nesting_has_a_limit(text):
    began = time.process_time()
    assert [problem.kind for problem in json.parse("a.json", text).problems] == [LIMIT]
    assert time.process_time() - began < 1


def test_200_levels_are_read():
    assert not json.parse("a.json", "[" * 200 + "]" * 200).problems


@pytest.mark.parametrize("text", ["{a: n" + "," * 100_000, '{"a": 1 ' + "/" * 100_000, '{"a": "' + "\\n" * 50_000 + '"}'])
def test_long_lines_take_no_longer_than_they_are(text):
    began = time.process_time()
    json.parse("a.json", text)
    assert time.process_time() - began < 1


def test_digits_stay_text():
    digits = "9" * 5_000
    assert json.parse("a.json", f'{{"a": {digits}}}').find(("a",))[1].raw == digits
