"""Rules about the batch of GRPO and RLOO: complete groups of completions in every generation."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, config_error, init_error
from cfglint.findings.wording import counted
from cfglint.frameworks.generated_data import DROPS_INCOMPLETE, EVALUATION_CHECKED
from cfglint.frameworks.trl.batch import (
    GENERATION,
    GENERATION_STEPS,
    count,
    generation,
)
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.rules import HEAD, NEW_ENGINE, OLD, certain, of, refused
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

MICRO = "per_device_train_batch_size"
GENERATIONS = "num_generations"
LINE = "trl grpo --config train.yaml\n"
GLOBAL_BATCH = Releases((0, 15, 0), (0, 17, 0), "micro batch x processes is compared, by the trainer")
EFFECTIVE_BATCH = Releases((0, 17, 0), (0, 18, 0), "micro batch x processes x accumulation is compared, by the trainer")
LISTS_VALID = Releases((0, 18, 0), (0, 20, 0), "the same with `steps_per_generation`, by the configuration class")
GENERATION_BATCH = Releases((0, 20, 0), of="`generation_batch_size` is compared (RLOO: from 0.22.0 on)")


@config_error(
    "TRL030",
    source="trl 1.16.0 trainer/grpo_config.py:1129-1135, trainer/rloo_config.py:692-698; 0.17.0 trainer/grpo_trainer.py:592-608; "
    "0.16.1 trainer/grpo_trainer.py:424-433",
    releases=(GLOBAL_BATCH, EFFECTIVE_BATCH, LISTS_VALID, GENERATION_BATCH),
    bad=(
        HEAD + "per_device_train_batch_size: 1\ngradient_accumulation_steps: 4\nnum_generations: 16\n",
        Example(
            HEAD + "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nnum_generations: 8\n",
            exception="ValueError: The global train batch size (1 x 1)",
            facts={"target": {"trl": "0.15.2"}},
        ),
        Example(
            HEAD + "per_device_train_batch_size: 1\ngradient_accumulation_steps: 4\nnum_generations: 8\n",
            exception="ValueError: The effective train batch size (1 x 1 x 4)",
            facts={"target": OLD},
        ),
    ),
    good=HEAD + "per_device_train_batch_size: 4\ngradient_accumulation_steps: 4\nnum_generations: 16\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/num_generations"},
)
def incomplete_generation_groups(config: TrlConfig) -> Iterator[Finding]:
    """The completions of one generation are not a multiple of `num_generations`.

    A generation makes `num_generations` completions for each prompt, and the trainer compares them with each other, so a
    group may not be cut. `generation_batch_size` is micro batch x processes x `steps_per_generation` where it is not given,
    and `steps_per_generation` is `gradient_accumulation_steps`. By default `num_generations` is 8 (RLOO: 2).

    Fix: use a micro batch, an accumulation or a number of GPUs that makes it a multiple.
    """
    return refused(config, "TRL030")


def has_valid_sizes(config: TrlConfig) -> bool:
    """Whether the trainer generates and its sizes are numbers: otherwise the batch or the parser fails first."""
    return config.parsed and config.own_sampler and config.batch.problem is None


def sizes_conflict(config: TrlConfig) -> bool:
    """Whether the sizes of a generation contradict each other, for which the exception is raised first."""
    return any(refusal.kind in ("TRL031", "TRL032") for refusal in config.refusals)


@config_error(
    "TRL031",
    source="trl 1.16.0 trainer/grpo_config.py:1101-1107, trainer/rloo_config.py:664-670",
    bad=HEAD + "per_device_train_batch_size: 4\nnum_generations: 8\ngeneration_batch_size: 40\n",
    good=HEAD + "per_device_train_batch_size: 4\nnum_generations: 8\ngeneration_batch_size: 64\n",
    releases=Releases((0, 18, 0)),
    example={"trainer": "grpo", "gpus": 8, "at": "/generation_batch_size"},
)
def generation_batch_not_divisible(config: TrlConfig) -> Iterator[Finding]:
    """`generation_batch_size` is not a multiple of micro batch x processes.

    Fix: use a multiple; or set `steps_per_generation` instead, which is valid on any number of GPUs.
    """
    return refused(config, "TRL031")


@config_error(
    "TRL032",
    raises="ValueError: 'generation_batch_size' and 'steps_per_generation' can not be both configured at the same time",
    source="trl 1.16.0 trainer/grpo_config.py:1113-1116, trainer/rloo_config.py:676-679",
    bad=HEAD + "num_generations: 8\ngeneration_batch_size: 64\nsteps_per_generation: 2\n",
    good=HEAD + "num_generations: 8\nsteps_per_generation: 2\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/generation_batch_size"},
    releases=Releases((0, 18, 0)),
)
def generation_size_twice(config: TrlConfig) -> Iterator[Finding]:
    """`generation_batch_size` and `steps_per_generation` are mutually exclusive."""
    return refused(config, "TRL032")


@config_error(
    "TRL033",
    source="trl 1.16.0 trainer/grpo_config.py:1137-1141, trainer/rloo_config.py:700-704; 0.17.0 trainer/grpo_trainer.py:587-591",
    bad=HEAD + "num_generations: 1\n",
    good=HEAD + "num_generations: 2\nper_device_train_batch_size: 8\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/num_generations"},
    releases=Releases((0, 15, 0)),
)
def too_few_generations(config: TrlConfig) -> Iterator[Finding]:
    """The advantage of a completion is its reward compared with the others of its prompt: at least two are needed.

    Run-time error: `ValueError: GRPO requires at least 2 generations per prompt to calculate the advantages. You provided 1,
    which is less than the minimum required.`, `ZeroDivisionError: integer modulo by zero` (0).
    """
    return refused(config, "TRL033")


@config_error(
    "TRL034",
    source="trl 1.16.0 trainer/grpo_config.py:1118-1127, trainer/rloo_config.py:681-690; 0.17.0 trainer/grpo_trainer.py:609-620",
    bad=(
        HEAD + "num_generations: 8\nper_device_train_batch_size: 8\nper_device_eval_batch_size: 3\neval_strategy: steps\ndo_eval: true\n",
        Example(
            HEAD + "num_processes: 7\nper_device_train_batch_size: 8\nper_device_eval_batch_size: 4\neval_strategy: steps\n",
            "/per_device_eval_batch_size",
            facts={"gpus": 7},
        ),
        Example(
            HEAD + "num_generations: 8\nper_device_train_batch_size: 8\nper_device_eval_batch_size: 3\neval_strategy: steps\n",
            exception="ValueError: The effective eval batch size (1 x 3)",
            facts={"target": OLD},
        ),
    ),
    good=HEAD + "num_generations: 8\nper_device_train_batch_size: 8\nper_device_eval_batch_size: 8\neval_strategy: steps\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/per_device_eval_batch_size"},
    releases=EVALUATION_CHECKED,
)
def incomplete_evaluation_groups(config: TrlConfig) -> Iterator[Finding]:
    """The evaluation batch of all processes is not a multiple of `num_generations_eval` (by default `num_generations`).

    An `eval_strategy` other than "no" turns `do_eval` on.

    Fix: use a multiple, or `num_generations_eval`.
    """
    return refused(config, "TRL034")


@config_error(
    "TRL047",
    source="trl 1.16.0 cli/commands/training.py (TrainingCommand.run), trainer/grpo_config.py:1096-1135, trainer/rloo_config.py",
    bad=(
        {"run.sh": LINE, "train.yaml": HEAD + "num_processes: 8\nper_device_train_batch_size: 1\nnum_generations: 8\n"},
        Example(
            {
                "run.sh": LINE,
                "train.yaml": HEAD + "num_processes: 8\nnum_generations: 8\nper_device_eval_batch_size: 4\neval_strategy: steps\n",
            },
            "/per_device_eval_batch_size",
        ),
    ),
    good={"run.sh": LINE, "train.yaml": HEAD + "num_processes: 8\nper_device_train_batch_size: 8\nnum_generations: 8\n"},
    releases=Releases((1, 0, 0)),
    example={"kind": "launch", "named": 1, "at": "/num_generations"},
)
def incomplete_groups_in_command(config: TrlConfig) -> Iterator[Finding]:
    """The command `trl grpo` checks the batch of a single process before it starts the others.

    It parses the file itself, to separate the keys of accelerate from those of the script, and so builds the trainer's arguments
    in its own process, where the number of processes is 1. The groups of `num_generations` completions must be whole there, too.

    Fix: use a micro batch x accumulation that is a multiple of `num_generations` on one GPU, a written `generation_batch_size`, or
    `accelerate launch` of the script `trl/scripts/grpo.py`, which has no such check.
    """
    return refused(config, "TRL047")


@config_error(
    "TRL035",
    source="trl 1.16.0 trainer/grpo_config.py:1086-1094, trainer/rloo_config.py:649-657",
    old_names=("batch-size-search-with-generation",),
    bad=HEAD + "num_generations: 8\nauto_find_batch_size: true\n",
    good=HEAD + "num_generations: 8\nper_device_train_batch_size: 8\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/auto_find_batch_size"},
    releases=Releases((1, 9, 0)),
)
def auto_find_batch_size_with_generation(config: TrlConfig) -> Iterator[Finding]:
    """`auto_find_batch_size` reduces the batch size, but a generation must consist of complete groups."""
    return refused(config, "TRL035")


@config_error(
    "TRL036",
    raises="ValueError: log_completions_hub_repo is set, but log_completions is False.",
    source="trl 1.16.0 trainer/grpo_config.py:1080-1084",
    bad=HEAD + "num_generations: 8\nlog_completions_hub_repo: org/log\n",
    good=HEAD + "num_generations: 8\nlog_completions: true\nlog_completions_hub_repo: org/log\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/log_completions_hub_repo"},
    releases=Releases((0, 28, 0)),
)
def completions_not_logged(config: TrlConfig) -> Iterator[Finding]:
    """`log_completions_hub_repo` requires `log_completions`."""
    return refused(config, "TRL036")


@config_error(
    "TRL037",
    source="trl 1.16.0 trainer/grpo_config.py:1143-1171",
    bad=(
        HEAD + "num_generations: 8\nvllm_importance_sampling_clip_min: 3.0\nvllm_importance_sampling_clip_max: 2.0\n",
        Example(
            HEAD + "vllm_importance_sampling_mode: token_truncate\nvllm_importance_sampling_clip_max: null\n",
            "/vllm_importance_sampling_mode",
            "ValueError: At least one of",
        ),
    ),
    good=HEAD + "num_generations: 8\nvllm_importance_sampling_clip_min: 0.5\nvllm_importance_sampling_clip_max: 2.0\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/vllm_importance_sampling_clip_min"},
    releases=Releases((1, 6, 0)),
)
def importance_sampling_bounds(config: TrlConfig) -> Iterator[Finding]:
    """The bounds of vLLM's importance sampling are the wrong way round, or a truncating mode has none."""
    return refused(config, "TRL037")


