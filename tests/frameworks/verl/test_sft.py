"""verl's SFT trainers: batch, steps and checks, by hand from their sources."""

from __future__ import annotations

import json

import pytest

import cfglint
from cases import each_case
from cfglint.cli import main

OLD = "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer"
NEW = "torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer"

ON_MEGATRON = "engine=megatron optim=megatron data.use_dynamic_bsz=False data.micro_batch_size_per_gpu=2"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    """(verdict, known numbers, codes) of a line at a release of verl, for 1000 rows."""

    def run(line, release):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "run.sh").write_text(f"{line}\n")
        main(["check", "run.sh", "--format", "json", "--num-examples", "1000", "--target", f"verl=={release}"])
        report = json.loads(capsys.readouterr().out)
        [found] = report["runs"]
        numbers = {key: value for key, value in found["resolved"].items() if value is not None}
        return found["verdict"], numbers, [each["code"] for each in report["diagnostics"]]

    return run


@each_case(
    ("line", "release", "numbers"),
    [
        (
            OLD,
            "0.5.0",
            {"micro_batch": 4, "accumulation": 8, "data_parallel": 8, "global_batch": 256, "steps_per_epoch": 3, "total_steps": 12},
        ),
        (
            f"{OLD} ulysses_sequence_parallel_size=2 use_remove_padding=True",
            "0.5.0",
            {"micro_batch": 4, "accumulation": 16, "data_parallel": 4, "global_batch": 256, "steps_per_epoch": 3},
        ),
        (
            f"{NEW} data.train_batch_size=100 data.use_dynamic_bsz=False",
            "0.9.1",
            {"micro_batch": 4, "accumulation": 3, "data_parallel": 8, "global_batch": 100, "consumed_batch": 96, "steps_per_epoch": 10},
        ),
        (NEW, "0.9.1", {"data_parallel": 8, "global_batch": 256, "steps_per_epoch": 3}),
        (
            f"{NEW} {ON_MEGATRON} engine.tensor_model_parallel_size=2 engine.pipeline_model_parallel_size=4",
            "0.8.0",
            {"micro_batch": 2, "accumulation": 128, "data_parallel": 1, "tensor_parallel": 2, "pipeline_parallel": 4, "steps_per_epoch": 3},
        ),
        (
            f"{NEW} {ON_MEGATRON} engine.context_parallel_size=2",
            "0.7.0",
            {"micro_batch": 2, "accumulation": 32, "data_parallel": 4, "context_parallel": 2},
        ),
        (f"{NEW} {ON_MEGATRON}", "0.9.1", {"micro_batch": 2, "accumulation": 16, "data_parallel": 8}),
    ],
)
def test_batch_and_steps(checked, line, release, numbers):
    verdict, found, codes = checked(line, release)
    assert (verdict, codes) == ("accept", [])
    assert {key: found.get(key) for key in numbers} == numbers
    assert "micro_batch" in numbers or "micro_batch" not in found


@each_case(
    ("line", "release", "code"),
    [
        (f"{OLD} data.train_batch_size=100", "0.5.0", "VRL032"),
        (f"{OLD} data.micro_batch_size_per_gpu=3", "0.5.0", "VRL032"),
        (f"{OLD} ulysses_sequence_parallel_size=2", "0.5.0", "VRL020"),
        (f"{OLD} data.chat_template=mine", "0.5.0", "VRL031"),
        (f"{OLD} data.train_batch_ize=64", "0.5.0", "VRL002"),
        (f"{NEW} data.train_batch_size=4", "0.9.1", "VRL032"),
        (OLD, "0.9.1", "VRL001"),
    ],
)
def test_what_is_refused(checked, line, release, code):
    verdict, _, codes = checked(line, release)
    assert (verdict, codes) == ("reject", [code])


@each_case(
    ("target", "status", "processes", "batch", "micro"),
    [
        (("--global-batch", "128"), 0, 8, 128, 4),
        (("--gpus", "16", "--nodes", "1"), 0, 16, 256, 4),
        # the largest micro batch that divides the rows of a rank
        (("--gpus", "4", "--global-batch", "100"), 0, 4, 100, 1),
        (("--global-batch", "256", "--max-micro-batch", "2"), 0, 8, 256, 2),
        (("--gpus", "6"), 1, 8, 256, 4),
    ],
)
def test_a_target_changes_launcher_batch_and_micro_batch(tmp_path, monkeypatch, target, status, processes, batch, micro):
    monkeypatch.chdir(tmp_path)
    line = "torchrun --nproc_per_node {} -m verl.trainer.fsdp_sft_trainer data.train_batch_size={} data.micro_batch_size_per_gpu={}\n"
    (tmp_path / "run.sh").write_text(line.format(8, 256, 4))
    assert main(["fix", "run.sh", "--target", "verl==0.5.0", *target]) == status
    assert (tmp_path / "run.sh").read_text() == line.format(processes, batch, micro)


def test_a_target_without_a_micro_batch_needs_the_largest_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer data.train_batch_size={} data.micro_batch_size_per_gpu={}\n"
    (tmp_path / "run.sh").write_text(line.format(256, "$MICRO"))
    assert main(["fix", "run.sh", "--target", "verl==0.5.0", "--global-batch", "128"]) == 2
    assert "the current micro batch is unknown: pass --max-micro-batch" in "".join(capsys.readouterr())


@pytest.mark.parametrize(("line", "release"), [(OLD, "0.7.1"), (NEW, "0.5.0")])
def test_a_trainer_that_the_release_does_not_have(checked, line, release):
    assert checked(line, release)[::2] == ("reject", ["VRL001"])


def test_the_message_names_the_releases_that_have_a_trainer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(f"{OLD}\n")
    [found] = cfglint.check("run.sh", target={"verl": "0.7.1"}).diagnostics
    assert found.message == "verl 0.7.1 has no `verl.trainer.fsdp_sft_trainer`; releases before 0.7.1 have it"
    assert found.help == "start `verl.trainer.sft_trainer`"


@pytest.mark.parametrize("stated", ["", '[submodule "verl"]\n path = verl\n url = https://github.com/volcengine/verl\n'])
def test_a_trainer_that_newer_releases_do_not_have_tells_the_release(tmp_path, monkeypatch, stated):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("")
    (tmp_path / ".gitmodules").write_text(stated)
    (tmp_path / "run.sh").write_text(
        f"{OLD} data.train_batch_size=64 data.micro_batch_size_per_gpu=4 ulysses_sequence_parallel_size=2 use_remove_padding=true\n"
    )
    result = cfglint.check("run.sh")
    [run] = result.runs
    assert ([*result.diagnostics], run.target["verl"], run.resolved["data_parallel"]) == ([], "0.7.0", 4)
