"""Keys that are filled in from other keys or from the machine: checks before pydantic's validation (see the package)."""

from __future__ import annotations

from cfglint.frameworks.axolotl.refusals import Data


def collection_steps(data: Data) -> None:
    """Complete the values as utils/schemas/config.py:2188 does."""
    steps = data.get("gc_steps")
    if steps is not None and data.get("torch_empty_cache_steps") is None and data.get("gc_collect_steps") is None:
        if steps > 0:
            data["torch_empty_cache_steps"] = steps
        data["gc_collect_steps"] = steps


def loader_defaults(data: Data) -> None:
    """Complete the values as utils/schemas/config.py:2155 does."""
    names = ("dataloader_num_workers", "dataloader_pin_memory", "dataloader_prefetch_factor")
    if all(data.get(name) is None for name in names):
        data["dataloader_num_workers"] = data["capabilities"]["n_gpu"] or 1
        data["dataloader_pin_memory"] = True
        data["dataloader_prefetch_factor"] = 256


def processes(data: Data) -> None:
    """Complete the values as utils/schemas/config.py:2168 does."""
    if data.get("dataset_processes") is not None:
        if data.get("dataset_num_proc") is None:
            data["dataset_num_proc"] = data["dataset_processes"]
        del data["dataset_processes"]


def run_name(data: Data) -> None:
    """Complete the values as utils/schemas/integrations.py:82 does."""
    if data.get("wandb_run_id") and not data.get("wandb_name"):
        data["wandb_name"] = data.get("wandb_run_id")
