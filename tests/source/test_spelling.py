"""Values as text: they read back as themselves, in the manner of what stands there."""

from __future__ import annotations

import io

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from cases import each_case
from cfglint.source.document import MAPPING
from cfglint.source.loaders import HJSON, STRICT_JSON, YAML11
from cfglint.source.parse import parse
from cfglint.source.spelling import spell, spell_key


@each_case(
    ("syntax", "before", "value", "text"),
    [
        ("yaml", "5", 12, "12"),
        ("yaml", "5.0e+8", 250_000_000.0, "2.5e+8"),
        ("yaml", "5.0e-4", 0.0006, "6.0e-4"),
        ("yaml", "5e-4", 0.0006, "0.0006"),
        ("yaml", "0.0001", 1e-5, "1.0e-5"),
        ("yaml", "1_000", 25_000, "25_000"),
        ("yaml", "1.0", float("inf"), ".inf"),
        ("yaml", "yes", False, "no"),
        ("yaml", "True", False, "False"),
        ("yaml", "'x'", "y", "'y'"),
        ("yaml", "'x'", "it's", "'it''s'"),
        ("yaml", '"x"', "y", '"y"'),
        ("yaml", "x", "y", "y"),
        ("yaml", "x", "no", '"no"'),
        ("yaml", "x", "1e-4", '"1e-4"'),
        ("yaml", "x", "12", '"12"'),
        ("yaml", "x", "a: b", '"a: b"'),
        ("yaml", "x", "", '""'),
        ("yaml", "x", "C:\\data", "C:\\data"),
        ("yaml", "x", " C:\\data", "' C:\\data'"),
        ("yaml", "x", ' the "base" model', "' the \"base\" model'"),
        ("yaml", "x", "a\nb", '"a\\nb"'),
        ("yaml", "x", "\U000e0001", '"\\U000e0001"'),
        ("yaml", "~", None, "~"),
        ("yaml", "1", None, "null"),
        ("yaml", "1", [1, "a", True], "[1, a, true]"),
        ("yaml", "1", {"a": {"b": None}}, "{a: {b: null}}"),
        ("json", "5e8", 250_000_000, "2.5e8"),
        ("json", "5e8", 250_000_001, "2.50000001e8"),
        ("json", "2E-5", 0.0001, "10E-5"),
        ("json", "5", 12, "12"),
        ("json", "0.5", 1e-5, "1e-5"),
        ("json", "0.5", 1e22, "1e+22"),
        ("json", "true", False, "false"),
        ("json", '"x"', 'a"b\n', '"a\\"b\\n"'),
        ("json", '"x"', "é😀", '"é😀"'),
        ("json", '"x"', "\U000e0001", '"\\udb40\\udc01"'),
        ("json", "'x'", "y", "'y'"),
        ("json", "1", {"a": [None]}, '{"a": [null]}'),
    ],
)
def test_the_manner_of_what_stands_there(syntax, before, value, text):
    document = parse("x", f'{{"a": {before}}}' if syntax == "json" else f"a: {before}\n", syntax)
    assert spell(value, document, document.find(("a",))[1]) == text


def test_strings_without_a_model_take_the_quotes_of_the_keys():
    assert spell("x", parse("x", '{"a": 1}\n', "yaml")) == '"x"'
    assert spell("x", parse("x", "a: 1\n", "yaml")) == "x"


@each_case(
    ("syntax", "text", "key", "spelled"),
    [
        ("yaml", "a: 1\n", "b-c", "b-c"),
        ("yaml", "a: 1\n", "on", '"on"'),
        ("yaml", "'a': 1\n", "b", "'b'"),
        ("json", '{"a": 1}', "b", '"b"'),
        ("json", "{a: 1}", "b", "b"),
        ("json", "{a: 1}", "b c", '"b c"'),
        ("json", "{'a': 1}", "b", "'b'"),
        ("json", "{}", "b", '"b"'),
        ("yaml", '"a": 1\n', "b", '"b"'),
    ],
)
def test_keys(syntax, text, key, spelled):
    assert spell_key(key, parse("x", text, syntax)) == spelled


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["1e-4", "0x1F", "yes", "~", "<<", "=", "- a", "? b", "a: b", "a #b", "1:30", "2024-01-01", ".5", "08", "...", "---"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6
)
FORMS = ["5", "5e8", "5.0e+8", "0.5", "1_0", "x", "'x'", '"x"', "yes", "~"]


@pytest.mark.slow
@settings(derandomize=True, max_examples=150)
@given(value=VALUES, form=st.sampled_from(FORMS), flow=st.booleans())
def test_yaml_reads_back(value, form, flow):
    document = parse("x", f"a: {form}\n", "yaml")
    text = spell(value, document, document.find(("a",))[1])
    source = f"{{a: {text}, b: 1}}\n" if flow else f"a: {text}\n"
    assert repr(yaml.safe_load(source)["a"]) == repr(value)
    assert repr(YAML11.read(parse("x", source, "yaml")).value["a"]) == repr(value)
    assert OmegaConf.to_container(OmegaConf.load(io.StringIO(source)))["a"] == value


@settings(derandomize=True, max_examples=150)
@given(value=VALUES, form=st.sampled_from(["5", "5e8", "0.5", '"x"', "'x'"]))
def test_json_reads_back(value, form):
    document = parse("x", f'{{"a": {form}}}', "json")
    text = spell(value, document, document.find(("a",))[1])
    source = f'{{"a": {text}}}'
    parsed = parse("x", source, "json")
    if "inf" not in repr(value):
        assert HJSON.read(parsed).value["a"] == value
    if form != "'x'":
        assert STRICT_JSON.read(parsed).value["a"] == value
    assert parsed.root.kind == MAPPING
