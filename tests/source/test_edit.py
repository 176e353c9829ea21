"""Edits: only the named bytes change, and what cannot be done exactly is refused."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest

from cases import each_case
from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change, EditRefused
from cfglint.source.edit import apply, apply_together, edits
from cfglint.source.parse import parse
from cfglint.source.spelling import spell

NEOX = """{
  # batch
  "train_batch_size": 32, # all GPUs
  "optimizer": {"type": "Adam", "params": {"lr": 0.0006}},
   # the end
}
"""

REPLACED = {
    "number": ("yaml", "a: 1 # c\nb: 2\n", ("a",), "12", "a: 12 # c\nb: 2\n"),
    "aligned": ("yaml", "a:    1\nbcd:  2\n", ("a",), "12", "a:    12\nbcd:  2\n"),
    "flow": ("yaml", NEOX, ("optimizer", "params", "lr"), "6.0e-4", NEOX.replace("0.0006", "6.0e-4")),
    "item": ("yaml", "a:\n- 1\n- 2\n", ("a", 1), "3", "a:\n- 1\n- 3\n"),
    "null": ("yaml", "a:\nb: 1\n", ("a",), "5", "a: 5\nb: 1\n"),
    "null before a comment": ("yaml", "a: # c\nb: 1\n", ("a",), "5", "a: 5 # c\nb: 1\n"),
    "null in flow": ("yaml", "{a: , b: 1}\n", ("a",), "5", "{a: 5 , b: 1}\n"),
    "null item": ("yaml", "- \n- 1\n", (0,), "5", "- 5 \n- 1\n"),
    "anchored": ("yaml", "a: &x 1\nb: 2\n", ("a",), "5", "a: &x 5\nb: 2\n"),
    "block scalar": ("yaml", "a: |\n  x\n  y\nb: 1\n", ("a",), "z", "a: z\nb: 1\n"),
    "quoted": ("yaml", "a: 'x' # it's\n", ("a",), "'y'", "a: 'y' # it's\n"),
    "last of equal keys": ("yaml", "a: 1\na: 2\n", ("a",), "3", "a: 1\na: 3\n"),
    "merged key": ("yaml", "b: &b {x: 1}\nc:\n  <<: *b\n  y: 2\n", ("c", "x"), "5", "b: &b {x: 1}\nc:\n  <<: *b\n  y: 2\n  x: 5\n"),
    "emoji": ("yaml", "é: 😀\na: 1 # 😀\n", ("a",), "5", "é: 😀\na: 5 # 😀\n"),
    "crlf": ("yaml", "a: 1\r\nb: 2\r\n", ("a",), "5", "a: 5\r\nb: 2\r\n"),
    "no final newline": ("yaml", "a: 1", ("a",), "5", "a: 5"),
    "collection": ("yaml", "a: [1, 2] # c\n", ("a",), "[3]", "a: [3] # c\n"),
    "json": ("json", '{"a" : 1,\n "b":[1,2]}', ("b", 1), "5", '{"a" : 1,\n "b":[1,5]}'),
    "json with comments": ("json", '{"a": 1, // x\n "b": 2 /* y */}', ("b",), "5", '{"a": 1, // x\n "b": 5 /* y */}'),
    "hjson": ("json", "{\n  a: fast # no comment\n  b: 2\n}", ("b",), "5", "{\n  a: fast # no comment\n  b: 5\n}"),
    "after a line separator": ("yaml", "a: 'x\u2028y'\nb: 1\n", ("b",), "5", "a: 'x\u2028y'\nb: 5\n"),
}


@each_case("name", REPLACED)
def test_replace(name):
    syntax, before, path, text, after = REPLACED[name]
    assert apply(parse("x", before, syntax), [Change(REPLACE, path, text=text)]) == after


INSERTED = {
    "block": ("yaml", "a: 1\nb: 2\n", (), "a: 1\nb: 2\nk: v\n"),
    "past a comment": ("yaml", "a: 1 # c\n# end\n", (), "a: 1 # c\nk: v\n# end\n"),
    "no final newline": ("yaml", "a: 1", (), "a: 1\nk: v"),
    "crlf": ("yaml", "a: 1\r\nb: 2\r\n", (), "a: 1\r\nb: 2\r\nk: v\r\n"),
    "nested": ("yaml", "a:\n    b: 1\nc: 2\n", ("a",), "a:\n    b: 1\n    k: v\nc: 2\n"),
    "behind a nested value": ("yaml", "a:\n  b:\n  - 1\n  - x: 2 # c\nc: 3\n", ("a",), "a:\n  b:\n  - 1\n  - x: 2 # c\n  k: v\nc: 3\n"),
    "in a list": ("yaml", "- a: 1\n  b: 2\n- c: 3\n", (0,), "- a: 1\n  b: 2\n  k: v\n- c: 3\n"),
    "in a list, one key": ("yaml", "-   a: 1\n", (0,), "-   a: 1\n    k: v\n"),
    "behind a null": ("yaml", "a: 1\nb:\n", (), "a: 1\nb:\nk: v\n"),
    "behind a block scalar": ("yaml", "a: |\n  x\n\n\nb: 1\n", (), "a: |\n  x\n\n\nb: 1\nk: v\n"),
    "behind a last block scalar": ("yaml", "a: |\n  x\n\n\n", (), "a: |\n  x\nk: v\n\n\n"),
    "behind a kept block scalar": ("yaml", "a: |+\n  x\n\n\n", (), "a: |+\n  x\n\n\nk: v\n"),
    "behind an open block scalar": ("yaml", "a: |-\n  x", (), "a: |-\n  x\nk: v"),
    "quotes of siblings": ("yaml", '"a": 1\n"b": 2\n', (), '"a": 1\n"b": 2\n"k": v\n'),
    "flow on one line": ("yaml", "a: {b: 1, c: 2}\n", ("a",), "a: {b: 1, c: 2, k: v}\n"),
    "flow with a trailing comma": ("yaml", "{\n  a: 1,\n  b: 2, # c\n}\n", (), "{\n  a: 1,\n  b: 2, # c\n  k: v,\n}\n"),
    "flow with a comment at the last value": ("yaml", "{\n  a: 1,\n  b: 2 # c\n}\n", (), "{\n  a: 1,\n  b: 2, # c\n  k: v\n}\n"),
    "flow with a comment at the end": ("yaml", NEOX, (), NEOX.replace("}},\n", '}},\n  "k": v,\n')),
    "flow that closes on the line": ("yaml", "{a: 1,\n b: 2}\n", (), "{a: 1,\n b: 2,\n k: v}\n"),
    "empty flow": ("yaml", "a: {}\n", ("a",), "a: {k: v}\n"),
    "empty flow with a blank": ("yaml", "a: { }\n", ("a",), "a: {k: v}\n"),
    "empty file": ("yaml", "", (), "k: v\n"),
    "only comments": ("yaml", "# c\n", (), "# c\nk: v\n"),
    "only comments, no final newline": ("yaml", "# c", (), "# c\nk: v"),
    "json": ("json", '{\n    "a": 1,\n    "b": 2\n}\n', (), '{\n    "a": 1,\n    "b": 2,\n    "k": v\n}\n'),
    "json with tabs": ("json", '{\n\t"a": {\n\t\t"b": 2\n\t}\n}', ("a",), '{\n\t"a": {\n\t\t"b": 2,\n\t\t"k": v\n\t}\n}'),
    "minified json": ("json", '{"a":1,"b":2}', (), '{"a":1,"b":2,"k":v}'),
    "json on one line": ("json", '{"a": 1, "b": 2}', (), '{"a": 1, "b": 2, "k": v}'),
    "empty json": ("json", "{}\n", (), '{"k": v}\n'),
    "json with a line comment": ("json", '{\n  "a": 1 // c\n}', (), '{\n  "a": 1, // c\n  "k": v\n}'),
    "json with a block comment": ("json", '{\n  "a": 1 /* c */\n}', (), '{\n  "a": 1, /* c */\n  "k": v\n}'),
    "json crlf": ("json", '{\r\n  "a": 1\r\n}\r\n', (), '{\r\n  "a": 1,\r\n  "k": v\r\n}\r\n'),
    "hjson without commas": ("json", "{\n  a: x\n  b: 2\n}", (), "{\n  a: x\n  b: 2\n  k: v\n}"),
    "hjson without braces": ("json", "a: x\nb: 2\n", (), "a: x\nb: 2\nk: v\n"),
    "hjson behind a bare string": ("json", "{\n  a: x\n}", (), "{\n  a: x\n  k: v\n}"),
    "emoji": ("yaml", "😀: é # 😀\n", (), "😀: é # 😀\nk: v\n"),
}


@each_case("name", INSERTED)
def test_insert(name):
    syntax, before, path, after = INSERTED[name]
    text = "5" if syntax == "json" else "v"
    expected = after.replace(": v", f": {text}").replace(":v", f":{text}")
    assert apply(parse("x", before, syntax), [Change(INSERT, path, "k", text)]) == expected


DELETED = {
    "block": ("yaml", "a: 1\nb: 2 # c\nc: 3\n", ("b",), "a: 1\nc: 3\n"),
    "last": ("yaml", "a: 1\nb: 2\n", ("b",), "a: 1\n"),
    "last without a newline": ("yaml", "a: 1\nb: 2", ("b",), "a: 1"),
    "crlf": ("yaml", "a: 1\r\nb: 2\r\nc: 3\r\n", ("b",), "a: 1\r\nc: 3\r\n"),
    "last without a newline, crlf": ("yaml", "a: 1\r\nb: 2", ("b",), "a: 1"),
    "nested": ("yaml", "a:\n  b: 1 # x\n  c: # y\n  # z\n  - 1\nd: 2\n", ("a",), "d: 2\n"),
    "first of a list item": ("yaml", "- a: 1 # c\n  b: 2\n", (0, "a"), "- b: 2\n"),
    "block scalar": ("yaml", "a: |\n  x\n\nb: 1\n", ("a",), "\nb: 1\n"),
    "block scalar, and no blank line": ("yaml", "a: |-\n  x\nb: 1\n", ("a",), "b: 1\n"),
    "last of them in a section": ("yaml", "a:\n  c: 1\n  d: |\n    x\nb: 1\n", ("a", "d"), "a:\n  c: 1\nb: 1\n"),
    "comment around": ("yaml", "# one\na: 1\n# two\nb: 2\n", ("a",), "# one\n# two\nb: 2\n"),
    "one of equal keys": ("yaml", "a: 1\nb: 2\na: 3\n", ("a",), "a: 1\nb: 2\n"),
    "flow line": ("yaml", "{\n  a: 1, # x\n  b: 2, # y\n}\n", ("a",), "{\n  b: 2, # y\n}\n"),
    "last flow line": ("yaml", "{\n  a: 1, # x\n  b: 2 # y\n}\n", ("b",), "{\n  a: 1 # x\n}\n"),
    "last flow line with a trailing comma": ("yaml", "{\n  a: 1, # x\n  b: 2, # y\n}\n", ("b",), "{\n  a: 1, # x\n}\n"),
    "flow on one line": ("yaml", "{a: 1, b: 2, c: 3}\n", ("b",), "{a: 1, c: 3}\n"),
    "last on one line": ("yaml", "{a: 1, b: 2}\n", ("b",), "{a: 1}\n"),
    "first on one line": ("yaml", "{a: 1, b: 2}\n", ("a",), "{b: 2}\n"),
    "only flow key": ("yaml", "a: {b: 1}\n", ("a", "b"), "a: {}\n"),
    "json": ("json", '{\n  "a": 1,\n  "b": {"c": 2}\n}\n', ("b",), '{\n  "a": 1\n}\n'),
    "json that closes on the line": ("json", '{"a": 1,\n "b": 2}', ("b",), '{"a": 1}'),
    "minified json": ("json", '{"a":1,"b":2,"c":3}', ("a",), '{"b":2,"c":3}'),
    "json with comments inside": ("json", '{\n  "a": 1, // x\n  "b": {\n    // y\n  } // z\n}', ("b",), '{\n  "a": 1 // x\n}'),
    "hjson": ("json", "a: x\nb: 2\n", ("a",), "b: 2\n"),
    "hjson in braces": ("json", "{\n  a: x\n  b: 2\n}", ("b",), "{\n  a: x\n}"),
}


@each_case("name", DELETED)
def test_delete(name):
    syntax, before, path, after = DELETED[name]
    assert apply(parse("x", before, syntax), [Change(DELETE, path)]) == after


@pytest.mark.parametrize(("occurrence", "after"), [(0, "b: 2\na: 3\n"), (1, "a: 1\nb: 2\n")])
def test_an_occurrence_of_equal_keys(occurrence, after):
    assert apply(parse("x", "a: 1\nb: 2\na: 3\n", "yaml"), [Change(DELETE, ("a",), occurrence=occurrence)]) == after


@each_case(
    ("syntax", "before", "path", "after"),
    [
        ("yaml", "a: 1 # c\n", ("a",), "k: 1 # c\n"),
        ("yaml", "'a' : 1\n", ("a",), "'k' : 1\n"),
        ("yaml", "a:\n  b: {c: 1}\n", ("a", "b", "c"), "a:\n  b: {k: 1}\n"),
        ("json", '{"a": 1}', ("a",), '{"k": 1}'),
        ("json", "{a: 1}", ("a",), "{k: 1}"),
        ("json", "{'a': 1}", ("a",), "{'k': 1}"),
    ],
)
def test_rename(syntax, before, path, after):
    assert apply(parse("x", before, syntax), [Change(RENAME, path, "k")]) == after


REFUSED = {
    "alias": ("a: &a 1\nb: *a\n", Change(REPLACE, ("b",), text="5"), "refers to a value on line 1"),
    "below an alias": ("a: &a {x: 1}\nb: *a\n", Change(REPLACE, ("b", "x"), text="5"), "refers to a value on line 1"),
    "what an alias stands for": ("a: &a 1\nb: *a\n", Change(REPLACE, ("a",), text="5"), "on line 2 refers to this value"),
    "inside of what an alias stands for": ("a: &a {x: 1}\nb: *a\n", Change(REPLACE, ("a", "x"), text="5"), "refers to this value"),
    "deleting what an alias stands for": ("a: &a 1\nb: *a\n", Change(DELETE, ("a",)), "refers to this value"),
    "deleting a merged key": ("a: &a {x: 1}\nb:\n  <<: *a\n  y: 1\n", Change(DELETE, ("b", "x")), "comes from a merge key"),
    "only key": ("a:\n  b: 1\n", Change(DELETE, ("a", "b")), "only key"),
    "only key of the file": ("a: 1\n", Change(DELETE, ("a",)), "only key"),
    "documents": ("a: 1\n---\nb: 2\n", Change(REPLACE, ("a",), text="5"), "several YAML documents"),
    "broken file": ("a: [\n", Change(REPLACE, ("a",), text="5"), "does not parse"),
    "no such key": ("a: 1\n", Change(REPLACE, ("b",), text="5"), "`b` does not exist here"),
    "no such parent": ("a: 1\n", Change(INSERT, ("b",), "k", "5"), "`b` does not exist here"),
    "key that is there": ("a: 1\n", Change(INSERT, (), "a", "5"), "exists already"),
    "name that is there": ("a: 1\nb: 2\n", Change(RENAME, ("a",), "b"), "exists already"),
    "into a scalar": ("a: 1\n", Change(INSERT, ("a",), "k", "5"), "not a mapping"),
    "nested block": ("a:\n  b: 1\n", Change(REPLACE, ("a",), text="5"), "nested block"),
    "tag": ("a: !!float 1\n", Change(REPLACE, ("a",), text="5"), "the tag"),
    "tag glued to a key": ("!!str a: 1\nb: 2\n", Change(RENAME, ("a",), "k"), "not a plain string"),
    "text that is no value": ("a: 1\n", Change(REPLACE, ("a",), text="5 # c"), "is not the source of a single value"),
    "text that adds a key": ("a: 1\n", Change(REPLACE, ("a",), text="5\nb: 6"), "is not the source of a single value"),
    "comment in a value": ("a: [1, # c\n 2]\n", Change(REPLACE, ("a",), text="5"), "remove a comment"),
    "comment between keys": ("- a: 1\n  # about b\n  b: 2\n", Change(DELETE, (0, "a")), "remove a comment"),
    "comment in an empty object": ("a: { # c\n }\n", Change(INSERT, ("a",), "k", "5"), "comment inside"),
    "key without a value in flow": ('{"a"}\n', Change(REPLACE, ("a",), text="5"), "does not parse|not parse"),
    "explicit key": ("? a\n: 1\n? b\n: 2\n", Change(INSERT, (), "k", "5"), "would not parse|something else"),
    "second byte order mark": ("\ufeffa: 1\nb: 2\n", Change(RENAME, ("b",), "c"), "byte order mark"),
    "pair in a list": ("[a: 1]\n", Change(INSERT, (0,), "k", "5"), "single pair"),
}


@each_case("name", REFUSED)
def test_refused(name):
    text, change, reason = REFUSED[name]
    with pytest.raises(EditRefused, match=reason):
        apply(parse("x", text, "yaml"), [change])


@pytest.mark.parametrize("text", ['{"a": 1,\n// c\n}', '{"a": [1, 2]}'])
def test_text_of_a_json_value_must_be_one(text):
    with pytest.raises(EditRefused):
        apply(parse("x", text, "json"), [Change(REPLACE, ("a",), text="1, 2")])


def test_a_proposal_never_takes_the_neighbour_on_the_line():
    document = parse("x", "a: '{' 'b': 1\nc: 2\n", "json")
    assert [key.raw for key, _ in document.root.pairs()] == ["a", "b", "c"]
    with pytest.raises(EditRefused, match="on one line with others"):
        edits(document, [Change(DELETE, ("a",))])


def spliced(text, found):
    """A text with its edits made from the end."""
    for edit in reversed(found):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def test_several_changes_are_made_together_and_told_in_offsets_of_the_old_text():
    changes = [
        Change(REPLACE, ("train_batch_size",), text="64"),
        Change(INSERT, ("optimizer", "params"), "eps", "1.0e-8"),
        Change(INSERT, (), "gas", "2"),
        Change(INSERT, (), "micro", "4"),
        Change(DELETE, ("optimizer", "type")),
        Change(REPLACE, ("gas",), text="3"),
    ]
    document = parse("x", NEOX, "yaml")
    after = apply(document, changes)
    assert (
        after
        == """{
  # batch
  "train_batch_size": 64, # all GPUs
  "optimizer": {"params": {"lr": 0.0006, "eps": 1.0e-8}},
  "gas": 3,
  "micro": 4,
   # the end
}
"""
    )
    found = edits(document, changes)
    assert spliced(NEOX, found) == after
    assert all(one.end < other.start for one, other in pairwise(found))
    assert (found[0].start, found[0].end, found[0].text) == (NEOX.index("32"), NEOX.index("32") + 2, "64")


def test_no_change_is_no_edit():
    document = parse("x", "a: 1\n", "yaml")
    assert apply(document, []) == "a: 1\n"
    assert edits(document, []) == []


def test_a_refusal_names_its_place():
    text = "a: &a 1\nb: *a\n"
    with pytest.raises(EditRefused) as refused:
        apply(parse("x", text, "yaml"), [Change(REPLACE, ("b",), text="5")])
    assert refused.value.place == text.index("*a")


def test_edits_need_no_heavy_imports():
    script = """
