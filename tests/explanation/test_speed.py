"""The speed that a log shows, and the time of other runs by it."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main
from cfglint.explanation.speed import speed_in

BANNER = """\
***** Running training *****
  Num examples = 10,000
  Num Epochs = 2
  Instantaneous batch size per device = 2
  Total train batch size (w. parallel, distributed & accumulation) = 128
  Gradient Accumulation steps = 8
  Total optimization steps = 158
"""
ENDED = "{'train_runtime': 1264.0, 'train_samples_per_second': 15.8, 'train_steps_per_second': 0.125, 'epoch': 2.0}\n"
RUN = "output_dir: out\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 8\nnum_train_epochs: 3\nlearning_rate: 1.0e-5\n"


@each_case(
    ("text", "total", "seconds", "steps", "is_whole"),
    [
        (ENDED, 158, 8.0, 158, True),
        ("  train_runtime            = 0:21:04.00\n", 158, 8.0, 158, True),
        (f"Continuing training from global step 79\n{ENDED}", 158, 16.0, 79, True),
        ("\r  1%| | 1/158 [00:30<1:00:00, 30s/it]\r 51%| | 80/158 [10:40<10:00, 8.0s/it]\n", 158, 8.0, 80, False),
        ("80/158 [1:10:40<10:00, 53.0s/it]\n", 158, 53.0, 80, False),
        (" 10/20 [00:10<00:10, 1.0s/it]\n", 158, None, 0, False),
        ("elapsed time per iteration (ms): 9000.0 |\n" + "elapsed time per iteration (ms): 2000.0 |\n" * 4, None, 2.0, 5, False),
        ("a line\n", 158, None, 0, False),
    ],
)
def test_the_speed_in_a_log(text, total, seconds, steps, is_whole):
    found = speed_in(text.splitlines(keepends=True), total)
    assert (found and found.seconds_per_step) == seconds
    if found is not None:
        assert (found.steps, found.is_whole) == (steps, is_whole)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "old.log").write_text(BANNER + ENDED)
    (tmp_path / "run.yaml").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hours(capsys, *options):
    """(the hours, and why)."""
    main(["explain", "run.yaml", "--log", "old.log", "--num-examples", "30000", "--format", "json", *options])
    settings = json.loads(capsys.readouterr().out)["settings"]
    return next((each["value"], each["because"]) for each in settings if each["name"] == "hours")


def test_the_time_of_the_next_run(capsys, folder):
    assert hours(capsys, "--gpus", "8") == (1.57, "705 steps at 8 seconds per step in old.log")
    assert hours(capsys, "--gpus", "16") == (0.79, "354 steps at 8 seconds per step in old.log, as if communication cost nothing")
    (folder / "run.yaml").write_text(RUN.replace("steps: 8", "steps: 4"))
    assert hours(capsys, "--gpus", "16")[0] == 0.78, "twice the steps, each with half the samples"


def test_a_plan_takes_the_log_as_its_measurement(capsys):
    main(["plan", "run.yaml", "--log", "old.log", "--num-examples", "30000", "--gpus", "8,16", "--global-batch", "128", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["plans"]
    assert [(each["gpus"], round(each["hours"], 2), each["hours_from"]) for each in found] == [(8, 1.57, "measured"), (16, 0.78, "scaled")]


def test_a_log_without_a_speed_is_refused(capsys, folder):
    (folder / "old.log").write_text(BANNER)
    assert main(["explain", "run.yaml", "--log", "old.log"]) == 2
    assert "--log old.log: shows neither the training's time nor a progress bar" in capsys.readouterr().err


def test_log_shows_the_speed(capsys):
    main(["log", "old.log"])
    assert "8 seconds per step of the whole run" in " ".join(capsys.readouterr().out.split())
