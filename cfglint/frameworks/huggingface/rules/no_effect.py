"""Values that the Trainer accepts silently and ignores, overrides or uses differently."""

from __future__ import annotations

from cfglint.findings.rule import Finding, info, warning
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.huggingface.rules import of, shown, strategy
from cfglint.frameworks.remedies import choice
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

SAMPLING = ("random", "sequential", "group_by_length", "batch_rebalance")
COUNTED = ("all", "no", "non_padding")


@warning(
    "HFT060",
    source="accelerate 1.15.0 data_loader.py:170-184, transformers 5.23.0 trainer.py:2572",
    old_names=("split-batch-size",),
    bad="output_dir: out\nper_device_train_batch_size: 16\naccelerator_config: {split_batches: true}\n",
    good="output_dir: out\nper_device_train_batch_size: 16\n",
    example={"gpus": 8, "at": "/accelerator_config/split_batches"},
)
def unexpected_split_batches(config: TrainerConfig) -> Iterator[Finding]:
    """With `split_batches`, `per_device_train_batch_size` is the size for all devices together.

    Every batch is split across the processes, but the Trainer still prints the size times the number of processes as
    "Total train batch size".
    """
    world = config.world_size
    if config.accelerator.get("split_batches") and world is not None and world > 1 and config.batch.problem is None:
        batch = config.batch
        path = ("accelerator_config", "split_batches")
        setting = config.setting(*path) if config.has(*path) else config.setting("split_batches")
        message = f"`split_batches` makes the global batch {batch.consumed_batch} samples; the Trainer prints {batch.global_batch.value}"
        yield Finding(
            setting,
            message,
            related=(batch.micro_batch,),
            note="a step takes that many samples over all processes",
            help="set `per_device_train_batch_size` to the global batch, or `accelerator_config.split_batches: false`",
        )


@warning(
    "HFT061",
    source="transformers 5.23.0 training_args.py:1704 (`if self.deepspeed`)",
    bad="output_dir: out\ndeepspeed: {}\n",
    good="output_dir: out\ndeepspeed: null\n",
    example={"at": "/deepspeed"},
)
def empty_deepspeed(config: TrainerConfig) -> Iterator[Finding]:
    """An empty `deepspeed` does not enable DeepSpeed.

    `deepspeed: {}` and `deepspeed: ""` are false in Python, so the run continues without ZeRO and offload.
    """
    value = config.arguments["deepspeed"]
    if isinstance(value, (dict, str)) and not value:
        yield Finding(
            of(config, "deepspeed"),
            "`deepspeed` is empty, so DeepSpeed is not used",
            note="the run starts as without the key",
            help="remove `deepspeed`, or write the DeepSpeed config",
        )


@warning(
    "HFT062",
    source="transformers 5.23.0 trainer.py:1083-1145",
    old_names=("unchecked-choice", "unchecked-invalid-choice"),
    bad=(
        "output_dir: out\ntrain_sampling_strategy: group_by_lenght\n",
        "output_dir: out\ninclude_num_input_tokens_seen: some\n",
    ),
    good="output_dir: out\ntrain_sampling_strategy: group_by_length\n",
    example={"at": "/train_sampling_strategy"},
)
def ignored_invalid_choice(config: TrainerConfig) -> Iterator[Finding]:
    """A value is not a valid choice, and it is not rejected.

    An unknown `train_sampling_strategy` means random sampling; an unknown `include_num_input_tokens_seen` is not checked either.
    The choices of the command line are not applied to files.
    """
    args = config.arguments
    value = args["train_sampling_strategy"]
    if "train_sampling_strategy" in args and value not in SAMPLING:
        message = f"`train_sampling_strategy` is {shown(value)}, which is not a valid choice"
        yield Finding(
            of(config, "train_sampling_strategy"),
            message,
            note="samples are drawn at random",
            help=choice("train_sampling_strategy", value, SAMPLING),
        )
    counted = args["include_num_input_tokens_seen"]
    if "include_num_input_tokens_seen" in args and config.version >= (5,) and not isinstance(counted, bool) and counted not in COUNTED:
        message = f"`include_num_input_tokens_seen` is {shown(counted)}, which is not a valid choice"
        yield Finding(
            of(config, "include_num_input_tokens_seen"),
            message,
            note="a string that is not empty counts as true",
            help=choice("include_num_input_tokens_seen", counted, COUNTED),
        )


@warning(
    "HFT063",
    source="transformers 5.23.0 training_args.py:1533-1542",
    old_names=("checkpointing-renamed",),
    bad="output_dir: out\ngradient_checkpointing: true\nactivation_checkpointing: false\n",
    good="output_dir: out\nactivation_checkpointing: true\n",
    example={"at": "/gradient_checkpointing"},
)
def conflicting_checkpointing_keys(config: TrainerConfig) -> Iterator[Finding]:
    """`gradient_checkpointing` is overridden by its new name, `activation_checkpointing`, because both are set and differ.

    The same applies to their `_kwargs`.
    """
    given = config.arguments.given
    for suffix in ("", "_kwargs"):
        old, new = f"gradient_checkpointing{suffix}", f"activation_checkpointing{suffix}"
        both = given.get(old) is not None and given.get(new) is not None
        if has_field(new, config.version) and both and given[old] != given[new]:
            yield Finding(of(config, old), f"`{old}` is overridden by `{new}`", related=(of(config, new),), help=f"remove `{old}`")


