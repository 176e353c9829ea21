"""The operations that the Trainer applies to its fields, executed here, so that an unsuitable type fails in the same way.

`HfArgumentParser` converts nothing, so a string, null or list is passed on until the first operation that does not
support it. Each function executes such an operation, and Python's own exception is the prediction. The line numbers are
those of transformers 5.23.0, and of 4.42.4 where an operation belongs to 4.x.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.huggingface.batch import PER_EPOCH_LOOP, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.source.annotations import Any, Callable, Operand
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

Act = Callable[[Any, Any], object]  # value, config of the trainer or of one that extends it

CONFIG: Stage = "config"
INIT: Stage = "init"
STEP: Stage = "first-step"

SEEDED_DATA = (4, 46)  # data_seed is used from here on
WARMUP_CHECKED = (4, 42)  # from here on an exception of its own refuses a number of warm-up steps
CLIPPING_NEEDED = (5, 3)  # before, a max_grad_norm of null meant no clipping


class Operation(Record):
    """One operation on a field and its stage; `act` raises the exception that the Trainer would raise."""

    field: str
    fails_at: Stage
    act: Act


def absolute_interval(value: Operand, config: TrainerConfig) -> None:
    """Convert a ratio to a number of steps as trainer_callback.py:165 does, whatever the strategy."""
    if value is not None and value < 1:
        int(value)  # minus infinity has no number of steps


def loader_workers(value: Operand, config: TrainerConfig) -> None:
    """Use the number as torch 2.13 utils/data/dataloader.py does: the loader compares it, and later passes it to range()."""
    _ = value < 0


def started_workers(value: Operand, config: TrainerConfig) -> None:
    """Use the number in the loop that starts the workers."""
    if value:
        range(value)


def prefetched(value: Operand, config: TrainerConfig) -> None:
    """Compare the number as torch 2.13 utils/data/dataloader.py:294 does, if there are workers."""
    if value is not None and has_workers(config):
        _ = value < 0


def fetched_ahead(value: Operand, config: TrainerConfig) -> None:
    """Request as many batches as torch 2.13 utils/data/dataloader.py:1275 does, where the workers have started."""
    if isinstance(value, float) and value > 0 and has_workers(config):
        range(value * config.arguments["dataloader_num_workers"])


def has_workers(config: TrainerConfig) -> bool:
    """Whether the data loader has workers."""
    count = config.arguments["dataloader_num_workers"]
    return type(count) is int and count > 0


def timeout(value: Operand, config: TrainerConfig) -> None:
    """Convert the seconds as training_args.py:1891 does."""
    from datetime import timedelta

    if not config.arguments["use_cpu"]:
        timedelta(seconds=value)


def debug_options(value: Operand, config: TrainerConfig) -> None:
    """Search the options as trainer.py:1543 does."""
    if value is not None:
        _ = "underflow_overflow" in value


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


def log_level(value: object, config: TrainerConfig) -> None:
    """Look up the level in a dictionary as training_args.py:2080 does."""
    if value not in LOG_LEVELS:
        raise KeyError(value)


LOG_LEVELS = dict.fromkeys(("detail", "debug", "info", "warning", "error", "critical", "passive"))


def limit(value: Operand, config: TrainerConfig) -> None:
    """Compare the limit as trainer.py:726 does."""
    _ = value > 0


def looped_limit(value: object, config: TrainerConfig) -> None:
    """Compute the epochs from the limit as trainer.py:1658 does: range() does not accept a float."""
    if isinstance(value, float) and value > 0:
        raise TypeError("'float' object cannot be interpreted as an integer")


def epochs(value: Operand, config: TrainerConfig) -> None:
    """Use the epochs as trainer.py:726 and 2521 do."""
    from math import ceil

    most = config.arguments["max_steps"]
    if isinstance(most, (int, float)) and most > 0:
        _ = value > 0
    else:
        ceil(value * 1)


def learning_rate(value: Operand, config: TrainerConfig) -> None:
    """Check the rate as torch 2.13 optim/adam.py:58 and optim/sgd.py do; the exception shows the order of the operands."""
    if config.makes_optimizer:
        _ = value < 0.0 if config.arguments.optimizer in REVERSED else 0.0 <= value  # noqa: SIM300


def beta(value: Operand, config: TrainerConfig) -> None:
    """Check the value as torch 2.13 optim/adam.py:62-65 does."""
    if config.makes_optimizer and config.arguments.optimizer in ADAMS:
        _ = 0.0 <= value < 1.0


def epsilon(value: Operand, config: TrainerConfig) -> None:
    """Check the value as torch 2.13 optim/adam.py:60 does."""
    if config.makes_optimizer and config.arguments.optimizer in ADAMS:
        _ = 0.0 <= value  # noqa: SIM300


def cache(value: object, config: TrainerConfig) -> None:
    """Use the value as trainer.py:646 does: the model's configuration checks the type."""
    if not isinstance(value, bool):
        raise TypeError(f"Field 'use_cache' expected bool, got {type(value).__name__} (value: {value!r})")


