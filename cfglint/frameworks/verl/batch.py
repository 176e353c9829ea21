"""The batch of a verl run: prompts and samples of a step, the mini batch of an update, micro batches, and the steps."""

from __future__ import annotations

from cfglint.findings.setting import Batch, Layout, derived
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import ACTOR, BATCH, GLOBAL_MICRO, MEGATRON_SIZES, MICRO


def batch(config: VerlConfig) -> Batch:
    """The batch of a run; `global_batch` counts prompts, `micro_batch` samples on each GPU."""
    sizes = config.sizes
    layout = {"sequence_parallel": sizes.sequence_parallel or 1}
    if sizes.is_megatron:
        keys = {name: f"{ACTOR}.megatron.{key}_parallel_size" for name, key in MEGATRON_SIZES.items()}
        layout = {name: sizes.tree.integer(key, 1) or 1 for name, key in keys.items()}
    micro = sizes.micro if sizes.is_dynamic is False else None
    if micro is None:
        micro_batch = derived("micro_batch", None, "dynamic batch sizes, or unknown")
    elif config.value(MICRO) is None:
        micro_batch = derived("micro_batch", micro, f"`{GLOBAL_MICRO}` / data parallel")
    else:
        micro_batch = config.setting(MICRO, value=micro)
    return Batch(
        Layout(sizes.gpus, **layout),
        micro_batch,
        derived("accumulation", sizes.accumulation, "samples of an update on each GPU / micro batch"),
        derived("data_parallel", sizes.data_parallel, f"GPUs / {'model' if sizes.is_megatron else 'sequence'}-parallel size"),
        config.setting(BATCH, value=sizes.batch),
        sizes.batch,
        gpus_per_replica=sizes.replica or 1,
    )


def numbers(config: VerlConfig) -> dict[str, int | None]:
    sizes = config.sizes
    return {
        "steps_per_epoch": sizes.steps_per_epoch,
        "total_steps": sizes.total_steps,
        "rollout_n": sizes.samples,
        "samples_per_step": sizes.step_samples,
        "mini_batch_samples": sizes.trained_mini,
        "mini_batch_per_gpu": sizes.mini_per_gpu,
        "updates_per_step": sizes.updates,
        "padding_samples": sizes.padding,
    }
