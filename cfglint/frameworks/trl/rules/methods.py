"""Rules about values that the trainers of one method refuse: of SFT, of preferences and reward models, of GRPO and RLOO.

From 1.15 on the trainers have a fused loss of their own in the place of those of Liger, which do not support all options.
"""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.huggingface.rules import unlisted
from cfglint.frameworks.huggingface.rules.program_code import trainer_call
from cfglint.frameworks.trl.batch import GENERATION, GENERATION_STEPS, SMALLEST_MICRO_BATCH, WITHOUT_KL, count, generation
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.field_operations import skips_preparation
from cfglint.frameworks.trl.rules import NEW_ENGINE, TRUNCATIONS, losses, of, refused, shown, unknown_truncation
from cfglint.source.annotations import Iterator

# The releases with their valid values; trl 0.19.0, 0.20.0, 0.29.0, 1.0.0 data_utils.py (pack_dataset).
STRATEGIES: tuple[tuple[Releases, tuple[str, ...]], ...] = (
    (Releases((0, 19, 0), (0, 20, 0), "`packing_strategy`"), ("ffd", "wrapped")),
    (Releases((0, 20, 0), (0, 29, 0), "`packing_strategy`"), ("bfd", "wrapped")),
    (Releases((0, 29, 0), (1, 0, 0), "`packing_strategy`"), ("bfd", "bfd-requeue", "wrapped")),
    (Releases((1, 0, 0), of="`packing_strategy`"), ("bfd", "bfd_split", "wrapped")),
)
REQUEUE, REQUEUE_RENAMED = "bfd-requeue", (1, 0, 0)  # from 1.0 on another name of bfd_split
CHUNKED = "chunked_nll"
CHUNKED_BY_DEFAULT = (1, 7, 0)  # from here on null is nll with Liger, else chunked_nll
TRUNCATION = Releases((1, 8, 0), of="`truncation_mode`, by the trainer")
COLLATED = Releases((1, 0, 0), (1, 8, 0), "`truncation_mode`, by the collator")
PACKS_INTO_BLOCKS = (0, 15, 0)  # from here on the trainer checks the length; before, from 0.10 on, null is replaced by at most 1024


