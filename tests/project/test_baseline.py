"""Accepted findings stay silent wherever their lines move; new ones do not."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.project.baseline import Baseline, read
from cfglint.project.settings_file import ConfigurationError

OLD = "output_dir: out\nseed: 1\nseed: 2\nper_device_train_batch_size: 010\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(OLD)
    return tmp_path


@pytest.fixture
def check(folder, capsys):
    """Run `cfglint check` on train.yaml with warnings as failures: (exit status, codes, standard error)."""

    def run(*arguments, paths=("train.yaml",)):
        status = main(["check", *paths, "--kind", "huggingface", "--fail-on", "warning", "--format", "json", *arguments])
        printed = capsys.readouterr()
        return status, [each["code"] for each in json.loads(printed.out)["diagnostics"]] if printed.out else [], printed.err

    return run


def test_accepted_findings_are_silent(check, folder):
    assert check()[:2] == (1, ["KEY001", "TYP001"])
    status, codes, told = check("--baseline", "base.json", "--write-baseline")
    assert (status, codes) == (0, [])
    assert "2 suppressed" in told
    assert check("--baseline", "base.json")[:2] == (0, [])


def test_moved_lines_do_not_matter(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    (folder / "train.yaml").write_text("# a header\n\n" + OLD.replace("seed: 2", "\n\nseed: 2"))
    assert check("--baseline", "base.json")[:2] == (0, [])


def test_a_new_finding_is_told(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    (folder / "train.yaml").write_text(OLD + "save_steps: 0100\n")
    assert check("--baseline", "base.json")[:2] == (1, ["TYP001"])


def test_one_more_of_the_same_is_new(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    (folder / "train.yaml").write_text(OLD.replace("seed: 2", "seed: 2\nseed: 3"))
    assert check("--baseline", "base.json")[:2] == (1, ["KEY001"])


def test_the_same_finding_in_another_file_is_new(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    (folder / "other.yaml").write_text("output_dir: out\nper_device_train_batch_size: 010\n")
    assert check("--baseline", "base.json", paths=("train.yaml", "other.yaml"))[:2] == (1, ["TYP001"])


def test_what_is_gone_is_said_for_the_checked_files(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    (folder / "train.yaml").write_text("output_dir: out\nper_device_train_batch_size: 010\n")
    assert "1 accepted finding no longer found" in check("--baseline", "base.json")[2]
    (folder / "other.yaml").write_text("output_dir: out\nper_device_train_batch_size: 10\n")
    assert "no longer found" not in check("--baseline", "base.json", paths=("other.yaml",))[2]


def test_from_another_folder_and_by_the_configuration(check, folder, monkeypatch):
    check("--baseline", "base.json", "--write-baseline")
    (folder / "cfglint.toml").write_text('baseline = "base.json"\n')
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert check(paths=("../train.yaml",))[:2] == (0, [])
    assert check(paths=(str(folder / "train.yaml"),))[:2] == (0, [])


def test_verdict_does_not_know_baselines(folder, capsys):
    (folder / "ds.json").write_text('{"train_batch_size": 100, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}')
    common = ["check", "ds.json", "--kind", "deepspeed", "--gpus", "8", "--format", "json", "--baseline", "base.json"]
    assert main([*common, "--write-baseline"]) == 0
    assert main(common) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert json.loads(last)["runs"][0]["verdict"] == "reject"


def test_silenced_findings_do_not_get_into_the_baseline(check, folder):
    check("--baseline", "base.json", "--write-baseline", "--ignore", "TYP")
    assert [each["code"] for each in json.loads((folder / "base.json").read_text())["findings"]] == ["KEY001"]


def test_the_file_is_the_same_for_the_same_findings(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    first = (folder / "base.json").read_bytes()
    (folder / "train.yaml").write_text("\n" + OLD)
    check("--baseline", "base.json", "--write-baseline")
    assert (folder / "base.json").read_bytes() == first
    assert read("base.json").accepted == read("base.json").accepted


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not valid JSON"),
        ("[]", "not a baseline of this version"),
        ('{"cfglint-baseline": 99, "findings": []}', "not a baseline of this version"),
        ('{"cfglint-baseline": 1, "findings": [{"code": "A"}]}', "is not a finding"),
        ('{"cfglint-baseline": 1, "findings": [{"code": "A", "file": "b", "key": "", "message": "", "count": 0}]}', "is not a finding"),
        ("\udcff", "not valid JSON"),
    ],
)
def test_a_broken_baseline_is_exit_2(check, folder, content, words):
    (folder / "base.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    status, codes, told = check("--baseline", "base.json")
    assert (status, codes) == (2, [])
    assert words in told


def test_a_missing_baseline_says_how_to_make_one(check, folder):
    status, _, told = check("--baseline", "none.json")
    assert status == 2
    assert "--write-baseline" in told


def test_write_baseline_needs_a_place(check, folder):
    status, _, told = check("--write-baseline")
    assert status == 2
    assert "--baseline FILE" in told
    status, _, told = check("--baseline", "no/such/folder/base.json", "--write-baseline")
    assert status == 2
    assert "no/such/folder" in told


def test_bugs_of_ours_are_never_accepted(folder):
    from cfglint.findings.diagnostic import Diagnostic, Outcome, Place

    bug = Diagnostic("INT000", "internal-error", "warning", Place("a.yaml", 1, 1, 1, 1, 0, 0, ""), "", "internal error")
    outcome = Outcome(["a.yaml"], ["huggingface"], {}, None, "accept", None, {}, [bug])
    baseline = Baseline.of("base.json", [outcome])
    baseline.apply([outcome])
    assert bug.suppressed is None


def test_several_runs_of_a_file_share_what_is_accepted(folder):
    from cfglint.findings.diagnostic import Diagnostic, Outcome, Place

    def outcome():
        found = Diagnostic("KEY001", "duplicate-key", "warning", Place("a.yaml", 1, 1, 1, 1, 0, 0, ""), "/seed", "again")
        return Outcome(["a.yaml"], ["huggingface"], {}, None, "accept", None, {}, [found])

    baseline = Baseline.of("base.json", [outcome(), outcome()])
    assert list(baseline.accepted.values()) == [1]
    runs = [outcome() for _ in range(3)]
    assert baseline.apply(runs) == 0
    assert [each.suppressed for run in runs for each in run.diagnostics] == ["baseline"] * 3


def test_read_refuses_with_the_reason(folder):
    with pytest.raises(ConfigurationError, match="does not exist"):
        read("none.json")


def test_a_message_that_another_release_words_differently_stays_accepted(check, folder):
    check("--baseline", "base.json", "--write-baseline")
    content = json.loads((folder / "base.json").read_text())
    for each in content["findings"]:
        each["message"] = f"in other words: {each['message']}"
    (folder / "base.json").write_text(json.dumps(content))
    assert check("--baseline", "base.json")[:2] == (1, ["KEY001", "TYP001"])  # this release words them as it does
    del content["cfglint"]
    (folder / "base.json").write_text(json.dumps(content))
    assert check("--baseline", "base.json")[:2] == (0, [])
    (folder / "train.yaml").write_text(OLD.replace("seed: 2", "seed: 2\nseed: 3"))
    assert check("--baseline", "base.json")[:2] == (1, ["KEY001"])  # one was accepted, not two
