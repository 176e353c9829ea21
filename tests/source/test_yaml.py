"""YAML as a span tree: the same from both parsers, exact, and safe against hostile input."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from cases import each_case
from cfglint.source import yaml
from cfglint.source.document import ALIAS, LIMIT, MAPPING, SEQUENCE

TEXTS = {
    "block": "a: 1\nb:\n  c: x # note\n  d:\n  - 1\n  - e: 2\n    f: 3\n",
    "flow with comments": '{\n  # first\n  "a": 1, # one\n  "b": [x, y,],\n}\n',
    "anchors and merges": "a: &a {x: 1}\nb:\n  <<: *a\n  y: &y !!float 2\nc: *y\n",
    "block scalars": "a: |\n  x # no comment\n\nb: >-\n  y\n  z\n# end\nc: |+\n  k\n\n\n",
    "quotes": 'a: "x \\" # y"\nb: \'it\'\'s # it\'\nc: "two\n  lines"\n',
    "nulls": "a:\nb: ~\nc: # nothing\nd: {e: , f}\n",
    "documents": "--- # one\na: 1\n...\n--- \nb: 2\n",
    "emoji": "é: '😀' # ü\n😀: [😀, x]\n",
    "crlf": "a: 1\r\nb: # c\r\n  - x\r\n  - y\r\n",
    "pairs in a list": "a: [b: 1, c: 2]\n",
    "explicit keys": "? a\n: 1\n? [b, c]\n: 2\n",
    "other breaks": "a: 'x\u2028y' # n\x85b: 1\n",
    "empty": "",
    "comment only": "# nothing\n",
    "no final newline": "a: |\n  x",
    "directive": "%YAML 1.1\n---\na: 1\n",
}


def tree(node):
    """Everything that a node says, as plain values."""
    if node.kind == MAPPING:
        children = [(tree(key), tree(value)) for key, value in node.children]
    elif node.kind == SEQUENCE:
        children = [tree(item) for item in node.children]
    else:
        children = node.raw
    return node.kind, node.start, node.end, node.head, node.style, node.tag, node.anchor, children


@each_case("name", TEXTS)
def test_both_parsers_give_the_same_tree(name):
    fast = yaml.parse("a.yaml", TEXTS[name])
    pure = yaml.parse("a.yaml", TEXTS[name], pure=True)
    assert not fast.problems
    assert [tree(root) for root in fast.roots] == [tree(root) for root in pure.roots]
    assert fast.comments == pure.comments


def test_without_libyaml_python_parses(monkeypatch):
    monkeypatch.setattr(yaml.libyaml, "parser", lambda: None)
    document = yaml.parse("a.yaml", "a: [1, 2]\n")
    assert document.find(("a", 1))[1].raw == "2"
    assert not document.relaxations


@each_case(
    ("text", "path", "own"),
    [
        ("a: &x !!float 1.5 # c\n", ("a",), "1.5"),
        ("a: !!map &x {b: 1}\n", ("a",), "{b: 1}"),
        ("a: &x\n  b: 1\n", ("a",), "b: 1"),
        ("a: &x\nb: 1\n", ("a",), ""),
        ("a: *x\n", ("a",), "*x"),
        ("a: 'x y'\n", ("a",), "'x y'"),
        ("a:   x  # c\n", ("a",), "x"),
        ("a:\n", ("a",), ""),
        ("😀: {b: [1, é]}\n", ("😀", "b"), "[1, é]"),
        ("a: [b: 1, c: 2]\n", ("a", 0), "b: 1"),
        ("a: [b: 1 , c]\n", ("a", 0), "b: 1"),
        ("a: [ b: [1] , c]\n", ("a", 0), "b: [1]"),
        ("a: [b: 1 ]\n", ("a",), "[b: 1 ]"),
        ("a:\n  b: [1]  # c\n\nd: 1\n", ("a",), "b: [1]"),
        ("a:\n  {b: 1}: 2\n  c: {d: 1}\n# }\n", ("a",), "{b: 1}: 2\n  c: {d: 1}"),
        ("a: |\n  x\n  y\nb: 1\n", ("a",), "|\n  x\n  y\n"),
        ("a:\n  b: 1\n  c: 2 # d\n\ne: 3\n", ("a",), "b: 1\n  c: 2"),
    ],
)
def test_a_span_is_the_value_itself(text, path, own):
    document = yaml.parse("a.yaml", text)
    node = document.find(path)[1]
    assert text[node.start : node.end] == own


def test_the_head_takes_anchor_and_tag_in():
    text = "a: !!float &x 1.5\n"
    node = yaml.parse("a.yaml", text).find(("a",))[1]
    assert text[node.head : node.end] == "!!float &x 1.5"
    assert (node.anchor, node.tag) == ("x", "tag:yaml.org,2002:float")


@each_case(
    ("text", "comments"),
    [
        ("a: 1 # one\n#two\nb: 'x # y' #three", ["# one", "#two", "#three"]),
        ("a: x#y\n", []),
        ("a: | # head\n  # body\n# tail\n", ["# head", "# tail"]),
        ('{a: 1, # one\n "#": "#" }# end\n', ["# one", "# end"]),
        ("a: 1 # c\r\nb: 2 # d\r\n", ["# c", "# d"]),
        ("# c\x85a: 1\n", ["# c"]),
    ],
)
def test_comments(text, comments):
    document = yaml.parse("a.yaml", text)
    assert [text[start:end] for start, end in document.comments] == comments


def test_an_alias_is_not_expanded():
    document = yaml.parse("a.yaml", "a: &a {x: 1}\nb: *a\n")
    alias = document.find(("b",))[1]
    assert alias.kind == ALIAS
    assert alias.resolved() is document.find(("a",))[1]


def test_an_alias_inside_of_what_it_names():
    document = yaml.parse("a.yaml", "a: &a [*a]\n")
    outer = document.find(("a",))[1]
    assert outer.children[0].resolved() is outer


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: *nobody\n", "yaml.composer.ComposerError: found undefined alias 'nobody'"),
        ("a: &x 1\nb: &x 2\n", "yaml.composer.ComposerError: found duplicate anchor 'x'; first occurrence: second occurrence"),
        ("--- &x 1\n--- *x\n", "yaml.composer.ComposerError: found undefined alias 'x'"),
    ],
)
def test_anchors_that_do_not_fit(text, reason):
    assert yaml.parse("a.yaml", text).problems[0].exception == reason


def test_every_document_is_a_root():
    document = yaml.parse("a.yaml", "a: 1\n---\nb: 2\n---\n")
    assert [root.kind for root in document.roots] == ["mapping", "mapping", "scalar"]


def test_what_stands_before_an_error_stays_in_the_tree():
    document = yaml.parse("a.yaml", "a: 1\nb:\n  c: 2\n  d: [1, 2\nzero_optimization: 1\n")
    problem = document.problems[0]
    assert problem.kind == "syntax"
    assert problem.exception == "yaml.parser.ParserError: while parsing a flow sequence: expected ',' or ']', but got ':'"
    assert document.position(problem.start) == (5, 18)
    assert document.find(("b", "c"))[1].raw == "2"


def test_the_python_parser_decides_where_libyaml_refuses():
    document = yaml.parse("a.yaml", "{a:, b: 1}\n")
    assert not document.problems
    assert document.relaxations[0][2] == yaml.PURE


@pytest.mark.parametrize("text", ["a:\t1\n", "{a: 1,\t\n\tb: 2}\n", "a: x\ty\n", "a: 1\t# c\n"])
def test_tabs_that_only_libyaml_takes_are_noted(text):
    document = yaml.parse("a.yaml", text)
    assert {text[start:end] for start, end, what in document.relaxations if what == yaml.TAB} == {"\t"}


@pytest.mark.parametrize("text", ["a: 'x\ty'\n", "a: 1 # x\ty\n", "a: |\n  x\ty\n"])
def test_tabs_that_are_text_are_not(text):
    assert not yaml.parse("a.yaml", text).relaxations


def test_a_control_character_is_a_problem_at_its_place():
    problem = yaml.parse("a.yaml", "a: x\x07y\n").problems[0]
    assert (problem.start, problem.kind) == (4, "control")
    assert problem.exception == "yaml.reader.ReaderError: unacceptable character #x0007: special characters are not allowed"


BOMBS = {
    "alias bomb": "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 11)),
    "merge bomb": "a0: &a0 {k: 1}\n" + "".join(f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 11)),
    "flow nesting": "[" * 10_000,
    "block nesting": "- " * 10_000 + "x\n",
    "mapping nesting": "".join("  " * depth + "a:\n" for depth in range(1_000)),
    "many anchors": "".join(f"- &a{i} {i}\n" for i in range(5_000)),
}


@each_case("name", BOMBS)
def test_hostile_input_costs_nothing(name):
    began = time.process_time()
    document = yaml.parse("a.yaml", BOMBS[name])
    assert time.process_time() - began < 2
    assert [problem.kind for problem in document.problems] == ([LIMIT] if "nesting" in name else [])


def test_the_binding_is_loaded_without_the_package_and_completed_later():
    script = """
import sys
from cfglint import source
from cfglint.source import libyaml, yaml
source.IS_OWN_PROCESS = True
assert yaml.parse("a.yaml", "a: [1]").find(("a", 0))[1].raw == "1"
assert "yaml" not in sys.modules and "re" not in sys.modules
assert "ParserError" in yaml.parse("a.yaml", "a: [").problems[0].exception
import yaml as package
try:
    package.load("a: [", Loader=package.CSafeLoader)
except package.parser.ParserError:
    print(package.load("a: [1, x]", Loader=package.CSafeLoader))
"""
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{script}"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{'a': [1, 'x']}\n", "")


@pytest.mark.parametrize("depth", [201, 999, 1200])  # libyaml itself refuses more than 1,000
@pytest.mark.parametrize("separator", ["", "\n"])
def test_deep_nesting_is_beyond_the_limit_however_deep(depth, separator):
    problem = yaml.parse("x.yaml", f"a: {(f'[{separator} ') * depth}\n").problems[0]
    assert (problem.kind, problem.message) == (LIMIT, "nested deeper than 200 levels")
