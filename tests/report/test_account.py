"""The account of a run in each format."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.explanation.summary import RunSummary
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.report import render_account
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource


@pytest.fixture
def account():
    run = Discovery(LaunchFacts(8), source=FileSource({"ds.json": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4}\n'}))
    return RunSummary(run.together(["ds.json"])[0])


def test_json_has_the_settings_of_the_run(account):
    report = json.loads(render_account("json", account))
    assert {each["name"]: each["value"] for each in report["settings"]}["accumulation"] == 2
    assert report["resolved"]["global_batch"] == 64


def test_text_and_html_show_the_accumulation(account):
    assert "\n  accumulation " in render_account("text", account)
    assert "accumulation" in render_account("html", account)


BRANCH = """
if [ {test} ]; then BATCH=16; else BATCH=8; fi
torchrun --nproc_per_node 8 train.py --output_dir out --max_steps 5 --per_device_train_batch_size {batch}
"""
PARSER = """
from transformers import HfArgumentParser, Trainer, TrainingArguments
args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""


@each_case(
    ("test", "batch", "shown", "cause"),
    [
        ('"$(hostname)" = node', "$BATCH", "16 or 8", "run.sh:2 depends on branches that are not decided"),
        ('"$(hostname)" = node', "1$BATCH", "116 or 18", "run.sh:2 depends on branches that are not decided"),
        ('"$1" = big', '"$BATCH"', "8 or 16", "run.sh:2 depends on the arguments of the script"),
        ('"$(hostname)" = node', "$BATCH$(nproc)", "?", "not known"),
        ("1 = 1", "$BATCH", "16", ""),
    ],
)
def test_the_values_of_several_branches_are_told_with_the_branch(test, batch, shown, cause):
    sources = FileSource({"run.sh": BRANCH.format(test=test, batch=batch), "train.py": PARSER})
    told = " ".join(render_account("text", RunSummary(Discovery(LaunchFacts(), source=sources).together(["run.sh"])[0])).split())
    assert f"micro batch {shown} run.sh" in told
    assert cause in told


LINE = "deepspeed --num_gpus 2 src/train_bash.py --finetuning_type lora --use_unsloth True --deepspeed ds.json\n"
UNKNOWN_PARSER = "No error in what was read; not read: the arguments of `train_bash.py` (it is not in the project)."


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, UNKNOWN_PARSER),
        (
            {"src/train_bash.py": "import argparse\nargparse.ArgumentParser().parse_known_args()\n"},
            "not read: the engine of `src/train_bash.py`",
        ),
    ],
)
def test_a_run_whose_arguments_nothing_parses_is_not_said_to_start(tmp_path, monkeypatch, files, told):
    monkeypatch.chdir(tmp_path)  # whose folders are few enough to be searched for the program
    texts = {"run.sh": LINE, "ds.json": '{"train_micro_batch_size_per_gpu": 4}\n', **files}
    run = Discovery(LaunchFacts(), source=FileSource(texts)).together(["run.sh"])[0]
    assert told in " ".join(render_account("text", RunSummary(run)).split())


def test_a_run_with_a_value_that_is_not_known_is_not_said_to_start():
    program = (
        "from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
    )
    line = "torchrun --nproc_per_node 4 train.py --output_dir o --per_device_train_batch_size $BATCH\n"
    run = Discovery(LaunchFacts(), source=FileSource({"run.sh": line, "train.py": program})).together(["run.sh"])[0]
    told = "No error in what is known; not known: `per_device_train_batch_size`."
    assert told in " ".join(render_account("text", RunSummary(run)).split())
