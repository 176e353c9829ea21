"""The JSON Schemas of the JSON outputs: generated from the types, and true of what the commands print."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from output_schemas import FOLDER, OUTPUTS, rendered

from cases import each_case
from cfglint.cli import main

TRAIN = (
    "output_dir: o\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\nnum_train_epochs: 1\n"
    "bf16: true\nfp16: true\ndeepspeed: ds.json\n"
)
FILES = {
    "train.yaml": TRAIN,
    "other.yaml": TRAIN.replace("4", "8").replace("fp16: true", "fp16: false"),
    "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}, "gradient_cliping": 1.0}\n',
    "launch.sh": "torchrun --nproc_per_node 8 train.py --output_dir o --per_device_train_batch_size 4 --learning_rate $LR\n",
    "train.log": "***** Running training *****\n  Num examples = 1,000\n  Num Epochs = 3\n  Total optimization steps = 96\n",
}
SOME = [
    ("check", "check . --gpus 8 --target transformers==5.23.0"),
    ("check", "check train.yaml"),
    ("runs", "check . --show runs"),
    ("fix", "fix train.yaml --gpus 8 --global-batch 64 --diff"),
    ("fix", "fix train.yaml --gpus 7 --global-batch 64 --diff"),
    ("plan", "plan other.yaml --gpus 8,16 --global-batch 64 --num-examples 1000"),
    ("explain", "explain other.yaml --gpus 8 --num-examples 1000 --model llama-3.1-8b --gpu-memory 80GB --seq-length 512"),
    ("explain", "explain train.yaml"),
    ("explain", "explain train.log"),
    ("log", "log train.log"),
    ("review", "review train.yaml other.yaml --gpus 8"),
    ("rule", "rule BAT001"),
]


def schema_of(command):
    return json.loads((FOLDER / f"{command}.json").read_text(encoding="utf-8"))


@each_case("command", sorted(OUTPUTS))
def test_each_is_as_the_types_say(command, updating):
    path = FOLDER / f"{command}.json"
    if updating:
        path.write_text(rendered(command), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == rendered(command), "run python tools/output_schemas.py"
    jsonschema.Draft202012Validator.check_schema(schema_of(command))


@each_case(("command", "line"), SOME)
def test_outputs_are_valid_and_have_no_field_that_their_schema_lacks(command, line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    main([*line.split(), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    for schema in (schema_of(command), closed(schema_of(command))):
        jsonschema.validate(found, schema, cls=jsonschema.Draft202012Validator)


def closed(schema):
    """The schema with mappings that have the named fields only."""
    if isinstance(schema, dict):
        own = {"additionalProperties": False} if "properties" in schema else {}
        return {**own, **{key: closed(value) for key, value in schema.items()}}
    return [closed(each) for each in schema] if isinstance(schema, list) else schema


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_review_is_valid(checkout, capsys):
    for name, text in FILES.items():
        (checkout.folder / name).write_text(text, encoding="utf-8")
    checkout.commit("first")
    (checkout.folder / "train.yaml").write_text(TRAIN.replace("4", "2"), encoding="utf-8")
    main(["review", "--base", "HEAD", "--gpus", "8", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["changes"]
    jsonschema.validate(found, closed(schema_of("review")), cls=jsonschema.Draft202012Validator)


def paths(value, at=""):
    """The fields of a JSON output, `runs[].files` and the like; the packages of `target` are no fields."""
    if isinstance(value, list):
        return {path for each in value for path in paths(each, f"{at}[]")}
    if not isinstance(value, dict) or at.endswith("target"):
        return set()
    named = {f"{at}.{key}".removeprefix("."): each for key, each in value.items()}
    return {*named}.union(*(paths(each, path) for path, each in named.items()))


@each_case("record", (Path(__file__).parent / "former_fields.txt").read_text(encoding="utf-8").splitlines())
def test_the_fields_of_the_first_release_are_still_there(record, tmp_path, monkeypatch, capsys):
    """A line is a command of 0.1.0 and every field of its output for these files."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    line, _, fields = record.partition(": ")
    main([*line.split(), "--format", "json"])
    assert set(fields.split()) - paths(json.loads(capsys.readouterr().out)) == set()
