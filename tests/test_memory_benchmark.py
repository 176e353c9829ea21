"""The comparison of estimates with measured runs: what a row of a published table comes to."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parent.parent / "benchmarks" / "memory.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("memory_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(**changes):
    """A measured run, as a table has it."""
    return {
        "framework_config": "none",
        "model_name_or_path": "mistralai/Mistral-7B-v0.1",
        "num_gpus": "1",
        "per_device_train_batch_size": "4",
        "torch_dtype": "bfloat16",
        "peak_torch_mem_alloc_in_bytes": "72971724288.0",
        **changes,
    }


def test_a_measured_full_run_on_one_gpu_is_met_to_a_thousandth(benchmark):
    found = benchmark.compared([row()])
    assert abs(found["full, 1 GPU"]["cfglint"][0]) < 0.01
    assert found["full, 1 GPU"]["DeepSpeed"][0] > 0.9


def test_rows_without_a_peak_or_a_known_model_are_left_out(benchmark):
    assert benchmark.compared([row(peak_torch_mem_alloc_in_bytes=""), row(model_name_or_path="x/unknown")]) == {}


def test_columns_become_settings(benchmark):
    found = benchmark.settings_of_row(
        row(framework_config="accelerated-peft-bnb-foak-liger", num_gpus="2", bf16="True", peft_method="lora", r="16.0", lora_dropout="0.1")
    )
    assert (found.strategy, found.ranks, found.autocast, found.loss, found.quantization, found.lora.rank) == (
        *("fsdp", 2, "bf16", "fused", "nf4_double", 16),
    )


def test_the_table_names_every_calculator(benchmark):
    lines = benchmark.table(benchmark.compared([row()])).splitlines()
    assert all(tool in lines[0] for tool in benchmark.TOOLS)
    assert len(lines) == 3
