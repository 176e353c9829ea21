"""`fix` and `plan` with a target for verl: prompts per step, GPUs of all nodes, and what the checks require of the other sizes."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.frameworks.verl import target

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
LINE = f"""\
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_batch_size=1024 \\
    {ACTOR}.ppo_mini_batch_size=256 {ACTOR}.ppo_micro_batch_size_per_gpu=16 \\
    {ROLLOUT}.n=5 {ROLLOUT}.name=vllm {ROLLOUT}.log_prob_micro_batch_size_per_gpu=16 \\
    trainer.n_gpus_per_node=8 \\
    trainer.nnodes=1
"""
OWN = """\
defaults: [ppo_trainer, _self_]
hydra: {searchpath: ["pkg://verl.trainer.config"]}
data:
  train_batch_size: 1024  # prompts
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fixed(folder, script, *target, name="run.sh"):
    """(exit status, the script after `fix`)."""
    (folder / name).write_text(script)
    return main(["fix", name, *target]), (folder / name).read_text()


def changed(*pairs):
    """The line with some words replaced."""
    text = LINE
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return text


NO_NODES = LINE.replace(" \\\n    trainer.nnodes=1", "")


@each_case(
    ("before", "target", "after"),
    [
        (LINE, "--global-batch 512", changed(("batch_size=1024", "batch_size=512"))),
        (LINE, "--gpus 16", changed(("nnodes=1", "nnodes=2"))),
        (LINE, "--gpus 4", changed(("per_node=8", "per_node=4"))),
        (LINE, "--gpus 16 --nodes 4", changed(("per_node=8", "per_node=4"), ("nnodes=1", "nnodes=4"))),
        (
            LINE,
            "--global-batch 128",
            changed(("train_batch_size=1024", "train_batch_size=128"), ("mini_batch_size=256", "mini_batch_size=128")),
        ),
        (
            LINE,
            "--gpus 32",
            changed(("nnodes=1", "nnodes=4"), ("actor.ppo_micro_batch_size_per_gpu=16", "actor.ppo_micro_batch_size_per_gpu=10")),
        ),
        (NO_NODES, "--gpus 16", f"{NO_NODES.rstrip()} \\\n    trainer.nnodes=2\n"),
        (f"{NO_NODES.rstrip()} $@\n", "--gpus 16", f"{NO_NODES.rstrip()} \\\n    trainer.nnodes=2 $@\n"),
        (f"B=1024\n{changed(('size=1024', 'size=$B'))}", "--global-batch 512", f"B=512\n{changed(('size=1024', 'size=$B'))}"),
        (
            f"export CUDA_VISIBLE_DEVICES=0,1\n{changed(('node=8', 'node=2'))}",
            "--gpus 4",
            f"export CUDA_VISIBLE_DEVICES=0,1,2,3\n{changed(('node=8', 'node=4'))}",
        ),
    ],
)
def test_the_sizes_change_together(project, before, target, after):
    assert fixed(project, before, *target.split(), "--target", "verl==0.9.1") == (0, after)
    assert fixed(project, after, *target.split(), "--target", "verl==0.9.1") == (0, after), "a second call"


def test_a_value_in_a_config_file_of_the_project_is_changed_there(project):
    (project / "own.yaml").write_text(OWN)
    line = changed((" data.train_batch_size=1024", " --config-path=$PWD --config-name=own"))
    assert fixed(project, line, "--global-batch", "512", "--target", "verl==0.9.1") == (0, line)
    assert (project / "own.yaml").read_text() == OWN.replace("1024", "512")


@each_case(
    ("script", "target", "reason"),
    [
        (LINE, "--global-batch 500", "nearest that can: 496 and 504"),
        (changed(("n=5", "n=$N")), "--global-batch 512", "`actor_rollout_ref.rollout.n` is unknown"),
        (changed(("size=1024", "size=$((2 * 512))")), "--global-batch 512", "is computed by the script and not edited"),
        (
            f"N=1\nexport CUDA_VISIBLE_DEVICES=0,$N\n{changed(('node=8', 'node=2'))}",
            "--gpus 4",
            "run.sh:3: `CUDA_VISIBLE_DEVICES` is 0,1: set it to 0,1,2,3 by hand",
        ),
    ],
)
def test_a_target_out_of_reach_changes_nothing(project, capsys, script, target, reason):
    status, after = fixed(project, script, *target.split(), "--target", "verl==0.9.1")
    assert (bool(status), after) == (True, script)
    printed = capsys.readouterr()
    assert reason in printed.out + printed.err


def test_no_other_batch_is_tried_where_the_run_fails_for_another_reason(project, capsys, monkeypatch):
    tried = []
    accepted = target.accepted
    monkeypatch.setattr(target, "accepted", lambda config, size, batch, most: tried.append(batch) or accepted(config, size, batch, most))
    script = changed(("log_prob_micro_batch_size_per_gpu", "log_prob_micro_batch_size"))
    assert fixed(project, script, "--global-batch", "512", "--target", "verl==0.9.1")[1] == script
    assert "is not read from verl 0.8.0 on" in "".join(capsys.readouterr())
    assert set(tried) == {512}


def test_plans_of_several_gpu_counts(project, capsys):
    (project / "run.sh").write_text(LINE)
    assert main(["plan", "run.sh", "--gpus", "8,16", "--global-batch", "512", "--format", "json", "--target", "verl==0.9.1"]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert [(each["chosen"]["micro_batch"], each["chosen"]["accumulation"], each["chosen"]["data_parallel"]) for each in plans] == [
        (16, 10, 8),
        (16, 5, 16),
    ]
    assert {each["chosen"]["global_batch"] for each in plans} == {512}


@each_case(
    ("gpus", "batch", "counts"),
    [
        ("7", "256", "works on 4, 8 GPUs"),  # an even part of a node, and a whole one
        ("24", "100", "works on 4 GPUs"),
        ("6", "500", "nearest 498 and 504; works on 4 GPUs"),
    ],
)
def test_the_gpu_counts_that_would_do_are_told(project, capsys, gpus, batch, counts):
    (project / "run.sh").write_text(LINE)
    main(["plan", "run.sh", "--gpus", gpus, "--global-batch", batch, "--target", "verl==0.9.1"])
    printed = capsys.readouterr()
    assert counts in printed.out + printed.err
