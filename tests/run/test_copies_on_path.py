"""A copy of a package that a launch puts first on the path of its program is the source of its arguments."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

SWIFT = "swift sft --model a/b --dataset d.jsonl --own_argument 1\n"
COPY = {
    "third_party/ms-swift/swift/version.py": "__version__ = '4.1.0.dev0'\n",
    "third_party/ms-swift/swift/arguments/sft.py": "@dataclass\nclass SftArguments:\n    own_argument: int = 0\n",
}
PROGRAM = "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o', evaluation_strategy='no'))\n"
TRANSFORMERS = {"libs/transformers/src/transformers/__init__.py": '__version__ = "4.44.2"\n'}


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """[(code, severity)] and the releases of the only run of a project."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def report(files, path="."):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        main(["check", path, "--format", "json"])
        answer = json.loads(capsys.readouterr().out)
        return [(each["code"], each["severity"]) for each in answer["diagnostics"]], answer["runs"][0]["target"]

    return report


@each_case(
    ("line", "expected"),
    [
        ('export PYTHONPATH="$PWD/third_party/ms-swift:$PYTHONPATH"\n', []),
        ("PYTHONPATH=third_party/ms-swift ", []),
        ("pip install -e third_party/ms-swift\n", []),
        # Another one may be installed, and is before it on the path; but the copy tells which release the project is for.
        ("export PYTHONPATH=$PYTHONPATH:third_party/ms-swift\n", [("SWF001", "warning")]),
        ("", [("SWF001", "warning")]),
    ],
)
def test_the_path_of_a_line(found, line, expected):
    assert found({**COPY, "a.sh": line + SWIFT}, "a.sh")[0] == expected


@each_case(
    ("insert", "release"),
    [
        ("import sys\nsys.path.insert(0, 'libs/transformers/src')\n", "4.44.2"),
        ("import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'libs/transformers/src'))\n", "4.44.2"),
        ("import sys\nsys.path.insert(0, '/opt/transformers/src')\n", "5.24.0"),
        ("", "5.24.0"),
    ],
)
def test_the_path_that_a_program_sets(found, tmp_path, insert, release):
    files = {"other/requirements.txt": "transformers==5.24.0\n", "requirements.txt": "transformers==5.24.0\n"}
    assert found({**TRANSFORMERS, **files, "t.py": insert + PROGRAM}, "t.py")[1]["transformers"] == release


@each_case(
    ("name", "text"),
    [
        ("setup.sh", "pip install -e ./libs/transformers\n"),
        ("README.md", "`pip install -e libs/transformers[torch]`\n"),
        ("requirements.txt", "torch\n-e ./libs/transformers\n"),
    ],
)
def test_an_installed_copy(found, tmp_path, name, text):
    (tmp_path / name).unlink(missing_ok=True)
    assert found({**TRANSFORMERS, "t.py": PROGRAM, name: text}, "t.py") == ([], {"transformers": "4.44.2"})
    (tmp_path / name).unlink()


def test_the_copy_below_the_working_folder_of_a_module(found):
    files = {
        "Dockerfile": "RUN pip install git+https://github.com/volcengine/verl.git@v0.6.0\n",
        "verl/version/version": "0.5.0\n",
        "verl/trainer/main_ppo.py": "",
        "a.sh": "python -m verl.trainer.main_ppo data.train_batch_size=8\n",
    }
    assert found(files, "a.sh")[1] == {"verl": "0.5.0"}
