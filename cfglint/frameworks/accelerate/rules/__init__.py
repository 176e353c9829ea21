"""The rules of accelerate; importing this package registers them."""

from __future__ import annotations

from cfglint.frameworks.accelerate.rules import deepspeed_and_fsdp, keys, parallelism, passed_on, processes, values

__all__ = ["deepspeed_and_fsdp", "keys", "parallelism", "passed_on", "processes", "values"]
