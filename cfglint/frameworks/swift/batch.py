"""The batch arithmetic of ms-swift: that of the Trainer, with its own loader, and that of TRL's generations.

Each process of supervised training gets the same number of samples, rounded down (4.6.0 dataloader/shard.py:24), where the loader of
the Trainer rounds up. GRPO and GKD repeat prompts as TRL does (4.6.0 rlhf_trainers/args_mixin.py:193-240).
"""

from __future__ import annotations

from cfglint.frameworks.huggingface.batch import as_integer, steps
from cfglint.frameworks.huggingface.batch import resolve as of_trainer
from cfglint.frameworks.resolved_batch import Batch, Layout
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import ConfigValue
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.solver import SplitRule

GENERATING = ("grpo", "gkd")
GRPO, KTO = "grpo", "kto"
SIZE, STEPS = "generation_batch_size", "steps_per_generation"
MOST_GENERATIONS = 10_000  # per prompt; the limit of the search for a batch


def resolve(config: SwiftConfig) -> Batch:
    """The batch; the processes of one sequence are one replica."""
    from cfglint.findings.setting import DERIVED, Setting

    found, size = of_trainer(config), config.sequence_parallel
    if size == 1:
        return found
    replicas = found.data_parallel.value // size if found.data_parallel.value is not None else None
    because = "processes / sequence-parallel size"
    factors = (found.micro_batch.value, found.accumulation.value, replicas)
    total = factors[0] * factors[1] * factors[2] if all(isinstance(each, int) for each in factors) else None
    return Batch(
        Layout(config.world_size, found.layout.tensor_parallel, sequence_parallel=size),
        found.micro_batch,
        found.accumulation,
        Setting(("data_parallel",), replicas, DERIVED, because=because),
        Setting(found.global_batch.path, total, DERIVED, because=found.global_batch.because),
        total,
        found.problem,
        found.gpus_per_replica * size,
    )


class SwiftGeneration(Record):
    """The sizes of a generation: completions, the micro batches made of them, completions per prompt, passes."""

    size: int | None
    steps: int | None
    per_prompt: int
    passes: int


def generation(config: SwiftConfig) -> SwiftGeneration | None:
    """The sizes of a generation; None for a trainer that generates nothing, or whose release has no such fields."""
    if config.trainer not in GENERATING or SIZE not in config.known:
        return None
    micro, world = config.batch.micro_batch.value, config.world_size
    one = micro * world if isinstance(micro, int) and world is not None else None
    size, each = config.own(SIZE), config.own(STEPS)
    if size is None and each is None:
        each = integer(config.batch.accumulation.value)
    if size is None:
        size = one * each if one is not None and each is not None else None
    elif each is None and one:
        each = size // one
    per_prompt = config.own("num_generations") if config.trainer == GRPO else 1
    return SwiftGeneration(
        size, each, integer(per_prompt) or 1, integer(config.own("num_iterations")) or 1 if config.trainer == GRPO else 1
    )


def integer(value: object) -> int | None:
    """A value as an integer; None if it is none."""
    return value if isinstance(value, int) else None


def loaded(config: SwiftConfig) -> tuple[int | None, ConfigValue]:
    """(samples per epoch, samples that one process takes from the loader at a time); None for an unknown number."""
    examples, micro, world = config.facts.num_examples, config.batch.micro_batch.value, config.world_size
    if examples is None or config.streams or config.packs or not config.arguments.known("streaming", "packing"):
        return None, micro
    made = generation(config)
    if config.trainer in GENERATING:
        return generated(examples, micro, made)
    if not config.own_sampler or not world:
        return examples, micro
    return examples // max(world // config.sequence_parallel, 1) * world, micro


def generated(examples: int, micro: object, made: SwiftGeneration | None) -> tuple[int | None, ConfigValue]:
    """(completions per epoch, completions of one process per generation): prompts that do not fill a generation are dropped."""
    if made is None or not made.size or not made.steps or made.size < made.per_prompt or not isinstance(micro, int):
        return None, micro
    prompts = made.size // made.per_prompt
    return examples // prompts * prompts * made.per_prompt * made.passes * made.steps, micro * made.steps


def numbers(config: SwiftConfig) -> dict[str, int | None]:
    """Steps and warm-up, and the sizes of a generation."""
    found = steps(config).numbers()
    made = generation(config)
    found[SIZE] = as_integer(made.size) if made is not None else None
    found[STEPS] = as_integer(made.steps) if made is not None else None
    return found


def split_rule(config: SwiftConfig) -> SplitRule | None:
    """The requirement of the trainer on micro batch and accumulation; None if there is none beyond their product."""
    from cfglint.batch.solver import SplitRule

    if config.trainer == KTO:
        return SplitRule(lambda micro, accumulation, processes: micro > 1, 2, "KTO requires a micro batch of 2")
    made = generation(config)
    if config.trainer != GRPO or made is None or not 1 < made.per_prompt < MOST_GENERATIONS:
        return None
    size, each = config.own(SIZE), config.own(STEPS)

    def fits(micro: int, accumulation: int, processes: int) -> bool:
        one = micro * processes
        whole = size if size is not None else one * (each or accumulation)
        return whole % made.per_prompt == 0 and whole >= made.per_prompt and (size is None or size % one == 0)

    return SplitRule(fits, made.per_prompt, f"a generation has to be a multiple of num_generations ({made.per_prompt})")
