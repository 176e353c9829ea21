"""Releases outside the modelled range: the nearest one is asked, nothing is an error, and the verdict is not known."""

from __future__ import annotations

import json

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.deepspeed import FRAMEWORK, NEWEST
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery

TYPO = '{"train_batch_size": 256, "zero_optimization": {"stage": 2, "overlap_com": true}}\n'


@each_case(
    ("version", "verdict", "severity", "asked"),
    [
        ("0.8.3", None, "warning", FRAMEWORK.oldest),
        ("0.14.2", "reject", "error", "0.14.2"),
        (NEWEST, "reject", "error", NEWEST),
        (f"{NEWEST}.1", "reject", "error", f"{NEWEST}.1"),
        ("0.99.0", None, "warning", NEWEST),
    ],
)
def test_outside_of_the_range(tmp_path, version, verdict, severity, asked):
    path = tmp_path / "ds_config.json"
    path.write_text(TYPO, encoding="utf-8")
    run = Discovery(LaunchFacts(target={"deepspeed": version}, complete=True)).together([str(path)])[0]
    assert (run.verdict, run.target["deepspeed"]) == (verdict, asked)
    assert [each.severity for each in run.diagnostics if each.code == "KEY102"] == [severity]


def test_a_file_that_cannot_be_read_is_refused_by_every_release(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(TYPO[1:], encoding="utf-8")
    run = Discovery(LaunchFacts(target={"deepspeed": "0.8.3"}, complete=True), "deepspeed").together([str(path)])[0]
    assert (run.verdict, run.fails_at) == ("reject", "load")


def test_a_key_that_is_refused_while_loading_is_one_of_a_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.sh"
    path.write_text("python3 -m verl.trainer.main_ppo data.nope=1\n", encoding="utf-8")
    run = Discovery(LaunchFacts(target={"verl": "0.99.0"}, complete=True)).together([str(path)])[0]
    assert (run.verdict, [each.severity for each in run.diagnostics if each.code == "VRL002"]) == (None, ["warning"])


def test_only_the_framework_that_would_raise_counts(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(TYPO, encoding="utf-8")
    run = Discovery(LaunchFacts(target={"transformers": "4.20.0"}, complete=True)).together([str(path)])[0]
    assert (run.verdict, run.outside) == ("reject", {})


def test_the_summary_says_so_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("deepspeed==0.8.3\n", encoding="utf-8")
    for name in ("ds_a.json", "ds_b.json"):
        (tmp_path / name).write_text(TYPO, encoding="utf-8")
    assert main(["check", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert [run["verdict"] for run in json.loads(captured.out)["runs"]] == [None, None]
    assert captured.err.count("deepspeed 0.8.3 (requirements.txt) is not modelled, 0.9.0 is checked instead") == 1


def test_the_ranges_are_told(capsys):
    assert main(["--version", "-v"]) == 0
    assert f"deepspeed {FRAMEWORK.oldest} to {NEWEST}" in capsys.readouterr().out
