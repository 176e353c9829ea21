"""Task files of SkyPilot: their commands, the GPUs and the card that they request, and `fix` in them."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

TASK = """resources:
  accelerators: A100-80GB:4
num_nodes: 2
envs:
  MICRO: 4
run: |
  NODES=`echo "$SKYPILOT_NODE_IPS" | wc -l`
  torchrun --nnodes=$NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE \\
    train.py --output_dir out --per_device_train_batch_size $MICRO --num_train_epochs 3 --bf16 True
setup: |
  pip install transformers==4.57.1
"""


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A function that writes a task with some text replaced, and returns the run that `check` reports."""
    monkeypatch.chdir(tmp_path)

    def run_of(capsys, old="", new=""):
        (tmp_path / "task.yaml").write_text(TASK.replace(old, new), encoding="utf-8")
        main(["check", "task.yaml", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found["runs"], found["diagnostics"]

    return run_of


def test_the_resources_are_the_size_of_the_launch(task, capsys):
    [run], _ = task(capsys)
    assert (run["gpus"], run["nodes"], run["resolved"]["global_batch"], run["target"]["transformers"]) == (8, 2, 32, "4.57.1")
    assert run["launch"]["line"] == 8


@pytest.mark.parametrize(
    ("accelerators", "gpus"),
    [
        ("accelerators: A100", 2),
        ("accelerators: {A100: 2}", 4),
        ("accelerators: [A100:8, H100:8]", 16),
        ("accelerators: [A100:8, H100:4]", None),
        ("accelerators: null", None),
    ],
)
def test_forms_of_accelerators(task, capsys, accelerators, gpus):
    [run], _ = task(capsys, "accelerators: A100-80GB:4", accelerators)
    assert run["gpus"] == gpus


@pytest.mark.parametrize("requested", ["accelerators: V100:4", "accelerators: {V100: 4}", "instance_type: p3.8xlarge"])
def test_the_card_is_that_of_the_request(task, capsys, requested):
    _, found = task(capsys, "accelerators: A100-80GB:4", requested + "\n  cpus: 8")
    assert [each["code"] for each in found if each["code"].startswith("GPU")] == ["GPU202"]


def test_a_variable_that_the_user_has_to_pass_is_unknown(task, capsys):
    [run], _ = task(capsys, "MICRO: 4", "MICRO: null")
    assert (run["resolved"]["micro_batch"], run["resolved"]["data_parallel"]) == (None, 8)


def test_fix_edits_the_request_and_the_variables(task, capsys, tmp_path):
    task(capsys)
    assert main(["fix", "task.yaml", "--gpus", "16", "--nodes", "2", "--global-batch", "64"]) == 0
    assert (tmp_path / "task.yaml").read_text(encoding="utf-8") == TASK.replace("A100-80GB:4", "A100-80GB:8")
    assert main(["fix", "task.yaml", "--global-batch", "32"]) == 0
    assert "  MICRO: 2\n" in (tmp_path / "task.yaml").read_text(encoding="utf-8")


def test_a_workflow_with_run_is_no_task(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ci.yaml").write_text("jobs:\n  test:\n    steps:\n    - run: |\n        torchrun train.py\n", encoding="utf-8")
    assert main(["check", "."]) == 0
    assert "no training configs found" in capsys.readouterr().err
