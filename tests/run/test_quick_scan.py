"""The quick scan calls a file unrelated only where the parsed file is of no kind."""

from __future__ import annotations

import importlib
import json
import random

import pytest

from cases import each_case
from cfglint.frameworks import kinds
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.validation import schema
from cfglint.run.broken import known_names
from cfglint.run.discovery import Discovery
from cfglint.run.paths import SECTIONS
from cfglint.run.quick_scan import has_no_known_word, known_words, unrelated_keys
from cfglint.source import outline
from cfglint.source.file_source import FileSource

RESULTS = '{"results": {"arc": {"acc": 0.5}}, "config": {"seed": 1}}\n'
FORMS = (
    "{}: 1",
    "{}:\n  seed: 1\n  bf16: true",
    "'{}': 1",
    '"{}": [1, 2]',
    "{}: |\n  output_dir: x",
    "{}: 'a\nfp16: 1'",
    "? {}\n: 1",
    "&a {}: 1",
)


def vocabulary() -> list[str]:
    """Every name that the detection of some kind looks for."""
    found = set(SECTIONS)
    for kind in kinds():
        for name, value in vars(importlib.import_module(f"cfglint.frameworks.{kind}")).items():
            if name.isupper() and isinstance(value, frozenset | dict):
                found.update(value)
    return sorted(found)


def recognised(path: str, text: str) -> bool:
    """Whether a file counts as a config, as unclear or as a related tool's, once it is parsed."""
    discovery = Discovery(LaunchFacts(), source=FileSource({path: text}))
    discovery.recognition.is_unrelated = lambda path, text: False  # type: ignore[method-assign]
    stats = discovery.request.stats
    return any(True for _ in discovery.looked_at([(0, path)])) or bool(stats.unclear or stats.related_tools)


@pytest.mark.parametrize("seed", range(2))
def test_unrelated_yaml_is_of_no_kind(seed):
    chance, names = random.Random(seed), [*vocabulary(), *("name", "on", "jobs", "a b", "http") * 40]
    told = 0
    for _ in range(100):
        lines = [chance.choice(FORMS).format(chance.choice(names)) for _ in range(chance.randint(1, 5))]
        text = chance.choice(["", "---\n", "# note\n", " "]) + "\n".join(lines) + "\n"
        if unrelated_keys("a.yaml", text, "yaml", SECTIONS) is not None:
            told += 1
            assert not recognised("a.yaml", text), text
    assert told > 5


@pytest.mark.parametrize("seed", range(2))
def test_unrelated_json_is_of_no_kind(seed):
    chance, names = random.Random(seed), [*vocabulary(), *("name", "value", "results") * 60]
    told = 0
    for _ in range(100):
        inner = [{chance.choice(names): 1, chance.choice(names): {"enabled": True}} for _ in range(3)]
        text = json.dumps({chance.choice(names): chance.choice([1, "x", inner[0], inner]), chance.choice(names): inner[1]})
        path = chance.choice(["a.json", "ds_a.json"])
        if unrelated_keys(path, text, "json", SECTIONS) is not None:
            told += 1
            assert not recognised(path, text), text
    assert told > 5


@pytest.mark.parametrize("kind", schema.kinds())
def test_words_hold_every_key_of_a_schema(kind):
    words = {word.decode() for word in known_words()}
    assert {name for name in known_names(kind) if "_" in name} <= words


BREAKS = ("", "{", "}", "]", ",", ":", '"', "'", "\t", "- ", "\n", "\n<<<<<<< a\n", "--- {", "\\")


@pytest.mark.parametrize("syntax", ["json", "yaml"])
def test_a_broken_text_without_a_known_word_is_of_no_kind(syntax):
    chance, names = random.Random(3), [*vocabulary(), *("name", "value", "results", "a-b", "train", "model_x") * 60]
    told = 0
    for _ in range(200):
        lines = [f'"{chance.choice(names)}": {chance.choice(["1", "x", "[1]"])}{chance.choice(BREAKS)}' for _ in range(4)]
        text = (chance.choice(BREAKS) + "\n".join(lines))[: chance.randint(20, 200)]
        if has_no_known_word(f"a.{syntax}", text, SECTIONS):
            told += 1
            assert not recognised(f"a.{syntax}", text), text
    assert told > 20


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.json", '{"zero_optimization": '),
        ("a.yaml", "name: [\nper-device-train-batch-size"),
        ("a.yaml", "name: [\nper_dev"),  # the text ends within the key
        ("a.yaml", 'name: [\n"\\x62ase_model": x'),
        ("a.yaml", "train_args: [\n"),
        ("ds_config.json", "{"),
    ],
)
def test_words_that_may_tell_a_broken_file(path, text):
    assert not has_no_known_word(path, text, SECTIONS)