@warning(
    "HFT064",
    source="transformers 5.23.0 trainer.py:1503-1530",
    old_names=("checkpointing-arguments-unused",),
    bad="output_dir: out\ngradient_checkpointing: false\ngradient_checkpointing_kwargs: {use_reentrant: false}\n",
    good="output_dir: out\ngradient_checkpointing: true\ngradient_checkpointing_kwargs: {use_reentrant: false}\n",
    example={"at": "/gradient_checkpointing_kwargs"},
)
def unused_checkpointing_kwargs(config: TrainerConfig) -> Iterator[Finding]:
    """`gradient_checkpointing_kwargs` is ignored, because `gradient_checkpointing` is off.

    Gradient checkpointing does not run, and transformers does not warn about the unused arguments.
    """
    arguments = config.arguments
    if arguments.checkpointing is False and arguments.checkpointing_key in arguments and arguments[arguments.checkpointing_arguments]:
        switch, unused = config.setting(arguments.checkpointing_key), of(config, arguments.checkpointing_arguments)
        yield Finding(
            unused,
            f"`{unused.name}` is ignored, because `{switch.name}` is false",
            related=(switch,),
            help=f"set `{switch.name}: true`, or remove `{unused.name}`",
        )


@warning(
    "HFT065",
    source="transformers 5.23.0 training_args.py:1750, trainer.py:2065",
    old_names=("no-best-model",),
    bad='output_dir: out\nload_best_model_at_end: true\neval_strategy: "no"\nsave_strategy: "no"\n',
    good="output_dir: out\nload_best_model_at_end: true\neval_strategy: epoch\nsave_strategy: epoch\n",
    example={"at": "/load_best_model_at_end"},
)
def best_model_without_evaluation(config: TrainerConfig) -> Iterator[Finding]:
    """`load_best_model_at_end` has no effect, because evaluation is off.

    The strategies match, so no exception is raised; the final model is kept.
    """
    args = config.arguments
    if args["load_best_model_at_end"] and args.eval_strategy == "no" and args["save_strategy"] in ("no", "best"):
        message = f'`load_best_model_at_end` has no effect, because `{strategy(config).name}` is "no"'
        yield Finding(
            of(config, "load_best_model_at_end"),
            message,
            related=(strategy(config),),
            help=f"set `{strategy(config).name}: epoch` and `save_strategy: epoch`, or remove `load_best_model_at_end`",
        )


@info(
    "HFT066",
    source="transformers 5.23.0 trainer_callback.py:560-620",
    old_names=("interval-unused",),
    bad="output_dir: out\nsave_strategy: epoch\nsave_steps: 500\n",
    good="output_dir: out\nsave_strategy: steps\nsave_steps: 500\n",
    example={"at": "/save_steps"},
)
def unused_step_interval(config: TrainerConfig) -> Iterator[Finding]:
    """`save_steps`, `eval_steps` or `logging_steps` is ignored, because its strategy is not "steps".

    With `save_strategy: epoch` a checkpoint is saved at the end of each epoch, whatever the value of `save_steps`.
    """
    args = config.arguments
    for name, unit, key in (
        ("logging_steps", args["logging_strategy"], "logging_strategy"),
        ("eval_steps", args.eval_strategy, args.strategy_key),
        ("save_steps", args["save_strategy"], "save_strategy"),
    ):
        if unit in ("no", "epoch", "best") and args.given.get(name) and key in config.values:
            yield Finding(
                of(config, name),
                f"`{name}` is ignored, because `{key}` is {shown(unit)}",
                related=(config.setting(key),),
                help=f"set `{key}: steps`, or remove `{name}`",
            )


@warning(
    "HFT067",
    source="transformers 5.23.0 trainer.py:842-846",
    old_names=("pinning-needed",),
    bad="output_dir: out\ndataloader_pin_memory: false\naccelerator_config: {non_blocking: true}\n",
    good="output_dir: out\naccelerator_config: {non_blocking: true}\n",
    example={"at": "/accelerator_config/non_blocking"},
)
def non_blocking_without_pinned_memory(config: TrainerConfig) -> Iterator[Finding]:
    """`accelerator_config.non_blocking` requires pinned memory, and `dataloader_pin_memory` is off.

    Batches are then copied to the GPU synchronously.
    """
    if config.accelerator.get("non_blocking") and not config.arguments["dataloader_pin_memory"]:
        setting = config.setting("accelerator_config", "non_blocking")
        message = "`non_blocking` has no effect, because `dataloader_pin_memory` is off"
        yield Finding(
            setting,
            message,
            related=(of(config, "dataloader_pin_memory"),),
            help="set `dataloader_pin_memory: true`, or remove `accelerator_config.non_blocking`",
        )


@warning(
    "HFT068",
    source="transformers 4.57.6 training_args.py:2188-2192",
    old_names=("per-gpu-size-wins",),
    bad="output_dir: out\nper_gpu_train_batch_size: 4\nper_device_train_batch_size: 8\n",
    good="output_dir: out\nper_device_train_batch_size: 8\n",
    example={"target": {"transformers": "4.57.1"}, "at": "/per_device_train_batch_size"},
)
def overridden_per_device_batch_size(config: TrainerConfig) -> Iterator[Finding]:
    """The deprecated `per_gpu_train_batch_size` overrides `per_device_train_batch_size`."""
    given = config.arguments.given
    for part in ("train", "eval"):
        old, new = f"per_gpu_{part}_batch_size", f"per_device_{part}_batch_size"
        if given.get(old) and new in config.values and is_number(given[old]) and given[old] != config.values[new]:
            yield Finding(
                config.setting(new),
                f"`{new}` is overridden by `{old}` ({given[old]})",
                related=(config.setting(old),),
                help=f"remove `{old}`, or remove `{new}`",
            )
