"""Names and values of options that nothing knows: exit status 2, and a message that says what to write."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\nlearning_rate: 2.0e-5\nnum_train_epochs: 3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(TRAINER, encoding="utf-8")
    return tmp_path


def status_of(*arguments):
    try:
        return main([*arguments])
    except SystemExit as stopped:
        return stopped.code


@each_case(
    ("arguments", "says"),
    [
        (["check", "--select", "batch-mismach"], "no rule has the code or name batch-mismach; did you mean batch-mismatch?"),
        (["check", "--ignore", "BAT999"], "no rule has the code or name BAT999"),
        (["check", "--select", ""], "--select '': expected a list of rule codes, families or names such as BAT001,KEY,ignored-key"),
        (["review", "--select", "nope"], "no"),
        (["diff", "train.yaml", "train.yaml", "--ignore", "nope"], "no rule has the code or name nope; `cfglint rule` lists them"),
        (["check", "--target", "transformer==4.57.1"], "unknown package `transformer`; did you mean `transformers`?"),
        (["check", "--target", "transformers"], "expected NAME==VERSION"),
        (["check", "--set", "learning_rat=1"], "did you mean `learning_rate`?"),
        (["check", "--set", "learning_rate"], "expected KEY=VALUE"),
        (["check", "--args", "--learning_rat 3"], "did you mean `learning_rate`?"),
        (["check", "train.yaml", "--section", "nope"], "there is no `nope` in this file (--section)"),
        (["check", "--trainer", "nope"], "--trainer nope: expected one of sft, dpo"),
        (["check", "--kind", "nope"], "--kind nope: expected one of"),
        (["check", "--gpu-memory", "lots"], "--gpu-memory lots: expected a number of GiB such as 79.2, or a card such as 80GB or H100"),
        (["check", "--model", "nope"], "--model nope"),
        (["check", "--env", "1x=2"], "expected NAME=VALUE"),
        (["check", "--jobs", "0"], "--jobs 0: expected a positive integer"),
        (["check", "--config", "nope.toml"], "nope.toml: does not exist"),
        (["check", "--baseline", "nope.json"], "create it with"),
        (["check", "nope.yaml"], "no such file or folder: nope.yaml"),
        (["plan", "train.yaml", "--gpus", "7-"], "--gpus 7-: expected a list of GPU counts such as 8,16,32"),
        (["new", "nope"], "KIND nope: expected one of"),
        (["rule", "batch-mismach"], "did you mean batch-mismatch?"),
        (["rule", "BAT999"], "codes: BAT001, BAT002"),
        (["schema", "nope"], "no schema for"),
        (["help", "chek"], "unknown command 'chek'; did you mean `cfglint check`?"),
        (["frobnicate"], "commands: check, start, fix"),
        (["check", "--selct", "BAT"], "unknown option --selct; did you mean --select?"),
    ],
)
def test_a_misspelt_value_is_refused(folder, capsys, arguments, says):
    assert status_of(*arguments) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("command", [["check"], ["diff", "train.yaml", "train.yaml"], ["review"]])
def test_two_reports_for_one_place_are_refused(folder, capsys, command):
    assert status_of(*command, "--format", "sarif", "--format", "json") == 2
    assert "standard output: add --output FILE after all but one of them" in capsys.readouterr().err
    assert status_of(*command, "--format", "sarif", "--output", "a", "--format", "json", "--output", "a") == 2
    assert "--output a is passed for two formats" in capsys.readouterr().err


@each_case("chosen", ["bat001", "BAT001", "batch-mismatch", "Batch-Mismatch", "bat"])
def test_codes_and_names_are_taken_in_any_case(folder, capsys, chosen):
    (folder / "ds.json").write_text('{"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}')
    assert status_of("check", "ds.json", "--gpus", "8", "--select", chosen, "--format", "concise") == 1
    assert "BAT001" in capsys.readouterr().out
    assert status_of("check", "ds.json", "--gpus", "8", "--ignore", chosen) == 0


def test_statistics_take_the_place_of_findings_and_go_where_they_would(folder, capsys):
    (folder / "ds.json").write_text('{"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}')
    assert status_of("check", "ds.json", "--gpus", "8", "--show", "statistics", "--output", "counts.txt") == 1
    assert capsys.readouterr().out == ""
    assert (folder / "counts.txt").read_text() == "     1  BAT001  error   batch-mismatch  ds.json:1\n"
