"""Rules about the batch of GRPO and RLOO: complete groups of completions in every generation."""

from __future__ import annotations

from math import gcd

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import Setting
from cfglint.findings.wording import counted
from cfglint.frameworks.generated_data import OWN_EVALUATION
from cfglint.frameworks.remedies import excludes
from cfglint.frameworks.trl.batch import (
    GENERATION,
    GENERATION_STEPS,
    ONE_MICRO_BATCH,
    Generation,
    count,
    evaluation_group,
    generation,
    number,
)
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.rules import of
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

MICRO = "per_device_train_batch_size"
EVALUATION_MICRO = "per_device_eval_batch_size"
ACCUMULATION = "gradient_accumulation_steps"
GENERATIONS = "num_generations"
GLOBAL_BATCH = Releases((0, 15, 0), (0, 17, 0), "micro batch x processes is compared, by the trainer")
EFFECTIVE_BATCH = Releases((0, 17, 0), (0, 18, 0), "micro batch x processes x accumulation is compared, by the trainer")
LISTS_VALID = Releases((0, 18, 0), (0, 20, 0), "the same with `steps_per_generation`, by the configuration class")
GENERATION_BATCH = Releases((0, 20, 0), of="`generation_batch_size` is compared (RLOO: from 0.22.0 on)")
IN_TRAINER = Releases((0, 15, 0), (0, 18, 0))  # the checks of GRPO are in the trainer
DIVIDES_FIRST = (0, 20, 0)  # from here on the number of generations is a divisor before it is compared with 2
NAMED_GRPO = Releases((0, 22, 0), (0, 24, 0))  # RLOO's message names GRPO


def label(config: TrlConfig) -> str:
    """The trainer as its exceptions name it."""
    return "RLOO" if config.only("rloo") and config.trl_version not in NAMED_GRPO else "GRPO"


def stage(config: TrlConfig) -> Stage:
    """When the release checks the sizes of a generation."""
    return "init" if config.trl_version in IN_TRAINER else "config"


@rule("TRL030")
def incomplete_generation_groups(config: TrlConfig) -> Iterator[Finding]:
    if not has_valid_sizes(config) or sizes_conflict(config):
        return
    made = generation(config)
    if made.size is None or made.per_prompt is None or made.per_prompt == 0:
        return
    listed = config.trl_version in LISTS_VALID or config.trl_version in IN_TRAINER
    if made.size % made.per_prompt == 0 and (not listed or made.per_prompt <= made.size):
        return
    if listed and made.per_prompt < TOO_FEW:  # another rule reports it
        return
    basis = [name for name in (GENERATION, MICRO, GENERATION_STEPS, ACCUMULATION) if name in config.arguments]
    blamed = next((name for name in (GENERATIONS, *basis) if name in config.arguments), GENERATIONS)
    terms = f"`{GENERATION}`" if number(config.arguments[GENERATION]) is not None else terms_of(config, made)
    yield Finding(
        of(config, blamed),
        f"a generation batch has {counted(made.size, 'completion')} ({terms}), not a multiple of `{GENERATIONS}` ({made.per_prompt})",
        related=[of(config, name) for name in basis if name != blamed],
        exception=exception(config, made.size, made.per_prompt),
        fails_at=stage(config),
        depends_on=config.unset(MICRO, GENERATIONS) if basis else config.unset(GENERATIONS),
        help=f"set `{GENERATIONS}` to a divisor of {made.size}",
    )


def terms_of(config: TrlConfig, made: Generation) -> str:
    """How the size of a generation is computed."""
    one = f"micro batch {config.batch.micro_batch.value} x {counted(config.world_size, 'GPU')}"
    return one if config.trl_version in ONE_MICRO_BATCH else f"{one} x {counted(made.steps, 'step')}"


