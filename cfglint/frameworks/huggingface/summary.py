"""The part of `explain` about a Trainer run: length, learning rate, precision, and the values that it sets in the DeepSpeed config."""

from __future__ import annotations

from math import inf, isfinite

from cfglint.batch import steps as arithmetic
from cfglint.evaluate import Unknown
from cfglint.findings.setting import AUTO, DEFAULT, DERIVED, Setting
from cfglint.frameworks.huggingface.batch import Steps, of, steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import DTYPE_KEYS
from cfglint.frameworks.own_loops import add_loop
from cfglint.frameworks.summary import EXAMPLES, FILLED, GPUS, LENGTH, PRECISION, RATE, Summary, nodes, one_gpu_each

STEPS = "steps"
ROUNDING = 1e-6
EPOCH = "epoch"


def account(config: TrainerConfig) -> Summary:
    summary = Summary(config.release)
    if config.parsed:
        run = steps(config)
        length(config, summary, run)
        occasions(config, summary, run, needs(config))
        rate(config, summary)
        precision(config, summary)
        filled(config, summary)
    loop = config.facts.launch.loop
    if loop is not None and loop.is_found:  # which reads the fields that it uses, and has no Trainer's defaults
        summary.items = [
            item for item in summary.items if item.setting.origin not in (DEFAULT, DERIVED) or item.group not in (RATE, PRECISION)
        ]
        summary.items = [item for item in summary.items if item.label != "optimizer" or loop.optimizer is None]
        add_loop(summary, loop, config.facts.launch, None)
    assumed(config, summary)
    return summary


PACKED = "blocks after packing, which depend on the data; `max_steps` would set the length"


def length(config: TrainerConfig, summary: Summary, run: Steps) -> None:
    samples = config.facts.num_examples, config.facts.examples_source
    args = config.arguments
    limited = isinstance(args["max_steps"], int) and args["max_steps"] > 0
    if config.facts.num_examples is not None or not packed(config):
        summary.derive(LENGTH, "training samples", "num_examples", *samples, needs=EXAMPLES)
    if limited:
        summary.add(LENGTH, "max steps", of(config, "max_steps"))
        overrides = "max_steps overrides num_train_epochs" if "num_train_epochs" in args else "max_steps / steps per epoch"
        summary.derive(LENGTH, "epochs", "epochs", epochs_of(run), overrides, needs=needs(config))
    else:
        if not args.known("max_steps"):
            summary.add(LENGTH, "max steps", of(config, "max_steps"))
        summary.add(LENGTH, "epochs", of(config, "num_train_epochs"))
    if run.batches is not None and run.batches != run.updates:
        summary.derive(LENGTH, "batches per epoch", "batches_per_epoch", run.batches, batches_because(config))
    how = PACKED if packed(config) else updates_because(config, run)
    summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", run.updates, how, needs=needs(config))
    epochs = f"{args['num_train_epochs']} " if args.known("num_train_epochs") else ""
    because = "max_steps" if limited else f"{epochs}epochs x {'steps per epoch' if run.updates is None else run.updates}"
    summary.derive(LENGTH, "total steps", "total_steps", run.total, because, needs=needs(config))
    summary.derive(LENGTH, "warm-up steps", "warmup_steps", run.warmup, warmup_because(config, run), needs=needs(config))


def packed(config: TrainerConfig) -> bool:
    most = config.arguments["max_steps"]
    return config.packs and not (isinstance(most, int) and most > 0)


def needs(config: TrainerConfig) -> str:
    if packed(config):
        return ""
    missing = [flag for flag, value in ((GPUS, config.world_size), (EXAMPLES, config.facts.num_examples)) if value is None]
    return " and ".join(missing)


def epochs_of(run: Steps) -> float | None:
    if run.total is None or not run.updates:
        return None
    try:
        return round(run.total / run.updates, 2)
    except OverflowError:  # more than a float holds
        return run.total // run.updates


