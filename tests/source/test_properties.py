"""Properties of parsers, readers and edits over made-up and mutated configs."""

from __future__ import annotations

import json
import string

import hjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cfglint.source.change import DELETE, INSERT, REPLACE, Change, EditRefused
from cfglint.source.document import MAPPING, SCALAR
from cfglint.source.edit import apply, edits
from cfglint.source.loaders import HJSON, STRICT_JSON, YAML11
from cfglint.source.parse import parse
from cfglint.source.spelling import spell

SMALL = settings(derandomize=True, max_examples=100)
KEYS = st.text(string.ascii_letters + "_-é", min_size=1, max_size=6)
LEAVES = st.one_of(st.integers(-10, 10**6), st.floats(0.001, 1000), st.booleans(), st.none(), st.text(string.printable, max_size=8))
NESTED = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8)
CONFIGS = st.dictionaries(KEYS, NESTED)
PIECES = ["{", "}", "[", "]", ",", ":", ": ", "\n", "\r\n", "\t", "  ", "- ", "#", " # ", "//", "/*", "*/", "'", '"', "'''", "\\", "|\n "]
PIECES += [">-\n  ", "&a ", "*a", "!!str ", "<<: ", "? ", "~", "yes", "1e5", "1.0e+5", "0x1", "NaN", "null", "---\n", "...\n", "%", "@"]
PIECES += ["\x85", "\u2028", "\ufeff", "\0", "é", "😀"]
SEEDS = [
    "a: 1\nb: {c: 2, d: [1, 2.5]}\ne: null\n",
    "a: &a {b: 1}\nc: *a\nd:\n  <<: *a\n  b: |\n    x\n",
    '{\n  "a": 1, # c\n  "b": [x, "y"],\n}\n',
    '{"a": 1, "b": [1, 2.5, "x"], "c": {"d": null, "e": true}}\n',
    "{\n  // c\n  a: x y\n  'b': 1,\n}\n",
]


@st.composite
def mutated(draw):
    """A small config with a few pieces put in or characters taken out."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(text)))
        gone = draw(st.integers(0, 3)) if draw(st.booleans()) else 0
        text = text[:place] + (draw(st.sampled_from(PIECES)) if not gone else "") + text[place + gone :]
    return text


def outcome(load, text):
    """A library's value, or None and the fact of its refusal."""
    try:
        return repr(load(text)), False
    except (ValueError, OverflowError, IndexError, AttributeError, KeyError, TypeError, yaml.YAMLError):
        return None, True


def reading(loader, text, syntax):
    """A reader's value, or None and the fact of its refusal."""
    bom = text.startswith("\ufeff")
    result = loader.read(parse("x", text[bom:], syntax, bom))
    return (None, True) if result.problems else (repr(result.value), False)


@SMALL
@given(text=mutated())
def test_yaml_agrees_with_pyyaml(text):
    assert reading(YAML11, text, "yaml") == outcome(yaml.safe_load, text)


@SMALL
@given(text=mutated())
def test_json_agrees_with_python(text):
    assert reading(STRICT_JSON, text, "json") == outcome(json.loads, text)


def unique(pairs):
    """A hook against equal keys."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


@SMALL
@given(text=mutated())
def test_hjson_agrees_with_the_library(text):
    assert reading(HJSON, text, "json") == outcome(lambda source: hjson.loads(source, object_pairs_hook=unique), text)


def dumped(config, style):
    """A config as text in one of several manners, with its syntax."""
    if style == "block":
        return yaml.safe_dump(config, default_flow_style=False, allow_unicode=True), "yaml"
    if style == "flow":
        return yaml.safe_dump(config, default_flow_style=True), "yaml"
    if style == "commented":
        lines = yaml.safe_dump(config, default_flow_style=False, width=10_000).splitlines(keepends=True)
        return "# head\n" + "".join(f"{line[:-1]} # c\n" if line[-2:-1] in string.digits else line for line in lines), "yaml"
    return json.dumps(config, indent=style), "json"


def changed(config, path, change):
    """A copy of a config with a change made to the plain values."""
    copy = json.loads(json.dumps(config))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if change == DELETE:
        del place[path[-1]]
    elif change == REPLACE:
        place[path[-1]] = 12345
    else:
        (place[path[-1]] if path else place)["zz"] = 12345
    return copy


def comments(document):
    """The texts of a document's comments."""
    return [document.text[start:end] for start, end in document.comments]


@pytest.mark.slow
@settings(derandomize=True, max_examples=40)
@given(config=CONFIGS.filter(bool), style=st.sampled_from(["block", "flow", "commented", None, 2, "\t"]), crlf=st.booleans())
def test_edits_do_what_they_say_or_are_refused(config, style, crlf):
    text, syntax = dumped(config, style)
    if crlf:
        text = text.replace("\n", "\r\n")
    document = parse("x", text, syntax)
    loader = YAML11 if syntax == "yaml" else STRICT_JSON
    before = loader.read(document).value
    for path, key, node in list(document.walk()):
        wanted = [INSERT] if node.kind == MAPPING else []
        wanted += [REPLACE] if path and node.kind == SCALAR else []
        wanted += [DELETE] if key is not None else []
        for kind in wanted:
            change = Change(kind, path, "zz", spell(12345, document, node))
            try:
                after = apply(document, [change])
            except EditRefused:
                continue
            assert loader.read(parse("x", after, syntax)).value == changed(before, path, kind)
            spliced = text
            for edit in reversed(edits(document, [change])):
                spliced = spliced[: edit.start] + edit.text + spliced[edit.end :]
            assert spliced == after
            if kind != DELETE:
                assert comments(parse("x", after, syntax)) == comments(document)


@SMALL
@given(text=mutated(), syntax=st.sampled_from(["yaml", "json"]))
def test_edits_of_mutated_texts_are_right_or_refused(text, syntax):
    document = parse("x", text, syntax)
    if document.problems:
        return
    loader = YAML11 if syntax == "yaml" else HJSON
    for path, _, node in list(document.walk()):
        if not path or node.kind != SCALAR:
            continue
        try:
            after = parse("x", apply(document, [Change(REPLACE, path, text="12345")]), syntax)
        except EditRefused:
            continue
        assert loader.scalar(after.find(path)[1]) == 12345
        assert comments(after) == comments(document)
