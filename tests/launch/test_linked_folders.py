"""A `..` behind a link leads to the folder of what it links to, for the system; `cd` of bash goes back to the folder of the link."""

from __future__ import annotations

import json
import subprocess

import pytest

from bash import bash
from cfglint.cli import main

PROGRAM = """\
from transformers import HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(args=args).train()
"""
CONFIG = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n'
SCRIPTS = {
    "link": "torchrun train.py --output_dir o --deepspeed cur/../ds.json",
    "folder": "torchrun train.py --output_dir o --deepspeed ./conf/a/../ds.json",
    "several": "torchrun train.py --output_dir o --deepspeed sub/../cur/../ds.json",
    "below": "cd sub; torchrun ../train.py --output_dir o --deepspeed link/../ds.json",
    "cd": "cd cur/..; torchrun train.py --output_dir o --deepspeed conf/ds.json",
    "test": "[ -f cur/../ds.json ] || exit 1; torchrun train.py --output_dir o --deepspeed conf/ds.json",
    "missing": "torchrun train.py --output_dir o --deepspeed cur/../conf/ds.json",
}
STUB = 'torchrun() { [ -e "$5" ] && echo there; }\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    for folder in (".git", "conf/a", "sub"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "conf/ds.json").write_text(CONFIG)
    (tmp_path / "cur").symlink_to("conf/a")
    (tmp_path / "sub/link").symlink_to("../conf/a")
    (tmp_path / "out").symlink_to("/")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_file_is_there_that_bash_finds(project, capsys, name):
    (project / "run.sh").write_text(f"{SCRIPTS[name]}\n")
    main(["check", "run.sh", "--format", "json"])
    missing = any(each["code"] == "LCH002" for each in json.loads(capsys.readouterr().out)["diagnostics"])
    assert missing == (name == "missing")


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_is_there_in_bash(project, name):
    done = subprocess.run([bash(), "-c", STUB + SCRIPTS[name]], cwd=project, capture_output=True, text=True, check=False)
    assert (done.stdout == "there\n") == (name != "missing")


def test_a_link_out_of_the_project_is_not_followed(project, capsys):
    (project / "run.sh").write_text("torchrun train.py --output_dir o --deepspeed out/../etc/ds.json\n")
    main(["check", "run.sh", "--format", "json"])
    assert {each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]} <= {"LCH021"}