@rule("TRL040")
def packing_without_length(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    name = "max_length" if "max_length" in args.fields.types else "max_seq_length"
    if config.trl_version < PACKS_INTO_BLOCKS:
        text = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'float'"
    else:
        text = f"ValueError: When packing is enabled, `{name}` can't be `None`."
    packs = config.only("sft", "gkd") and args["packing"] and not skips_preparation(config)
    if packs and args[name] is None and args.known(name, "packing"):
        remedy = set_key(name, 1024) | set_key("packing", False)
        yield Finding(of(config, name), f"`packing` requires `{name}`", related=(of(config, "packing"),), exception=text, help=remedy)


@rule("TRL041")
def padding_free_with_length(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.only("sft") or not args["padding_free"] or args["packing"] or args["max_length"] is None:
        return
    if args.known("padding_free", "packing", "max_length"):
        message = f"`padding_free` without `packing` requires `max_length: null`, and it is {shown(args['max_length'])}"
        related = (of(config, "max_length"),)
        remedy = set_key("packing", True) | set_key("max_length", None)
        yield Finding(of(config, "padding_free"), message, related=related, depends_on=config.unset("packing"), help=remedy)


@rule("TRL042")
def invalid_sft_choice(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL042")
    if not config.only("sft"):
        return
    args, release = config.arguments, config.trl_version
    strategy, mode = args["packing_strategy"], args["truncation_mode"]
    if skips_preparation(config) or not args.known("packing", "max_length"):
        return
    packs = args["packing"] or (args["eval_packing"] and args.eval_strategy in ("steps", "epoch"))
    known = next((values for releases, values in STRATEGIES if release in releases), ())
    renamed = strategy == REQUEUE and release >= REQUEUE_RENAMED
    if packs and known and strategy not in known and not renamed and args["max_length"] is not None:
        words = [repr(each) for each in known]
        named = f"{words[0]} or {words[1]}" if len(words) == 2 else f"{', '.join(words[:-1])}, or {words[-1]}"
        text = f"ValueError: Invalid packing strategy: {strategy}. Use {named}."
        if release >= REQUEUE_RENAMED:
            text = f"ValueError: Invalid packing strategy {strategy!r}, must be one of {known}."
        yield unlisted(config, "packing_strategy", strategy, f"; it must be one of {', '.join(known)}", known, text)
    collated = release in COLLATED and not args["padding_free"]
    if (collated or release in TRUNCATION) and not args["packing"] and args["max_length"] is not None and mode not in TRUNCATIONS:
        finding = unknown_truncation(config, "truncation_mode")
        finding.fails_at = "first-step" if collated else None
        yield finding


@rule("TRL062")
def chunked_loss(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL062")
    args = config.arguments
    if not config.only("sft") or args["use_liger_kernel"] or not args.known("loss_type", "use_liger_kernel"):
        return
    chunked = args["loss_type"] == CHUNKED or (args["loss_type"] is None and config.trl_version >= CHUNKED_BY_DEFAULT)
    modules = args["lora_target_modules"]
    if chunked and peft(config) and isinstance(modules, list) and "lm_head" in modules:
        text = "ValueError: `loss_type='chunked_nll'` is not supported when `lm_head` is wrapped by a PEFT adapter"
        message = "`lora_target_modules` contains lm_head, which the loss chunked_nll does not support"
        related, remedy = (of(config, "loss_type"),), set_key("loss_type", "nll") | "remove lm_head from `lora_target_modules`"
        yield Finding(of(config, "lora_target_modules"), message, related=related, exception=text, help=remedy)


@rule("TRL045")
def liger_with_fused_loss(config: TrlConfig) -> Iterator[Finding]:
    argument = config.arguments["liger_kernel_config"]
    patched = config.only("sft", "dpo", "kto", "grpo", "rloo") and config.arguments["use_liger_kernel"]
    if patched and isinstance(argument, dict) and argument.get("fused_linear_cross_entropy"):
        text = 'ValueError: `liger_kernel_config={"fused_linear_cross_entropy": True}` is not supported: it replaces the model\'s forward'
        message = "`fused_linear_cross_entropy` of Liger is not supported by TRL's trainers"
        remedy = set_key("liger_kernel_config.fused_linear_cross_entropy", False)
        yield Finding(of(config, "liger_kernel_config"), message, exception=text, help=remedy)


KTO_PAIR_ARGUMENT = Releases((0, 11, 0), (0, 13, 0))  # the constructor compares a parameter that stands for the field


@rule("TRL050")
def dpo_loss_combination(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL050")
    if config.trl_version in KTO_PAIR_ARGUMENT and config.only("dpo") and "kto_pair" in losses(config):
        text = "ValueError: Support for kto_pair has been removed in DPOTrainer. Please use KTOTrainer."
        message, remedy = "`loss_type: kto_pair` is not supported by DPO", set_key("loss_type", "sigmoid") | "train with the script `kto`"
        yield Finding(of(config, "loss_type"), message, exception=text, help=remedy)


SYNC_WITHOUT_MODEL = Releases((0, 9, 2), (0, 29, 0), "DPO without a reference model")
SYNC_GENERATING = Releases((0, 28, 0), of="GRPO and RLOO")
SYNC: dict[str, Releases] = {
    "dpo": Releases((0, 29, 0), of="DPO with LoRA or with `precompute_ref_log_probs`"),
    "kto": Releases((1, 7, 0), of="KTO with LoRA or with `precompute_ref_log_probs`"),
    "grpo": SYNC_GENERATING,
    "rloo": SYNC_GENERATING,
}


@rule("TRL052")
def reference_model_not_synchronized(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL052")
    setting = of(config, "sync_ref_model")
    if not setting.value or any(refusal.kind == "TRL052" and refusal.key == setting.name for refusal in config.refusals):
        return
    call = trainer_call(config, "DPOTrainer")
    cause, text = "use_peft" if peft(config) else "", ""
    if config.checked_in(SYNC):
        text = "NotImplementedError: You passed `sync_ref_model=True` while using a PEFT model, which is currently not supported."
    elif config.only("dpo") and config.trl_version in SYNC_WITHOUT_MODEL:
        text = "ValueError: You currently cannot use `ref_model=None` with TR-DPO method. Please provide `ref_model`."
        is_left_out = call is not None and call.models[1] == "none" and config.arguments["precompute_ref_log_probs"] is True
        cause = cause or "precompute_ref_log_probs" * is_left_out
    if cause and text:
        message, remedy = f"`sync_ref_model` is incompatible with `{cause}`", set_key("sync_ref_model", False) | set_key(cause, False)
        yield Finding(setting, message, related=(of(config, cause),), exception=text, help=remedy)


STREAMED = {"dpo": Releases((0, 29, 0), of="DPO"), "kto": Releases((1, 3, 0), of="KTO")}


@rule("TRL053")
def precompute_with_streaming(config: TrlConfig) -> Iterator[Finding]:
    if config.checked_in(STREAMED) and config.streams and config.arguments["precompute_ref_log_probs"]:
        key, message = config.streaming_key, "`precompute_ref_log_probs` does not support streamed data"
        remedy = set_key("precompute_ref_log_probs", False) | set_key(key, False)
        yield Finding(of(config, "precompute_ref_log_probs"), message, related=(of(config, key),), help=remedy)


NODE_BATCH = Releases((0, 8, 0), SMALLEST_MICRO_BATCH, "a global batch of 1")  # on the GPUs of a node
LOSS_MATTERS = (0, 11, 0)  # before, every loss has the KL term
IN_ORDER = Releases((1, 6, 0), of="another order of the samples")


@rule("TRL054")
def kto_batch(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL054")
    args = config.arguments
    if not config.only("kto") or any(refusal.kind == "TRL054" for refusal in config.refusals):
        return
    if args["loss_type"] == WITHOUT_KL and config.trl_version >= LOSS_MATTERS:
        return
    micro, order = config.batch.micro_batch, args["train_sampling_strategy"]
    by_node = config.trl_version in NODE_BATCH
    if config.trl_version in IN_ORDER and order != "sequential":
        text = f"ValueError: Loss type `{args['loss_type']!r}` estimates the KL divergence term and requires "
        text += "`train_sampling_strategy='sequential'`"
        message = f'`train_sampling_strategy` is {shown(order)}; KTO requires "sequential"'
        remedy = set_key("train_sampling_strategy", "sequential") | remove_key("train_sampling_strategy")
        yield Finding(of(config, "train_sampling_strategy"), message, exception=text, help=remedy)
    elif micro.value == 1 and (not by_node or config.batch.global_batch.value == 1):
        head = "Batch size is 1 (too small)" if by_node else "Actual (not effective) batch size must be > 1"
        text = f"ValueError: {head}. KTO will not work properly because the KL term will be "
        words = f"{'the global batch size' if by_node else '`per_device_train_batch_size`'} is 1; KTO requires at least 2"
        advice = "set `per_device_train_batch_size: 2` or more"
        yield Finding(micro, words, exception=f"{text}equivalent to the implied reward.", help=advice)


@rule("TRL059")
def reward_length_missing(config: TrlConfig) -> Iterator[Finding]:
    if config.only("reward") and config.arguments["max_length"] is None and config.arguments.known("max_length"):
        message = "`max_length` is null, and the reward trainer of this release requires a number"
        yield Finding(of(config, "max_length"), message, help=set_key("max_length", 1024))


REWARD_ADAPTERS = (0, 7, 11)  # the first release with `ModelConfig`
ADAPTER_NEEDS_GENERATION = (4, 50, 0)  # from here on transformers' models do not inherit what generation needs


@rule("TRL061")
def reward_adapter_task(config: TrlConfig) -> Iterator[Finding]:
    task = config.arguments["lora_task_type"]
    adapts = config.version >= ADAPTER_NEEDS_GENERATION and config.trl_version >= REWARD_ADAPTERS
    if adapts and config.only("reward") and peft(config) and task in ("CAUSAL_LM", "SEQ_2_SEQ_LM"):
        related, unset, remedy = (of(config, "use_peft"),), config.unset("lora_task_type"), set_key("lora_task_type", "SEQ_CLS")
        message = f'`lora_task_type` is {shown(task)}; a reward model with LoRA requires "SEQ_CLS"'
        yield Finding(of(config, "lora_task_type"), message, related=related, depends_on=unset, help=remedy)


OLD_SWITCH, SWITCH = "use_liger_loss", "use_liger_kernel"
RENAMED_SWITCH = (0, 25, 0)  # from here on `use_liger_kernel` turns Liger's loss on, which `use_liger_loss` sets until 0.28

OLD_ADAPTERS = Releases((0, 17, 0), (0, 18, 0), "`use_peft`")

DPO_ADAPTERS = Releases((0, 29, 0), (1, 8, 0), "DPO, `use_peft`")
KTO_ADAPTERS = Releases((0, 17, 0), (1, 8, 0), "KTO, `use_peft`")


def with_adapters(config: TrlConfig, trainer: str, releases: Releases, exception: str) -> Iterator[Finding]:
    """The finding that Liger's loss does not support LoRA in some releases of a trainer."""
    name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
    if config.trl_version in releases and config.only(trainer) and config.arguments[name] and config.arguments.known(name) and peft(config):
        setting, text = of(config, name), exception.format(name=name)
        message, remedy = f"`use_peft` is not supported with `{setting.name}`", set_key(setting.name, False) | remove_key("use_peft")
        yield Finding(of(config, "use_peft"), message, related=(setting,), exception=text, help=remedy)


@rule("TRL063")
def liger_with_grpo_option(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL063")
    yield from with_adapters(config, "grpo", OLD_ADAPTERS, "TypeError: Liger loss is not supported with a PEFT model.")


@rule("TRL064")
def liger_with_preference_option(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL064")
    yield from with_adapters(config, "dpo", DPO_ADAPTERS, "NotImplementedError: Liger DPO loss is not implemented for PEFT models.")
    yield from with_adapters(config, "kto", KTO_ADAPTERS, "ValueError: You cannot use `{name}=True` with Peft models.")


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
    text = "ValueError: batch_size should be a positive integer value, but got batch_size=0"
    size, micro = sizes[GENERATION], config.batch.micro_batch
    if isinstance(size, int) and size > 0 and generation(config).steps == 0:
        message = f"`{GENERATION}` is {size}, less than the micro batch of {micro.value} on each of {config.world_size} GPUs"
        remedy = remove_key(GENERATION, " for the default")
        yield Finding(of(config, GENERATION), message, related=(micro,), exception=text, help=remedy)
    for name, value in sizes.items():
        if not isinstance(value, (int, float)) or (isinstance(value, int) and (value > 0 or config.trl_version in LISTS_VALID)):
            continue
        raised = "ValueError: maxlen must be non-negative" if value < 0 else "TypeError: an integer is required"
        message = f"`{name}` is {value}; it must be a positive integer"
        yield Finding(of(config, name), message, exception=raised if value else text, help=remove_key(name, " for the default"))


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
