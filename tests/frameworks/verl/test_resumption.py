"""A verl run that continues from a checkpoint."""

import json
import shutil

import pytest

from cases import each_case
from cfglint.cli import main

LINE = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm data.train_batch_size=1024 "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 "
    "trainer.n_gpus_per_node=8 trainer.project_name=p trainer.experiment_name=e trainer.total_epochs=2"
)


@pytest.fixture
def resumed(tmp_path, monkeypatch, capsys):
    """The entry about resuming, and the codes, of a line of 20 steps with the checkpoint of a step in its folder."""
    monkeypatch.chdir(tmp_path)

    def run(step, line="", processes=8):
        shutil.rmtree(tmp_path / "checkpoints", ignore_errors=True)
        saved = tmp_path / f"checkpoints/p/e/global_step_{step}/actor"
        saved.mkdir(parents=True)
        (saved / f"model_world_size_{processes}_rank_0.pt").touch()
        (tmp_path / "checkpoints/p/e/latest_checkpointed_iteration.txt").write_text(str(step))
        (tmp_path / "train.sh").write_text(f"{LINE} {line}\n")
        main(["check", "train.sh", "--num-examples", "10240", "--target", "verl==0.9.1", "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        codes = {each["code"] for each in found["diagnostics"]} & {"VRL033", "VRL034", "VRL049", "VRL050"}
        return found["runs"][0].get("resume"), codes

    return run


@each_case(
    ("step", "line", "end", "codes"),
    [
        (5, "", 20, {"VRL049"}),
        (20, "", 20, {"VRL049", "VRL050"}),  # behind the last epoch
        (15, "trainer.total_training_steps=12", 16, {"VRL049", "VRL050"}),  # inside of an epoch one more step is made
        (5, "trainer.total_training_steps=12", 12, {"VRL049"}),
        (5, "trainer.resume_mode=resume_path trainer.resume_from_path=checkpoints/p/e/global_step_5", 20, set()),
    ],
)
def test_where_it_ends(resumed, step, line, end, codes):
    entry, found = resumed(step, line)
    assert (entry["begin"], entry["end"], found) == (step, end, codes)


def test_other_processes(resumed):
    assert resumed(5, processes=16)[1] == {"VRL034", "VRL049"}


def test_it_is_not_looked_for(resumed):
    assert resumed(5, "trainer.resume_mode=disable", processes=16) == (None, set())
