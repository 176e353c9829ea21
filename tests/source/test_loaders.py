"""Readers against the libraries that they stand for: the same values, the same refusals."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import product

import hjson
import pytest
import yaml

from cases import each_case
from cfglint.source.limits import MOST_EXPANDED
from cfglint.source.load_results import copied
from cfglint.source.loaders import HJSON, STRICT_JSON, YAML11, YAML11_FULL
from cfglint.source.parse import parse

LOADERS = {"safe": (YAML11, yaml.SafeLoader), "full": (YAML11_FULL, yaml.FullLoader)}

WORDS = """
1 -1 +1 0 -0 00 010 0o17 0x1F 0b101 08 1_000 _1 1_ 0_7 1:30 1:30:05 -1:30 1:60 01:30 1:30.5
1.0 1. .5 -.5 +.5 1e5 1.0e5 1.0e+5 1.e-3 1E5 5e-5 1.5e3 .5e-3 .5e3 1_0.5 .inf -.inf .INF .nan +.nan inf NaN ._ . 1.2.3 12e03 -2E05
yes Yes YES no on OFF true True TRUE tRUE y n ~ null Null NULL None none
2024-01-01 2024-1-1 2024-01-01T10:00:00Z 2024-01-01t10:00:00.5-05:30 2001-12-14 x-y 1-2 192.168.0.1 v1 1e 0x 0b + - 4e4_ 685_230.15
"""
SCALARS = WORDS.split()

YAML_TEXTS = {
    "merge": "a: &a {x: 1, y: 2}\nb:\n  z: 0\n  <<: *a\n  y: 3\n",
    "merge of several": "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\n",
    # PyYAML 6.0.4 compares keys by identity here, which keys of one letter have
    "merges one after the other": "a: &a {one: 1}\nb: &b {one: 2, two: 2}\nc:\n  <<: *a\n  <<: *b\n",
    "merge of mappings with tags": "a: &a !!map {x: 1}\nb: {<<: *a}\nc: &c !!omap {y: 2}\nd: {<<: *c}\n",
    "merge of a scalar": "a:\n  <<: 1\n",
    "merge of a list of scalars": "a:\n  <<: [1]\n",
    "shared": "a: &a [1, 2]\nb: *a\nc: [*a, *a]\n",
    "shared scalar": "a: &a 1e5\nb: *a\n*a : x\n",
    "duplicates": "a: 1\nb: 2\na: 3\n",
    "keys of many types": "1: a\n1.5: b\nyes: c\n~: d\n2024-01-01: e\n=: f\n",
    "unhashable key": "? [a]\n: 1\n",
    "unknown tag": "a: !x 1\n",
    "tags": 'a: !!str 1\nb: !!int "3"\nc: !!float 1\nd: !!bool "yes"\ne: !!null x\nf: ! 12\ng: ! "12"\n',
    "tags on collections": "a: !!map {b: 1}\nb: !!seq [1]\nc: !!set {x, y}\nd: !!omap [a: 1]\ne: !!pairs [a: 1, a: 2]\n",
    "tags that do not fit": "a: !!seq {b: 1}\n",
    "wrong boolean": "a: !!bool maybe\n",
    "binary": "a: !!binary aGVsbG8=\n",
    "wrong date": "a: 2024-99-99\n",
    "python tags": "a: !!python/tuple [1, 2]\nb: !!python/none x\nc: !!python/dict {d: 1}\n",
    "python objects": "a: !!python/object/apply:os.getcwd []\n",
    "value sign": "a: =\n",
    "merge sign": "a: <<\n",
    "documents": "a: 1\n---\nb: 2\n",
    "empty document behind": "a: 1\n---\n",
    "empty": "",
    "comment": "# x\n",
    "scalar": "x\n",
    "list": "- a\n- b\n",
    "tab": "a:\t1\n",
    "tab in flow": "{\n\t'a': 1\n}\n",
    "tab in a string": "a: 'x\ty'\n",
    "tab before a comment": "a: 1\t# x\n",
    "question mark in flow": "[x?y]\n",
    "question mark in block": "a: x?y=1\n",
    "comment at a block scalar": "a: |#x\n  y\n",
    "tag before a comma": "[!!str, x]\n",
    "only Python takes it": "{a:, b: 1}\n",
    "newer directive": "%YAML 1.2\n---\na: 1\n",
    "unclosed": "a: [1, 2\nb: 1\n",
    "two colons": "a: b: c\n",
    "undefined alias": "a: *x\n",
    "duplicate anchor": "a: &x 1\nb: &x 2\n",
    "control": "a: \x07\n",
    "multi-line": "a: x\n  y\n\n  z\nb: 'x\n\n  y'\nc: >\n  x\n  y\n\nd: |-\n  z\n",
    "many digits": f"a: {'9' * 5_000}\n",
}


def outcome(load, text):
    """A library's answer: its value, or the exception's name and words."""
    try:
        return load(text), None
    except Exception as error:
        words = [part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part]
        return None, f"{type(error).__name__}: {': '.join(words) if words else str(error).splitlines()[0]}"


def reading(loader, text, syntax, bom=False):
    """A reader's answer in the same form."""
    result = loader.read(parse("x", text, syntax, bom))
    if not result.problems:
        return result.value, None
    name, words = result.problems[0].exception.split(": ", 1)
    return None, f"{name.rpartition('.')[2]}: {words}"