def decay(value: Operand, config: TrainerConfig) -> None:
    """Multiply as torch 2.13 optim/adam.py does in the first step; the fused kernel accepts only numbers."""
    if not config.makes_optimizer or config.arguments.optimizer not in TORCH_ADAMS:
        return
    if config.arguments.optimizer == "adamw_torch_fused" and not isinstance(value, (int, float)):
        raise TypeError("_fused_adamw_() received an invalid combination of arguments")
    if value != 0:
        _ = 1 - 0.1 * value


def smoothing(value: Operand, config: TrainerConfig) -> None:
    """Use the value as trainer_pt_utils.py:481 does."""
    if value != 0:
        _ = 1 - value


def clipping(value: Operand, config: TrainerConfig) -> None:
    """Compare the value as trainer.py:1930 does; up to 5.2 null means no clipping (4.42.4 trainer.py:2302)."""
    if value is not None or config.version >= CLIPPING_NEEDED:
        _ = value > 0


def noise(value: object, config: TrainerConfig) -> None:
    """Use the value as integrations/neftune.py:49 does."""
    if value is not None and not isinstance(value, (int, float)):
        raise TypeError(f"unsupported operand type(s) for /: '{type(value).__name__}' and 'Tensor'")


def labels(value: object, config: TrainerConfig) -> None:
    """Use the value as trainer.py:1193 does."""
    if value is not None and not isinstance(value, list) and config.arguments["remove_unused_columns"]:
        raise TypeError(f'can only concatenate list (not "{type(value).__name__}") to list')


def data_seed(value: object, config: TrainerConfig) -> None:
    """Use the seed as accelerate 1.15.0 data_loader.py:96 does."""
    if config.version >= SEEDED_DATA and value is not None and type(value) is not int:
        raise RuntimeError(f"manual_seed expected a long, but got {type(value).__name__}")


def drop_last(value: object, config: TrainerConfig) -> None:
    """Check the value as torch 2.13 utils/data/sampler.py does; a batch sampler accepts any value."""
    if not isinstance(value, bool) and config.arguments["train_sampling_strategy"] != "batch_rebalance":
        raise ValueError(f"drop_last should be a boolean value, but got drop_last={value}")


def past(value: Operand, config: TrainerConfig) -> None:
    """Compare the value as 4.42.4 trainer.py:2208 does."""
    _ = value >= 0


def optimizer_arguments(value: Operand, config: TrainerConfig) -> None:
    """Split the string as trainer_optimizer.py:70 does."""
    if value and config.makes_optimizer:
        value.replace(" ", "")


def scheduled_warmup(value: Operand, config: TrainerConfig) -> None:
    """Compare the value with 0 when the schedule is made, as 4.40.1 training_args.py:2295 does."""
    if config.version < WARMUP_CHECKED:
        _ = value > 0


def doubled_accumulation(value: Operand, config: TrainerConfig) -> None:
    """Compare the number as trainer.py:815 and 4.42.4 trainer.py:4556 do: only if accelerate's own number is set."""
    if "num_steps" in config.accumulation_kwargs:
        _ = value > 1


def counted_accumulation(value: object, config: TrainerConfig) -> None:
    """Count the updates of an epoch with range() as trainer.py:1657 (5.6.0 trainer.py:1650) does."""
    most = config.arguments["max_steps"]
    counted = config.version >= PER_EPOCH_LOOP or (isinstance(most, (int, float)) and most > 0)
    if isinstance(value, float) and value != 0 and counted and not ("num_steps" in config.accumulation_kwargs and value <= 1):
        raise TypeError("'float' object cannot be interpreted as an integer")


