"""The rules of Megatron-SWIFT: each failing check of `checks.py` is a finding at its argument."""

from __future__ import annotations

from cfglint.findings.rule import ExampleFacts, Finding, config_error
from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
from cfglint.frameworks.swift.rules import (
    arguments,  # noqa: F401
    failing,
)
from cfglint.source.annotations import Iterator

LINE: ExampleFacts = {"kind": "launch", "target": {"ms-swift": "4.6.0"}}
BASE = "megatron sft --model org/model --dataset data.jsonl"


@config_error(
    "SWM001",
    source="ms-swift 4.6.0 arguments/base_args/model_args.py:220, megatron/arguments/sft_args.py",
    bad=("megatron sft --dataset data.jsonl\n", "megatron sft --model org/model\n"),
    good=f"{BASE}\n",
    example=LINE,
)
def missing_megatron_swift_input(config: MegatronSwiftConfig) -> Iterator[Finding]:
    """The run has no model or no training data."""
    return failing(config, "SWM001")


@config_error(
    "SWM002",
    source="ms-swift 4.6.0 megatron/arguments/megatron_args.py:996-1006; megatron-core 0.16.1 parallel_state.py",
    bad=(f"NPROC_PER_NODE=4 {BASE} --tensor_model_parallel_size 3\n", f"NPROC_PER_NODE=8 {BASE} --global_batch_size 20\n"),
    good=f"NPROC_PER_NODE=8 {BASE} --tensor_model_parallel_size 4 --global_batch_size 20\n",
    example=LINE,
)
def indivisible_megatron_swift_sizes(config: MegatronSwiftConfig) -> Iterator[Finding]:
    """The processes are not a multiple of the parallel sizes, or the global batch not one of micro batch x data parallel."""
    return failing(config, "SWM002")


@config_error(
    "SWM003",
    source="ms-swift 4.6.0 megatron/arguments/megatron_args.py:849-953",
    bad=(
        f"{BASE} --recompute_granularity selective --recompute_method uniform\n",
        f"{BASE} --group_by_length true\n",
        f"{BASE} --save_total_limit 1\n",
        f"{BASE} --save_total_limit 3 --async_save true\n",
        f"{BASE} --tp_comm_overlap true\n",
    ),
    good=f"{BASE} --recompute_granularity full --recompute_method uniform --recompute_num_layers 1\n",
    example=LINE,
)
def megatron_swift_conflict(config: MegatronSwiftConfig) -> Iterator[Finding]:
    """Two arguments exclude each other, or one needs another."""
    return failing(config, "SWM003")
