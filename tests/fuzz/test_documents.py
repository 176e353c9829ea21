"""Random documents in random manners: what is read, edited, fixed and reported of them."""

from __future__ import annotations

import copy
import math
import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from mutators import read, syntax_of
from properties import Bench, exact, explained, pairs, reaches, reported, restyled, settled, sound
from seeds import NAMES, Case, own_keys
from styles import Unspeakable, write

from cfglint.source.change import DELETE, INSERT, RENAME, REPLACE, Change, EditRefused
from cfglint.source.document import MAPPING, SCALAR
from cfglint.source.edit import apply, edits
from cfglint.source.loaders import HJSON, STRICT_JSON, YAML11
from cfglint.source.parse import parse
from cfglint.source.spelling import spell

STYLES = st.randoms(use_true_random=False)
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = (
    st.none()
    | st.booleans()
    | NUMBERS
    | WORDS
    | st.sampled_from(["auto", "None", "1e-5", "010", "yes", "no", "~", "<<", "=", "- a", "a: b", "# a"])
)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12)
DOCUMENTS = st.dictionaries(WORDS, TREES, max_size=6)

BY_KIND = {kind: [(path, schema) for each, path, schema in own_keys() if each == kind] for kind in NAMES}


def fitting(schema):
    """Values that a schema allows, values beside its bounds, and some of any type."""
    types = schema.get("type", [])
    choices = [st.sampled_from([*schema.get("enum", []), schema.get("default", "auto"), "auto", None, 0, 1, -1, 2, 0.5, "", "1", [], {}])]
    for name in [types] if isinstance(types, str) else types:
        low = schema.get("minimum", 0)
        choices.append(
            {
                "integer": st.integers(int(low) - 1, int(low) + 100),
                "number": st.floats(low - 1, low + 10, allow_nan=False),
                "boolean": st.booleans(),
                "string": st.sampled_from(["auto", "adam", "cpu", "linear", "out"]),
                "array": st.lists(NUMBERS, max_size=3),
            }.get(name, st.none())
        )
    return st.one_of(choices)


@st.composite
def framework_trees(draw, kind):
    """A tree of a framework's own keys, each with a value of its own type or nearly so."""
    tree = {}
    for path, schema in draw(st.lists(st.sampled_from(BY_KIND[kind]), min_size=3, max_size=12)):
        part = tree
        for step in path[:-1]:
            if not isinstance(part.get(step), dict):
                part[step] = {}
            part = part[step]
        part[path[-1]] = draw(fitting(schema))
    return tree


@st.composite
def cases(draw):
    """A file of some kind in some manner, with facts of a launch."""
    kind = draw(st.sampled_from([kind for kind in NAMES if BY_KIND.get(kind)]))
    tree = draw(framework_trees(kind))
    flags = [*draw(st.sampled_from([[], ["--gpus", "8"], ["--run", "--gpus", "8"], ["--num-examples", "1000"]])), "--kind", kind]
    return Case({NAMES[kind]: write(tree, syntax_of(NAMES[kind]), draw(STYLES))}, flags)


def few(examples):
    """Settings for so many examples, the same ones every time; a failure is shown as it was found, for making it small takes minutes."""
    return settings(derandomize=True, max_examples=examples, database=None, phases=[Phase.generate])


@few(100)
@given(tree=DOCUMENTS, rng=STYLES, syntax=st.sampled_from(["yaml", "json"]), lax=st.booleans())
def test_every_manner_is_read_as_the_same_tree(tree, rng, syntax, lax):
    text = write(tree, syntax, rng, lax=lax)
    bom = text.startswith("\ufeff")
    loader = YAML11 if syntax == "yaml" else HJSON if lax else STRICT_JSON
    reading = loader.read(parse("x", text.removeprefix("\ufeff"), syntax, bom))
    assert reading.problems == []
    assert (sorted_repr if lax else repr)(reading.value) == (sorted_repr if lax else repr)(tree)


def changed(tree, path, kind, value):
    """A copy of a tree after a change."""
    copied = part = copy.deepcopy(tree)
    for step in path[:-1] if kind != INSERT else path:
        part = part[step]
    if kind == DELETE:
        del part[path[-1]]
    elif kind == RENAME:
        part["renamed key"] = part.pop(path[-1])
    elif kind == REPLACE:
        part[path[-1]] = value
    else:
        part["new key"] = value
    return copied


@few(40)
@given(
    tree=st.one_of(framework_trees("neox"), framework_trees("deepspeed"), DOCUMENTS),
    rng=STYLES,
    syntax=st.sampled_from(["yaml", "json"]),
    value=LEAVES.filter(lambda value: not isinstance(value, float) or math.isfinite(value)),
)
def test_an_edit_does_what_it_says_in_every_manner(tree, rng, syntax, value):
    text = write(tree, syntax, rng).removeprefix("\ufeff")
    document = parse("x", text, syntax)
    loader = YAML11 if syntax == "yaml" else STRICT_JSON
    places = [(path, key, node) for path, key, node in document.walk() if path or node.kind == MAPPING]
    for path, key, node in rng.sample(places, min(5, len(places))):
        wanted = [INSERT] if node.kind == MAPPING else []
        wanted += [REPLACE] if path and node.kind == SCALAR else []
        wanted += [DELETE, RENAME] if key is not None else []
        for kind in wanted:
            name = "new key" if kind == INSERT else "renamed key"
            change = Change(kind, path, name, spell(value, document, node if kind == REPLACE else None))
            try:
                after = apply(document, [change])
            except EditRefused:
                continue
            expected = changed(tree, path, kind, value)
            assert sorted_repr(loader.read(parse("x", after, syntax)).value) == sorted_repr(expected)
            assert sorted_repr(read(after, syntax)) == sorted_repr(expected)
            assert spliced(text, edits(document, [change])) == after


def sorted_repr(tree):
    """A tree as text, whatever the order of its keys; types included, but for 2 and 2.0, which hjson takes for one."""
    if isinstance(tree, float) and tree.is_integer():
        return repr(int(tree))
    if isinstance(tree, dict):
        return sorted((key, sorted_repr(value)) for key, value in tree.items())
    return [sorted_repr(item) for item in tree] if isinstance(tree, list) else repr(tree)


def spliced(text, found):
    """A text with its edits made from the end."""
    for each in reversed(found):
        text = text[: each.start] + each.text + text[each.end :]
    return text


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("bench")
        patch.chdir(folder)
        yield Bench(str(folder))


def test_made_up_configs_keep_every_property(bench):
    @few(45)
    @given(case=cases(), rng=STYLES)
    def hold(case, rng):
        for prove in (sound, exact, settled, reaches, restyled, reported, explained):
            prove(bench, case, rng)

    hold()
    assert len(bench.codes) > 10


@pytest.mark.parametrize("syntax", ["yaml", "json"])
def test_what_has_no_text_is_told(syntax):
    with pytest.raises(Unspeakable):
        write({1: 2}, syntax, random.Random(1))


def test_pairs_keep_what_a_dictionary_would_lose():
    assert pairs("a: 1\na: '1'\n", "yaml") == ["map", [["a", ["tag:yaml.org,2002:int", "1"]], ["a", ["tag:yaml.org,2002:str", "1"]]]]
    assert pairs('{"a": 1, "a": "1"}', "json") == ["map", [["a", ["number", "1"]], ["a", ["str", "1"]]]]
