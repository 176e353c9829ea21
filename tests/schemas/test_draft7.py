"""The draft-07 schemas: nothing of our own in them, and what cfglint takes they take."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator
from schema_draft7 import EVERY_TYPE, NAMED, NEEDED_TYPES, ONE, PLAIN, SOME, text_of
from schema_strict import message

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks import framework
from cfglint.frameworks.validation.schema import file_of, kinds

GOOD = Path(__file__).resolve().parents[2] / "examples" / "good"
KEYWORDS = PLAIN | ONE | SOME | NAMED | {"$ref", "$schema", "definitions"}


@cache
def exported(kind):
    return json.loads(Path(file_of(kind, "draft7")).read_text(encoding="utf-8"))


@each_case("kind", kinds())
def test_the_file_is_what_the_schema_gives(kind):
    schema = json.loads(Path(file_of(kind)).read_text(encoding="utf-8"))
    assert Path(file_of(kind, "draft7")).read_text(encoding="utf-8") == text_of(kind, schema), "python tools/schema_draft7.py writes it"


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


@each_case("kind", kinds())
def test_only_keywords_of_the_draft(kind):
    raw = exported(kind)
    assert raw["$schema"] == "http://json-schema.org/draft-07/schema#"
    for part in schemas(raw):
        assert set(part) <= KEYWORDS
        assert "$ref" not in part or set(part) == {"$ref"}, "draft-07 ignores what is next to $ref"
        assert not part.get("$ref", "").startswith("#/$defs/")


@pytest.mark.slow
@each_case("kind", kinds())
def test_valid_by_the_meta_schema(kind):
    Draft7Validator.check_schema(exported(kind))


@each_case("kind", kinds())
def test_types_are_named_as_ajv_asks_in_strict_mode(kind):
    for part in schemas(exported(kind)):
        named = part.get("type", ())
        types = {named} if isinstance(named, str) else set(named)
        for keyword in NEEDED_TYPES.keys() & part.keys():
            needed = NEEDED_TYPES[keyword]
            assert needed in types or (needed == "number" and "integer" in types), keyword


def test_every_type_is_what_it_says():
    assert all(Draft7Validator({"type": EVERY_TYPE}).is_valid(value) for value in (None, True, 1, 1.5, "a", [], {}))


@each_case(
    ("kind", "file"),
    [
        ("axolotl", "axolotl.yml"),
        ("swift", "swift-sft.yaml"),
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


@each_case(
    ("kind", "text"),
    [
        ("accelerate", "dynamo_backend: NO"),
        ("accelerate", "distributed_type: NO"),
        ("accelerate", "distributed_type: 'NO'"),
        ("accelerate", "num_processes: auto"),
        ("accelerate", "ipex_config: {ipex: true}"),
        ("deepspeed", "optimizer: {type: Adam, params: {lr: 0.1, max_grad_norm: 1.0}}"),
        ("huggingface", "tf32: 1"),
        ("huggingface", "gradient_checkpointing: 1"),
        ("huggingface", "gradient_checkpointing: 'true'"),
        ("axolotl", "gradient_accumulation_steps: '8'"),
        ("axolotl", "flash_attention: ${FLASH_ATTENTION}"),
        ("axolotl", "peft: {loftq_config: {loftq_bits: '${BITS}'}}"),
        ("axolotl", "warmup_steps: 0.1"),
        ("swift", "learning_rate: '1e-4'"),
        ("swift", "{dataset: [a, b], tuner_type: full, deepspeed: zero2, ENV: {NPROC_PER_NODE: 4}}"),
    ],
)
def test_what_the_framework_takes_is_valid(kind, text):
    assert list(Draft7Validator(exported(kind)).iter_errors(yaml.safe_load(text))) == []


@each_case(
    ("kind", "text"),
    [
        ("accelerate", "num_processes: many"),
        ("huggingface", "learning_rate: fast"),
        ("huggingface", "gradient_checkpointing: sometimes"),
        ("axolotl", "gradient_accumulation_steps: eight"),
        ("deepspeed", "zero_optimization: {stages: 3}"),
        ("deepspeed", "zero_optimization: {mics_shard_size: 4}"),
        ("neox", "num_layers: twelve"),
        ("swift", "lora_rank: eight"),
        ("swift", "torch_dtype: bf16"),
    ],
)
def test_a_mistake_is_invalid(kind, text):
    assert not Draft7Validator(exported(kind)).is_valid(yaml.safe_load(text))


@each_case("kind", kinds())
def test_one_type_each_and_every_pattern_is_described(kind):
    for part in schemas(exported(kind)):
        assert not isinstance(part.get("type"), list)
        assert "pattern" not in part or part["description"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(?:[oO][nN]|0)$", "on or 0, in upper or lower case"),
        (r"^\s*[+-]?\d+(?:_\d+)*\s*$|^auto$", """an integer as a string, such as '8', or "auto\""""),
    ],
)
def test_description_of_a_pattern(pattern, text):
    assert message(pattern) == text


def test_a_placeholder_may_be_anywhere_in_a_file_whose_loader_fills_it():
    value = "${NAME}"
    for kind in ("axolotl", "llamafactory"):
        validator = Draft7Validator(exported(kind))
        refused = [key for key in exported(kind)["properties"] if not validator.is_valid({key: value})]
        assert refused == []


def test_catalogue(capsys):
    assert main(["schema", "--catalog", "https://example.org/schemas/"]) == 0
    entries = json.loads(capsys.readouterr().out)
    named = [kind for kind in kinds() if framework(kind).file_match]  # a file of ms-swift or verl may have any name
    assert [each["url"] for each in entries] == [f"https://example.org/schemas/{kind}.json" for kind in named]
    assert all(set(each) == {"name", "description", "fileMatch", "url"} and each["fileMatch"] for each in entries)
    patterns = [pattern for each in entries for pattern in each["fileMatch"]]
    assert len(patterns) == len(set(patterns))


def test_the_entries_for_schemastore_are_those_of_the_command(capsys, root, updating):
    """Its schema-catalog.json asks for name, description and an https address, and for patterns that are not repeated."""
    main(["schema", "--catalog", "https://www.schemastore.org/cfglint"])
    path, made = root / "editors" / "schemastore.json", capsys.readouterr().out
    if updating:
        path.write_text(made, encoding="utf-8")
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert entries == json.loads(made)
    for each in entries:
        assert each["name"]
        assert each["description"]
        assert each["url"].startswith("https://")
        assert len(each["fileMatch"]) == len(set(each["fileMatch"]))


@each_case(
    ("name", "kind"),
    [
        ("conf/ds_config_zero3.json", "deepspeed"),
        ("a/accelerate_configs/fsdp.yaml", "accelerate"),
        ("gpt-neox/configs/125M.yml", "neox"),
        ("config.json", None),
        ("train.yaml", None),
        ("tsconfig.json", None),
    ],
)
def test_files_of_the_catalogue(name, kind):
    found = [each for each in kinds() if any(Path(f"/home/{name}").match(pattern) for pattern in framework(each).file_match)]
    assert found == ([kind] if kind else [])


def test_a_person_reads_what_the_keywords_said():
    properties = exported("huggingface")["properties"]
    assert properties["evaluation_strategy"]["description"].endswith("(removed in 4.51.0; use `eval_strategy`)")
    assert any("(since " in each["description"] for each in properties.values())


def test_the_command_prints_it(capsys):
    assert main(["schema", "accelerate", "--draft", "7"]) == 0
    assert json.loads(capsys.readouterr().out) == exported("accelerate")
