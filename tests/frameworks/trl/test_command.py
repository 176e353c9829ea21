"""`trl sft --config FILE`: what the command itself makes of keys that no class of its script has."""

from __future__ import annotations

import pytest

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.source.file_source import FileSource

HEAD = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nassistant_only_loss: true\n"


def found(keys, line="trl sft --config train.yaml", release="1.16.0"):
    """(code, severity, key) of what is found in a file that a line starts."""
    source = FileSource({"run.sh": line + "\n", "train.yaml": HEAD + keys})
    run = Discovery(LaunchFacts(gpus=2, target={"trl": release}), source=source).together(["run.sh"])[0]
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
        ("num_processes: auto\n", "trl sft --config train.yaml", [("TRL014", "error", "/num_processes")]),
        ("num_processes: '2'\ngradient_clipping: 1e-1\n", "trl sft --config train.yaml", []),
        ("num_processes: auto\n", "accelerate launch sft.py --config train.yaml", []),
        ("mixed_precision: no\n", "trl sft --config train.yaml", [("TRL014", "error", "/mixed_precision")]),
        ("accelerate_config: zero4\n", "trl sft --config train.yaml", [("TRL015", "error", "/accelerate_config")]),
        ("accelerate_config: null\n", "trl sft --config train.yaml", [("TRL015", "error", "/accelerate_config")]),
        ("accelerate_config: zero3\n", "trl sft --config train.yaml", [("LCH025", "warning", "--gpus")]),
        ("", "trl sft --config train.yaml --num_processes auto", [("LCH018", "error", "--num_processes")]),
        ("", "trl sft --config train.yaml --accelerate_config no.yaml", [("LCH002", "error", "--accelerate_config")]),
    ],
)
def test_unknown_keys_are_options_of_accelerate(keys, line, expected):
    assert found(keys, line) == expected


def test_the_command_of_the_oldest_release_reads_no_file():
    assert found("my_own: 1\n", release="0.17.0") == [("TRL012", "error", "--config")]
    assert found("my_own: 1\n", release="0.24.0") == [("TRL010", "error", "/my_own")]
    assert ("TRL010", "error", "/my_own") in found("my_own: 1\n", release="0.12.2")


MULTI_GPU = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 4\n"


@each_case(
    ("keys", "words", "expected"),
    [
        ("num_processes: 8\n", "", 8),
        ("num_processes: 8\n", " --num_processes 2", 2),
        ("num-processes: 8\n", "", 8),
        ("accelerate_config: zero3\n", "", 8),
        ("accelerate_config: fsdp2\nnum_processes: 2\n", "", 2),
        ("accelerate_config: single_gpu\nnum_processes: 4\n", "", 1),
        ("accelerate_config: acc.yaml\n", "", 4),
        ("", " --accelerate_config acc.yaml", 4),
        ("num_processes: auto\n", "", None),
        ("", "", 3),
    ],
)
def test_keys_of_the_file_start_the_processes(keys, words, expected):
    files = {"run.sh": f"trl sft --config train.yaml{words}\n", "train.yaml": HEAD + keys, "acc.yaml": MULTI_GPU}
    run = Discovery(LaunchFacts(gpus=3), source=FileSource(files)).together(["run.sh"])[0]
    assert run.configs[0].world_size == expected


def test_fix_edits_the_number_of_processes_where_it_is_written(tmp_path, monkeypatch):
    from cfglint.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text("trl sft --config train.yaml\n")
    (tmp_path / "train.yaml").write_text(HEAD + "num_processes: 8\nper_device_train_batch_size: 4\n")
    for _ in range(2):
        assert main(["fix", "run.sh", "--gpus", "4"]) == 0
        text = (tmp_path / "train.yaml").read_text()
        assert text == HEAD + "num_processes: 4\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 2\n"


def test_accelerate_config_that_a_file_on_its_own_names():
    source = FileSource({"train.yaml": HEAD + "accelerate_config: acc.yaml\n", "acc.yaml": MULTI_GPU})
    run = Discovery(LaunchFacts(), kind="trl", source=source).together(["train.yaml"])[0]
    assert [*run.kinds] == ["trl", "accelerate"]
    assert [each.code for each in run.diagnostics] == []


GROUPS = "model_name_or_path: m\ndataset_name: d\noutput_dir: out\nnum_generations: 8\n"


@each_case(
    ("keys", "expected"),
    [
        ("per_device_train_batch_size: 1\nnum_processes: 8\n", ["TRL047"]),
        ("per_device_train_batch_size: 1\nnum_processes: 4\n", ["TRL030"]),
        ("per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nnum_processes: 8\n", []),
        ("per_device_train_batch_size: 1\ngeneration_batch_size: 32\nnum_processes: 8\n", []),
        ("num_processes: 8\nper_device_eval_batch_size: 4\neval_strategy: epoch\n", ["TRL047"]),
    ],
)
def test_the_command_checks_one_process_alone(keys, expected):
    source = FileSource({"run.sh": "trl grpo --config train.yaml\n", "train.yaml": GROUPS + keys})
    run = Discovery(LaunchFacts(), source=source).together(["run.sh"])[0]
    assert [each.code for each in run.diagnostics if each.severity == "error"] == expected
    alone = FileSource({"run.sh": "accelerate launch --num_processes 8 grpo.py --config train.yaml\n", "train.yaml": GROUPS + keys})
    assert not Discovery(LaunchFacts(), source=alone).together(["run.sh"])[0].diagnostics or expected != ["TRL047"]
