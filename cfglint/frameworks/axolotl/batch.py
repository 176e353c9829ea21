"""axolotl's batch and its own calculation of steps (utils/config/__init__.py:270-281, utils/trainer.py:551,
core/builders/base.py:285-320).
"""

from __future__ import annotations

from math import ceil, isfinite

from cfglint.findings.setting import DERIVED, Setting
from cfglint.frameworks.axolotl.normalization import ACCUMULATION, MICRO, distributed_batch, shared_by
from cfglint.frameworks.resolved_batch import Batch, BatchProblem, Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.axolotl.config import AxolotlConfig

OWN_LENGTH = ("grpo", "ebft", "gdpo")  # trainers that compute their steps themselves
WARMUP_SHARE = 0.03
MOST_WARMUP = 100


def resolve(config: AxolotlConfig) -> Batch:
    """The batch: `micro_batch_size` x `gradient_accumulation_steps` x the processes that take different samples."""
    model = config.model
    if model is None or not config.parsed:
        return unresolved(config)
    world = config.facts.gpus if not model.use_ray or model.ray_num_workers == config.facts.gpus else None  # Ray starts the workers
    tensor, context = int(model.tensor_parallel_size or 1), int(model.context_parallel_size or 1)
    micro, accumulation = (
        setting_of(config, MICRO, model.micro_batch_size),
        setting_of(config, ACCUMULATION, model.gradient_accumulation_steps),
    )
    parallel = None if world is None else max(world // context // tensor, 1)
    size = model.batch_size
    if world is None:
        size = None
    elif size is not None and world > 1 and distributed_batch(config):
        size = size * (world // context // tensor)
    layout = Layout(world, tensor, context_parallel=context)
    consumed = None if parallel is None else product(micro.value, accumulation.value, parallel)
    share = "batch_size" if config.get("batch_size") else "micro_batch_size x gradient_accumulation_steps"
    return Batch(
        layout,
        micro,
        accumulation,
        Setting(("data_parallel",), parallel, DERIVED, because="processes / context_parallel_size / tensor_parallel_size"),
        Setting(("batch_size",), size, DERIVED, because=f"{share} x data-parallel size"),
        consumed,
        problem(config, micro, accumulation),
    )


def unresolved(config: AxolotlConfig) -> Batch:
    """The batch of a run that is refused before it is computed: what the keys say; unknown with the obsolete `batch_size`."""
    world = config.facts.gpus
    micro, accumulation = (setting_of(config, key, written(config, key)) for key in (MICRO, ACCUMULATION))
    tensor, context = (written(config, key) for key in ("tensor_parallel_size", "context_parallel_size"))
    parallel = max(world // (tensor * context), 1) if world and tensor and context else None
    size = product(micro.value, accumulation.value, parallel)
    return Batch(
        Layout(world, tensor or 1, context_parallel=context or 1),
        micro,
        accumulation,
        Setting(("data_parallel",), parallel, DERIVED, because="processes / context_parallel_size / tensor_parallel_size"),
        Setting(("batch_size",), size, DERIVED, because="micro_batch_size x gradient_accumulation_steps x data-parallel size"),
    )


def written(config: AxolotlConfig, key: str) -> int | None:
    """A positive integer of the file; 1, axolotl's default, for a missing one; None in a file that cannot be loaded."""
    if config.fatal_problems or not config.values or config.get("batch_size") is not None:
        return None
    value = config.get(key)
    if value is None:
        return 1
    return value if type(value) is int and value > 0 else None


def setting_of(config: AxolotlConfig, key: str, value: Any) -> Setting:
    """A key as a setting with the value that axolotl computes."""
    found = config.place((key,))
    return Setting(found.path, value, found.origin, found.document, found.node, found.key_node, found.because)


def product(*factors: Any) -> int | None:
    """The product of integers; None if one is missing."""
    size = 1
    for factor in factors:
        if not isinstance(factor, int):
            return None
        size *= factor
    return size


def problem(config: AxolotlConfig, micro: Setting, accumulation: Setting) -> BatchProblem | None:
    """Why the data loader would refuse the batch."""
    packed = config.model is not None and config.model.sample_packing  # packed samples have a sampler that builds the batches itself
    if isinstance(micro.value, int) and micro.value < 0 and not packed:
        text = f"ValueError: batch_size should be a positive integer value, but got batch_size={micro.value}"
        return BatchProblem("not-positive", micro, f"`{MICRO}` is {micro.value}", text, "init")
    if micro.value == 0:
        text = "ZeroDivisionError: division by zero"
        return BatchProblem("not-positive", micro, f"`{MICRO}` is 0", text, "init")
    return split_problem(config, micro)


def split_problem(config: AxolotlConfig, micro: Setting) -> BatchProblem | None:
    """A batch that accelerate cannot split evenly; packed rows have a sampler of their own."""
    model, world = config.model, config.facts.gpus
    loader = (model.accelerator_config or {}) if model is not None else {}
    if model is None or not world or world == 1 or not loader.get("split_batches") or model.sample_packing or streams(config):
        return None
    from cfglint.frameworks.huggingface.batch import uneven_split

    return uneven_split(micro, max(world // shared_by(model), 1), bool(loader.get("dispatch_batches")))


def streams(config: AxolotlConfig) -> bool:
    """Whether the data is streamed, so that its length is unknown."""
    model = config.model
    return model is not None and bool(model.streaming or model.pretraining_dataset)


def counted(config: AxolotlConfig) -> int | None:
    """The steps that axolotl computes from the data; None if they depend on more than the files."""
    model, examples = config.model, config.facts.num_examples
    size = config.batch.global_batch.value
    if model is None or examples is None or not size or streams(config) or model.sample_packing or model.rl in OWN_LENGTH:
        return None
    steps = examples * model.num_epochs / size
    return ceil(steps) if isfinite(steps) else None


def total_steps(config: AxolotlConfig) -> int | None:
    """The steps of the run: a written `max_steps`, else the computed steps, which axolotl passes to the Trainer as `max_steps`."""
    model = config.model
    if model is None or not config.parsed:
        return None
    if model.max_steps:
        return int(model.max_steps) if model.max_steps > 0 else by_epochs(config)
    total = counted(config)
    return by_epochs(config) if total == 0 else total


def by_epochs(config: AxolotlConfig) -> int | None:
    """The steps for a negative or missing `max_steps`: the Trainer computes them from `num_epochs` itself."""
    if config.model is None or config.model.sample_packing or streams(config) or not hasattr(config, "arguments"):
        return None
    from cfglint.frameworks.huggingface.batch import steps

    return steps(config).total


def planned(config: AxolotlConfig) -> int | None:
    """The smaller of the computed steps and `max_steps`, which warm-up and logging depend on (train.py); None if it is unknown."""
    model = config.model
    if model is None:
        return None
    if streams(config):
        return int(model.max_steps)
    total = counted(config)
    if total is None:
        return None
    return min(total, int(model.max_steps)) if model.max_steps else total


def warmup_steps(config: AxolotlConfig) -> int | float | None:
    """The warm-up that axolotl passes to the Trainer: steps, or a ratio if the total is missing; None if unknown."""
    model = config.model
    if model is None:
        return None
    if model.warmup_steps is not None:
        return 2 if model.warmup_steps == 1 else int(model.warmup_steps)
    total = planned(config)
    if total is None and model.rl not in OWN_LENGTH:
        return None
    ratio = WARMUP_SHARE if model.warmup_ratio is None else model.warmup_ratio
    if not total:
        return float(ratio) if ratio > 0 else 0
    steps = max(int(ratio * total), 0) if model.warmup_ratio is not None else min(int(ratio * total), MOST_WARMUP)
    return 2 if steps == 1 else steps


def numbers(config: AxolotlConfig) -> dict[str, int | None]:
    """Total steps, warm-up steps, and the length of packed rows."""
    model = config.model
    if model is None or not config.parsed:
        return {"steps_per_epoch": None, "total_steps": None, "warmup_steps": None}
    total, warmup = total_steps(config), warmup_steps(config)
    if isinstance(warmup, float):
        warmup = ceil(warmup * total) if total is not None else None
    found = {"steps_per_epoch": None, "total_steps": total, "warmup_steps": warmup}
    if model.sample_packing:
        found["seq_length"] = int(model.sequence_len)
    return found