def batches_because(config: TrainerConfig) -> str:
    own = config.batches_because()
    if own:
        return own
    batch, rounded = config.batch, "rounded down" if config.arguments["dataloader_drop_last"] else "rounded up"
    data_parallel, samples, micro = batch.data_parallel.integer, f"{config.facts.num_examples:,}", batch.micro_batch.integer
    if not data_parallel or data_parallel == 1 or config.accelerator.get("split_batches"):
        return f"{samples} / {micro}, {rounded}"
    return f"per process, of {data_parallel}: {samples} / {micro} / {data_parallel}, {rounded}"


def updates_because(config: TrainerConfig, run: Steps) -> str:
    accumulation = config.batch.accumulation.value
    if run.batches is None:
        return "batches of a process / accumulation"
    if not isinstance(accumulation, int) or accumulation < 1 or run.batches % accumulation == 0:
        return f"{run.batches:,} batches / accumulation {accumulation}"
    how = "rounded up (from 4.52.0)" if config.version >= arithmetic.REST_COUNTED else "rounded down (up to 4.51.3)"
    return f"{run.batches:,} batches / accumulation {accumulation}, {how}"


def warmup_because(config: TrainerConfig, run: Steps) -> str:
    args = config.arguments
    setting = of(config, "warmup_ratio" if config.values.get("warmup_ratio") and not args["warmup_steps"] else "warmup_steps")
    if not setting.written:
        return f"{setting.name} is not set"
    value = setting.value
    is_ratio = isinstance(value, float) and 0 < value < 1
    total = f"{run.total:,}" if run.total is not None else "the total"
    return f"{setting.name} {value} of {total}, rounded up ({setting.place})" if is_ratio else str(setting)


def occasions(config: TrainerConfig, summary: Summary, run: Steps, missing: str) -> None:
    args = config.arguments
    for label, name, strategy, key, every in (
        ("evaluations", "evaluations", args.eval_strategy, args.strategy_key, args.eval_steps),
        ("checkpoints", "checkpoints", args["save_strategy"], "save_strategy", args["save_steps"]),
    ):
        setting = config.setting(key, value=strategy)
        if isinstance(strategy, Unknown) or (strategy == STEPS and isinstance(every, Unknown)):
            what = key if isinstance(strategy, Unknown) else key.replace("strategy", "steps")
            summary.derive(LENGTH, label, name, None, f"{what} is not known")
        elif strategy == STEPS and isinstance(every, (int, float)) and 0 < every < inf:
            count = occasions_by_steps(config, summary, name, every, run)
            distance = f"{every:,}" if isinstance(every, int) else f"{every:,.15g}"
            summary.derive(LENGTH, label, name, count, f"{key} is steps ({setting.place}), every {distance}", needs=missing)
        elif strategy == EPOCH:
            count = epochs_begun(config, run)
            if count is not None and run.total and run.updates:
                summary.mark(name, (min((epoch + 1) * run.updates, run.total) for epoch in range(count)))
            summary.derive(LENGTH, label, name, count, f"{key} is epoch ({setting.place})", needs=missing)
        else:
            summary.derive(LENGTH, label, name, 0 if strategy in ("no", STEPS) else None, f"{key} is {strategy} ({setting.place})")


def occasions_by_steps(config: TrainerConfig, summary: Summary, name: str, every: float, run: Steps) -> int | None:
    if not run.total:
        times = 1 / every if every < 1 else 0
        return round(times) if times and abs(times - round(times)) < ROUNDING else None  # whatever the total is, unless it is tiny
    interval = arithmetic.interval(every, run.total)
    if name == "checkpoints":
        summary.mark(name, arithmetic.save_steps(run.total, interval, config.version))
        return arithmetic.saves(run.total, interval, config.version)
    delay = config.arguments["eval_delay"]
    delay = min(delay, run.total + 1) if isinstance(delay, (int, float)) and abs(delay) < inf else 0
    summary.mark(name, arithmetic.evaluation_steps(run.total, interval, config.version, delay))
    return arithmetic.evaluations(run.total, interval, config.version, delay)


