"""What `explain` shows of a trainer: length, learning rate, precision, and the values that it fills into DeepSpeed's file."""

from __future__ import annotations

from math import inf, isfinite

from cfglint.batch import steps as arithmetic
from cfglint.frameworks.huggingface.batch import of, steps
from cfglint.frameworks.setting import AUTO, Setting
from cfglint.frameworks.summary import EXAMPLES, FILLED, GPUS, LENGTH, PRECISION, RATE, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.huggingface.batch import Steps
    from cfglint.frameworks.huggingface.config import TrainerConfig

CEIL = (4, 52)
STEPS = "steps"
EPOCH = "epoch"


def account(config: TrainerConfig) -> Summary:
    """The trainer's lines."""
    told = Summary(config.release)
    if config.whole:
        run = steps(config)
        length(config, told, run)
        occasions(config, told, run)
        rate(config, told)
        precision(config, told)
        filled(config, told)
    assumed(config, told)
    return told


def length(config: TrainerConfig, told: Summary, run: Steps) -> None:
    """From samples to steps."""
    args = config.arguments
    limited = isinstance(args["max_steps"], int) and args["max_steps"] > 0
    told.derive(LENGTH, "training samples", "num_examples", config.facts.num_examples, EXAMPLES.partition(" ")[0], needs=EXAMPLES)
    if limited:
        told.add(LENGTH, "max steps", of(config, "max_steps"))
        if "num_train_epochs" in args:
            told.derive(LENGTH, "epochs", "epochs", epochs_of(run), "max_steps wins over num_train_epochs", needs=needs(config))
    else:
        told.add(LENGTH, "epochs", of(config, "num_train_epochs"))
    if run.batches is not None and run.batches != run.updates:
        told.derive(LENGTH, "batches per epoch", "batches_per_epoch", run.batches, batches_because(config))
    told.derive(LENGTH, "steps per epoch", "steps_per_epoch", run.updates, updates_because(config, run), needs=needs(config))
    because = "max_steps" if limited else f"{args['num_train_epochs']} epochs x {run.updates}"
    told.derive(LENGTH, "total steps", "total_steps", run.total, because, needs=needs(config))
    told.derive(LENGTH, "warm-up steps", "warmup_steps", run.warmup, warmup_because(config, run), needs=needs(config))


def needs(config: TrainerConfig) -> str:
    """The flags that the length of the run waits for."""
    missing = [flag for flag, value in ((GPUS, config.world_size), (EXAMPLES, config.facts.num_examples)) if value is None]
    return " and ".join(missing)


def epochs_of(run: Steps) -> float | None:
    """The epochs that a given number of steps comes to."""
    if run.total is None or not run.updates:
        return None
    try:
        return round(run.total / run.updates, 2)
    except OverflowError:  # more than a float holds
        return run.total // run.updates


def batches_because(config: TrainerConfig) -> str:
    """How samples become the batches of one process."""
    batch, rounded = config.batch, "cut off" if config.arguments["dataloader_drop_last"] else "rounded up"
    ways, samples, micro = batch.data_parallel.value, f"{config.facts.num_examples:,}", batch.micro_batch.value
    if not ways or ways == 1 or config.accelerator.get("split_batches"):
        return f"{samples} / {micro}, {rounded}"
    return f"of each of {ways} processes: {samples} / {micro} / {ways}, {rounded}"


def updates_because(config: TrainerConfig, run: Steps) -> str:
    """How batches become optimizer steps."""
    accumulation = config.batch.accumulation.value
    if run.batches is None:
        return "batches of a process / accumulation"
    if not isinstance(accumulation, int) or accumulation < 1 or run.batches % accumulation == 0:
        return f"{run.batches:,} batches / accumulation {accumulation}"
    how = "rounded up (from 4.52.0)" if config.version >= CEIL else "cut off (up to 4.51.3)"
    return f"{run.batches:,} batches / accumulation {accumulation}, {how}"


def warmup_because(config: TrainerConfig, run: Steps) -> str:
    """What gives the warm-up."""
    args = config.arguments
    setting = of(config, "warmup_ratio" if args["warmup_ratio"] and not args["warmup_steps"] else "warmup_steps")
    if not setting.written:
        return f"{setting.name} is not set"
    value = setting.value
    share = isinstance(value, float) and 0 < value < 1
    total = f"{run.total:,}" if run.total is not None else "the total"
    return f"{setting.name} {value} of {total}, rounded up ({setting.place})" if share else str(setting)


