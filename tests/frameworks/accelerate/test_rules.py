"""The sizes of `parallelism_config`, by what else the file sets."""

from __future__ import annotations

from cases import each_case
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.source.parse import parse

HEAD = "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nmachine_rank: 0\n"
PLUGINS = {
    "MULTI_GPU": "",
    "FSDP": "fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n",
    "FSDP1": "fsdp_config:\n  fsdp_version: 1\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n",
    "DEEPSPEED": "deepspeed_config:\n  zero_stage: 2\n",
}


@each_case(
    ("plugin", "processes", "sizes", "expected"),
    [
        ("FSDP", 8, {"cp": 4, "sp": 2}, "ValueError: Context Parallelism (CP) and Sequence Parallelism (SP) are mutually exclusive."),
        ("FSDP", 8, {"cp": 4, "dp_shard": 2}, ""),
        (
            "FSDP",
            8,
            {"tp": 4, "dp_replicate": 2},
            "ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism",
        ),
        ("FSDP", 8, {"tp": 2, "dp_replicate": 2, "dp_shard": 2}, ""),
        (
            "FSDP",
            8,
            {"cp": 4, "dp_replicate": 2},
            "ValueError: Tensor/Context parallelism (tp/cp_size > 1) cannot be used with pure data parallelism",
        ),
        ("MULTI_GPU", 8, {"cp": 8}, "ValueError: `cp_size > 1` specified in the `parallelism_config`, but no `fsdp_plugin` was provided."),
        ("FSDP1", 8, {"cp": 8}, "ValueError: Using `cp_size>1` requires FSDP2, but the provided `fsdp_plugin` is using FSDP1."),
        ("FSDP1", 8, {"tp": 8}, "ValueError: ParallelismConfig is only compatible DistributedType.FSDP (version 2)"),
        ("DEEPSPEED", 8, {"cp": 8}, ""),
        ("DEEPSPEED", 8, {"sp": 4}, ""),
        ("DEEPSPEED", 8, {"sp": 3}, "RuntimeError: world_size (8) is not divisible by sequence_parallel_size 3)"),
        ("DEEPSPEED", 4, {"sp": 8}, "RuntimeError: world_size (4) is less than sequence_parallel_size 8"),
        ("DEEPSPEED", 8, {"sp": 8}, ""),
        ("FSDP", 8, {"dp_shard": 4}, "ValueError: ParallelismConfig total_size (4) does not match num_processes (8)."),
        ("FSDP", 8, {"dp_shard": 16}, "RuntimeError: Mesh should not be bigger than default world size 8, but found 16 ranks!"),
        ("FSDP", 8, {"dp_shard": 8}, ""),
        ("FSDP", 8, {"dp_shard": 0}, "ValueError: dp_shard_size must be at least 1, but got 0"),
        ("FSDP", 8, {"tp": -1}, "ValueError: tp_size must be at least 1, but got -1"),
        ("FSDP", 8, {"dp_replicate": 1}, ""),
        ("FSDP", 8, {"sp": 2}, "ValueError: FSDP is enabled but the parallelism config has no dimension for FSDP to shard across"),
        ("FSDP", 8, {"sp": 2, "dp_shard": 4}, ""),
    ],
)
def test_parallelism_sizes(plugin, processes, sizes, expected):
    named = "".join(f"  parallelism_config_{name}_size: {size}\n" for name, size in sizes.items())
    text = f"{HEAD}distributed_type: {plugin.removesuffix('1')}\nnum_processes: {processes}\n{PLUGINS[plugin]}parallelism_config:\n{named}"
    facts = LaunchFacts(gpus=processes, complete=True, kind_given=True)
    run = CheckedRun([parse("launch.yaml", text, "yaml")], ["accelerate"], facts)
    exceptions = [each.exception for each in run.diagnostics if each.severity == "error"]
    assert [each.startswith(expected) for each in exceptions] == ([True] if expected else [])
