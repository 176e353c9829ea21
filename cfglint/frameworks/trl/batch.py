"""The batch arithmetic of TRL's trainers: that of the Trainer, except for those that generate their training data.

GRPO and RLOO sample prompts and repeat each: one generation has `generation_batch_size` completions, `num_generations` per
prompt, and supplies `steps_per_generation` micro batches of every process, `num_iterations` times. Prompts that do not
fill a generation are dropped. Source: trl 1.16.0 trainer/grpo_config.py:1096-1116, trainer/grpo_trainer.py
(get_train_dataloader), trainer/utils.py:890-953 (RepeatSampler); 0.17.0 trainer/grpo_trainer.py:592-602, 680-760.

In older releases a generation is made otherwise: GRPO of 0.15 and 0.16 makes one for every micro batch, from 0.17 on one for the micro
batches of an accumulation; `generation_batch_size` and `steps_per_generation` exist from 0.18 on. Until 0.20 the sampler counts an
incomplete generation too, which it does not make. RLOO generates like this from 0.22 on; it was another trainer before.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.frameworks.huggingface.batch import as_integer, step_numbers
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.training_data import generated
from cfglint.frameworks.training_data.generated import Generation, Number, has_complete_groups, rule_of_groups
from cfglint.frameworks.trl.arguments import TrlArguments
from cfglint.frameworks.trl.config import REPEATS, TrlConfig
from cfglint.frameworks.trl.fields import SAME_LOOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.solver import SplitRule

ACCUMULATES: Version = (0, 17, 0)  # from here on one generation supplies all micro batches of an accumulation
ONE_MICRO_BATCH = Releases((0, 15, 0), ACCUMULATES)
GENERATION = "generation_batch_size"
GENERATION_STEPS = "steps_per_generation"
WITHOUT_KL = "apo_zero_unpaired"  # the loss of KTO that does not compare samples
SMALLEST_FOR_KL = 2
# From here on the micro batch has to be as large; before, that of all GPUs of a node with the accumulation.
SMALLEST_MICRO_BATCH: Version = (0, 12, 0)


def at_once(config: TrlConfig, micro: int) -> int | None:
    """The micro batches that one process takes from the loader at a time; None if their number is unknown."""
    return count(generation(config, micro).steps) if config.own_sampler else 1


def generation(config: TrlConfig, micro: int | None = None) -> Generation:
    """The numbers of a generation, with another micro batch if one is passed; an unknown one is None."""
    args = config.arguments
    passes = known_number(args, "num_iterations") if "num_iterations" in args.fields.types else 1
    size, steps, per_prompt = (known_number(args, name) for name in (GENERATION, GENERATION_STEPS, "num_generations"))
    made = Generation(size, steps, per_prompt, passes)
    if args.known(GENERATION, GENERATION_STEPS):
        usual = 1 if config.trl_version in ONE_MICRO_BATCH else known_number(args, "gradient_accumulation_steps")
        made.complete(config.batch.micro_batch.integer if micro is None else micro, config.world_size, usual)
    return made


def loaded(config: TrlConfig) -> tuple[int | None, int | None]:
    examples, micro = config.facts.num_examples, config.batch.micro_batch.integer
    if config.streams or config.packs or not config.arguments.known("packing"):
        return None, micro
    if not config.own_sampler:
        same = (*SAME_LOOP, "grpo") if config.trl_version < REPEATS["grpo"] else SAME_LOOP
        return (examples if config.only(*same) else None), micro
    return generation(config).loaded(examples, micro, config.trl_version)


def numbers(config: TrlConfig) -> dict[str, int | None]:
    found = step_numbers(config)
    found["generation_batch_size"] = found["steps_per_generation"] = None
    if config.parsed and config.own_sampler and GENERATION in config.arguments.fields.types:
        made = generation(config)
        found["generation_batch_size"], found["steps_per_generation"] = as_integer(made.size), as_integer(made.steps)
    return found


def count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def known_number(args: TrlArguments, name: str) -> Number:
    return args.number(name) if args.known(name) else None


def split_rule(config: TrlConfig) -> SplitRule | None:
    """The requirement of the trainer on micro batch and accumulation; None if there is none beyond their product."""
    from cfglint.batch.solver import SplitRule

    args = config.arguments
    if config.only("kto") and args["loss_type"] != WITHOUT_KL and config.trl_version >= SMALLEST_MICRO_BATCH:
        return SplitRule(lambda micro, *_: micro >= SMALLEST_FOR_KL, SMALLEST_FOR_KL, "KTO requires a micro batch of 2")
    per_prompt = count(args["num_generations"])
    if not config.own_sampler or per_prompt is None or not 1 < per_prompt < generated.MOST_GENERATIONS:
        return None
    own = count(args["num_generations_eval"]) if config.trl_version >= generated.OWN_EVALUATION else None
    samples, per_group = count(args["per_device_eval_batch_size"]), own or per_prompt
    checked = any(config.trl_version in releases for releases in generated.EVALUATION_CHECKED)
    is_checked = checked and args.eval_strategy in ("steps", "epoch")
    steps_ = 1 if config.trl_version in ONE_MICRO_BATCH else count(args[GENERATION_STEPS])
    is_complete = has_complete_groups(per_prompt, count(args[GENERATION]), steps_)

    def fits(micro: int, accumulation: int, processes: int) -> bool:
        evaluates = not is_checked or samples is None or (samples * processes) % per_group == 0
        return evaluates and is_complete(micro, accumulation, processes)

    def accepts(micro: int, accumulation: int, processes: int) -> bool:
        in_command = not config.command_checks or fits(micro, accumulation, 1)  # which has one process
        return in_command and fits(micro, accumulation, processes)

    return rule_of_groups(per_prompt, accepts)
