"""`--args`: the arguments of a launch line that is given by hand go to the program, and name files."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

DEEPSPEED = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": %s}\n'
ARGUMENTS = "--output_dir o --deepspeed ds.json --per_device_train_batch_size 4 --gradient_accumulation_steps 2"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    (tmp_path / ".git").mkdir()
    (tmp_path / "ds.json").write_text(DEEPSPEED % '"auto"')
    (tmp_path / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 2\nnum_train_epochs: 1\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        main(["check", *arguments, "--gpus", "8", "--format", "json"])
        [found] = json.loads(capsys.readouterr().out)["runs"]
        return found

    return run


@pytest.mark.parametrize("paths", [(), ("ds.json",), ("ds.json", "--run")])
def test_a_run_may_be_nothing_but_arguments(check, paths):
    run = check(*paths, "--args", ARGUMENTS)
    assert (run["kinds"], run["resolved"]["global_batch"]) == (["launch", "deepspeed"], 64)


def test_arguments_of_a_trainer_file_s_program_name_files_too(check):
    run = check("train.yaml", "--run", "--args", "--deepspeed ds.json --per_device_train_batch_size 4")
    assert (run["files"], run["resolved"]["global_batch"]) == (["train.yaml", "ds.json"], 32)


def test_arguments_never_reach_the_engine_s_file(check, tmp_path):
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4}\n')
    run = check("ds.json", "--args", "--deepspeed ds.json --train_micro_batch_size_per_gpu 16 --per_device_train_batch_size 4 --bf16 True")
    assert run["resolved"]["micro_batch"] == 4


def test_an_error_of_such_a_run_with_run(check, tmp_path):
    (tmp_path / "ds.json").write_text(DEEPSPEED % 512)
    assert check("--run", "--args", ARGUMENTS)["verdict"] == "reject"
    assert check("--args", ARGUMENTS)["verdict"] == "accept"  # whose parser it is is only likely


def test_explain_takes_arguments_alone(check, capsys):
    assert main(["explain", "--args", ARGUMENTS, "--gpus", "2"]) == 0
    assert "4 x 2 x 2" in capsys.readouterr().out
    assert main(["explain"]) == 2
    assert "PATH is missing" in capsys.readouterr().err


def test_fix_writes_nothing_for_arguments(check, tmp_path):
    before = sorted(each.name for each in tmp_path.iterdir())
    main(["fix", "--args", ARGUMENTS, "--gpus", "8", "--global-batch", "32"])
    assert sorted(each.name for each in tmp_path.iterdir()) == before
    assert (tmp_path / "ds.json").read_text() == DEEPSPEED % '"auto"'