def exception(config: TrlConfig, size: float, per_prompt: float) -> str:
    """The exception of the release."""
    if config.trl_version in GENERATION_BATCH:
        return f"ValueError: generation_batch_size ({size}) must be divisible by num_generations ({per_prompt})."
    made, one = generation(config), f"{config.world_size} x {config.batch.micro_batch.value}"
    what = (
        f"global train batch size ({one})" if config.trl_version in GLOBAL_BATCH else f"effective train batch size ({one} x {made.steps})"
    )
    return f"ValueError: The {what} must be evenly divisible by the number of generations per prompt ({per_prompt})."


TOO_FEW = 2  # the smallest number of completions that can be compared
UNBRACKETED = Releases((0, 18, 0), (0, 19, 1))  # only the micro batch divides: `generation_batch_size % micro * processes != 0`


def has_valid_sizes(config: TrlConfig) -> bool:
    """Whether the trainer generates and its sizes are numbers: otherwise the batch or the parser fails first."""
    return config.parsed and config.own_sampler and config.batch.problem is None


def sizes_conflict(config: TrlConfig) -> bool:
    """Whether the sizes of a generation contradict each other, for which the exception is raised first."""
    args = config.arguments
    if args[GENERATION] is not None and args[GENERATION_STEPS] is not None:
        return True
    return indivisible_by(config) is not None


def indivisible_by(config: TrlConfig) -> int | float | None:
    """Micro batch x processes, if a written `generation_batch_size` is not a multiple of it."""
    size, micro, world = number(config.arguments[GENERATION]), number(config.batch.micro_batch.value), config.world_size
    if size is None or micro is None or not world or micro < 1:
        return None
    remainder = size % micro * world if config.trl_version in UNBRACKETED else size % (micro * world)
    return micro * world if remainder else None


@rule("TRL031")
def generation_batch_not_divisible(config: TrlConfig) -> Iterator[Finding]:
    if not has_valid_sizes(config) or config.arguments[GENERATION_STEPS] is not None:
        return
    one = indivisible_by(config)
    if one is not None:
        size, gpus = config.arguments[GENERATION], counted(config.world_size, "GPU")
        yield Finding(
            of(config, GENERATION),
            f"`{GENERATION}` ({size}) is not a multiple of micro batch {config.batch.micro_batch.value} x {gpus} = {one}",
            related=(config.batch.micro_batch,),
            exception=f"ValueError: generation_batch_size ({size}) must be divisible by the global batch size ({one}).",
            depends_on=config.unset(MICRO),
            help=f"set `{GENERATION}: {-(-size // one) * one}`",
        )


