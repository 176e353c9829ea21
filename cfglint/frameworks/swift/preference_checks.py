"""What preference training (`swift rlhf`) refuses of its arguments, beyond the checks of all training.

Source: ms-swift 4.6.0 arguments/rlhf_args.py, rlhf_trainers/args_mixin.py; 3.12.6 llm/argument/rlhf_args.py. The releases are those whose
source has the check.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.frameworks.generated_data import EVALUATION_CHECKED
from cfglint.frameworks.generated_data import OWN_EVALUATION as EVALUATION_OF_ITS_OWN
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.swift.batch import GENERATING, GRPO, ONE_MICRO_BATCH, SIZE, STEPS, generation
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.frameworks.versions import Version
from cfglint.source.annotations import Any, Callable, Iterator, Mapping
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

METHOD, ROLLOUT, GENERATIONS = "SWF018", "SWF019", "SWF020"

CACHED = Releases((3, 7))
TRUNCATION_LEFT = Releases((3, 3), (3, 7))
TRUNCATION_ASSERTED = Releases((3, 7), (4,))
TRUNCATION = Releases((4,))
VLLM_MODE = Releases((3, 11, 1))
SERVER = Releases((3, 5))
ASYNC = Releases((3, 5))
OWN_GENERATIONS = Releases((4, 2))  # before, a class of its library checks them,
OF_TRAINER = Releases((3, 1, 1), (3, 5))  # and before that its own trainer
CONFIG_CHECKS: Version = (0, 18, 0)  # from here on TRL's GRPOConfig checks them; before, its trainer does
DIVIDES: Version = (0, 20, 0)  # from here on its messages name `generation_batch_size`
MICRO, ACCUMULATION = "per_device_train_batch_size", "gradient_accumulation_steps"
FEWEST = 2  # completions per prompt that can be compared
TEACHER = Releases((4, 4))
SEQUENCE = Releases((3, 7))
PADDING_FREE = Releases((3, 6))
PACKED = Releases((3, 8))  # from here on `packing` counts, too
PADDING_FREE_KTO = Releases((3, 9))
LOSSES = Releases((3, 7))
REFERENCE = Releases((3, 1))
WITHOUT_REFERENCE = Releases((3, 2))
WITH_REFERENCE = ("dpo", "kto", "ppo", "grpo")
WITH_SEQUENCE_PARALLEL = ("grpo", "dpo")
WITH_PADDING_FREE = ("grpo", "dpo", "gkd")
NOT_EQUAL = "ValueError: generation_batch_size ({}) must equal per_device_train_batch_size * world_size * steps_per_generation = {}."
NOT_DIVISIBLE = "ValueError: generation_batch_size ({}) must be evenly divisible by num_generations ({}). Valid values: {}."
EVALUATION = "ValueError: The {} eval batch size ({{}} x {{}}) must be evenly divisible by the number of generations per prompt ({{}})."
OWN_EVALUATION = "ValueError: The global eval batch size ({} x {}) must be evenly divisible by num_generations_eval ({}). Valid values: {}."
TOO_FEW = (
    "ValueError: GRPO requires at least 2 generations per prompt to calculate the advantages. You provided {}, which is less than the"
    " minimum required."
)
NO_SEQUENCE = (
    "NotImplementedError: The current rlhf_type '{}' does not support sequence_parallel. Please set --sequence_parallel_size to 1."
)
NO_PADDING_FREE = "NotImplementedError: The current rlhf_type '{}' does not support padding_free. Please set --padding_free to false."
NO_PACKING = (
    "NotImplementedError: The current rlhf_type '{}' does not support padding_free/packing. Please set --padding_free/packing to false."
)


class Conflict(Record):
    """Arguments that a kind of preference training refuses together: each name with what its value has to be for that."""

    kinds: tuple[str, ...]
    arguments: Mapping[str, Callable[[Any], bool]]
    message: str
    exception: str
    releases: Releases


def given(value: Any) -> bool:
    """Whether an argument has a value."""
    return value is not None


def above_one(value: Any) -> bool:
    """Whether a number is above 1."""
    return isinstance(value, int) and value > 1


LIGER, GKD, BOTH = {"use_liger_kernel": bool}, ("gkd",), ("grpo", "gkd")
CONFLICTS = (
    Conflict(
        (GRPO,),
        {"delta": given, **LIGER},
        "the loss of Liger does not support `delta`",
        "ValueError: Liger loss does not support two-sided GRPO loss yet.",
        Releases((3, 5)),
    ),
    Conflict(
        (GRPO,),
        {"sequence_parallel_size": above_one, **LIGER},
        "the loss of Liger does not support sequence parallelism",
        "ValueError: Liger loss does not support sequence parallel yet.",
        Releases((3, 5, 3)),
    ),
    Conflict(
        (GRPO,),
        {"padding_free": bool, **LIGER},
        "the loss of Liger does not support `padding_free`",
        "ValueError: Liger loss does not support padding free yet.",
        Releases((3, 6)),
    ),
    Conflict(
        (GRPO,),
        {"top_entropy_quantile": lambda value: value < 1, **LIGER},
        "the loss of Liger does not support `top_entropy_quantile` below 1",
        "ValueError: Liger loss does not support entropy mask yet.",
        Releases((3, 7)),
    ),
    Conflict(
        (GRPO,),
        {"log_entropy": bool, **LIGER},
        "the loss of Liger does not support `log_entropy`",
        "ValueError: Liger loss does not support log entropy yet.",
        Releases((3, 7)),
    ),
    Conflict(
        (GRPO,),
        {"off_policy_sequence_mask_delta": given, **LIGER},
        "the loss of Liger does not support `off_policy_sequence_mask_delta`",
        "ValueError: Liger loss does not support off-policy sequence masking yet.",
        Releases((4,)),
    ),
    Conflict(
        (GRPO,),
        {"advantage_estimator": lambda value: value != GRPO, **LIGER},
        "the loss of Liger requires `advantage_estimator grpo`",
        "ValueError: Liger loss currently only support grpo advantage estimator",
        Releases((3, 10)),
    ),
    Conflict(
        (GRPO,),
        {"async_generate": bool, "multi_turn_scheduler": given},
        "`async_generate` is incompatible with `multi_turn_scheduler`",
        "NotImplementedError: Currently, async_generate is not supported with multi-turn functionality.",
        Releases((3, 6)),
    ),
    Conflict(
        GKD,
        {"multi_turn_scheduler": given},
        "GKD does not support `multi_turn_scheduler`",
        "NotImplementedError: Currently, multi_turn_scheduler is not supported for GKD.",
        Releases((3, 10), (4, 4, 1)),
    ),
    Conflict(
        GKD,
        {"async_generate": bool},
        "GKD does not support `async_generate`",
        "NotImplementedError: Currently, async_generate is not supported for GKD.",
        Releases((3, 10)),
    ),
    Conflict(
        GKD,
        {"seq_kd": bool},
        "`seq_kd` is no longer implemented",
        "NotImplementedError: seq_kd=True (Sequential KD with teacher generation) is deprecated.",
        Releases((4, 4)),
    ),
    Conflict(
        BOTH,
        {"teacher_model": given, "teacher_model_server": given},
        "`teacher_model` and `teacher_model_server` are both set",
        "ValueError: setting both `teacher_model` and `teacher_model_server` is not supported.",
        Releases((4, 4)),
    ),
    Conflict(
        GKD,
        {"gkd_logits_topk": lambda value: value is not None and value <= 0},
        "`gkd_logits_topk` is not above 0",
        "ValueError: gkd_logits_topk must be a positive integer, got ",
        Releases((4,)),
    ),
    Conflict(
        GKD,
        {"gkd_logits_topk": given, **LIGER},
        "the loss of Liger does not support `gkd_logits_topk`",
        "ValueError: gkd_logits_topk is not supported when using liger kernel",
        Releases((4,)),
    ),
    Conflict(
        GKD,
        {"use_liger_kernel": bool, "teacher_model": lambda value: value is None, "teacher_model_server": lambda value: value is None},
        "`use_liger_kernel` requires `teacher_model`",
        "ValueError: Self-distillation mode with liger kernel loss is not supported yet",
        Releases((4, 4)),
    ),
    Conflict(
        GKD,
        {"teacher_model_server": given, "gkd_logits_topk": lambda value: value is None},
        "`teacher_model_server` requires `gkd_logits_topk`",
        "ValueError: gkd_logits_topk is required when using teacher_model_server",
        Releases((4,)),
    ),
    Conflict(
        ("kto", "cpo", "simpo", "orpo", "rm", "grpo", "gkd", "ppo"),
        {"loss_weights": given},
        "`loss_weights` requires `rlhf_type dpo`",
        "AssertionError",
        Releases((3, 7)),
    ),
)


def conflicts(config: SwiftConfig) -> Iterator[Refusal]:
    """The arguments that the kind of preference training refuses together."""
    for each in CONFLICTS:
        names = list(each.arguments)
        if config.trainer not in each.kinds or config.own_version not in each.releases or not all(name in config.known for name in names):
            continue
        if config.arguments.known(*names) and all(holds(config.arguments[name]) for name, holds in each.arguments.items()):
            shown = config.arguments[names[0]]
            text = f"{each.exception}{shown}" if each.exception.endswith(" ") else each.exception
            written = next((name for name in names if config.arguments[name]), names[0])
            remedy = set_key(written, False) if config.arguments[written] is True else remove_key(written)
            yield Refusal(METHOD, names, each.message, text, [remedy])


def first(config: SwiftConfig) -> Iterator[Refusal]:
    """What preference training refuses of its own arguments before those of all training."""
    if config.trainer == GRPO:
        yield from grpo(config)
    if config.trainer in GENERATING:
        yield from rollout(config)
    losses = config.own("loss_type")
    if (
        isinstance(losses, list)
        and len(losses) > 1
        and config.command == "rlhf"
        and config.trainer != "dpo"
        and config.own_version in LOSSES
    ):
        text = f"AssertionError: Multiple loss types ({losses}) are only supported for DPO. Current rlhf_type: {config.trainer}."
        yield Refusal(
            METHOD, ["loss_type", "rlhf_type"], "several values of `loss_type` require `rlhf_type dpo`", text, ["give one `--loss_type`"]
        )


def grpo(config: SwiftConfig) -> Iterator[Refusal]:
    """What GRPO refuses."""
    if config.own("cached_dataset") and config.own_version in CACHED:
        text = "ValueError: cached_dataset is not supported for GRPO."
        yield Refusal(METHOD, ["cached_dataset"], "GRPO does not support `cached_dataset`", text, ["give the data as `--dataset`"])
    strategy = config.own("truncation_strategy")
    allowed = ("left",) if config.own_version in TRUNCATION_LEFT else ("left", "delete")
    checked = any(config.own_version in each for each in (TRUNCATION_LEFT, TRUNCATION_ASSERTED, TRUNCATION))
    if checked and strategy is not None and strategy not in allowed:
        error = "ValueError" if config.own_version in TRUNCATION else "AssertionError"
        text = f"{error}: GRPO requires `truncation_strategy 'left' or 'delete'`, Current value: `truncation_strategy='{strategy}'`."
        if config.own_version in TRUNCATION_LEFT:
            text = f"{error}: GRPO requires `truncation_strategy='left'`,Current value: `truncation_strategy='{strategy}'`."
        message = f"GRPO does not support `truncation_strategy {strategy}`"
        yield Refusal(METHOD, ["truncation_strategy"], message, text, [set_key("truncation_strategy", "left")])
    functions = config.own("reward_funcs")
    if isinstance(functions, list) and "soft_overlong" in functions and config.is_unset("soft_cache_length"):
        text = "AssertionError: The soft_cache_length must be set when using soft overlong rewards."
        message = "the reward `soft_overlong` requires `soft_cache_length`"
        yield Refusal(METHOD, ["reward_funcs"], message, text, ["set `--soft_cache_length` to a number of tokens"])


def rollout(config: SwiftConfig) -> Iterator[Refusal]:
    """The arguments about vLLM."""
    if "vllm_mode" not in config.known or not config.arguments.known("vllm_mode", "use_vllm"):
        return
    mode, used = config.own("vllm_mode"), bool(config.own("use_vllm"))
    if config.own_version in VLLM_MODE and mode is not None and not used:
        text = "ValueError: vllm_mode is not supported when use_vllm is false"
        yield Refusal(
            ROLLOUT,
            ["vllm_mode", "use_vllm"],
            "`vllm_mode` requires `use_vllm true`",
            text,
            [set_key("use_vllm", True), remove_key("vllm_mode")],
        )
    if config.own_version in VLLM_MODE and mode is None and used:
        text = "ValueError: vllm_mode is required when use_vllm is true"
        yield Refusal(ROLLOUT, ["use_vllm"], "`use_vllm` requires `vllm_mode`", text, [set_key("vllm_mode", "colocate")])
    hosts = [name for name in ("vllm_server_host", "vllm_server_base_url") if name in config.known]
    if config.own_version in SERVER and mode == "server" and used and all(config.is_unset(name) for name in hosts):
        yield Refusal(
            ROLLOUT, ["vllm_mode"], "`vllm_mode server` requires `vllm_server_host`", "AssertionError", ["set `--vllm_server_host`"]
        )
    if config.own_version in ASYNC and "async_generate" in config.known and config.own("async_generate") and mode != "server":
        text = "AssertionError: async generate require vllm_mode == server, "
        yield Refusal(
            ROLLOUT, ["async_generate", "vllm_mode"], "`async_generate` requires `vllm_mode server`", text, [set_key("vllm_mode", "server")]
        )


def generations(config: SwiftConfig) -> Iterator[Refusal]:
    """The sizes of a generation of GRPO."""
    made = generation(config)
    if config.trainer != GRPO or made is None or not config.is_whole or not config.arguments.known("num_generations", SIZE, STEPS):
        return
    if config.own_version in OWN_GENERATIONS:
        yield from own_generations(config)
    elif config.own_version in OF_TRAINER:
        yield from generations_of_trainer(config)
    else:
        yield from generations_of_library(config)


def own_generations(config: SwiftConfig) -> Iterator[Refusal]:
    """What ms-swift itself refuses of the sizes of a generation."""
    made, one = generation(config), samples_at_once(config)
    assert made is not None
    if made.per_prompt < FEWEST:
        if config.own_version not in TEACHER:
            yield too_few(TOO_FEW.format(made.per_prompt))
        elif not config.own("teacher_model") and not config.own("teacher_model_server"):
            yield too_few("ValueError: num_generations must be greater than 1 for GRPO")
        return
    if not one:
        return
    size, each = config.own(SIZE), config.own(STEPS)
    if size is not None and each is None and size % one:
        yield no_multiple(size, one)
    elif size is not None and each is not None and size != one * each:
        yield sizes_twice(NOT_EQUAL.format(size, one * each))
    elif made.steps is not None and made.steps <= 0:
        text = f"ValueError: steps_per_generation must be > 0, got {made.steps}."
        key = STEPS if each is not None else ACCUMULATION
        message = f"`{key}` is {made.steps}; a generation needs at least one micro batch"
        yield Refusal(GENERATIONS, [key], message, text, [set_key(key, 1)])
    elif made.size is not None and (made.size % made.per_prompt or not made.size):
        yield indivisible(config, NOT_DIVISIBLE.format(made.size, made.per_prompt, divisors(made.size)))
    elif made.size is not None:
        yield from evaluation_of_generations(config, OWN_EVALUATION)


def generations_of_trainer(config: SwiftConfig) -> Iterator[Refusal]:
    """What the trainer of ms-swift before 3.5 refuses (3.2.2 grpo_trainer.py:178-194, 3.4.0 :202-223, rlhf_args.py:221)."""
    made, one = generation(config), samples_at_once(config)
    assert made is not None
    if made.per_prompt < FEWEST and config.own_version not in ONE_MICRO_BATCH:
        yield too_few(TOO_FEW.format(made.per_prompt))
        return
    if not one or not made.size:
        return
    micro, world = config.batch.micro_batch.value, config.world_size
    alone = config.own_version in ONE_MICRO_BATCH
    what = f"global train batch size ({world} x {micro})" if alone else f"effective train batch size ({world} x {micro} x {made.steps})"
    if made.per_prompt not in divisors(made.size):
        text = f"ValueError: The {what} must be evenly divisible by the number of generations per prompt ({made.per_prompt})."
        yield too_few(text, "init") if made.per_prompt < FEWEST else indivisible(config, text, "init")
    else:
        kind = "global" if alone else "effective"
        yield from evaluation_of_generations(config, EVALUATION.format(kind), "init")


def generations_of_library(config: SwiftConfig) -> Iterator[Refusal]:
    """What the class of TRL refuses of the sizes of a generation (trl 0.18.1 and 0.24.0 trainer/grpo_config.py)."""
    made, one, release = generation(config), samples_at_once(config), config.library_version
    assert made is not None
    if release < CONFIG_CHECKS:  # of whose trainer ms-swift deletes the checks; the sampler takes as many prompts as are complete
        if one and made.size is not None and made.size < made.per_prompt:
            yield indivisible(config, "ValueError: range() arg 3 must not be zero", "first-step")
        return
    size, each = config.own(SIZE), config.own(STEPS)
    if size is not None and each is not None:
        yield sizes_twice("ValueError: 'generation_batch_size' and 'steps_per_generation' can not be both configured at the same time")
        return
    if one and size is not None and size % one:
        yield no_multiple(size, one)
        return
    if made.per_prompt < FEWEST:
        yield too_few(TOO_FEW.format(made.per_prompt))
        return
    if not one or made.size is None:
        return
    if made.size % made.per_prompt or not made.size:
        text = f"ValueError: generation_batch_size ({made.size}) must be divisible by num_generations ({made.per_prompt})."
        if release < DIVIDES:
            what = f"{config.world_size} x {config.batch.micro_batch.value} x {made.steps}"
            text = f"ValueError: The effective train batch size ({what}) must be evenly divisible by the number of generations per prompt"
            text = f"{text} ({made.per_prompt})."
        yield indivisible(config, text)
    elif any(release in each for each in EVALUATION_CHECKED):
        text = EVALUATION.format("global")
        if release >= DIVIDES:
            text = "ValueError: The global eval batch size ({1} * {0}) must be divisible by "
            text += ("the number of generations used for evaluation" if release >= EVALUATION_OF_ITS_OWN else "num_generations") + " ({2})."
        yield from evaluation_of_generations(config, text)


def samples_at_once(config: SwiftConfig) -> int | None:
    """Micro batch x processes; None if one of them is unknown."""
    micro, world = config.batch.micro_batch.value, config.world_size
    return micro * world if isinstance(micro, int) and world is not None else None


def divisors(number: int) -> list[int]:
    """The numbers of completions per prompt that divide a generation."""
    return [count for count in range(FEWEST, number + 1) if number % count == 0]


def too_few(text: str, fails_at: Stage = "config") -> Refusal:
    """The refusal of fewer than two completions per prompt."""
    message = "GRPO requires `num_generations` of at least 2"
    return Refusal(GENERATIONS, ["num_generations"], message, text, ["set `--num_generations` to 2 or more"], fails_at)


def no_multiple(size: int, one: int) -> Refusal:
    """The refusal of a size that is no multiple of micro batch x processes."""
    text = f"ValueError: generation_batch_size ({size}) must be divisible by the global batch size ({one})."
    message = f"`{SIZE}` ({size}) is not a multiple of micro batch x processes ({one})"
    return Refusal(GENERATIONS, [SIZE], message, text, [f"set `--{SIZE}` to a multiple of {one}"])


def sizes_twice(text: str) -> Refusal:
    """The refusal of both sizes of a generation."""
    return Refusal(GENERATIONS, [SIZE, STEPS], f"`{SIZE}` and `{STEPS}` are both set", text, [remove_key(STEPS)])


def indivisible(config: SwiftConfig, text: str, fails_at: Stage = "config") -> Refusal:
    """The refusal of a generation whose completions are no multiple of those per prompt."""
    made = generation(config)
    assert made is not None
    message = f"a generation has {made.size} completions, not a multiple of `num_generations` ({made.per_prompt})"
    if config.own(SIZE) is not None:
        others = f"set `--{SIZE}` to a multiple of {made.per_prompt}"
    else:
        steps = STEPS if config.own(STEPS) is not None else ACCUMULATION
        factors = [f"`--{MICRO}`", *([] if config.own_version in ONE_MICRO_BATCH else [f"`--{steps}`"])]
        others = f"choose {', '.join(factors)} and the processes so that {made.per_prompt} divides their product"
    remedy = [f"set `--num_generations` to a divisor of {made.size}", others] if made.size and made.size >= FEWEST else [others]
    return Refusal(GENERATIONS, ["num_generations"], message, text, remedy, fails_at)


def evaluation_of_generations(config: SwiftConfig, text: str, fails_at: Stage = "config") -> Iterator[Refusal]:
    """The evaluation batch of all processes against the completions per prompt; `text` is the exception, without its numbers."""
    args, world, made = config.arguments, config.world_size, generation(config)
    if not args.known("eval_strategy") or args.eval_strategy not in ("steps", "epoch") or world is None or made is None:
        return
    group = (config.own("num_generations_eval") if "num_generations_eval" in config.known else None) or made.per_prompt
    each = config.own("per_device_eval_batch_size")
    if not isinstance(each, int) or not isinstance(group, int) or (each * world) % group == 0:
        return
    valid = [count for count in range(1, each * world + 1) if each * world % count == 0]
    message = f"the evaluation batch of all processes ({each * world}) is not a multiple of the completions per prompt ({group})"
    remedy = [set_key("per_device_eval_batch_size", group)]
    yield Refusal(GENERATIONS, ["per_device_eval_batch_size"], message, text.format(world, each, group, valid), remedy, fails_at)


def after(config: SwiftConfig) -> Iterator[Refusal]:
    """What preference training refuses after the arguments of the trainer."""
    kind = config.trainer
    if config.command != "rlhf" or not config.arguments.known("rlhf_type"):
        return
    if config.sequence_parallel > 1 and kind not in WITH_SEQUENCE_PARALLEL and config.own_version in SEQUENCE:
        text = NO_SEQUENCE.format(kind)
        message = f"`rlhf_type {kind}` does not support sequence parallelism"
        yield Refusal(METHOD, ["sequence_parallel_size", "rlhf_type"], message, text, [set_key("sequence_parallel_size", 1)])
    yield from padding_free(config)
    yield from conflicts(config)
    full = config.own(config.swift.tuner_key) == "full"
    without = kind == GRPO and config.own("beta") == 0 and config.own_version in WITHOUT_REFERENCE
    if config.own("ref_model") and not without and not (kind in WITH_REFERENCE and full) and config.own_version in REFERENCE:
        text = "ValueError: CPO/ORPO or LoRA training does not require a ref_model to be passed in."
        message = "`ref_model` is for full training with DPO, KTO, PPO or GRPO"
        yield Refusal(METHOD, ["ref_model", config.swift.tuner_key], message, text, [remove_key("ref_model")])


def padding_free(config: SwiftConfig) -> Iterator[Refusal]:
    """Kinds of preference training that do not support samples in one row."""
    kind, packs = config.trainer, config.own_version in PACKED
    names = ("packing", "padding_free") if packs else ("padding_free",)
    feature = next((name for name in names if name in config.known and config.own(name)), "")
    supported = (*WITH_PADDING_FREE, "kto") if config.own_version in PADDING_FREE_KTO else WITH_PADDING_FREE
    if feature and config.own_version in PADDING_FREE and kind not in supported:
        text = (NO_PACKING if packs else NO_PADDING_FREE).format(kind)
        message = f"`rlhf_type {kind}` does not support `{feature}`"
        yield Refusal(METHOD, [feature, "rlhf_type"], message, text, [set_key(feature, False)])
