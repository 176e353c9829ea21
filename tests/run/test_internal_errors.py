"""A bug of ours, at whatever stage of a run, is a diagnostic of that run; the other runs are checked as ever."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import fix, main
from cfglint.frameworks.base import Config, Framework
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.project import suppression
from cfglint.review import compare, consequences
from cfglint.rules import engine
from cfglint.run import checked, discovery, documents, loaded
from cfglint.run.checked import CheckedRun
from cfglint.run.loaded import LoadedRun
from cfglint.source.file_source import FileSource

BAD = '{"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2}\n'
COMMENTED = '{"train_batch_size": 7, // cfglint: ignore[BAT999]\n "train_micro_batch_size_per_gpu": 2}\n'
GOOD = "output_dir: out\nper_device_train_batch_size: 4\nnum_train_epochs: 1\n"

STAGES = {
    "load": (FileSource, "document"),
    "detect": (documents, "detect"),
    "references": (documents.References, "followed"),
    "facts": (discovery.Discovery, "_facts"),
    "launcher": (loaded, "launched"),
    "config": (Framework, "config"),
    "values": (DeepSpeedConfig, "read"),
    "batch": (Config, "batch"),
    "numbers": (Config, "numbers"),
    "fork": (Config, "is_for_fork"),
    "target": (LoadedRun, "target"),
    "judging": (engine, "to_diagnostic"),
    "place": (engine, "place_of"),
    "comments": (suppression, "suppress"),
    "order": (checked, "inspect"),
    "stage of failure": (CheckedRun, "fails_at"),
    "verdict": (CheckedRun, "verdict"),
    "fatal problems": (Config, "fatal_problems"),
}


class Bug(Exception):
    """What cfglint raises nowhere."""


def break_down(monkeypatch, owner, name, within=None):
    """Make a function raise for `bad.json`, and for every other file do what it does; `within` is an attribute of its first argument."""
    original = owner.__dict__[name]
    fine = original.fget if isinstance(original, property) else original

    def broken(*arguments, **keywords):
        about = [getattr(arguments[0], within)] if within else arguments
        if any("bad.json" in described(each) for each in about):
            raise Bug("injected")
        return fine(*arguments, **keywords)

    monkeypatch.setattr(owner, name, property(broken) if isinstance(original, property) else broken)


def described(argument):
    """The files that an argument is about."""
    documents = argument if isinstance(argument, list) else getattr(argument, "documents", [argument])
    paths = [getattr(getattr(each, "place", each), "path", getattr(getattr(each, "place", each), "file", each)) for each in documents]
    return " ".join(str(each) for each in paths)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "bad.json").write_text(BAD, encoding="utf-8")
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked_as_json(capsys, *arguments):
    status = main(["check", "--format", "json", *arguments])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("stage", STAGES)
def test_a_bug_is_reported_and_the_other_file_checked(stage, folder, monkeypatch, capsys):
    if stage == "comments":
        (folder / "bad.json").write_text(COMMENTED, encoding="utf-8")
    break_down(monkeypatch, *STAGES[stage])
    status, report = checked_as_json(capsys, "--gpus", "2", "bad.json", "good.yaml")
    runs = {run["files"][0]: run for run in report["runs"]}
    bugs = [each for each in report["diagnostics"] if each["code"] == "INT000"]
    assert status == 2
    assert runs["good.yaml"]["resolved"]["global_batch"] == 8
    assert runs["good.yaml"]["verdict"] == "accept"
    assert {each["file"] for each in bugs} == {"bad.json"}
    assert all("Bug: injected" in each["message"] for each in bugs)
    assert runs["bad.json"]["verdict"] in (None, "reject")


def test_a_bug_while_the_rules_are_loaded_is_reported(folder, monkeypatch, capsys):
    monkeypatch.setattr(engine, "rules_of", lambda *_: 1 // 0)
    status, report = checked_as_json(capsys, "bad.json")
    assert status == 2
    assert [each["message"] for each in report["diagnostics"]] == [
        "internal error in the rules: ZeroDivisionError: integer division or modulo by zero"
    ]


@pytest.mark.parametrize(
    ("command", "stage"),
    [
        *((command, stage) for command in ("explain", "fix", "plan", "runs") for stage in ("config", "values", "batch")),
        *((command, "numbers") for command in ("explain", "plan", "runs")),
    ],
)
def test_a_command_on_a_run_with_a_bug_reports_it(command, stage, folder, monkeypatch, capsys):
    """Never a reason that is not true, such as that the batch of the files cannot be computed."""
    break_down(monkeypatch, *STAGES[stage])
    flags = {"plan": ["--gpus", "2", "--global-batch", "8", "--max-micro-batch", "2"]}.get(command, ["--gpus", "2"])
    status = main([command, *flags, "bad.json"])
    printed = capsys.readouterr()
    assert status == 2
    assert "cfglint: bad.json: internal error in " in printed.err
    assert "Bug: injected; this is a bug in cfglint; please report it with this file" in printed.err
    assert "Traceback" not in printed.out + printed.err
    assert "check` reports why" not in printed.err
    assert (folder / "bad.json").read_text(encoding="utf-8") == BAD


def test_a_bug_in_one_run_keeps_no_other_from_being_fixed(folder, monkeypatch, capsys):
    (folder / "good.yaml").write_text(GOOD + "learning_rate: 2e-5\n", encoding="utf-8")
    break_down(monkeypatch, fix, "apply_to", within="run")
    assert main(["fix", "bad.json", "good.yaml", "--kind", "huggingface"]) == 2
    printed = capsys.readouterr().err
    assert "bad.json: internal error: Bug: injected (" in printed
    assert (folder / "good.yaml").read_text(encoding="utf-8") == GOOD + "learning_rate: 2.0e-5\n"


@pytest.mark.parametrize("stage", ["setting_changes", "consequences"])
def test_a_bug_in_one_comparison_keeps_the_others(stage, folder, monkeypatch, capsys):
    for side, batch in (("old", "4"), ("new", "8")):
        (folder / side).mkdir()
        (folder / side / "bad.json").write_text(BAD, encoding="utf-8")
        (folder / side / "good.yaml").write_text(GOOD.replace("4", batch), encoding="utf-8")
    owner, name = (consequences, "consequences_of") if stage == "consequences" else (compare, stage)
    break_down(monkeypatch, owner, name, within="run")
    assert main(["diff", "old", "new", "--gpus", "2", "--format", "json"]) == 2
    changes = {change["files"][0]: change for change in json.loads(capsys.readouterr().out)["changes"]}
    assert [each["code"] for each in changes["new/bad.json"]["new"]] == ["INT000"]
    assert changes["new/good.yaml"]["consequences"][0]["what"] == "global_batch"


def test_a_bug_while_findings_are_sent_is_shown_to_the_user(monkeypatch):
    """Without the editor's callback ending in a traceback that nobody reads."""
    pytest.importorskip("pygls")
    from cfglint.server import language_server

    server = language_server.created(lambda project, folder: LaunchFacts())
    shown = []
    monkeypatch.setattr(server, "publish", lambda: 1 // 0)
    monkeypatch.setattr(server, "report", shown.extend)
    server.check()
    assert [text.partition(". ")[0] for text in shown] == ["internal error: ZeroDivisionError: integer division or modulo by zero"]


def test_the_outcome_of_a_run_never_raises(monkeypatch, folder):
    for owner, name in STAGES.values():
        with monkeypatch.context() as patch:
            run = CheckedRun([FileSource().document("bad.json", "json")], ["deepspeed"], LaunchFacts(gpus=2))
            if owner not in (documents, FileSource, discovery.Discovery, documents.References):
                break_down(patch, owner, name)
            assert run.outcome().kinds == ["deepspeed"]
