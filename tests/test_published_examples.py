"""Published numbers, from the files under examples/: each is what `explain` or `plan` says."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main

OLD, NEW = ">=4.30,<4.52.0", ">=4.52.0"


@pytest.fixture
def tell(example_project, monkeypatch, capsys):
    """Run a command in examples/ and take its JSON."""
    monkeypatch.chdir(example_project / "examples")

    def run(*arguments):
        main([*arguments, "--format", "json"])
        return json.loads(capsys.readouterr().out)

    return run


def setting(told, name):
    return next(each["value"] for each in told["settings"] if each["name"] == name)


FOUR = ("four-devices.yaml", "--gpus", "4", "--num-examples", "128770")
ONE = ("accumulation-is-applied.yaml", "--gpus", "1", "--num-examples", "1047")


@pytest.mark.parametrize(
    ("run", "version", "steps"),
    [(FOUR, "4.51.3", (503, 1509)), (FOUR, "4.52.0", (504, 1512)), (ONE, "4.51.3", (13, 3900)), (ONE, "4.52.0", (14, 4200))],
)
def test_steps_of_a_trainer_by_release(tell, run, version, steps):
    config, *facts = run
    told = tell("explain", f"published/{config}", *facts, "--target", f"transformers=={version}")
    assert (told["resolved"]["steps_per_epoch"], told["resolved"]["total_steps"]) == steps


@pytest.mark.parametrize(("log", "devices", "an_epoch", "total"), [("four-devices.log", 4, 503, 1509), ("one-device.log", 1, 13, 3900)])
def test_the_logs_of_the_same_runs(tell, log, devices, an_epoch, total):
    (banner,) = tell("explain", f"logs/{log}")["banners"]
    assert (banner["data_parallel"], banner["steps_per_epoch"], banner["total_steps"]) == (devices, an_epoch, total)
    assert banner["consistent_with"] == [{"transformers": OLD}]


def test_a_log_of_two_runs_with_a_progress_bar(tell):
    first, second = tell("explain", "logs/two-runs.log")["banners"]
    assert (first["data_parallel"], first["consistent_with"]) == (2, [{"transformers": OLD}])
    assert (second["data_parallel"], second["consistent_with"]) == (24, [{"transformers": OLD}, {"transformers": NEW}])
    assert second["num_epochs"] == 2**63 - 1


def test_tokens_and_iterations_of_an_epoch(tell):
    told = tell("explain", "published/one-epoch.yml", "--gpus", "64", "--num-examples", "31267487")
    assert told["resolved"]["steps_per_epoch"] == 30_534
    assert setting(told, "tokens per epoch") == 64_035_813_376
    because = next(each["because"] for each in told["settings"] if each["name"] == "steps per epoch")
    assert "30,534.66" in because


def test_forward_passes_and_updates(tell):
    half = tell("explain", "published/updates-and-passes.yaml", "--gpus", "1", "--num-examples", "1000")
    assert (setting(half, "batches per epoch"), half["resolved"]["steps_per_epoch"]) == (200, 100)
    whole = tell(
        "plan", "published/updates-and-passes.yaml", "--gpus", "1", "--from-gpus", "1", "--max-micro-batch", "10", "--num-examples", "1000"
    )
    assert {"micro_batch": 10, "accumulation": 1} in whole["plans"][0]["options"]
    assert whole["plans"][0]["steps_per_epoch"] == 100


@pytest.mark.parametrize(("gpus", "micro", "accumulation"), [(1, 32, 1), (4, 8, 1), (2, 8, 2), (1, 8, 4)])
def test_four_ways_to_a_batch_of_32(tell, gpus, micro, accumulation):
    told = tell("plan", "published/batch-of-32.yaml", "--gpus", str(gpus), "--global-batch", "32", "--max-micro-batch", "32")
    assert {"micro_batch": micro, "accumulation": accumulation} in told["plans"][0]["options"]


def test_four_devices_with_8_twice_are_64(tell):
    told = tell("plan", "published/batch-of-32.yaml", "--gpus", "4", "--global-batch", "64", "--max-micro-batch", "8")
    assert {"micro_batch": 8, "accumulation": 2} in told["plans"][0]["options"]


def test_time_is_steps_times_the_time_of_one(tell):
    told = tell(
        "plan", "published/four-devices.yaml", "--gpus", "4", "--from-gpus", "4", "--num-examples", "128770", "--time-per-step", "2"
    )
    (plan,) = told["plans"]
    assert plan["hours"] == plan["total_steps"] * 2 / 3600 == 1512 * 2 / 3600


def test_gpus_are_replicas_only_without_other_parallelism(tell):
    told = tell("explain", "published/pipeline-and-tensor.yml", "--gpus", "8")
    assert told["resolved"]["data_parallel"] == 2
    assert told["resolved"]["global_batch"] == 64


def test_nine_processes_over_two_machines(tell):
    told = tell("explain", "nine-over-two/launch.yaml", "nine-over-two/train.yaml")
    assert (told["gpus"], told["resolved"]["global_batch"]) == (8, 256)


def test_published_configs_have_no_errors(example_project, monkeypatch, capsys):
    monkeypatch.chdir(example_project / "examples")
    assert main(["check", "published", "--gpus", "64"]) == 0, capsys.readouterr().out
