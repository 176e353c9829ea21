"""Notes about launch lines that set another number of GPUs than the command line."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

TRAINER = "output_dir: out\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 8\nnum_train_epochs: 2\n"
PROGRAM = "from trl import SFTConfig, TrlParser\n(config,) = TrlParser((SFTConfig,)).parse_args_and_config()\n"
LOG = """\
***** Running training *****
  Num examples = 10,000
  Num Epochs = 2
  Instantaneous batch size per device = 4
  Total train batch size (w. parallel, distributed & accumulation) = 256
  Gradient Accumulation steps = 8
  Total optimization steps = 80
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "sft.yaml").write_text(TRAINER, encoding="utf-8")
    (tmp_path / "sft.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "train.log").write_text(LOG, encoding="utf-8")
    return tmp_path


def launched(project, launcher="accelerate launch --num_processes 8", name="train.sh"):
    (project / name).write_text(f"{launcher} sft.py --config sft.yaml\n", encoding="utf-8")


def said(capsys, *arguments):
    """What a command writes to standard error."""
    main([*arguments])
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "gpus"),
    [
        (("check", "train.sh"), 16),
        (("check", "sft.yaml"), 16),
        (("log", "train.log", "train.sh"), 4),
        (("log", "train.log", "sft.yaml"), 4),
    ],
)
def test_gpus_that_a_launch_line_does_not_use(project, capsys, command, gpus):
    launched(project)
    note = f"`--gpus {gpus}` is not used: train.sh:1 starts on 8 GPUs; for another number: cfglint plan train.sh:1 --gpus {gpus}\n"
    assert note in said(capsys, *command, "--gpus", str(gpus))
    assert "not used" not in said(capsys, *command, "--gpus", "8")
    assert "not used" not in said(capsys, *command)


@pytest.mark.parametrize("launcher", ["torchrun --nproc_per_node gpu", "torchrun --nproc_per_node gpu --nnodes 2", "python", "deepspeed"])
def test_a_launch_line_that_takes_all_gpus_uses_the_number(project, capsys, launcher):
    launched(project, launcher)
    assert "not used" not in said(capsys, "check", "train.sh", "--gpus", "4")


def test_several_lines_that_do_not_use_the_number_are_one_note(project, capsys):
    launched(project)
    launched(project, "torchrun --nproc_per_node 2", "short.sh")
    note = "2 launch lines start on other numbers of GPUs (short.sh:1: 2, train.sh:1: 8)"
    assert said(capsys, "check", "--gpus", "16").count(note) == 1


@pytest.mark.parametrize("path", ["train.sh", "sft.yaml", "."])
def test_more_processes_than_gpus_are_a_finding(project, capsys, path):
    launched(project)
    assert main(["check", path, "--gpus", "4", "--format", "json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert [(each["code"], each["severity"], each["message"]) for each in found["diagnostics"]] == [
        ("LCH025", "warning", "8 processes start, but --gpus is 4")
    ]
    assert [each["verdict"] for each in found["runs"]] == [None]
    assert "not used" not in captured.err
    assert main(["explain", path, "--gpus", "4"]) == 0
    assert capsys.readouterr().out.startswith("No errors found, but 8 processes start on 4 GPUs")


def test_the_nodes_of_a_launch_with_too_many_processes_are_named(project, capsys):
    launched(project, "torchrun --nnodes 2 --nproc_per_node 8")
    main(["check", "train.sh", "--gpus", "4"])
    assert "16 processes start (2 nodes of 8), but --gpus is 4" in capsys.readouterr().out


def test_each_node_of_a_launch_may_have_the_gpus_that_are_offered(project, capsys):
    launched(project, "torchrun --nnodes 2 --nproc_per_node 8")
    assert main(["check", "train.sh", "--gpus", "8"]) == 0
    captured = capsys.readouterr()
    assert "LCH025" not in captured.out
    assert "`--gpus 8` is not used: train.sh:1 starts on 16 GPUs" in captured.err


@pytest.mark.parametrize("path", ["train.sh", "sft.yaml", "sft.py", "."])
def test_the_run_on_the_gpus_that_its_line_does_not_use_is_explained_as_well(project, capsys, path):
    launched(project)
    assert main(["explain", path, "--gpus", "4"]) == 0
    assert "train.sh:1); on 4: global batch 128" in capsys.readouterr().out
    main(["explain", path, "--gpus", "4", "--format", "json"])
    entry = json.loads(capsys.readouterr().out)
    assert (entry["gpus"], entry["what_if"]["gpus"], entry["what_if"]["resolved"]["global_batch"]) == (8, 4, 128)


def test_runs_that_differ_are_all_explained(project, capsys):
    for name, count in {"a.sh": 8, "b.sh": 4, "c.sh": 8}.items():
        launched(project, f"torchrun --nproc_per_node {count}", name)
    assert main(["explain", "sft.yaml"]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith(("a.sh:", "b.sh:", "c.sh:"))] == ["a.sh:1, c.sh:1", "b.sh:1"]
    assert main(["explain", "sft.yaml", "--format", "json"]) == 0
    assert [each["resolved"]["global_batch"] for each in json.loads(capsys.readouterr().out)["runs"]] == [256, 128, 256]