def epochs_begun(config: TrainerConfig, run: Steps) -> int | None:
    limit, epochs = config.arguments["max_steps"], config.arguments["num_train_epochs"]
    if isinstance(limit, int) and limit > 0:
        return -(-limit // run.updates) if run.updates else None
    return -int(-epochs // 1) if isinstance(epochs, (int, float)) and isfinite(epochs) else None


def rate(config: TrainerConfig, summary: Summary) -> None:
    engine = config.deepspeed.values if config.deepspeed is not None else {}
    if "optimizer" not in engine:
        summary.add(RATE, "optimizer", of(config, "optim"))
        summary.add(RATE, "learning rate", of(config, "learning_rate"))
        summary.add(RATE, "weight decay", of(config, "weight_decay"))
    if "scheduler" not in engine:
        summary.add(RATE, "schedule", of(config, "lr_scheduler_type"))
    if config.deepspeed is None:
        summary.add(RATE, "gradient clipping", of(config, "max_grad_norm"))


def precision(config: TrainerConfig, summary: Summary) -> None:
    args = config.arguments
    if config.deepspeed is None:
        chosen = next((name for name in ("bf16", "fp16") if args[name]), None)
        if chosen:
            setting = of(config, chosen)
            summary.derive(PRECISION, "precision", "precision", chosen, setting.place)
        else:
            summary.derive(PRECISION, "precision", "precision", *without_switch(config))
    if config.uses_fsdp:
        summary.add(PRECISION, "FSDP", of(config, "fsdp"))
    key = config.arguments.checkpointing_key
    checkpointing = config.setting(key, value=bool(args.checkpointing)) if args.known(key) else config.unknown(key)
    summary.add(PRECISION, "gradient checkpointing", checkpointing)


def without_switch(config: TrainerConfig) -> tuple[str | None, str]:
    """(precision, its origin) if neither bf16 nor fp16 is known to be on: that of the launcher, else fp32; null if unknown, as for a model
    whose weights the program loads in another type.

    Source: transformers 5.23.0 training_args.py: ACCELERATE_MIXED_PRECISION of the launcher applies if neither is set.
    """
    undecided = [name for name in ("bf16", "fp16") if not config.arguments.known(name)]
    if undecided:
        return None, f"{undecided[0]} is not known"
    line = config.facts.launch.line
    values = (line.values if line is not None else None) or (config.launcher.values if config.launcher is not None else {})
    launched = values.get("mixed_precision")
    if launched is None and line is not None and line.lacks_launcher_config:
        return None, "the accelerate config is not known"
    if launched in ("bf16", "fp16"):
        return launched, "mixed_precision of the launcher"
    loaded = next((key for key in DTYPE_KEYS if config.values.get(key) not in (None, "float32", "fp32")), None)
    if loaded is not None:
        return None, f"the model is loaded with {loaded}"
    return ("fp32", "neither bf16 nor fp16 is set") if launched in (None, False, "no") else (None, "mixed_precision of the launcher")


def filled(config: TrainerConfig, summary: Summary) -> None:
    launch = config.deepspeed
    if launch is None:
        return
    for path, fill in launch.filled.items():
        place = launch.setting(path)
        value, because = None if "not known" in fill.because else fill.value, f"auto: {fill.because}"
        summary.add(FILLED, path, Setting(place.path, value, AUTO, place.document, place.node, place.key_node, because))


def assumed(config: TrainerConfig, summary: Summary) -> None:
    world = config.world_size
    if world == 1 and not config.uses_deepspeed:
        summary.assumed.append("1 GPU means a plain start, without a launcher")
    else:
        summary.assumed.append(f"{one_gpu_each(world)}, started by a launcher")
    summary.assumed.append(f"{nodes(config.facts)} (bf16 and tf32 work), optional packages are installed, {config.evaluation_assumed}")
    if config.deepspeed is not None and config.deepspeed.assumed_sizes():
        summary.assumed.append('the model has hidden size 4096, where "auto" sizes depend on it')
