"""Limits of cfglint's own: no verdict on the framework, exit status 2, and every other file is checked."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

BEYOND = {
    "deep.json": '{"train_micro_batch_size_per_gpu": 4, "x": ' + "[" * 300 + "]" * 300 + "}",
    "digits.json": '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": ' + "9" * 600 + "}",
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_file_beyond_a_limit_has_no_verdict(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(BEYOND[name])
    (tmp_path / "other.json").write_text('{"train_micro_batch_size_per_gpu": 0}')
    assert main(["check", "--run", "--kind", "deepspeed", "--format", "json", name]) == 2
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert (run["verdict"], run["fails_at"], run["resolved"]["micro_batch"]) == (None, None, None)
    assert main(["check", "--kind", "deepspeed", "--format", "concise", name, "other.json"]) == 2
    out, err = capsys.readouterr()
    assert f"{name}:1:" in out
    assert " SRC004 " in out
    assert "other.json:1:" in out
    assert f"exceeding the limits of cfglint, not checked: {name}" in err


def test_more_digits_than_python_reads_are_an_error_of_the_framework(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text('{"gradient_accumulation_steps": ' + "9" * 5000 + "}")
    assert main(["check", "--kind", "deepspeed", "a.json"]) == 1
    assert "Exceeds the limit (4300" in capsys.readouterr().out


def test_explain_says_that_nothing_is_known(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.json").write_text(BEYOND["deep.json"])
    assert main(["explain", "--kind", "deepspeed", "deep.json"]) == 2
    assert "Whether it would start is not known: deep.json exceeds a limit of cfglint" in capsys.readouterr().out
