"""The configs in examples/: the good ones are clean, each bad one gives the report that stands beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cfglint.cli import main

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
REPORTS = sorted((EXAMPLES / "bad").glob("*.txt"))
CONFIGS = (".json", ".yaml", ".yml", ".sh")
GPUS = "8"


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.stem)
def test_bad_example_gives_its_report(report, replay_here, updating, tmp_path):
    shutil.copytree(report.parent, tmp_path / "bad")
    now = replay_here(report.read_text(encoding="utf-8"), tmp_path / "bad")
    if updating:
        report.write_text(now, encoding="utf-8")
    assert now == report.read_text(encoding="utf-8")


def test_every_bad_example_has_a_report():
    names = {path.stem if path.is_file() else path.name for path in (EXAMPLES / "bad").iterdir() if path.suffix != ".txt"}
    assert names == {path.stem for path in REPORTS}


def test_every_report_finds_something():
    for report in REPORTS:
        text = report.read_text(encoding="utf-8")
        assert ": error " in text or ": warning " in text, report.name


def test_good_examples_are_clean(monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES)
    assert main(["check", "good", "--gpus", GPUS, "--fail-on", "info"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no findings" in printed.err
    files = sum(path.suffix in CONFIGS for path in (EXAMPLES / "good").rglob("*"))
    assert f"{files} files" in printed.err


def test_good_examples_are_whole_runs(monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES / "good")
    for path in ("deepspeed.json", "trainer.yaml", "trainer-zero3/train.yaml", "neox-125M.yml"):
        assert main(["check", path, "--run", "--gpus", GPUS, "--fail-on", "info"]) == 0, capsys.readouterr().out
