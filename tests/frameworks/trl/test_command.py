"""`trl sft --config FILE`: what the command itself makes of keys that no class of its script has."""

from __future__ import annotations

import pytest

from cfglint.frameworks.base import LaunchFacts
from cfglint.run.discovery import Discovery, FileSource

HEAD = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nassistant_only_loss: true\n"


def found(keys, line="trl sft --config train.yaml", release="1.16.0"):
    """(code, severity, key) of what is found in a file that a line starts."""
    source = FileSource({"run.sh": line + "\n", "train.yaml": HEAD + keys})
    run = Discovery(LaunchFacts(gpus=2, target={"trl": release}), source=source).one(["run.sh"])
    return [(each.code, each.severity, each.key) for each in run.diagnostics]


@pytest.mark.parametrize(
    ("keys", "line", "expected"),
    [
        ("learning_rte: 1.0e-5\n", "trl sft --config train.yaml", [("TRL010", "error", "/learning_rte")]),
        ("my_own: 1\n", "trl sft --config train.yaml", [("TRL010", "error", "/my_own")]),
        ("max_seq_length: 512\n", "trl sft --config train.yaml", [("TRL011", "error", "/max_seq_length")]),
        ("num_processes: 2\nmain-process-port: 29500\n", "trl sft --config train.yaml", []),
        ("", "trl sft --config train.yaml --my_own 1", [("TRL010", "error", "--my_own")]),
        ("", "trl sft --config train.yaml --rdzv_backend static --num_processes 2", []),
        ("use_fsdp: true\n", "trl sft --config train.yaml", [("TRL013", "error", "/use_fsdp")]),
        ("my_own: 1\n", "accelerate launch sft.py --config train.yaml", []),
    ],
)
def test_unknown_keys_are_options_of_accelerate(keys, line, expected):
    assert found(keys, line) == expected


def test_the_command_of_the_oldest_release_reads_no_file():
    assert found("my_own: 1\n", release="0.17.0") == [("TRL012", "error", "--config")]
    assert found("my_own: 1\n", release="0.24.0") == []
