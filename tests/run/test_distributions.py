"""Distributions that replace a package under another name, and the keys that they add."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\nkt_config:\n  enabled: true\n"
TRAINER = "output_dir: o\nper_device_train_batch_size: 1\nkt_config: kt.json\n"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """(the codes of the findings of a project, the releases that are asked, the verdict)."""
    monkeypatch.chdir(tmp_path)

    def report(files, *options):
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        main(["check", ".", "--format", "json", *options])
        found = json.loads(capsys.readouterr().out)
        (run,) = found["runs"]
        return [each["code"] for each in found["diagnostics"]], run["target"], run["verdict"]

    return report


@each_case(
    ("name", "text", "release"),
    [
        ("requirements.txt", "accelerate-kt==1.14.0.post1\n", "1.14.0"),
        ("requirements.txt", "accelerate_kt==1.13.0\n", "1.13.0"),
        ("README.md", "`pip install accelerate-kt`\n", "1.15.0"),
        ("requirements/ktransformers.txt", "ktransformers[sft]==0.6.1\n", "1.15.0"),
    ],
)
def test_a_key_of_a_fork_is_known_where_the_fork_is_stated(checked, tmp_path, name, text, release):
    (tmp_path / name).unlink(missing_ok=True)
    assert checked({"acc/a.yaml": ACCELERATE, name: text})[:2] == ([], {"accelerate": release})
    assert checked({"acc/a.yaml": ACCELERATE, name: text}, "--target", "accelerate==1.14.0")[0] == []
    (tmp_path / name).unlink()


def test_a_key_of_a_fork_is_unknown_without_it(checked):
    assert checked({"a.yaml": ACCELERATE, "requirements.txt": "accelerate==1.14.0\n"})[0] == ["ACC002"]


def test_a_key_of_a_fork_is_known_where_the_program_imports_the_fork(checked):
    program = "import ktransformers\nfrom transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o')).train()\n"
    files = {"a.yaml": ACCELERATE, "run.sh": "accelerate launch --config_file a.yaml t.py\n", "t.py": program}
    assert "ACC002" not in checked(files)[0]
    assert "ACC002" in checked({**files, "t.py": program.partition("\n")[2]})[0]


def test_another_key_of_a_fork_that_is_stated_is_a_warning(checked):
    codes, _, verdict = checked({"a.yaml": f"{ACCELERATE}bogus: 1\n", "requirements.txt": "accelerate-kt==1.14.0.post1\n"})
    assert (codes, verdict) == (["ACC002"], None)


def test_the_key_in_a_trainer_config(checked):
    files = {"t.yaml": TRAINER, "requirements.txt": "transformers-kt==5.6.0\n"}
    options = ("--kind", "huggingface", "--strict-keys")
    assert checked(files, *options)[:2] == ([], {"transformers": "5.6.0"})
    assert checked({**files, "requirements.txt": "transformers==5.6.0\n"}, *options)[0] == ["KEY200"]