@init_error(
    "TRL038",
    source="trl 1.16.0 generation/vllm_generation.py:313-318",
    bad=HEAD + "num_generations: 8\nuse_vllm: true\nvllm_mode: colocate\nvllm_tensor_parallel_size: 3\n",
    good=HEAD + "num_generations: 8\nuse_vllm: true\nvllm_mode: colocate\nvllm_tensor_parallel_size: 2\n",
    example={"trainer": "grpo", "gpus": 8, "at": "/vllm_tensor_parallel_size"},
    releases=Releases((0, 18, 0)),
)
def vllm_tensor_parallel_size(config: TrlConfig) -> Iterator[Finding]:
    """With `vllm_mode: colocate`, `vllm_tensor_parallel_size` must divide the number of processes."""
    yield from refused(config, "TRL038")
    args, world = config.arguments, config.world_size
    size = count(args["vllm_tensor_parallel_size"])
    if (
        config.trl_version >= NEW_ENGINE
        and config.own_sampler
        and args["use_vllm"]
        and args["vllm_mode"] == "colocate"
        and size
        and world
        and world % size
    ):
        yield Finding(
            of(config, "vllm_tensor_parallel_size"),
            f"`vllm_tensor_parallel_size` is {size}, which does not divide the {world} processes",
            exception=f"ValueError: tensor_parallel_size ({size}) must divide world size ({world}) evenly.",
            severity=certain(config, "vllm_tensor_parallel_size"),
            help=f"set `vllm_tensor_parallel_size` to a divisor of {world}",
        )


