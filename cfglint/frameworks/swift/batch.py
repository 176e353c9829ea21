"""The batch arithmetic of ms-swift: that of the Trainer, with its own loader, and that of TRL's generations.

Each process of supervised training gets the same number of samples, rounded down (4.6.0 dataloader/shard.py:24), where the loader of
the Trainer rounds up. GRPO and GKD repeat prompts as TRL does (4.6.0 rlhf_trainers/args_mixin.py:193-240); before 3.5, which has no sizes
of a generation, GRPO makes one for the micro batches of an accumulation, and before 3.4 one for each micro batch.
"""

from __future__ import annotations

from cfglint.batch.solver import SplitRule
from cfglint.findings.releases import Releases
from cfglint.findings.setting import Batch, Layout, derived
from cfglint.frameworks.huggingface.batch import as_integer, step_numbers
from cfglint.frameworks.huggingface.batch import resolve as of_trainer
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.training_data.generated import MOST_GENERATIONS, Generation, has_complete_groups, rule_of_groups

GENERATING = ("grpo", "gkd")
GRPO, KTO = "grpo", "kto"
SIZE, STEPS = "generation_batch_size", "steps_per_generation"
ONE_MICRO_BATCH = Releases((3, 1, 1), (3, 4))  # a generation is that of one micro batch


def resolve(config: SwiftConfig) -> Batch:
    """The batch; the processes of one sequence are one replica."""
    batch, size = of_trainer(config), config.sequence_parallel
    if size == 1:
        return batch
    parallel = batch.data_parallel.integer
    replicas = parallel // size if parallel is not None else None
    because = "processes / sequence-parallel size"
    factors = (batch.micro_batch.value, batch.accumulation.value, replicas)
    total = factors[0] * factors[1] * factors[2] if all(isinstance(factor, int) for factor in factors) else None
    return Batch(
        Layout(config.world_size, batch.layout.tensor_parallel, sequence_parallel=size),
        batch.micro_batch,
        batch.accumulation,
        derived("data_parallel", replicas, because),
        derived(batch.global_batch.name, total, batch.global_batch.because),
        total,
        batch.problem,
        batch.gpus_per_replica * size,
    )


def generation(config: SwiftConfig) -> Generation | None:
    """The sizes of a generation; None for a trainer that generates nothing, or that does so in another way."""
    if config.trainer not in GENERATING or (config.trainer != GRPO and SIZE not in config.known):
        return None
    usual = 1 if config.own_version in ONE_MICRO_BATCH else config.batch.accumulation.integer
    sizes = Generation(config.own(SIZE), config.own(STEPS))
    sizes.complete(config.batch.micro_batch.integer, config.world_size, usual)
    if config.trainer == GRPO:
        given = (config.own(name) for name in ("num_generations", "num_iterations"))
        sizes.per_prompt, sizes.passes = ((isinstance(number, int) and number) or 1 for number in given)
    return sizes


def batches_because(config: SwiftConfig) -> str:
    """How prompts become the batches of one process, if the trainer generates its training data."""
    sizes = generation(config)
    if sizes is None or sizes.size is None or config.facts.num_examples is None:
        return ""
    return sizes.because(config.facts.num_examples, config.batch.micro_batch.integer, config.library_version)


def loaded(config: SwiftConfig) -> tuple[int | None, int | None]:
    """(samples per epoch, samples that one process takes from the loader at a time); None for an unknown number."""
    examples, micro, world = config.facts.num_examples, config.batch.micro_batch.integer, config.world_size
    if examples is None or config.streams or config.packs or not config.arguments.known("streaming", "packing"):
        return None, micro
    if config.trainer in GENERATING:
        sizes = generation(config)
        return sizes.loaded(examples, micro, config.library_version) if sizes is not None else (None, micro)
    if not config.own_loader or not world:
        return examples, micro
    return examples // max(world // config.sequence_parallel, 1) * world, micro


def numbers(config: SwiftConfig) -> dict[str, int | None]:
    made = generation(config) if SIZE in config.known else None
    sizes = {SIZE: made.size, STEPS: made.steps} if made is not None else {SIZE: None, STEPS: None}
    return {**step_numbers(config), **{name: as_integer(value) for name, value in sizes.items()}}


def split_rule(config: SwiftConfig) -> SplitRule | None:
    """The requirement of the trainer on micro batch and accumulation; None if there is none beyond their product."""
    if config.trainer == KTO:
        return SplitRule(lambda micro, accumulation, processes: micro > 1, 2, "KTO requires a micro batch of 2")
    sizes = generation(config)
    if config.trainer != GRPO or sizes is None or not isinstance(sizes.per_prompt, int) or not 1 < sizes.per_prompt < MOST_GENERATIONS:
        return None
    steps = 1 if config.own_version in ONE_MICRO_BATCH else config.own(STEPS)
    return rule_of_groups(sizes.per_prompt, has_complete_groups(sizes.per_prompt, config.own(SIZE), steps))
