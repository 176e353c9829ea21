"""`--output` several times: each file has its report, in the format of the option before it or of its suffix."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

TRAINER = "output_dir: o\nper_device_train_batch_size: 4\n"
LOG = "RuntimeError: CUDA error: device-side assert triggered\n"
COMMANDS = (
    ("plan", ("plan", "t.yaml", "--gpus", "16", "--from-gpus", "8")),
    ("explain", ("explain", "t.yaml", "--gpus", "8")),
    ("log", ("log", "e.txt")),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(TRAINER)
    (tmp_path / "e.txt").write_text(LOG)
    return tmp_path


@each_case(("name", "words"), COMMANDS)
def test_every_file_is_written(folder, capsys, name, words):
    one, two = folder / f"{name}.json", folder / f"{name}.html"
    assert main([*words, "--output", one.name, "--output", two.name]) in (0, 1)
    assert "cfglint" in json.loads(one.read_text())
    assert two.read_text().startswith("<!doctype html>")
    assert capsys.readouterr().out == ""


@each_case(("name", "words"), COMMANDS)
def test_a_format_without_a_file_goes_to_standard_output(folder, capsys, name, words):
    assert main([*words, "--format", "text", "--format", "json", "--output", f"{name}.x"]) in (0, 1)
    assert "cfglint" in json.loads((folder / f"{name}.x").read_text())
    assert not capsys.readouterr().out.startswith("{")
    assert main([*words, "--format", "text", "--format", "json"]) == 2
    assert "would both go to standard output" in capsys.readouterr().err


def test_a_plan_has_a_table_and_a_suffix_of_no_format_is_text(folder, capsys):
    words = COMMANDS[0][1]
    assert main([*words, "--output", "p.csv", "--output", "p.md", "--output", "p.txt"]) == 0
    assert (folder / "p.csv").read_text().startswith("GPUs,")
    assert (folder / "p.md").read_text().startswith("|")
    assert main(["explain", "t.yaml", "--output", "e.csv"]) == 0
    assert "t.yaml" in (folder / "e.csv").read_text()


def test_a_log_that_is_not_there(folder, capsys):
    assert main(["log", "nothere.log"]) == 2
    assert capsys.readouterr().err == "cfglint: nothere.log: no such file\n"
