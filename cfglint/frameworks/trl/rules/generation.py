"""Rules about the batch of GRPO and RLOO: complete groups of completions in every generation."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.trl.batch import GENERATION, GENERATION_STEPS, count, generation
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.rules import NEW_ENGINE, of, refused
from cfglint.source.annotations import Iterator

GENERATIONS = "num_generations"
LISTS_VALID = Releases((0, 18, 0), (0, 20, 0), "the same with `steps_per_generation`, by the configuration class")


def has_valid_sizes(config: TrlConfig) -> bool:
    """Whether the trainer generates and its sizes are numbers: otherwise the batch or the parser fails first."""
    return config.parsed and config.own_sampler and config.batch.problem is None


@rule("TRL038")
def vllm_tensor_parallel_size(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL038")
    args, world = config.arguments, config.world_size
    size = count(args["vllm_tensor_parallel_size"])
    applies = config.trl_version >= NEW_ENGINE and config.own_sampler and args["use_vllm"] and args["vllm_mode"] == "colocate"
    if applies and size and world and world % size:
        message = f"`vllm_tensor_parallel_size` is {size}, which does not divide the {world} processes"
        exception = f"ValueError: tensor_parallel_size ({size}) must divide world size ({world}) evenly."
        reasons = config.unset("vllm_tensor_parallel_size")
        advice = f"set `vllm_tensor_parallel_size` to a divisor of {world}"
        yield Finding(of(config, "vllm_tensor_parallel_size"), message, exception=exception, depends_on=reasons, help=advice)


@rule("TRL039")
def invalid_generation_size(config: TrlConfig) -> Iterator[Finding]:
    # The exception about sizes that contradict each other is raised first.
    if not has_valid_sizes(config) or any(refusal.kind in ("TRL031", "TRL032") for refusal in config.refusals):
        return
    sizes = {name: config.arguments[name] for name in (GENERATION, GENERATION_STEPS)}
    accumulation = config.arguments["gradient_accumulation_steps"]
    if all(value is None for value in sizes.values()) and isinstance(accumulation, int) and accumulation < 0:
        sizes["gradient_accumulation_steps"] = accumulation
    for name, value in sizes.items():
        if not isinstance(value, (int, float)) or (isinstance(value, int) and (value > 0 or config.trl_version in LISTS_VALID)):
            continue
        text = "ValueError: batch_size should be a positive integer value, but got batch_size=0"
        if value < 0:
            text = "ValueError: maxlen must be non-negative"
        elif isinstance(value, float):
            text = "TypeError: an integer is required"
        message = f"`{name}` is {value}; it must be a positive integer"
        yield Finding(of(config, name), message, exception=text, help=remove_key(name, " for the default"))


@rule("TRL060")
def too_few_prompts(config: TrlConfig) -> Iterator[Finding]:
    made, examples, limit = generation(config), config.facts.num_examples, config.arguments["max_steps"]
    size, per_prompt = count(made.size), count(made.per_prompt)
    if not has_valid_sizes(config) or not size or not per_prompt or not examples or config.streams:
        return
    prompts = size // per_prompt
    if size % per_prompt == 0 and examples < prompts and isinstance(limit, (int, float)) and limit <= 0:
        text = f"ValueError: args.max_steps must be set to a positive value if dataloader does not have a length, was {limit}"
        message = f"one generation needs {prompts} prompts, but the data set has {counted(examples, 'prompt')}"
        advice = "use a smaller `per_device_train_batch_size` or more `num_generations`"
        yield Finding(config.batch.micro_batch, message, related=(of(config, GENERATIONS),), exception=text, help=advice)
