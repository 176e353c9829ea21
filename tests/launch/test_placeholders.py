"""Placeholders of scripts and pages: what is reported, and which arguments the command has."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

LINE = "torchrun --nproc_per_node 8 train.py --output_dir {} --per_device_train_batch_size 4 --max_steps 3"
LINE += " --save_strategy no --logging_strategy no"


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """Check a file: the codes with the places of their words, and the batch."""
    monkeypatch.chdir(tmp_path)

    def check(name, text):
        (tmp_path / name).write_text(text)
        main(["check", name, "--format", "json"])
        told = json.loads(capsys.readouterr().out)
        return [(each["code"], each["column"]) for each in told["diagnostics"]], told["runs"][0]["resolved"]["global_batch"]

    return check


@each_case(
    ("value", "codes"),
    [
        ("<OUTPUT_DIR>", [("LCH023", 51)]),
        ("<path/to/the model>", [("LCH023", 51)]),
        ('"<OUTPUT_DIR>"', []),
        ("out <in.txt", []),
        ("out <in.txt >out.txt", []),
        ("out < in.txt > out.txt", []),
        ("out <<<word", []),
    ],
)
def test_a_placeholder_of_a_script_is_reported_and_no_redirection(found, value, codes):
    assert found("run.sh", LINE.format(value) + "\n") == (codes, 32)


def test_a_here_document_is_none(found):
    assert found("run.sh", f"cat <<EOF> note.txt\n<NAME> \nEOF\n{LINE.format('out')}\n") == ([], 32)


def test_a_placeholder_of_a_page_is_not_reported(found):
    assert found("README.md", f"```sh\n{LINE.format('<OUTPUT_DIR>')}\n```\n") == ([], 32)


def test_what_a_page_calls_optional_is_left_out(found):
    line = LINE.format("out [--max_grad_norm 2 --seed 1]").replace("--max_steps", "[--bf16] --max_steps")
    assert found("README.md", f"```sh\n{line}\n```\n") == ([], 32)


@each_case("value", ["{path to save the model}", "[path to the model]", "{a folder, e.g., out/run}", "out/{name of the run}"])
def test_several_words_to_fill_in_are_one_word_of_a_page(found, value):
    assert found("README.md", f"```sh\n{LINE.format(value)}\n```\n") == ([], 32)


def test_in_a_script_they_are_left_over(found):
    assert found("run.sh", f"{LINE.format('{path to save}')}\n")[0] == []  # the program is not in the project


@each_case(("program", "starts"), [("<your folder>/lib/train.py", 1), ("<path/to/train.py>", 0), ("[train.py]", 0)])
def test_a_program_in_a_folder_to_fill_in_is_a_launch(tmp_path, monkeypatch, capsys, program, starts):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(f'torchrun --nproc_per_node 8 "{program}" --learning_rate 1e-5 --max_steps 3\n')
    main(["check", "run.sh", "--format", "json"])
    assert len(json.loads(capsys.readouterr().out)["runs"]) == starts


@each_case(("stated", "severity"), [("accelerate==0.10.0", "warning"), ("accelerate==0.34.2", "error")])
def test_options_of_a_launcher_that_is_not_modelled(tmp_path, monkeypatch, capsys, stated, severity):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(f"{stated}\n")
    (tmp_path / "run.sh").write_text("accelerate launch --num_machine 1 --num_processes 8 train.py --learning_rate 1e-5\n")
    main(["check", "run.sh", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [(each["code"], each["severity"]) for each in found] == [("LCH022", severity)]