@each_case("loader", LOADERS)
@each_case("name", YAML_TEXTS)
def test_yaml_reads_as_pyyaml_does(name, loader):
    loader, library = LOADERS[loader]
    expected = outcome(lambda text: yaml.load(text, Loader=library), YAML_TEXTS[name])
    assert repr(reading(loader, YAML_TEXTS[name], "yaml")) == repr(expected)


DAYS = ("2024-01-31", "2024-1-1", "0001-12-09", "2024-13-01", "24-01-01", "2024-01-32")
TIMES = (
    "",
    "T10:20:30",
    "t1:02:03",
    " 10:20:30",
    "\t \t10:20:30",
    "T10:20:30.5",
    "T10:20:30.123456789",
    "T10:20:30.",
    "T10:20",
    "T25:00:00",
    "x",
)
ZONES = ("", "Z", " Z", "+1", "-01:30", " +10:00", "\t-5", "+24:00", "+1:5", "z", " 1", "+")


@each_case("text", ["".join(each) for each in product(DAYS, TIMES, ZONES)])
def test_timestamps_are_those_of_pyyaml(text):
    expected = outcome(yaml.safe_load, f"- {text}\n")
    assert repr(reading(YAML11, f"- {text}\n", "yaml")) == repr(expected)


@each_case("text", SCALARS)
def test_scalars_resolve_as_pyyaml_does(text):
    assert repr(reading(YAML11, f"- {text}\n- '{text}'\n", "yaml")) == repr((yaml.safe_load(f"- {text}\n- '{text}'\n"), None))


TAGS = [
    *(
        "!!int",
        "!!float",
        "!!bool",
        "!!null",
        "!!str",
        "!!binary",
        "!!timestamp",
        "!!seq",
        "!!map",
        "!!set",
        "!!omap",
        "!!pairs",
        "!!merge",
    ),
    *(f"!!python/{name}" for name in "none bool str unicode bytes int long float complex list tuple dict".split()),
]
TAGGED = (
    "1 -0x1F 1_000 1:30 1.5 .inf yes No ON off TRUE tRUE ~ x 2024-01-01 2024-01-01T10:00:00Z aGVsbG8= 1+2j [1] [[1,2]] {a:1} {a} [{a}] ''"
)


@each_case("loader", LOADERS)
@each_case("tag", TAGS)
def test_tags_construct_as_pyyaml_does(tag, loader):
    loader, library = LOADERS[loader]
    for text in (f"a: {tag} {value}\n" for value in TAGGED.split()):
        expected = outcome(lambda text: yaml.load(text, Loader=library), text)
        assert repr(reading(loader, text, "yaml")) == repr(expected), text


def test_a_byte_order_mark_is_fine_in_yaml():
    assert reading(YAML11, "a: 1\n", "yaml", bom=True) == ({"a": 1}, None)


JSON_TEXTS = [
    '{"a": 1, "b": [1.5, -2e3, 5e8, 1e-05, true, false, null, "x"]}',
    '{"a": NaN, "b": Infinity, "c": -Infinity}',
    '{"a": 1, "a": 2, "b": 1}',
    '{"a": 1e400}',
    '{"a": 0.0, "b": -0.0, "c": 8.0, "d": 80e-1, "e": 1e10, "f": 12345678901234567890}',
    '{"a": 1} // c',
    '# c\n{"a": 1}',
    '{"a": 1,}',
    "{'a': 1}",
    "{a: 1}",
    '{"a": True}',
    '{"a": True\n}',
    '{"a": .5\n}',
    '{"a": .5}',
    '{"a": 08\n}',
    '{"a": 0x10\n}',
    '{"a": +8\n}',
    '{"a": 8.\n}',
    '{"a": None\n}',
    '{"a": 1 "b": 2}',
    '{"a": 1\n"b": 2}',
    "a: 1\nb: x y # z\nc: {d: 2}\n",
    "a: 1\na: 2\n",
    "---\na: 1\n",
    "a:\n  b: 1\n",
    '{"a": {"b": 1, "b": 2}}',
    "",
    "  \n",
    "5",
    '"x"',
    "null",
    "[1, 2",
    '{"a": "\x01"}',
    '{"a": "\\ud83d\\ude00"}',
    '{"a": 1}}',
    f'{{"a": {"9" * 5_000}}}',
    "{a: '''\n  x\n   y\n  '''}",
]


@each_case("bom", [False, True])
@each_case("text", JSON_TEXTS)
def test_json_reads_as_python_does(text, bom):
    expected = outcome(json.loads, "\ufeff" * bom + text)
    assert repr(reading(STRICT_JSON, text, "json", bom)) == repr(expected)


