"""The answers for language models: exactly what the commands print, short, and nothing is written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cfglint.server import tool_answers
from cfglint.server.tool_answers import NotAnswered, answer, flags, shortened

BAD = '{"train_batch_size": 1024, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}\n'


def test_named_values_are_options():
    assert flags(gpus=8, target=["trl==1.0.0"], unsafe_fixes=True, base=None, select="", num_examples=None) == [
        "--gpus=8",
        "--target=trl==1.0.0",
        "--unsafe-fixes",
    ]


def test_a_long_text_says_how_much_is_left_out():
    text = "\n".join(f"line {number}" for number in range(100))
    found = shortened(text, 100)
    assert found.startswith("line 0\nline 1\n")
    assert found.endswith("\n... 87 more lines: name fewer files, or choose rules with `select`")
    assert shortened("short", 100) == "short"
    assert len(shortened("x" * 1000, 100)) < 200


def test_a_long_summary_leaves_room_for_the_findings(monkeypatch):
    printed = SimpleNamespace(returncode=1, stdout="found\n" * 20_000, stderr="said\n" * 20_000)
    monkeypatch.setattr(tool_answers.subprocess, "run", lambda *words, **options: printed)
    lines = answer("check", ["."]).splitlines()
    assert 0.8 < lines.count("said") * len("said") / (lines.count("found") * len("found")) < 1.25


def test_a_check_and_a_fix_that_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text(BAD)
    found = answer("check", ["ds.json"], gpus=8)
    assert "error BAT001" in found
    assert found.endswith("cfglint: 1 file checked; 1 error; 1 fixable with `cfglint fix`")
    diff = answer("fix", ["ds.json"], diff=True, gpus=8, global_batch=1024)
    assert '+{"train_batch_size": 1024, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 32}' in diff
    assert (tmp_path / "ds.json").read_text() == BAD


def test_a_path_is_never_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotAnswered, match=r"no such file or folder: \./--output=x"):
        answer("check", ["--output=x"])


def test_the_reason_why_a_command_could_not_do_its_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotAnswered, match="expected a positive integer"):
        answer("check", ["."], gpus="none")


def test_no_module_of_the_project_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    (tmp_path / "ds.json").write_text(BAD)
    for name in ("re.py", "cfglint/__init__.py", "cfglint/__main__.py", "sitecustomize.py", "usercustomize.py", "yaml.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('open("ran", "w")\nprint("no findings")\n')
    assert "error BAT001" in answer("check", ["ds.json"], gpus=8)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", ["../ds.json", "{outside}/ds.json", "..", "link.json", "link", ".git/config", "sub/../../ds.json:1"])
def test_nothing_outside_the_folder_is_answered(tmp_path, monkeypatch, path):
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text(BAD)
    (tmp_path / "ds.json").write_text(BAD)
    (root / "link.json").symlink_to("../ds.json")
    (root / "link").symlink_to("..")
    monkeypatch.chdir(root)
    with pytest.raises(NotAnswered, match="in which this server runs"):
        answer("check", [path.format(outside=tmp_path)])
    assert "no training configs found" in answer("check", [str(root)])