@init_error(
    "TRL039",
    source="trl 1.16.0 trainer/grpo_trainer.py (get_train_dataloader, _logs), torch 2.13 utils/data/sampler.py",
    bad=(
        HEAD + "num_generations: 8\nsteps_per_generation: 0\n",
        Example(
            HEAD + "num_generations: 8\ngradient_accumulation_steps: -2\n",
            "/gradient_accumulation_steps",
            "ValueError: maxlen must be non-negative",
        ),
    ),
    good=HEAD + "num_generations: 8\nsteps_per_generation: 1\n",
    example={"trainer": "grpo", "gpus": 1, "at": "/steps_per_generation"},
    releases=Releases((0, 18, 0)),
)
def invalid_generation_size(config: TrlConfig) -> Iterator[Finding]:
    """`generation_batch_size` and `steps_per_generation` must be positive integers.

    Without either, `steps_per_generation` is `gradient_accumulation_steps`, which then must not be negative.

    Run-time error: `ValueError: batch_size should be a positive integer value, but got batch_size=0`, `ValueError: maxlen must
    be non-negative` (below 0), `TypeError: an integer is required` (a fraction).
    """
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


@init_error(
    "TRL060",
    source="trl 1.16.0 trainer/utils.py:937-953, transformers 5.23.0 trainer.py:2541",
    bad=HEAD + "num_generations: 2\nper_device_train_batch_size: 64\n",
    good=HEAD + "num_generations: 2\nper_device_train_batch_size: 8\n",
    example={"trainer": "grpo", "gpus": 8, "num_examples": 100, "at": "/per_device_train_batch_size"},
    releases=Releases(DROPS_INCOMPLETE),
)
def too_few_prompts(config: TrlConfig) -> Iterator[Finding]:
    """The data has fewer prompts than one generation, and an incomplete generation is dropped."""
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
