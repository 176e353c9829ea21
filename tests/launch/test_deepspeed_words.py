"""`--deepspeed WORD` on a launch line: a file, JSON, or an error."""

from __future__ import annotations

import base64
import json

import pytest

from cfglint.cli import main

PROGRAM = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = HfArgumentParser(TrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
trainer = Trainer(model=None, args=training_args)
"""
OWN = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--deepspeed")
parser.add_argument("--output_dir")
args = parser.parse_args()
"""
ENCODED = base64.urlsafe_b64encode(b'{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}').decode()


@pytest.fixture
def missing(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def found(word, program=PROGRAM, before=""):
        (tmp_path / "train.py").write_text(program)
        (tmp_path / "run.sh").write_text(f"{before}torchrun --nproc_per_node 2 train.py --output_dir o --deepspeed {word}\n")
        main(["check", "run.sh", "--format", "json"])
        every = json.loads(capsys.readouterr().out)["diagnostics"]
        return [(each["severity"], each["exception"]) for each in every if each["code"] == "LCH002"]

    return found


@pytest.mark.parametrize("word", ["ds_missing", "ds_config.jso", "zero3", "auto", "missing.json"])
def test_a_word_that_is_no_file_is_refused(missing, word):
    text = "Expected a string path to an existing deepspeed config, or a dictionary, or a base64 encoded string. Received: "
    assert missing(word) == [("error", f"ValueError: {text}{word}")]


@pytest.mark.parametrize("word", [ENCODED, '\'{"train_batch_size": "auto"}\'', "$DS", "<config>", "...", "/etc/ds", "train.py"])
def test_json_unknown_words_and_files_are_not(missing, word):
    assert missing(word) == []


def test_a_file_that_the_script_writes_is_not_missing(missing):
    assert missing("ds_made", before="make_config --output ds_made\n") == []


def test_an_argument_of_the_program_itself_may_have_names(missing):
    assert missing("zero3", OWN) == []
