"""The draft-07 schemas: nothing of our own in them, and what cfglint takes they take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from cfglint.cli import main
from cfglint.frameworks.schema import file_of, kinds
from cfglint.frameworks.schema_export import EVERY_TYPE, NAMED, NEEDED_TYPES, ONE, PLAIN, SOME, draft7

GOOD = Path(__file__).resolve().parents[2] / "examples" / "good"
KEYWORDS = PLAIN | ONE | SOME | NAMED | {"$ref", "$schema", "definitions"}


def exported(kind):
    return draft7(kind, json.loads(Path(file_of(kind)).read_text(encoding="utf-8")))


def schemas(raw):
    """A schema and every schema in it."""
    yield raw
    for keyword, value in raw.items():
        if keyword in NAMED or keyword == "definitions":
            parts = list(value.values())
        else:
            parts = value if keyword in SOME else [value] if keyword in ONE else []
        for part in parts:
            if isinstance(part, dict):
                yield from schemas(part)


@pytest.mark.parametrize("kind", kinds())
def test_only_keywords_of_the_draft(kind):
    raw = exported(kind)
    Draft7Validator.check_schema(raw)
    assert raw["$schema"] == "http://json-schema.org/draft-07/schema#"
    for part in schemas(raw):
        assert set(part) <= KEYWORDS
        assert "$ref" not in part or set(part) == {"$ref"}, "draft-07 ignores what is next to $ref"
        assert not part.get("$ref", "").startswith("#/$defs/")


@pytest.mark.parametrize("kind", kinds())
def test_types_are_named_as_ajv_asks_in_strict_mode(kind):
    for part in schemas(exported(kind)):
        named = part.get("type", ())
        types = {named} if isinstance(named, str) else set(named)
        for keyword in NEEDED_TYPES.keys() & part.keys():
            needed = NEEDED_TYPES[keyword]
            assert needed in types or (needed == "number" and "integer" in types), keyword


def test_every_type_is_what_it_says():
    assert all(Draft7Validator({"type": EVERY_TYPE}).is_valid(value) for value in (None, True, 1, 1.5, "a", [], {}))


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("axolotl", "axolotl.yml"),
        ("deepspeed", "deepspeed.json"),
        ("neox", "neox-125M.yml"),
        ("huggingface", "trainer.yaml"),
        ("huggingface", "trainer-zero3/train.yaml"),
        ("deepspeed", "trainer-zero3/ds_config.json"),
    ],
)
def test_a_good_example_is_valid(kind, file):
    text = (GOOD / file).read_text(encoding="utf-8")
    values = json.loads(text) if file.endswith(".json") else yaml.safe_load(text)
    assert list(Draft7Validator(exported(kind)).iter_errors(values)) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("accelerate", "dynamo_backend: NO"),
        ("accelerate", "distributed_type: NO"),
        ("accelerate", "distributed_type: 'NO'"),
        ("accelerate", "num_processes: auto"),
        ("huggingface", "tf32: 1"),
        ("huggingface", "gradient_checkpointing: 1"),
        ("huggingface", "gradient_checkpointing: 'true'"),
        ("axolotl", "gradient_accumulation_steps: '8'"),
        ("axolotl", "flash_attention: ${FLASH_ATTENTION}"),
    ],
)
def test_what_the_framework_takes_is_valid(kind, text):
    assert list(Draft7Validator(exported(kind)).iter_errors(yaml.safe_load(text))) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("accelerate", "num_processes: many"),
        ("huggingface", "learning_rate: fast"),
        ("huggingface", "gradient_checkpointing: sometimes"),
        ("axolotl", "gradient_accumulation_steps: eight"),
        ("deepspeed", "zero_optimization: {stages: 3}"),
        ("neox", "num_layers: twelve"),
    ],
)
def test_a_mistake_is_invalid(kind, text):
    assert not Draft7Validator(exported(kind)).is_valid(yaml.safe_load(text))


def test_a_person_reads_what_the_keywords_said():
    properties = exported("huggingface")["properties"]
    assert properties["evaluation_strategy"]["description"].endswith("(removed in 4.51.0; use `eval_strategy`)")
    assert any("(since " in each["description"] for each in properties.values())


def test_the_command_prints_it(capsys):
    assert main(["schema", "accelerate", "--draft", "7"]) == 0
    assert json.loads(capsys.readouterr().out) == exported("accelerate")