import sys
from cfglint.source.change import Change
from cfglint.source.edit import apply
from cfglint.source.parse import parse
from cfglint.source.spelling import spell
print(apply(parse("x", '{"a": 1}', "json"), [Change("replace", ("a",), text="2")]))
print(sorted({"yaml", "json", "difflib", "re", "dataclasses", "typing"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{script}"], capture_output=True, text=True)
    assert done.stdout == '{"a": 2}\n[]\n', done.stderr


def test_a_whole_number_does_not_take_the_form_of_a_fraction():
    document = parse("x", '{"a": 5.0e-1, "b": 5e8}', "json")
    assert spell(2, document, document.find(("a",))[1]) == "2"
    assert spell(250_000_000, document, document.find(("b",))[1]) == "2.5e8"


FLOW = '{"a": 1, "b": 2, "c": {"d": 3, "e": 4}, "f": 5}\n'
BLOCK = "a: 1 # first\nb: 2\nc:\n  d: 3 # inner\n  e: 4\nf: 5\n"


@pytest.mark.parametrize(("syntax", "text"), [("json", FLOW), ("yaml", FLOW), ("yaml", BLOCK)])
def test_changes_together_are_the_changes_one_by_one(syntax, text):
    document = parse("x", text, syntax)
    changes = [
        Change(REPLACE, ("f",), text="6"),
        Change(DELETE, ("c", "d")),
        Change(RENAME, ("b",), key="g"),
        Change(REPLACE, ("c", "e"), text="7"),
    ]
    assert apply_together(document, changes) == apply(document, changes)
    assert apply_together(document, changes[::-1]) == apply(document, changes)


@each_case(
    "changes",
    [
        [Change(RENAME, ("a",), key="g"), Change(RENAME, ("b",), key="g")],
        [Change(DELETE, ("c", "d")), Change(DELETE, ("c", "e"))],
        [Change(REPLACE, ("a",), text="1"), Change(REPLACE, ("a",), text="2")],
        [Change(INSERT, (), key="g", text="1")],
        [Change(REPLACE, ("x",), text="1")],
    ],
)
def test_changes_that_are_not_made_together(changes):
    with pytest.raises(EditRefused):
        apply_together(parse("x.yaml", BLOCK, "yaml"), changes)