def no_duplicates(pairs):
    """DeepSpeed's hook, in our words."""
    again = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    if again:
        raise ValueError(f"Duplicate keys in DeepSpeed config: {again}")
    return dict(pairs)


@each_case("bom", [False, True])
@each_case("text", JSON_TEXTS)
def test_hjson_reads_as_deepspeed_does(text, bom):
    expected = outcome(lambda source: hjson.loads(source, object_pairs_hook=no_duplicates), "\ufeff" * bom + text)
    assert repr(reading(HJSON, text, "json", bom)) == repr(expected)


ESCAPES = [
    f'"{before}\\\\{escape}{after}"'
    for before, escape, after in product(
        ("", "a"),
        (
            "n",
            '"',
            "/",
            "\\\\",
            "x",
            "u0041",
            "u00e9",
            "u12",
            "u+041",
            "u-041",
            "u 041",
            "uXX41",
            "u0x41",
            "ud83d",
            "ud83d\\\\ude00",
            "ude00",
            "ud83d\\\\u0041",
        ),
        ("", "b", "12"),
    )
]


@each_case("text", ESCAPES)
@each_case("loader", ["hjson", "strict"])
def test_escapes_are_read_as_the_libraries_do(text, loader):
    loads = (lambda source: hjson.loads(source, object_pairs_hook=no_duplicates)) if loader == "hjson" else json.loads
    expected = outcome(loads, f'{{"a": {text}}}')
    assert repr(reading(HJSON if loader == "hjson" else STRICT_JSON, f'{{"a": {text}}}', "json")) == repr(expected)


def test_a_duplicate_is_shown_at_the_key_that_comes_again():
    text = '{"x": {"a": 1, "b": 2, "a": 3}}'
    problem = HJSON.read(parse("x", text, "json")).problems[0]
    assert problem.kind == "duplicate"
    assert problem.start == text.rindex('"a"')


@pytest.mark.parametrize(
    ("text", "what"), [('{"a": 1, // c\n"b": 2}', "comment"), ('{"a": 1,}', "trailing comma"), ("{'a': 1}", "single quotes")]
)
def test_strict_json_says_what_is_not_json(text, what):
    assert STRICT_JSON.read(parse("x", text, "json")).problems[0].message == f"not valid JSON: {what}"


@each_case(
    ("loader", "text", "syntax", "value"),
    [
        (YAML11, "1e-4", "yaml", "1e-4"),
        (YAML11, "1.0e-4", "yaml", 1.0e-4),
        (YAML11, "017", "yaml", 15),
        (STRICT_JSON, "5e8", "json", 5e8),
        (HJSON, "5e8", "json", 500_000_000),
        (HJSON, "1e400", "json", "1e400"),
    ],
)
def test_one_scalar_alone(loader, text, syntax, value):
    result = loader.scalar(parse("x", f"[{text}]", syntax).find((0,))[1])
    assert result == value
    assert type(result) is type(value)


def test_not_a_number():
    assert math.isnan(YAML11.scalar(parse("x", "[.nan]", "yaml").find((0,))[1]))


def test_shared_values_are_one_object_as_in_pyyaml():
    value = YAML11.read(parse("x", "a: &a {x: 1}\nb: *a\n", "yaml")).value
    assert value["a"] is value["b"]


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 11)),
        "a0: &a0 {" + ", ".join(f"k{i}: 1" for i in range(200)) + "}\n" + "".join(f"b{i}: {{<<: *a0}}\n" for i in range(100)),
        "".join(f"a{i}: &a{i}\n  k{i}: 1\n  <<: [{', '.join(f'*a{j}' for j in range(i))}]\n" for i in range(60)),
    ],
    ids=["alias bomb", "merges", "merge bomb"],
)
def test_expansion_has_a_limit(text):
    problem = YAML11.read(parse("x", text, "yaml")).problems[0]
    assert f"{MOST_EXPANDED:,}" in problem.message
    assert problem.exception is None


def test_an_alias_of_itself_is_beyond_our_limits_and_no_endless_value():
    problem = YAML11.read(parse("x", "a: &a [*a]\n", "yaml")).problems[0]
    assert problem.kind == "limit"  # PyYAML makes a list that contains itself
    assert problem.exception is None


def test_a_refused_document_has_no_value():
    assert YAML11.read(parse("x", "a: 1\nb: [\n", "yaml")).value is None


def test_a_copy_has_lists_and_mappings_of_its_own_and_shares_what_was_shared():
    shared = {"stage": 3}
    value = {"a": shared, "b": [shared, "x"]}
    copy = copied(value)
    assert copy == value
    assert copy["a"] is copy["b"][0]
    assert copy["a"] is not shared


def test_a_document_that_is_loaded_again_gives_values_of_its_own(monkeypatch):
    document = parse("a.yaml", "a: [1, {b: 2}]\n", "yaml")
    first = YAML11.read_again(document)
    first.value["a"][1]["b"] = 3
    first.value["c"] = 4
    monkeypatch.setattr(type(YAML11), "construct", None)  # it is not loaded a second time
    assert YAML11.read_again(document).value == {"a": [1, {"b": 2}]}
