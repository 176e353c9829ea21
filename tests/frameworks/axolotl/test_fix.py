"""What `fix`, `explain` and `diff` do with an axolotl file."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from tests.frameworks.axolotl.conftest import BASE

WRITTEN = BASE + "micro_batch_size: 2\nbatch_size: 16  # per GPU\nsequence_len: 2048\n"


@pytest.fixture
def file(tmp_path):
    """A file with `batch_size`, which axolotl does not divide."""
    path = tmp_path / "config.yml"
    path.write_text(WRITTEN)
    return path


def test_a_target_takes_the_place_of_batch_size(file, capsys):
    assert main(["fix", str(file), "--gpus", "8", "--global-batch", "256", "--format", "json"]) == 0
    assert file.read_text() == WRITTEN.replace("batch_size: 16", "gradient_accumulation_steps: 16")
    changed = json.loads(capsys.readouterr().out)["runs"][0]["changed"]
    assert [(each["key"], each["before"], each["after"]) for each in changed] == [
        ("/gradient_accumulation_steps", None, 16),
        ("/batch_size", 16, None),
    ]


def test_a_written_accumulation_is_kept_and_batch_size_removed(file):
    file.write_text(WRITTEN + "gradient_accumulation_steps: null\n")
    assert main(["fix", str(file), "--gpus", "8", "--global-batch", "64"]) == 0
    assert file.read_text() == BASE + "micro_batch_size: 2\nsequence_len: 2048\ngradient_accumulation_steps: 4\n"


def test_explain_names_the_factors_of_the_global_batch(file, capsys):
    assert main(["explain", str(file), "--gpus", "8"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "global batch 128 batch_size x data-parallel size samples per step 16" in shown


def test_a_longer_sequence_is_said_once(file, tmp_path, capsys):
    longer = tmp_path / "longer.yml"
    longer.write_text(WRITTEN.replace("2048", "4096"))
    main(["diff", str(file), str(longer), "--gpus", "8"])
    told = capsys.readouterr().out.partition("settings")[0]
    assert told.count("2048 -> 4096") == 1
    assert "sequence length" not in told
