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

STEPS, EPOCH = "steps", "epoch"
ROUNDING = 1e-6
OWN_SAMPLES = "{} decides which samples an epoch has; `max_steps` would set the length"
PACKED = "blocks after packing, which depend on the data; `max_steps` would set the length"


MADE_OTHERWISE = "the program makes its own"


def account(config: TrainerConfig) -> Summary:
    summary, world = Summary(config.release), config.world_size
    if config.parsed:
        run, missing = steps(config), ""
        if not (packed(config) or config.own_samples):  # else no flag helps
            missing = " and ".join(flag for flag, value in ((GPUS, world), (EXAMPLES, config.facts.num_examples)) if value is None)
        length(config, summary, run, missing)
        occasions(config, summary, run, missing)
        engine = config.deepspeed.values if config.deepspeed is not None else {}  # which may have its own optimizer and schedule
        optimizer = (("optimizer", "optim"), ("learning rate", "learning_rate"), ("weight decay", "weight_decay"))
        for label, name in (
            *(optimizer if "optimizer" not in engine else ()),
            *((("schedule", "lr_scheduler_type"),) if "scheduler" not in engine else ()),
            *((("gradient clipping", "max_grad_norm"),) if config.deepspeed is None else ()),
        ):
            made_otherwise = Setting((name,), Unknown(), DEFAULT, because=MADE_OTHERWISE)
            summary.add(RATE, label, made_otherwise if label in own_parts(config) else of(config, name))
        precision(config, summary)
        filled(config, summary)
    loop = config.facts.launch.loop
    if loop is not None and loop.is_found:  # which reads the fields that it uses, and has no Trainer's defaults
        items = (item for item in summary.items if item.label != "optimizer" or loop.optimizer is None)
        defaults = (DEFAULT, DERIVED)
        summary.items = [item for item in items if item.setting.origin not in defaults or item.group not in (RATE, PRECISION)]
        add_loop(summary, loop, config.facts.launch, None)
    if world == 1 and not config.uses_deepspeed:
        summary.assumed.append("1 GPU means a plain start, without a launcher")
    else:
        summary.assumed.append(f"{one_gpu_each(world)}, started by a launcher")
    summary.assumed.append(f"{nodes(config.facts)} (bf16 and tf32 work), optional packages are installed, {config.evaluation_assumed}")
    if config.deepspeed is not None and config.deepspeed.assumed_sizes():
        summary.assumed.append('the model has hidden size 4096, where "auto" sizes depend on it')
    return summary


def own_parts(config: TrainerConfig) -> set[str]:
    """What the program gives its trainer, or the methods of this make, otherwise than the arguments say."""
    program = config.facts.launch.code
    return {*program.own_parts, *(part for call in program.trainer_calls for part in call.own_parts)} if program is not None else set()


def packed(config: TrainerConfig) -> bool:
    """Whether samples are packed into blocks, and no number of steps is set."""
    most = config.arguments["max_steps"]
    return config.packs and not (isinstance(most, int) and most > 0)


def length(config: TrainerConfig, summary: Summary, run: Steps, missing: str) -> None:
    """Add the lines from samples to steps; `missing` are the flags that they depend on."""
    args, facts = config.arguments, config.facts
    by_samples = config.counts_samples and args["total_episodes"] is not None
    limited = not config.counts_samples and isinstance(args["max_steps"], int) and args["max_steps"] > 0
    if facts.num_examples is not None or not packed(config):
        summary.derive(LENGTH, "training samples", "num_examples", facts.num_examples, facts.examples_source, needs=EXAMPLES)
    if by_samples:
        summary.add(LENGTH, "episodes", of(config, "total_episodes"))
    if limited or not args.known("max_steps"):
        summary.add(LENGTH, "max steps", of(config, "max_steps"))
    if limited:
        epochs: float | None = None
        if run.total is not None and run.updates:
            try:
                epochs = round(run.total / run.updates, 2)
            except OverflowError:  # more than a float holds
                epochs = run.total // run.updates
        overrides = "max_steps overrides num_train_epochs" if "num_train_epochs" in args else "max_steps / steps per epoch"
        summary.derive(LENGTH, "epochs", "epochs", epochs, overrides, needs=missing)
    elif not by_samples:
        summary.add(LENGTH, "epochs", of(config, "num_train_epochs"))
    if run.batches is not None and run.batches != run.updates:
        summary.derive(LENGTH, "batches per epoch", "batches_per_epoch", run.batches, batches_because(config))
    accumulation = config.batch.accumulation.value
    if packed(config):
        how = PACKED
    elif config.own_samples:
        how = OWN_SAMPLES.format(config.own_samples)
    elif run.batches is None:
        how = "batches of a process / accumulation"
    else:
        how = f"{run.batches:,} batches / accumulation {accumulation}"
        if isinstance(accumulation, int) and accumulation >= 1 and run.batches % accumulation:
            is_counted = config.version >= arithmetic.REST_COUNTED
            how += ", rounded up (from 4.52.0)" if is_counted else ", rounded down (up to 4.51.3)"
    if not config.counts_samples:
        summary.derive(LENGTH, "steps per epoch", "steps_per_epoch", run.updates, how, needs=missing)
    number = f"{args['num_train_epochs']} " if args.known("num_train_epochs") else ""
    because = "max_steps" if limited else f"{number}epochs x {'steps per epoch' if run.updates is None else run.updates}"
    because = "updates: episodes / (global batch x num_mini_batches)" if config.counts_samples else because
    summary.derive(LENGTH, "total steps", "total_steps", run.total, because, needs=missing)
    setting = of(config, "warmup_ratio" if config.values.get("warmup_ratio") and not args["warmup_steps"] else "warmup_steps")
    because = str(setting) if setting.origin != DEFAULT else f"{setting.name} is not set"
    if setting.origin != DEFAULT and isinstance(setting.value, float) and 0 < setting.value < 1:
        total = f"{run.total:,}" if run.total is not None else "the total"
        because = f"{setting.name} {setting.value} of {total}, rounded up ({setting.place})"
    summary.derive(LENGTH, "warm-up steps", "warmup_steps", run.warmup, because, needs=missing)


