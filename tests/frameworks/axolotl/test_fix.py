"""What `fix`, `explain` and `diff` do with an axolotl file."""

from __future__ import annotations

import json

import pytest

from cases import each_case
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
    assert main(["explain", "--all", str(file), "--gpus", "8"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "global batch 128 batch_size x data-parallel size samples per step 16" in shown


def test_a_longer_sequence_is_said_once(file, tmp_path, capsys):
    longer = tmp_path / "longer.yml"
    longer.write_text(WRITTEN.replace("2048", "4096"))
    main(["diff", str(file), str(longer), "--gpus", "8"])
    told = capsys.readouterr().out.partition("settings")[0]
    assert told.count("2048 -> 4096") == 1
    assert "sequence length" not in told


OLD = BASE + "flash_attn_rms_norm: true\nfsdp:\n  - full_shard\nfsdp_config:\n"


@each_case(
    ("old", "new"),
    [
        ("  fsdp_sharding_strategy: FULL_SHARD\n", "  fsdp_reshard_after_forward: true\n"),
        ("  sharding_strategy: SHARD_GRAD_OP\n  fsdp_version: 1\n", "  reshard_after_forward: false\n  fsdp_version: 2\n"),
        ("  sharding_strategy: 1\n  reshard_after_forward: true\n", "  reshard_after_forward: true\n"),
        ("  forward_prefetch: false\n  offload_params: true\n", "  offload_params: true\n"),
        ("  sharding_strategy: HYBRID_SHARD\n", None),
    ],
)
def test_all_keys_of_fsdp1_are_rewritten_at_once(tmp_path, old, new):
    path = tmp_path / "config.yml"
    path.write_text(OLD + old)
    for _ in range(2):
        main(["fix", str(path)])
        assert path.read_text() == (BASE + "fsdp_config:\n" + new if new else OLD + old)


def test_fsdp_without_a_config_or_with_offload_is_left(tmp_path):
    path = tmp_path / "config.yml"
    for text in (BASE + "fsdp:\n  - full_shard\n", BASE + "fsdp: [full_shard, offload]\nfsdp_config: {auto_wrap_policy: NO_WRAP}\n"):
        path.write_text(text)
        main(["fix", str(path)])
        assert path.read_text() == text
