"""The accelerate configs in TRL's package, which `trl` accepts by name (trl 1.16.0 trl/accelerate_configs)."""

from __future__ import annotations

# Distributed type by name.
PACKAGED = {
    "single_gpu": "NO",
    "multi_gpu": "MULTI_GPU",
    **dict.fromkeys(("fsdp1", "fsdp2"), "FSDP"),
    **dict.fromkeys(("zero1", "zero2", "zero3"), "DEEPSPEED"),
}
PACKAGED_PROCESSES = 8  # the value of `num_processes` in each of them