@pytest.mark.parametrize(
    ("text", "is_recognised"),
    [
        ('[{"zero_optimization": {"stage": 2}}]', True),
        ('[{"config": {"zero_optimization": {"stage": 2}}, "score": 1}]', False),
        ('[1, {"zero_optimization": {"stage": 2}}]', False),
    ],
)
def test_an_array_is_told_by_its_first_item(text, is_recognised):
    assert recognised("a.json", text) is is_recognised
    assert (unrelated_keys("a.json", text, "json") is None) is is_recognised


@each_case(
    ("path", "text", "keys"),
    [
        ("a.json", RESULTS, ["results", "config"]),
        ("a.json", '[{"output_dir": "x"}]', []),
        ("a.yaml", "name: x\non: [push]\njobs:\n  test:\n  - run: |\n      bf16: true\n", ["name", "on", "jobs"]),
        ("a.yaml", "- name: x\n  value: **1**\n", None),
        ("a.yaml", "- name: x\n- value: 1\n", []),
    ],
)
def test_keys_of_unrelated_files(path, text, keys):
    assert unrelated_keys(path, text, path[2:]) == keys


@each_case(
    ("path", "text"),
    [
        ("a.json", RESULTS[:-2]),  # cut
        ("a.json", RESULTS + RESULTS),
        ("a.json", RESULTS.replace("}}", "},}", 1)),
        ("a.json", '{"a": ' * 300 + "1" + "}" * 300),
        ("a.json", '{"results": 1, "training_args": {"x": 1}}'),
        ("ds_config.json", "{}"),
        ("a.yaml", "name: x\non: [push\n"),
        ("a.yaml", "name: *x\n"),
        ("a.yaml", "a: &x 1\nb: &x 2\n"),
        ("a.yaml", " name: x\n"),
        ("a.yaml", "{name: x}\n"),
        ("a.yaml", "just text\n"),
        ("a.yaml", '"na\\x6de": x\n'),
        ("a.yaml", "name: x\n" + " " * 80 + "deep\n"),
    ],
)
def test_texts_that_have_to_be_parsed(path, text):
    assert unrelated_keys(path, text, path.rpartition(".")[2], SECTIONS) is None


def test_an_outline_keeps_duplicates_and_two_levels():
    text = '{"a": {"b": {"c": 1}}, "a": [1]}'
    document = outline.of_json("a.json", text, outline.json_value(text))
    (first, inner), (second, items) = document.root.pairs()
    assert (first.raw, second.raw, items.kind) == ("a", "a", "sequence")
    assert [(key.raw, value.kind, value.pairs()) for key, value in inner.pairs()] == [("b", "mapping", [])]


def test_a_walk_parses_no_unrelated_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(RESULTS)
    (tmp_path / "b.yaml").write_text("name: x\n")
    parsed = []
    monkeypatch.setattr(FileSource, "document", lambda self, path, *_: parsed.append(path))
    discovery = Discovery(LaunchFacts())
    assert discovery.runs(["."]) == []
    assert (parsed, discovery.request.stats.unrecognized) == ([], 2)


@each_case(
    ("text", "certain"),
    [
        ('[{"answer": "the gradient_accum', True),
        ('{"gradient_accum', False),
        ('{\n  "a": 1,\n  "gradient_accum\n\n', False),
        ("name: b\ngradient_accum", False),
        ("name: gradient_accum", True),
    ],
)
def test_a_cut_word_is_a_key_where_it_is_alone_on_its_line(text, certain):
    assert has_no_known_word("a.json", text) is certain
    assert not (certain and recognised("a.json", text))