@rule("TRL032")
def generation_size_twice(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if config.own_sampler and args[GENERATION] is not None and args[GENERATION_STEPS] is not None:
        yield excludes(of(config, GENERATION), of(config, GENERATION_STEPS))


@rule("TRL033")
def too_few_generations(config: TrlConfig) -> Iterator[Finding]:
    value = config.arguments[GENERATIONS]
    if not config.own_sampler or not isinstance(value, (int, float)) or value >= TOO_FEW:
        return
    zero = value == 0 and config.trl_version >= DIVIDES_FIRST
    text = f"ValueError: {label(config)} requires at least 2 generations per prompt to calculate the advantages. You provided {value}"
    if config.trl_version in GLOBAL_BATCH:
        made = generation(config)
        text = exception(config, made.size or 0, value)
    yield Finding(
        of(config, GENERATIONS),
        f"`{GENERATIONS}` is {value}; at least 2 are required",
        exception="ZeroDivisionError: integer modulo by zero" if zero else text,
        fails_at=stage(config),
        help=f"set `{GENERATIONS}: 2` or more",
    )


@rule("TRL034")
def incomplete_evaluation_groups(config: TrlConfig) -> Iterator[Finding]:
    found, world = evaluation_group(config), config.world_size
    if not has_valid_sizes(config) or found is None or not world or (found[0] * world) % found[1] == 0:
        return
    (size, per_prompt), gpus = found, counted(world, "GPU")
    own = config.trl_version >= OWN_EVALUATION and number(config.arguments["num_generations_eval"])
    key = "num_generations_eval" if own else GENERATIONS
    setting = uneven_factor(config, size, world, per_prompt)
    others = [each for each in (of(config, EVALUATION_MICRO), of(config, key)) if each.path != setting.path]
    yield Finding(
        setting,
        f"an evaluation batch is {size} x {gpus} = {counted(size * world, 'completion')}, not a multiple of `{key}` ({per_prompt})",
        related=others,
        exception=evaluation_exception(config, size, world, per_prompt),
        fails_at=stage(config),
        depends_on=config.unset(EVALUATION_MICRO, key),
        help=whole_groups(size, world, per_prompt),
    )


def evaluation_exception(config: TrlConfig, size: int, world: int, per_prompt: int) -> str:
    """The exception of the release for an evaluation batch with incomplete groups."""
    release = config.trl_version
    if release < (0, 22, 0):
        what = "effective" if release in EFFECTIVE_BATCH else "global"
        head = f"ValueError: The {what} eval batch size ({world} x {size}) must be evenly divisible by"
        return f"{head} the number of generations per prompt ({per_prompt})."
    head = f"ValueError: The global eval batch size ({size} * {world}) must be divisible by"
    divisor = "the number of generations used for evaluation" if release >= OWN_EVALUATION else "num_generations"
    return f"{head} {divisor} ({per_prompt})."


def whole_groups(size: int, world: int, per_prompt: int) -> str:
    """The next larger evaluation batch that consists of complete groups."""
    step = per_prompt // gcd(world, per_prompt)
    return f"set `{EVALUATION_MICRO}: {-(-size // step) * step}`"


def uneven_factor(config: TrlConfig, size: int, world: int, per_prompt: int) -> Setting:
    """The factor of the evaluation batch to change: the processes, if the file sets them and the micro batch fits the group better."""
    written = config.values.get("num_processes") == world
    return config.setting("num_processes") if written and gcd(world, per_prompt) < gcd(size, per_prompt) else of(config, EVALUATION_MICRO)


@rule("TRL047")
def incomplete_groups_in_command(config: TrlConfig) -> Iterator[Finding]:
    if not config.command_checks or not has_valid_sizes(config) or sizes_conflict(config):
        return
    made, world = generation(config), config.world_size
    micro, per_prompt = number(config.batch.micro_batch.value), made.per_prompt
    why = "the `trl` command checks this for one process, before it starts the others"
    if config.arguments[GENERATION] is None and micro and made.steps and per_prompt:
        one = micro * made.steps
        if one % per_prompt and (not world or (one * world) % per_prompt == 0):
            message = f"micro batch {micro} x {made.steps} steps = {one} is not a multiple of `{GENERATIONS}` ({per_prompt})"
            yield Finding(
                of(config, GENERATIONS),
                message,
                exception=exception(config, one, per_prompt),
                related=(config.batch.micro_batch,),
                note=why,
                help=f"set `{MICRO}: {per_prompt}`, or start the script with accelerate launch",
            )
            return
    found = evaluation_group(config)
    if found is not None and found[0] % found[1] and (not world or (found[0] * world) % found[1] == 0):
        text = f"ValueError: The global eval batch size ({found[0]} * 1) must be divisible by the number of generations used for "
        message = f"`{EVALUATION_MICRO}` ({found[0]}) is not a multiple of the {found[1]} generations per prompt"
        yield Finding(
            of(config, EVALUATION_MICRO),
            message,
            exception=f"{text}evaluation ({found[1]}).",
            note=why,
            help=f"set `{EVALUATION_MICRO}: {found[1]}`",
        )


@rule("TRL035")
def auto_find_batch_size_with_generation(config: TrlConfig) -> Iterator[Finding]:
    if config.own_sampler and config.arguments["auto_find_batch_size"]:
        text = f"ValueError: auto_find_batch_size is not supported by {label(config)}, because the generation batch must contain "
        text += "full prompt groups"
        yield Finding(
            of(config, "auto_find_batch_size"),
            f"`auto_find_batch_size` is not supported by {label(config)}",
            exception=text,
            help="remove `auto_find_batch_size`",
        )


@rule("TRL036")
def completions_not_logged(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if config.only("grpo") and args["log_completions_hub_repo"] is not None and not args["log_completions"]:
        unset = config.unset("log_completions")
        yield Finding(
            of(config, "log_completions_hub_repo"),
            "`log_completions_hub_repo` requires `log_completions`",
            depends_on=unset,
            help="set `log_completions: true`, or remove `log_completions_hub_repo`",
        )


@rule("TRL037")
def importance_sampling_bounds(config: TrlConfig) -> Iterator[Finding]:
    if not config.only("grpo"):
        return
    args = config.arguments
    cap = args["vllm_importance_sampling_cap"]
    name = "vllm_importance_sampling_cap" if cap is not None else "vllm_importance_sampling_clip_max"
    low, high = args["vllm_importance_sampling_clip_min"], cap if cap is not None else args["vllm_importance_sampling_clip_max"]
    mode = args["vllm_importance_sampling_mode"]
    setting = of(config, "vllm_importance_sampling_clip_min")
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low >= high:
        text = f"ValueError: vllm_importance_sampling_clip_min ({low}) must be less than vllm_importance_sampling_clip_max ({high})."
        yield Finding(
            setting,
            f"`{setting.name}` is {low}; it must be below `{name}` ({high})",
            related=(of(config, name),),
            exception=text,
            help=f"set `{setting.name}` below {high}",
        )
    elif low is None and high is None and mode in ("token_truncate", "sequence_truncate") and args["vllm_importance_sampling_correction"]:
        text = "ValueError: At least one of `vllm_importance_sampling_clip_min` or `vllm_importance_sampling_clip_max` must be set"
        message = f"`vllm_importance_sampling_mode: {mode}` requires a bound, and none is set"
        yield Finding(
            of(config, "vllm_importance_sampling_mode"),
            message,
            related=(of(config, name),),
            exception=text,
            help="set `vllm_importance_sampling_clip_max: 3.0`, or another bound",
        )


NEW_ENGINE = (0, 28, 0)  # from here on generation/vllm_generation.py has the check, with another message


@rule("TRL038")
def vllm_tensor_parallel_size(config: TrlConfig) -> Iterator[Finding]:
    args, world = config.arguments, config.world_size
    size = count(args["vllm_tensor_parallel_size"])
    name = "vllm_tensor_parallel_size" if config.trl_version < NEW_ENGINE else "tensor_parallel_size"
    if config.own_sampler and args["use_vllm"] and args["vllm_mode"] == "colocate" and size and world and world % size:
        yield Finding(
            of(config, "vllm_tensor_parallel_size"),
            f"`vllm_tensor_parallel_size` is {size}, which does not divide the {world} processes",
            exception=f"ValueError: {name} ({size}) must divide world size ({world}) evenly.",
            depends_on=config.unset("vllm_tensor_parallel_size"),
            help=f"set `vllm_tensor_parallel_size` to a divisor of {world}",
        )


@rule("TRL039")
def invalid_generation_size(config: TrlConfig) -> Iterator[Finding]:
    if not has_valid_sizes(config) or sizes_conflict(config):
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
        yield Finding(
            of(config, name), f"`{name}` is {value}; it must be a positive integer", exception=text, help=f"remove `{name}` for the default"
        )


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
        yield Finding(
            config.batch.micro_batch,
            message,
            related=(of(config, GENERATIONS),),
            exception=text,
            help="use a smaller `per_device_train_batch_size` or more `num_generations`",
        )
