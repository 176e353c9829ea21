"""The operations that the Trainer applies to its fields, executed here, so that an unsuitable type fails in the same way.

`HfArgumentParser` converts nothing, so a string, null or list is passed on until the first operation that does not
support it. Each entry executes such an operation, and Python's own exception is the prediction. The line numbers are
those of transformers 5.23.0, of 4.42.4 where an operation belongs to 4.x, and of torch 2.13.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from math import ceil

from cfglint.evaluate import Unknown
from cfglint.findings.setting import NoSuchField
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.huggingface.batch import PER_EPOCH_LOOP, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.source.annotations import Any, Callable, Operand
from cfglint.source.record import Record

Act = Callable[[Any, Any], object]  # value, config of the trainer or of one that extends it
CONFIG: Stage = "config"
INIT: Stage = "init"
STEP: Stage = "first-step"
SEEDED_DATA = (4, 46)  # data_seed is used from here on
WARMUP_CHECKED = (4, 42)  # from here on an exception of its own refuses a number of warm-up steps
CLIPPING_NEEDED = (5, 3)  # before, a max_grad_norm of null meant no clipping
LOG_LEVELS = dict.fromkeys(("detail", "debug", "info", "warning", "error", "critical", "passive"))
NO_INTEGER = "TypeError: 'float' object cannot be interpreted as an integer"
TORCH_ADAMS = ("adamw_torch", "adamw_torch_fused")
# bitsandbytes and torchao check the same ranges (0.48.2 optim/optimizer.py, Optimizer2State; 0.14.1 optim/adam.py, _AdamBase).
QUANTIZED_ADAMS = ("adamw_bnb_8bit", "adamw_8bit", "paged_adamw_32bit", "paged_adamw_8bit", "adamw_torch_4bit", "adamw_torch_8bit")
ADAMS = (*TORCH_ADAMS, *QUANTIZED_ADAMS, "adamw_hf")
REVERSED = ("sgd", "adamw_hf")  # they test lr < 0 instead of 0 <= lr


class Operation(Record):
    """One operation on a field and its stage; `act` raises the exception that the Trainer would raise, or tells that it raises `text`."""

    field: str
    fails_at: Stage
    act: Act
    text: str = ""


def has_workers(config: TrainerConfig) -> bool:
    count = config.arguments["dataloader_num_workers"]
    return type(count) is int and count > 0


def has_adam(config: TrainerConfig) -> bool:
    return config.makes_optimizer and config.arguments.optimizer in ADAMS


def timeout(value: Operand, config: TrainerConfig) -> None:
    if not config.arguments["use_cpu"]:
        timedelta(seconds=value)


def seed(value: object, config: TrainerConfig) -> None:
    """Use the seed as trainer_utils.py:190-194 does: random accepts any type, numpy and torch do not."""
    if isinstance(value, str):
        raise TypeError(f"Cannot cast scalar from dtype('<U{max(len(value), 1)}') to dtype('int64') according to the rule 'safe'")
    if isinstance(value, (list, dict)):
        raise TypeError("The only supported seed types are: None, int, float, str, bytes, and bytearray.")
    if isinstance(value, float):
        raise TypeError("Cannot cast scalar from dtype('float64') to dtype('int64') according to the rule 'safe'")
    if value is None:
        raise TypeError("int() argument must be a string, a bytes-like object or a real number, not 'NoneType'")


def epochs(value: Operand, config: TrainerConfig) -> object:
    most = config.arguments["max_steps"]
    return value > 0 if isinstance(most, (int, float)) and most > 0 else ceil(value * 1)


def decay(value: Operand, config: TrainerConfig) -> object:
    """Multiply as optim/adam.py does in the first step; the fused kernel accepts only numbers."""
    optimizer = config.arguments.optimizer if config.makes_optimizer else None
    if optimizer == "adamw_torch_fused" and not isinstance(value, (int, float)):
        raise TypeError("_fused_adamw_() received an invalid combination of arguments")
    return optimizer in TORCH_ADAMS and value != 0 and 1 - 0.1 * value


def counted_accumulation(value: object, config: TrainerConfig) -> bool:
    most = config.arguments["max_steps"]
    counted = config.version >= PER_EPOCH_LOOP or (isinstance(most, (int, float)) and most > 0)
    return isinstance(value, float) and value != 0 and counted and not ("num_steps" in config.accumulation_kwargs and value <= 1)


def former_checkpointing(value: object, config: TrainerConfig) -> object:
    """Unpack the arguments without a copy, in releases where the old name is not an alias of the new one."""
    arguments = config.arguments
    is_own = arguments.checkpointing_arguments == "gradient_checkpointing_kwargs"
    return arguments.checkpointing and value is not None and is_own and unpacked(value)


def unpacked(arguments: Operand) -> object:
    return partial(print, **arguments)


def to_interval(value: Operand, config: TrainerConfig) -> object:
    return value is not None and value < 1 and int(value)  # minus infinity has no number of steps


# fmt: off
OPERATIONS = (
    Operation("ddp_timeout", CONFIG, timeout),  # training_args.py:1891
    Operation("seed", INIT, seed),
    # training_args.py:2080
    *(Operation(name, INIT, lambda value, config: value not in LOG_LEVELS, "KeyError: {value!r}")
        for name in ("log_level", "log_level_replica")),
    # only if accelerate's own number is set: trainer.py:815, 4.42.4 trainer.py:4556
    Operation("gradient_accumulation_steps", INIT, lambda value, config: "num_steps" in config.accumulation_kwargs and value > 1),
    Operation("max_steps", INIT, lambda value, config: value > 0),  # trainer.py:726
    Operation("debug", INIT, lambda value, config: value is not None and "underflow_overflow" in value),  # trainer.py:1543
    Operation("dataloader_num_workers", INIT, lambda value, config: value < 0),  # utils/data/dataloader.py
    Operation("dataloader_prefetch_factor", INIT, lambda value, config: value is not None and has_workers(config) and value < 0),
    # utils/data/sampler.py; a batch sampler accepts any value
    Operation("dataloader_drop_last", INIT,
        lambda value, config: not isinstance(value, bool) and config.arguments["train_sampling_strategy"] != "batch_rebalance",
        "ValueError: drop_last should be a boolean value, but got drop_last={value}"),
    # trainer.py:646: the model's configuration checks the type
    Operation("use_cache", INIT, lambda value, config: not isinstance(value, bool),
        "TypeError: Field 'use_cache' expected bool, got {kind} (value: {value!r})"),
    # trainer.py:1193
    Operation("label_names", INIT,
        lambda value, config: value is not None and not isinstance(value, list) and config.arguments["remove_unused_columns"],
        'TypeError: can only concatenate list (not "{kind}") to list'),
    Operation("num_train_epochs", INIT, epochs),  # trainer.py:726 and 2521
    Operation("optim_args", INIT, lambda value, config: value and config.makes_optimizer and value.replace(" ", "")),
    # optim/adam.py:58 and optim/sgd.py: the exception shows the order of the operands
    Operation("learning_rate", INIT,
        lambda value, config: config.makes_optimizer and (value < 0.0 if config.arguments.optimizer in REVERSED else 0.0 <= value)),  # noqa: SIM300
    Operation("adam_beta1", INIT, lambda value, config: has_adam(config) and 0.0 <= value < 1.0),  # optim/adam.py:62-65
    Operation("adam_beta2", INIT, lambda value, config: has_adam(config) and 0.0 <= value < 1.0),
    Operation("adam_epsilon", INIT, lambda value, config: has_adam(config) and 0.0 <= value),  # noqa: SIM300  (optim/adam.py:60)
    Operation("logging_steps", INIT, to_interval),  # trainer_callback.py:165, whatever the strategy
    Operation("eval_steps", INIT, to_interval),
    Operation("save_steps", INIT, to_interval),
    Operation("warmup_steps", INIT, lambda value, config: config.version < WARMUP_CHECKED and value > 0),  # 4.40.1 training_args.py:2295
    # accelerate 1.15.0 data_loader.py:96
    Operation("data_seed", STEP, lambda value, config: config.version >= SEEDED_DATA and value is not None and type(value) is not int,
        "RuntimeError: manual_seed expected a long, but got {kind}"),
    Operation("dataloader_num_workers", STEP, lambda value, config: value and range(value)),
    # utils/data/dataloader.py:1275, where the workers have started
    Operation("dataloader_prefetch_factor", STEP, lambda value, config: isinstance(value, float) and value > 0 and has_workers(config)
        and range(value * config.arguments["dataloader_num_workers"])),
    Operation("max_steps", STEP, lambda value, config: isinstance(value, float) and value > 0, NO_INTEGER),  # trainer.py:1658, by range()
    Operation("gradient_accumulation_steps", STEP, counted_accumulation, NO_INTEGER),  # trainer.py:1657 (5.6.0 trainer.py:1650)
    Operation("past_index", STEP, lambda value, config: value >= 0),  # 4.42.4 trainer.py:2208
    Operation("label_smoothing_factor", STEP, lambda value, config: value != 0 and 1 - value),  # trainer_pt_utils.py:481
    # trainer.py:1507 and modeling_utils.py:3162; 4.42.4 modeling_utils.py:2258
    Operation("activation_checkpointing_kwargs", STEP,
        lambda value, config: config.arguments.checkpointing and unpacked(dict(value or {}))),
    Operation("gradient_checkpointing_kwargs", STEP, former_checkpointing),
    # integrations/neftune.py:49
    Operation("neftune_noise_alpha", STEP, lambda value, config: value is not None and not isinstance(value, (int, float)),
        "TypeError: unsupported operand type(s) for /: '{kind}' and 'Tensor'"),
    # trainer.py:1930; up to 5.2 null means no clipping (4.42.4 trainer.py:2302)
    Operation("max_grad_norm", STEP, lambda value, config: (value is not None or config.version >= CLIPPING_NEEDED) and value > 0),
    Operation("weight_decay", STEP, decay),
)
# fmt: on


class TypeFailure(Record):
    """An operation that fails on the value of its field, with the exception as Python prints it."""

    field: str
    fails_at: Stage
    text: str


def type_failures(config: TrainerConfig) -> list[TypeFailure]:
    """The first operation that fails on each written field, in the Trainer's order."""
    found: dict[str, TypeFailure] = {}
    given = {name: value for name, value in config.arguments.given.items() if not isinstance(value, Unknown)}
    for refusal in config.argument_refusals:
        name = config.arguments.written(refusal.key)
        if refusal.failed and name in given and name not in config.unused_fields:
            found.setdefault(name, TypeFailure(name, refusal.fails_at, refusal.exception))
    for operation in config.framework.part("operations", OPERATIONS):
        if operation.field not in given or operation.field in found or operation.field in config.unused_fields:
            continue
        value = given[operation.field]
        try:
            text = operation.text.format(value=value, kind=type(value).__name__) if operation.act(value, config) else ""
        except NoSuchField:
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        if text and (operation.fails_at != STEP or takes_steps(config)):
            fails_at = config.seeded_at if operation.field == "seed" else operation.fails_at
            found[operation.field] = TypeFailure(operation.field, fails_at, text)
    for refusal in config.refusals:
        if refusal.failed and refusal.key in given:
            found.setdefault(refusal.key, TypeFailure(refusal.key, refusal.fails_at, refusal.exception))
    return list(found.values())