def batches_because(config: TrainerConfig) -> str:
    own = config.batches_because()
    if own:
        return own
    batch, rounded = config.batch, "rounded down" if config.arguments["dataloader_drop_last"] else "rounded up"
    data_parallel, samples, micro = batch.data_parallel.integer, f"{config.facts.num_examples:,}", batch.micro_batch.integer
    if not data_parallel or data_parallel == 1 or config.accelerator.get("split_batches"):
        return f"{samples} / {micro}, {rounded}"
    return f"per process, of {data_parallel}: {samples} / {micro} / {data_parallel}, {rounded}"


def occasions(config: TrainerConfig, summary: Summary, run: Steps, missing: str) -> None:
    """Add how often the run evaluates and saves; `missing` are the flags that its length depends on."""
    args = config.arguments
    for name, strategy, key, every in (
        ("evaluations", args.eval_strategy, args.strategy_key, args.eval_steps),
        ("checkpoints", args["save_strategy"], "save_strategy", args["save_steps"]),
    ):
        setting, count, needs = config.setting(key, value=strategy), None, missing
        because = f"{key} is {strategy} ({setting.place})"
        if isinstance(strategy, Unknown) or (strategy == STEPS and isinstance(every, Unknown)):
            because, needs = f"{key if isinstance(strategy, Unknown) else key.replace('strategy', 'steps')} is not known", ""
        elif strategy == STEPS and isinstance(every, (int, float)) and 0 < every < inf:
            count = occasions_by_steps(config, summary, name, every, run)
            because += f", every {f'{every:,}' if isinstance(every, int) else f'{every:,.15g}'}"
        elif strategy == EPOCH:
            limit, epochs = args["max_steps"], args["num_train_epochs"]
            if isinstance(limit, int) and limit > 0:
                count = -(-limit // run.updates) if run.updates else None
            elif isinstance(epochs, (int, float)) and isfinite(epochs):
                count = -int(-epochs // 1)
            if count is not None and run.total and run.updates:
                summary.mark(name, (min((epoch + 1) * run.updates, run.total) for epoch in range(count)))
        else:
            count, needs = 0 if strategy in ("no", STEPS) else None, ""
        summary.derive(LENGTH, name, name, count, because, needs=needs)


def occasions_by_steps(config: TrainerConfig, summary: Summary, name: str, every: float, run: Steps) -> int | None:
    """The number of evaluations or checkpoints at an interval, with their steps; None where the length is unknown."""
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


def precision(config: TrainerConfig, summary: Summary) -> None:
    args = config.arguments
    if config.deepspeed is None:
        chosen = next((name for name in ("bf16", "fp16") if args[name]), None)
        name, because = (chosen, of(config, chosen).place) if chosen else without_switch(config)
        summary.derive(PRECISION, "precision", "precision", name, because)
    if config.uses_fsdp:
        summary.add(PRECISION, "FSDP", of(config, "fsdp"))
    key = args.checkpointing_key
    checkpointing = config.setting(key, value=bool(args.checkpointing)) if args.known(key) else config.unknown(key)
    summary.add(PRECISION, "gradient checkpointing", checkpointing)


def without_switch(config: TrainerConfig) -> tuple[str | None, str]:
    """(precision, its origin) if neither bf16 nor fp16 is known to be on: that of the launcher, else fp32; None if it is not known."""
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
    """Add the `"auto"` values of the DeepSpeed config, each with its origin."""
    launch = config.deepspeed
    if launch is None:
        return
    for path, fill in launch.filled.items():
        place = launch.setting(path)
        setting = Setting(place.path, fill.value, AUTO, place.document, place.node, place.key_node, f"auto: {fill.because}")
        summary.add(FILLED, path, setting)
