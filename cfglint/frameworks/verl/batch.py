"""The batch of a verl run: prompts and samples of a step, the mini batch of an update, micro batches, and the steps."""

from __future__ import annotations

from cfglint.findings.setting import Batch, Layout, Setting, derived
from cfglint.frameworks.verl.config import VerlConfig
from cfglint.frameworks.verl.sizes import ACTOR, BATCH, GLOBAL_MICRO, MICRO, Sizes


def batch(config: VerlConfig) -> Batch:
    """The batch of a run; `global_batch` counts prompts, `micro_batch` samples on each GPU."""
    sizes = config.sizes
    parallel, accumulation = sizes.data_parallel(), sizes.accumulation
    micro = sizes.micro() if sizes.is_dynamic is False else None
    size = of_megatron(sizes) if sizes.is_megatron else {"sequence_parallel": sizes.sequence_parallel() or 1}
    return Batch(
        Layout(sizes.gpus, **size),
        micro_batch(config, micro),
        derived("accumulation", accumulation, "samples of an update on each GPU / micro batch"),
        derived("data_parallel", parallel, "GPUs / model-parallel size" if sizes.is_megatron else "GPUs / sequence-parallel size"),
        config.setting(BATCH, value=sizes.batch),
        sizes.batch,
        gpus_per_replica=sizes.replica() or 1,
    )


def micro_batch(config: VerlConfig, micro: int | None) -> Setting:
    """The micro batch of a GPU: its own key, or the global one divided by the data-parallel size."""
    if micro is None:
        return derived("micro_batch", None, "dynamic batch sizes, or unknown")
    if config.value(MICRO) is None:
        return derived("micro_batch", micro, f"`{GLOBAL_MICRO}` / data parallel")
    return config.setting(MICRO, value=micro)


def of_megatron(sizes: Sizes) -> dict[str, int]:
    """The parallel sizes of the actor under Megatron-LM."""
    names = {"tensor_parallel": "tensor_model", "pipeline_parallel": "pipeline_model", "context_parallel": "context"}
    return {name: sizes.tree.integer(f"{ACTOR}.megatron.{key}_parallel_size", 1) or 1 for name, key in names.items()}


def numbers(config: VerlConfig) -> dict[str, int | None]:
    """The numbers beyond the batch: steps, and the samples of a step and of an update."""
    sizes = config.sizes
    return {
        "steps_per_epoch": sizes.steps_per_epoch,
        "total_steps": sizes.total_steps,
        "rollout_n": sizes.samples,
        "samples_per_step": sizes.step_samples,
        "mini_batch_samples": sizes.trained_mini,
        "mini_batch_per_gpu": sizes.mini_per_gpu(),
        "updates_per_step": sizes.updates,
        "padding_samples": sizes.padding,
    }