def checkpointing(value: Operand, config: TrainerConfig) -> None:
    """Copy and unpack the arguments as trainer.py:1507 and modeling_utils.py:3162 do."""
    if config.arguments.checkpointing:
        unpacked(dict(value or {}))


def former_checkpointing(value: object, config: TrainerConfig) -> None:
    """Unpack the arguments as 4.42.4 modeling_utils.py:2258 does, without a copy, in releases where the old name is not an alias of
    the new one.
    """
    arguments = config.arguments
    if arguments.checkpointing and value is not None and arguments.checkpointing_arguments == "gradient_checkpointing_kwargs":
        unpacked(value)


def unpacked(arguments: Operand) -> None:
    """Unpack keyword arguments as functools.partial does."""
    from functools import partial

    partial(print, **arguments)


TORCH_ADAMS = ("adamw_torch", "adamw_torch_fused")
# bitsandbytes and torchao check the same ranges (0.48.2 optim/optimizer.py, Optimizer2State; 0.14.1 optim/adam.py, _AdamBase).
QUANTIZED_ADAMS = ("adamw_bnb_8bit", "adamw_8bit", "paged_adamw_32bit", "paged_adamw_8bit", "adamw_torch_4bit", "adamw_torch_8bit")
ADAMS = (*TORCH_ADAMS, *QUANTIZED_ADAMS, "adamw_hf")
REVERSED = ("sgd", "adamw_hf")  # they test lr < 0 instead of 0 <= lr

OPERATIONS = (
    Operation("ddp_timeout", CONFIG, timeout),
    Operation("seed", INIT, seed),
    Operation("log_level", INIT, log_level),
    Operation("log_level_replica", INIT, log_level),
    Operation("gradient_accumulation_steps", INIT, doubled_accumulation),
    Operation("max_steps", INIT, limit),
    Operation("debug", INIT, debug_options),
    Operation("dataloader_num_workers", INIT, loader_workers),
    Operation("dataloader_prefetch_factor", INIT, prefetched),
    Operation("dataloader_drop_last", INIT, drop_last),
    Operation("use_cache", INIT, cache),
    Operation("label_names", INIT, labels),
    Operation("num_train_epochs", INIT, epochs),
    Operation("optim_args", INIT, optimizer_arguments),
    Operation("learning_rate", INIT, learning_rate),
    Operation("adam_beta1", INIT, beta),
    Operation("adam_beta2", INIT, beta),
    Operation("adam_epsilon", INIT, epsilon),
    Operation("logging_steps", INIT, absolute_interval),
    Operation("eval_steps", INIT, absolute_interval),
    Operation("save_steps", INIT, absolute_interval),
    Operation("warmup_steps", INIT, scheduled_warmup),
    Operation("data_seed", STEP, data_seed),
    Operation("dataloader_num_workers", STEP, started_workers),
    Operation("dataloader_prefetch_factor", STEP, fetched_ahead),
    Operation("max_steps", STEP, looped_limit),
    Operation("gradient_accumulation_steps", STEP, counted_accumulation),
    Operation("past_index", STEP, past),
    Operation("label_smoothing_factor", STEP, smoothing),
    Operation("activation_checkpointing_kwargs", STEP, checkpointing),
    Operation("gradient_checkpointing_kwargs", STEP, former_checkpointing),
    Operation("neftune_noise_alpha", STEP, noise),
    Operation("max_grad_norm", STEP, clipping),
    Operation("weight_decay", STEP, decay),
)


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
        try:
            operation.act(given[operation.field], config)
        except NoSuchField:
            raise
        except Exception as error:
            if operation.fails_at != STEP or takes_steps(config):
                fails_at = config.seeded_at if operation.act is seed else operation.fails_at
                found[operation.field] = TypeFailure(operation.field, fails_at, f"{type(error).__name__}: {error}")
    for refusal in config.refusals:
        if refusal.failed and refusal.key in given:
            found.setdefault(refusal.key, TypeFailure(refusal.key, refusal.fails_at, refusal.exception))
    return list(found.values())
