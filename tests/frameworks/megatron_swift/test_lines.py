"""Launch lines of Megatron-SWIFT: sizes, steps and refusals, compared with recordings of the real ms-swift."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from cfglint.cli import main

SFT = "megatron sft --model org/model --dataset data.jsonl"
GRPO = "NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model org/model --dataset data.jsonl --use_vllm true --num_generations 2"


@pytest.fixture
def checked(tmp_path, capsys):
    """The run and the errors of a line, at a release of ms-swift."""

    def run(line, release="4.6.0"):
        (tmp_path / "run.sh").write_text(f"{line}\n", encoding="utf-8")
        main(["check", str(tmp_path / "run.sh"), "--format", "json", "--num-examples", "1003", "--target", f"ms-swift=={release}"])
        report = json.loads(capsys.readouterr().out)
        return report["runs"][0], [each["exception"] for each in report["diagnostics"] if each["severity"] == "error"]

    return run


@each_case(
    ("line", "numbers"),
    [
        (f"NPROC_PER_NODE=8 {SFT}", {"data_parallel": 8, "micro_batch": 1, "accumulation": 2, "global_batch": 16, "total_steps": None}),
        (f"NPROC_PER_NODE=8 {SFT} --tensor_model_parallel_size 4", {"data_parallel": 2, "tensor_parallel": 4, "accumulation": 8}),
        (f"NPROC_PER_NODE=8 {SFT} --context_parallel_size 2", {"data_parallel": 4, "context_parallel": 2, "accumulation": 4}),
        (f"NPROC_PER_NODE=8 {SFT} --pipeline_model_parallel_size 2", {"data_parallel": 4, "pipeline_parallel": 2, "context_parallel": 1}),
        (f"NPROC_PER_NODE=8 {SFT} --train_iters 100 --lr_warmup_fraction 0.05", {"total_steps": 100, "warmup_steps": 5}),
        # complete batches of one pass, for all epochs: 1003 // 8 * 8 * 3 // 16
        (f"NPROC_PER_NODE=8 {SFT} --num_train_epochs 3", {"total_steps": 187}),
        (f"NPROC_PER_NODE=8 {SFT} --num_train_epochs 3 --packing true", {"total_steps": None}),
        (f"{SFT}", {"data_parallel": 1, "accumulation": 16}),
        (GRPO, {"generation_batch_size": 16, "steps_per_generation": 1}),
        (f"{GRPO} --generation_batch_size 64", {"generation_batch_size": 64, "steps_per_generation": 4}),
        (f"{GRPO} --steps_per_generation 2", {"generation_batch_size": 32, "steps_per_generation": 2}),
        (f"{SFT} --use_ray false", {"data_parallel": 1, "generation_batch_size": None}),
    ],
)
def test_numbers(line, numbers, checked):
    resolved = checked(line)[0]["resolved"]
    assert {name: resolved[name] for name in numbers} == numbers


@each_case(
    ("line", "exception"),
    [
        (f"NPROC_PER_NODE=4 {SFT} --tensor_model_parallel_size 3", "RuntimeError: world_size (4) is not divisible by 3"),
        (f"NPROC_PER_NODE=8 {SFT} --global_batch_size 20", "ValueError: global batch size (20) is not divisible by micro batch size (1)"),
        (f"{SFT} --save megatron_output", "SystemExit: 2 (error: ambiguous option: --save could match"),
        (f"{SFT} --learning_rate 1e-4", "ValueError: remaining_argv: ['--learning_rate', '1e-4']"),
        (f"{SFT} --group_by_length true", "ValueError: group_by_length is not compatible with padding_free."),
        (f"{SFT} --model_type foo", "ValueError: model_type: 'foo' not in ["),
        (f"{SFT} --mrl_dims no", "json.decoder.JSONDecodeError: Expecting value"),
        (f"{SFT} --attention_backend sdpa", "KeyError: 'sdpa'"),
        (f"{SFT} --torch_dtype bf16", "AttributeError: module 'torch' has no attribute 'bf16'"),
        (f"{SFT} --use_ray null", "SystemExit: 2 (error: argument --use_ray"),
        (f"{SFT} --pipeline_model_parallel_layout no", "AssertionError: Invalid layer character: n"),
        (
            f"NPROC_PER_NODE=8 {SFT} --pipeline_model_parallel_size 2 --pipeline_model_parallel_layout 'Et|(tt|)*1L'",
            "AssertionError: The length of pipeline_model_parallel_layout",
        ),
        (f"{SFT} --save_total_limit 1", "ValueError: save_total_limit must be greater than or equal to 2."),
    ],
)
def test_refusals(line, exception, checked):
    run, found = checked(line)
    assert run["verdict"] == "reject"
    assert any(each.startswith(exception) for each in found), found


@each_case(
    ("line", "release"),
    [
        (f"NPROC_PER_NODE=8 {SFT} --global_batch_size 64 --context_parallel_size 2", "4.6.0"),
        (f"NPROC_PER_NODE=8 {SFT} --pipeline_model_parallel_size 2 --pipeline_model_parallel_layout 'Et*3|(t|)*2L,m'", "4.6.0"),
        (f"{SFT} --attention_backend unfused --torch_dtype float16", "4.0.4"),
        ("megatron sft --mcore_model folder --dataset data.jsonl --output_dir out", "4.6.0"),
        (f"{SFT} --save megatron_output --max_epochs 1 --save_interval 100 --train_type lora", "3.12.6"),
    ],
)
def test_lines_that_start(line, release, checked):
    run, found = checked(line, release)
    assert (run["verdict"], found) == ("accept", [])
