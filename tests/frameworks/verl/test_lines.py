"""Launch lines of verl: what the composed config and its checks give, compared with recordings of the real verl."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
LINE = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=1024"
    f" {ACTOR}.ppo_mini_batch_size=256 {ACTOR}.ppo_micro_batch_size_per_gpu=16 {ROLLOUT}.n=5 {ROLLOUT}.name=vllm"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=16 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16"
)


class Result:
    """The answer of `check` about the one run of a line."""

    def __init__(self, printed):
        report = json.loads(printed)
        self.run = report["runs"][0] if report["runs"] else {}
        self.found = [(each["code"], each["severity"]) for each in report["diagnostics"]]
        self.verdict, self.resolved = self.run.get("verdict"), self.run.get("resolved", {})


@pytest.fixture
def checked(tmp_path, capsys):
    """The answer about a line, at a release of verl."""

    def run(line, release="0.9.1", files=()):
        for name, text in {"run.sh": f"{line}\n", "cfglint.toml": "", **dict(files)}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        target = ["--target", f"verl=={release}"] if release else []
        main(["check", str(tmp_path / "run.sh"), "--format", "json", "--num-examples", "10000", *target])
        return Result(capsys.readouterr().out)

    return run


@each_case(
    ("release", "numbers"),
    [
        ("0.9.1", {"updates_per_step": 4, "mini_batch_per_gpu": 160, "mini_batch_samples": 1280, "padding_samples": 0, "accumulation": 10}),
        ("0.5.0", {"updates_per_step": 4, "mini_batch_per_gpu": 160, "mini_batch_samples": 1280, "steps_per_epoch": 9, "total_steps": 270}),
    ],
)
def test_samples_and_updates_of_a_step(checked, release, numbers):
    resolved = checked(LINE, release).resolved
    assert {key: resolved[key] for key in numbers} == numbers
    assert (resolved["global_batch"], resolved["rollout_n"], resolved["samples_per_step"]) == (1024, 5, 5120)


def test_0_9_fills_the_last_mini_batch_with_padding(checked):
    line = LINE.replace("batch_size=1024", "batch_size=96").replace("n=5", "n=1").replace("size_per_gpu=16", "size_per_gpu=4")
    line = line.replace("mini_batch_size=256", "mini_batch_size=64")
    resolved = checked(line).resolved
    assert (resolved["padding_samples"], resolved["updates_per_step"]) == (32, 2)


def test_a_rounded_down_mini_batch_before_0_8(checked):
    line = LINE.replace("mini_batch_size=256", "mini_batch_size=100").replace("n=5", "n=1").replace("per_gpu=16", "per_gpu=4")
    resolved = checked(line, "0.5.0").resolved
    assert (resolved["mini_batch_per_gpu"], resolved["mini_batch_samples"]) == (12, 96)


def test_an_unknown_variable_hides_nothing_else(checked):
    run = checked(f'{LINE} "data.max_prompt_length=$LENGTH" data.train_batch_ize=3')
    assert run.found == [("VRL002", "error")]
    assert run.resolved["global_batch"] == 1024


def test_a_batch_from_an_unknown_variable_is_unknown(checked):
    run = checked(LINE.replace("batch_size=1024", '"batch_size=$BATCH"').replace('data.train_"', '"data.train_'))
    assert (run.verdict, run.resolved["global_batch"], run.resolved["samples_per_step"]) == ("accept", None, None)


def test_the_home_of_a_script_is_a_path(checked):
    assert checked(f'{LINE} data.train_files="$HOME/train.parquet"').found == []


def test_without_a_release_an_unknown_key_is_a_warning(checked):
    assert checked(f"{LINE} lean.goals=2", "").found == [("VRL002", "warning")]


def test_a_copy_of_verl_in_the_project_is_not_compared_with_a_release(checked):
    """Such copies have keys of their own: 81 of 100 public lines of vendored copies have some."""
    own = {"verl/__init__.py": "", "verl/trainer/__init__.py": "", "verl/trainer/main_ppo.py": "import hydra\n"}
    run = checked(f"{LINE} lean.goals=2", "", files=own)
    assert (run.found, run.verdict) == ([], None)


def test_a_config_folder_of_the_user_is_not_guessed(checked):
    run = checked(f"{LINE} --config-path=/data/config --config-name=mine own.key=1")
    assert (run.found, run.verdict, run.resolved["global_batch"]) == ([], None, None)


def test_a_line_that_starts_another_program_of_verl_is_no_run_of_this_kind(checked):
    run = checked("python3 -m verl.trainer.main_ppo_other data.x=1")
    assert not any(code.startswith("VRL") for code, _ in run.found)
