"""`--set`, `--args`, and `${...}`: what the launch line says wins over the files."""

import json

import pytest

from cfglint.cli import main

TRAINER = "output_dir: out\nlearning_rate: 1e-5\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\n"


INTERPOLATED = TRAINER.replace("1e-5", "1.0e-5").replace("size: 4", "size: ${eval_steps}\neval_steps: 16")


@pytest.fixture
def resolved(tmp_path, capsys, monkeypatch):
    def check(name, text, *arguments):
        monkeypatch.chdir(tmp_path)
        (tmp_path / name).write_text(text)
        status = main(["check", name, "--format", "json", *arguments])
        report = json.loads(capsys.readouterr().out)
        return status, report["runs"][0]["resolved"], report["diagnostics"]

    return check


def test_set_wins_over_the_file(resolved):
    status, numbers, _ = resolved("t.yaml", TRAINER, "--kind", "huggingface", "--gpus", "8", "--set", "per_device_train_batch_size=2")
    assert status == 1  # the learning rate is still text
    assert (numbers["micro_batch"], numbers["global_batch"]) == (2, 128)


def test_set_reads_numbers_as_omegaconf_does(resolved):
    status, _, found = resolved("t.yaml", TRAINER, "--kind", "huggingface", "--gpus", "8", "--set", "learning_rate=1e-5")
    assert status == 0
    assert [each for each in found if each["severity"] == "error"] == []


def test_arguments_of_a_launch_line_are_cast_by_their_field(resolved):
    line = "train.py --per_device_train_batch_size 2 --gradient-accumulation-steps=4 --bf16 --learning_rate 1e-5"
    status, numbers, _ = resolved("t.yaml", TRAINER, "--kind", "huggingface", "--gpus", "8", "--args", line)
    assert status == 0
    assert (numbers["micro_batch"], numbers["accumulation"], numbers["global_batch"]) == (2, 4, 64)


def test_set_reaches_into_sections(resolved):
    text = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}'
    status, _, found = resolved("ds.json", text, "--kind", "deepspeed", "--gpus", "8", "--set", "zero_optimization.stage=5")
    assert status == 1
    assert any(each["key"] == "/zero_optimization/stage" for each in found)


def test_neox_takes_overrides_under_either_spelling(resolved):
    text = "{train_micro_batch_size_per_gpu: 4, num_layers: 2, hidden_size: 8, num_attention_heads: 2, max_position_embeddings: 8}\n"
    _, numbers, _ = resolved("n.yml", text, "--kind", "neox", "--gpus", "8", "--set", "gradient_accumulation_steps=3")
    assert numbers["global_batch"] == 96


def test_interpolation_is_followed_where_no_reader_is_declared(resolved):
    text = INTERPOLATED
    _, numbers, _ = resolved("t.yaml", text, "--gpus", "8")
    assert numbers["micro_batch"] == 16


def test_interpolation_stays_text_for_the_declared_parser(resolved):
    text = INTERPOLATED
    status, numbers, _ = resolved("t.yaml", text, "--gpus", "8", "--kind", "huggingface")
    assert status == 1
    assert numbers["micro_batch"] is None


@pytest.mark.parametrize("given", [["--set", "learning_rate"], ["--set", "=1"], ["--args", "--a 'b"]])
def test_an_override_that_makes_no_sense_is_told(tmp_path, monkeypatch, capsys, given):
    monkeypatch.chdir(tmp_path)
    assert main(["check", ".", *given]) == 2
    assert given[0] in capsys.readouterr().err