def occasions(config: TrainerConfig, told: Summary, run: Steps) -> None:
    """How often it evaluates and saves."""
    args = config.arguments
    for label, name, strategy, key, every in (
        ("evaluations", "evaluations", args.eval_strategy, args.strategy_key, args.eval_steps),
        ("checkpoints", "checkpoints", args["save_strategy"], "save_strategy", args["save_steps"]),
    ):
        setting = config.setting(key, value=strategy)
        if strategy == STEPS and isinstance(every, (int, float)) and 0 < every < inf:
            count = occasions_by_steps(config, told, name, every, run)
            told.derive(LENGTH, label, name, count, f"{key} is steps ({setting.place}), every {every}", needs=needs(config))
        elif strategy == EPOCH:
            count = epochs_begun(config, run)
            if count is not None and run.total and run.updates:
                told.mark(name, (min((epoch + 1) * run.updates, run.total) for epoch in range(count)))
            told.derive(LENGTH, label, name, count, f"{key} is epoch ({setting.place})", needs=needs(config))
        else:
            told.derive(LENGTH, label, name, 0 if strategy in ("no", STEPS) else None, f"{key} is {strategy} ({setting.place})")


def occasions_by_steps(config: TrainerConfig, told: Summary, name: str, every: float, run: Steps) -> int | None:
    """Evaluations or checkpoints at an interval, with their steps; None where the length is not known."""
    if not run.total:
        return None
    interval = arithmetic.interval(every, run.total)
    if name == "checkpoints":
        told.mark(name, arithmetic.save_steps(run.total, interval))
        return arithmetic.saves(run.total, interval)
    delay = config.arguments["eval_delay"]
    delay = min(delay, run.total + 1) if isinstance(delay, (int, float)) and abs(delay) < inf else 0
    told.mark(name, arithmetic.evaluation_steps(run.total, interval, config.version, delay))
    return arithmetic.evaluations(run.total, interval, config.version, delay)


def epochs_begun(config: TrainerConfig, run: Steps) -> int | None:
    """The epochs that a run begins."""
    limit, epochs = config.arguments["max_steps"], config.arguments["num_train_epochs"]
    if isinstance(limit, int) and limit > 0:
        return -(-limit // run.updates) if run.updates else None
    return -int(-epochs // 1) if isinstance(epochs, (int, float)) and isfinite(epochs) else None


def rate(config: TrainerConfig, told: Summary) -> None:
    """Optimizer and schedule, unless DeepSpeed's file has its own."""
    engine = config.deepspeed.values if config.deepspeed is not None else {}
    if "optimizer" not in engine:
        told.add(RATE, "optimizer", of(config, "optim"))
        told.add(RATE, "learning rate", of(config, "learning_rate"))
        told.add(RATE, "weight decay", of(config, "weight_decay"))
    if "scheduler" not in engine:
        told.add(RATE, "schedule", of(config, "lr_scheduler_type"))
    if config.deepspeed is None:
        told.add(RATE, "gradient clipping", of(config, "max_grad_norm"))


def precision(config: TrainerConfig, told: Summary) -> None:
    """Data type, sharding, recomputation."""
    args = config.arguments
    if config.deepspeed is None:
        chosen = next((name for name in ("bf16", "fp16") if args[name]), None)
        if chosen:
            setting = of(config, chosen)
            told.derive(PRECISION, "precision", "precision", chosen, setting.place)
        else:
            told.derive(PRECISION, "precision", "precision", "fp32", "neither bf16 nor fp16 is set")
    if config.uses_fsdp:
        told.add(PRECISION, "FSDP", of(config, "fsdp"))
    told.add(PRECISION, "recompute", config.setting(config.arguments.checkpointing_key, value=bool(args.checkpointing)))


def filled(config: TrainerConfig, told: Summary) -> None:
    """The `"auto"` values of DeepSpeed's file, each with what filled it."""
    launch = config.deepspeed
    if launch is None:
        return
    for path, fill in launch.filled.items():
        place = launch.setting(path)
        value, because = known(fill.value, fill.because), f"auto: {fill.because}"
        told.add(FILLED, path, Setting(place.path, value, AUTO, place.document, place.node, place.key_node, because))


def known(value: Any, because: str) -> Any:
    """A filled value; None where a stand-in was filled for a length that is not known."""
    return None if "not known" in because else value


def assumed(config: TrainerConfig, told: Summary) -> None:
    """What the contract of cfglint takes for granted of a launch."""
    world = config.world_size
    if world == 1 and not config.uses_deepspeed:
        told.assumed.append("1 GPU is a plain start, without a launcher")
    else:
        told.assumed.append(f"{world or 'N'} GPUs are {world or 'N'} processes with one GPU each, started by a launcher")
    told.assumed.append("8xH100 nodes (bf16 and tf32 work), optional packages installed, an evaluation set is given")
    if any("hidden size" in fill.because for fill in (config.deepspeed.filled.values() if config.deepspeed else ())):
        told.assumed.append('the model has hidden size 4096, where "auto" sizes need it')
