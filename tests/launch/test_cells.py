"""Launch lines in the cells of notebooks."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.launch.reader import Reader
from cfglint.source.project_files import ROOT, Project

TRAIN = """
from transformers import HfArgumentParser, Trainer, TrainingArguments
[args] = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model=None, args=args).train()
"""


def notebook(*cells, joined=False):
    """A notebook of code cells, whose lines are strings of their own, or one string."""
    sources = [cell if joined else cell.splitlines(keepends=True) for cell in cells]
    return json.dumps({"cells": [{"cell_type": "code", "source": each} for each in sources], "nbformat": 4}, indent=1)


def lines(*cells, joined=False):
    text = notebook(*cells, joined=joined)
    files = {"train.py": TRAIN, "sub/train.py": TRAIN}
    found = Reader(Project("", lambda path: path in files, files.get)).lines("a.ipynb", text)
    written = [text.splitlines()[line.call.line - 1].strip() for line in found]
    return [(line.processes, line.folder, [word.string for word in line.arguments]) for line in found], written


def test_a_line_of_ipython_has_a_shell_of_its_own():
    """`%cd` and `%env` count for the lines after them, `!cd` does not."""
    found, _ = lines("!cd other\n%cd sub\n%env N=2\nx = 1", '!torchrun --nproc_per_node $N train.py \\\n  --output_dir "a b"\n')
    assert found == [(2, f"{ROOT}/sub", ["--output_dir", "a b"])]


def test_a_cell_of_the_shell_is_a_script():
    assert lines("%%bash\nN=4\ntorchrun --nproc_per_node $N train.py --output_dir o")[0] == [(4, ROOT, ["--output_dir", "o"])]


def test_a_variable_of_python_is_unknown():
    [(processes, _, words)], _ = lines("!torchrun --nproc_per_node {gpus} train.py --output_dir $out")
    assert (processes, words) == (None, ["--output_dir", "<?>"])


@pytest.mark.parametrize("joined", [False, True])
def test_lines_are_those_of_the_file(joined):
    _, written = lines("import os\n", "x = 1\n\n!torchrun train.py --output_dir o", joined=joined)
    assert len(written) == 1
    assert "!torchrun" in written[0]


def test_other_cells_start_nothing():
    assert lines("%%writefile run.sh\ntorchrun train.py --output_dir o", "print('!torchrun train.py')")[0] == []


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "a.ipynb").write_text(
        notebook('!torchrun --nproc_per_node 2 train.py --output_dir "o" \\\n  --per_device_train_batch_size 4')
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_run_of_a_cell_is_checked_in_its_folder_and_by_its_program(project, capsys):
    for path in (".", "a.ipynb", "train.py"):
        main(["check", path, "--format", "json"])
        runs = json.loads(capsys.readouterr().out)["runs"]
        assert [run["resolved"]["global_batch"] for run in runs if "launch" in run] == [8]


def test_a_target_is_reached_by_an_edit_of_the_cell(project):
    assert main(["fix", "a.ipynb", "--global-batch", "64"]) == 0
    [cell] = json.loads((project / "a.ipynb").read_text())["cells"]
    assert cell["source"][1] == "  --per_device_train_batch_size 4 --gradient_accumulation_steps 8"
