"""Values that the Trainer accepts silently and ignores, overrides or uses differently."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.huggingface.rules import of, shown, strategy, unlisted
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

SAMPLING = ("random", "sequential", "group_by_length", "batch_rebalance")
COUNTED = ("all", "no", "non_padding")


@rule("HFT060")
def unexpected_split_batches(config: TrainerConfig) -> Iterator[Finding]:
    world = config.world_size
    if config.accelerator.get("split_batches") and world is not None and world > 1 and config.batch.problem is None:
        batch = config.batch
        path = ("accelerator_config", "split_batches")
        setting = config.setting(*path) if config.has(*path) else config.setting("split_batches")
        message = f"`split_batches` makes the global batch {batch.consumed_batch} samples; the Trainer prints {batch.global_batch.value}"
        remedy = "set `per_device_train_batch_size` to the global batch, or `accelerator_config.split_batches: false`"
        yield Finding(setting, message, related=(batch.micro_batch,), note="a step takes that many samples over all processes", help=remedy)


@rule("HFT061")
def empty_deepspeed(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["deepspeed"]
    if isinstance(value, (dict, str)) and not value:
        message = "`deepspeed` is empty, so DeepSpeed is not used"
        remedy = remove_key("deepspeed") | "write the DeepSpeed config"
        yield Finding(of(config, "deepspeed"), message, note="the run starts as without the key", help=remedy)


@rule("HFT062")
def ignored_invalid_choice(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    value = args["train_sampling_strategy"]
    if "train_sampling_strategy" in args and value not in SAMPLING:
        finding = unlisted(config, "train_sampling_strategy", value, ", which is not a valid choice", SAMPLING)
        finding.note = "samples are drawn at random"
        yield finding
    counted = args["include_num_input_tokens_seen"]
    if "include_num_input_tokens_seen" in args and config.version >= (5,) and not isinstance(counted, bool) and counted not in COUNTED:
        finding = unlisted(config, "include_num_input_tokens_seen", counted, ", which is not a valid choice", COUNTED)
        finding.note = "a string that is not empty counts as true"
        yield finding


@rule("HFT063")
def conflicting_checkpointing_keys(config: TrainerConfig) -> Iterator[Finding]:
    given = config.arguments.given
    for suffix in ("", "_kwargs"):
        old, new = f"gradient_checkpointing{suffix}", f"activation_checkpointing{suffix}"
        both = given.get(old) is not None and given.get(new) is not None
        if has_field(new, config.version) and both and given[old] != given[new]:
            yield Finding(of(config, old), f"`{old}` is overridden by `{new}`", related=(of(config, new),), help=remove_key(old))


@rule("HFT064")
def unused_checkpointing_kwargs(config: TrainerConfig) -> Iterator[Finding]:
    arguments = config.arguments
    if arguments.checkpointing is False and arguments.checkpointing_key in arguments and arguments[arguments.checkpointing_arguments]:
        switch, unused = config.setting(arguments.checkpointing_key), of(config, arguments.checkpointing_arguments)
        message = f"`{unused.name}` is ignored, because `{switch.name}` is false"
        yield Finding(unused, message, related=(switch,), help=set_key(switch.name, True) | remove_key(unused.name))


@rule("HFT065")
def best_model_without_evaluation(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if args["load_best_model_at_end"] and args.eval_strategy == "no" and args["save_strategy"] in ("no", "best"):
        message = f'`load_best_model_at_end` has no effect, because `{strategy(config).name}` is "no"'
        remedy = (set_key(strategy(config).name, "epoch") & set_key("save_strategy", "epoch")) | remove_key("load_best_model_at_end")
        yield Finding(of(config, "load_best_model_at_end"), message, related=(strategy(config),), help=remedy)


@rule("HFT066")
def unused_step_interval(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    for name, unit, key in (
        ("logging_steps", args["logging_strategy"], "logging_strategy"),
        ("eval_steps", args.eval_strategy, args.strategy_key),
        ("save_steps", args["save_strategy"], "save_strategy"),
    ):
        if unit in ("no", "epoch", "best") and args.given.get(name) and key in config.values:
            message = f"`{name}` is ignored, because `{key}` is {shown(unit)}"
            yield Finding(of(config, name), message, related=(config.setting(key),), help=set_key(key, "steps") | remove_key(name))


@rule("HFT067")
def non_blocking_without_pinned_memory(config: TrainerConfig) -> Iterator[Finding]:
    if config.accelerator.get("non_blocking") and not config.arguments["dataloader_pin_memory"]:
        setting = config.setting("accelerator_config", "non_blocking")
        message = "`non_blocking` has no effect, because `dataloader_pin_memory` is off"
        remedy = set_key("dataloader_pin_memory", True) | remove_key("accelerator_config.non_blocking")
        yield Finding(setting, message, related=(of(config, "dataloader_pin_memory"),), help=remedy)


@rule("HFT068")
def overridden_per_device_batch_size(config: TrainerConfig) -> Iterator[Finding]:
    given = config.arguments.given
    for part in ("train", "eval"):
        old, new = f"per_gpu_{part}_batch_size", f"per_device_{part}_batch_size"
        if given.get(old) and new in config.values and is_number(given[old]) and given[old] != config.values[new]:
            message = f"`{new}` is overridden by `{old}` ({given[old]})"
            yield Finding(config.setting(new), message, related=(config.setting(old),), help=remove_key(old) | remove_key(new))
