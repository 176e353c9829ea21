"""Commands that a project installs."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

TRAINED = """import argparse
from transformers import Trainer, TrainingArguments

def main():
    p = argparse.ArgumentParser()
    p.add_argument("--batch", type=int, default=2)
    args = p.parse_args()
    Trainer(args=TrainingArguments("o", per_device_train_batch_size=args.batch, max_steps=9)).train()
"""
GUARD = '\nif __name__ == "__main__":\n    raise SystemExit\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\nname = "own"\n[project.scripts]\nother = "own.x:y"\nown-train = "own.train:main"\n'),
        ("pyproject.toml", "[tool.poetry.scripts]\n\"own-train\" = 'own.train:main'\n[tool.other]\n"),
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    own-train = own.train:main\n[other]\n"),
        ("setup.py", "setup(entry_points={'console_scripts': ['other = own.x:y', 'own-train = own.train:main']})\n"),
    ],
)
def test_a_command_runs_its_function_of_the_module(name, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("")
    (tmp_path / "own" / "train.py").write_text(TRAINED + GUARD)
    (tmp_path / "run.sh").write_text("CUDA_VISIBLE_DEVICES=0 own-train --batch 4\nown-other --batch 8\n")
    (tmp_path / name).write_text(text)
    main(["check", "run.sh", "--format", "json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["launch"]["program"], run["resolved"]["global_batch"], run["verdict"]) == ("own.train", 4, "accept")


def test_a_command_may_run_a_function_of_a_package(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "trainer").mkdir(parents=True)
    (tmp_path / "src" / "trainer" / "__init__.py").write_text(TRAINED)
    (tmp_path / "pyproject.toml").write_text('[project.scripts]\nown-train = "trainer:main"\n')
    (tmp_path / "run.sh").write_text("CUDA_VISIBLE_DEVICES=0 own-train --batch 4\n")
    main(["check", "run.sh", "--format", "json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["resolved"]["global_batch"], run["verdict"]) == (4, "accept")
