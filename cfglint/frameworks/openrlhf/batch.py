"""The batch arithmetic of OpenRLHF, and what DeepSpeed makes of it.

Source: openrlhf 0.11.2 utils/deepspeed/deepspeed.py:108-118 (setup_distributed), 415-440 (get_ds_train_config), cli/train_sft.py:90-105,
utils/distributed_sampler.py:84-96; 0.6.0 utils/deepspeed/deepspeed.py (is_rlhf); deepspeed 0.19.8 runtime/config.py:593-650.
"""

from __future__ import annotations

from math import ceil

from cfglint.findings.setting import Batch, BatchProblem, Layout, derived
from cfglint.frameworks.openrlhf.config import OpenRlhfConfig
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.rows.refusals import refused_batch

TWICE: Version = (0, 7, 1)  # before, an actor with a pretraining loss has two backward passes a step
BY_SAMPLES: Version = (0, 4)  # from here on the steps of an epoch are samples / global batch,
BY_LOADER: Version = (0, 11, 2)  # and those of `train_sft` micro batches / accumulation again from here on
DIVIDED = "ZeroDivisionError: integer division or modulo by zero"


class Sizes:
    """The numbers of a batch; each is None where it is unknown."""

    def __init__(self, config: OpenRlhfConfig) -> None:
        self.gpus = gpus = config.gpus
        self.total = total = config.integer("train_batch_size")
        self.micro = micro = config.integer("micro_train_batch_size")
        self.ring, self.tensor = config.integer("ring_attn_size", 1), config.integer("ds_tensor_parallel_size", 1)
        self.replica = self.ring * self.tensor if self.ring and self.tensor else None
        self.is_dynamic = config.is_on("use_dynamic_batch") if config.key("use_dynamic_batch") in config.known else False
        self.parallel = gpus // self.replica if gpus and self.replica and gpus % self.replica == 0 else None

        # the micro batches of a step, rounded down, and its samples
        self.accumulation = self.consumed = None
        if self.is_dynamic is False and total is not None and micro and gpus and self.replica:
            self.accumulation = total * self.replica // micro // gpus
            self.consumed = micro * self.accumulation * self.parallel if self.parallel else None


def batch(config: OpenRlhfConfig) -> Batch:
    sizes = Sizes(config)
    dynamic = sizes.is_dynamic is not False
    divisor = "GPUs / (ring attention x tensor parallel size)" if sizes.replica != 1 else "GPUs"
    return Batch(
        Layout(sizes.gpus, sizes.tensor or 1, context_parallel=sizes.ring or 1),
        config.setting(config.key("micro_train_batch_size")) if not dynamic else derived("micro_batch", None, "packed by tokens"),
        derived("accumulation", sizes.accumulation, "global batch / (micro batch x data parallel), rounded down"),
        derived("data_parallel", sizes.parallel, divisor),
        config.setting(config.key("train_batch_size")),
        sizes.consumed,
        problem(config, sizes),
        gpus_per_replica=sizes.replica or 1,
    )


def problem(config: OpenRlhfConfig, sizes: Sizes) -> BatchProblem | None:
    """What DeepSpeed refuses of the batch that OpenRLHF hands to it."""
    if sizes.total is None or sizes.micro is None or sizes.is_dynamic is not False or not sizes.replica or not sizes.gpus:
        return None
    total, micro = config.setting(config.key("train_batch_size")), config.setting(config.key("micro_train_batch_size"))
    doubled = 2 if is_twice(config) else 1
    whole, counts = sizes.total * sizes.replica, not config.uses_ray and config.program != "ppo"  # the steps of its data first
    if sizes.micro == 0:
        return BatchProblem("not-positive", micro, f"`{micro.name}` is 0; it must be positive", DIVIDED, "init")
    for setting, value in ((total, whole), (micro, sizes.micro)):
        if value <= 0:
            text = DIVIDED if value == 0 and counts else refused(config, sizes, doubled * whole)
            return BatchProblem("not-positive", setting, f"`{setting.name}` is {setting.value}; it must be positive", text, "init")
    accumulation = doubled * whole // sizes.micro // sizes.gpus
    if accumulation > 0 and accumulation * sizes.micro * sizes.gpus == doubled * whole:
        return None
    text = DIVIDED if not accumulation and counts and counts_loader(config) else refused(config, sizes, doubled * whole)
    parallel = f"data parallel {sizes.parallel}" if sizes.parallel is not None else f"{sizes.gpus} GPUs / {sizes.replica}"
    message = f"`{total.name}` is {sizes.total}, not a multiple of micro batch {sizes.micro} x {parallel}"
    return BatchProblem("mismatch", total if total.node is not None else micro, message, text, "init")


def refused(config: OpenRlhfConfig, sizes: Sizes, total: int) -> str:
    release = config.facts.version("deepspeed", RELEASES["deepspeed"])
    return refused_batch("deepspeed", "DeepSpeedConfig", release, (total, sizes.micro, None), sizes.gpus)


def is_twice(config: OpenRlhfConfig) -> bool:
    """Whether the actor has two backward passes for each micro batch, so that DeepSpeed gets twice the batch."""
    return config.own_version < TWICE and config.program.startswith("ppo") and config.own("pretrain_data") is not None


def counts_loader(config: OpenRlhfConfig) -> bool:
    """Whether the steps are counted from the micro batches of a process, and not from the samples of the set."""
    return config.own_version < BY_SAMPLES or (config.program == "sft" and config.own_version >= BY_LOADER)


def numbers(config: OpenRlhfConfig) -> dict[str, int | None]:
    """The length of a row, and the steps of an epoch and of the run, for the schedule; unknown for PPO, whose samples are generated."""
    found: dict[str, int | None] = {"seq_length": config.integer("max_len"), "steps_per_epoch": None, "total_steps": None}
    sizes, examples, most = Sizes(config), config.facts.num_examples, config.integer("max_samples", 10**9)
    epochs, accumulation, parallel = config.integer("max_epochs"), sizes.accumulation, sizes.parallel
    if config.uses_ray or config.program == "ppo" or examples is None or most is None or epochs is None:
        return found
    rows = min(examples, most)
    if not counts_loader(config):
        each = rows // sizes.total if sizes.total else None
        return {**found, "steps_per_epoch": each, "total_steps": each * epochs if each is not None else None}
    if not parallel or not sizes.micro or not accumulation:
        return found
    own = ceil((rows - parallel) / parallel) if rows % parallel else rows // parallel
    batches = own // sizes.micro  # of one process, complete ones
    total = batches * epochs // accumulation if config.own_version >= BY_LOADER else batches // accumulation * epochs
    return {**found, "steps_per_epoch": batches // accumulation, "total_steps": total}
