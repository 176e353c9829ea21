"""Steps, warm-up and learning-rate schedules."""

from __future__ import annotations

from math import isnan

from cfglint.batch.steps import LAST_EVALUATED, RATIO_TAKEN, ZERO_IS_A_LIMIT
from cfglint.findings.diagnostic import INFO
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import ACCUMULATION, INFINITE, accumulation_steps, steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import has_field
from cfglint.frameworks.huggingface.rules import of, refused
from cfglint.source.annotations import Iterator
from cfglint.source.numbers import is_number

FAR_MORE = 4  # times the training batch from which an evaluation batch is reported: without gradients it needs less memory per sample
WITHOUT_WARMUP = ("constant", "reduce_lr_on_plateau", "greedy")


@rule("STP001")
def invalid_warmup_steps(config: TrainerConfig) -> Iterator[Finding]:
    yield from refused(config, "STP001")
    args, modern = config.arguments, config.version >= RATIO_TAKEN
    name = "warmup_ratio" if modern and has_field("warmup_ratio", config.version) and args["warmup_ratio"] is not None else "warmup_steps"
    if modern:  # NaN is below no bound, and math.ceil() refuses it when the schedule is built
        yield from without_number(config, name, ">= 0")


@rule("STP002")
def warmup_ratio_out_of_range(config: TrainerConfig) -> Iterator[Finding]:
    yield from refused(config, "STP002")
    count = config.arguments["warmup_steps"]
    if config.version < RATIO_TAKEN and not (is_number(count) and count > 0):
        yield from without_number(config, "warmup_ratio", "between 0 and 1")


def without_number(config: TrainerConfig, name: str, bounds: str) -> Iterator[Finding]:
    value = config.arguments[name]
    if isinstance(value, float) and isnan(value):
        text = "ValueError: cannot convert float NaN to integer"
        message = f"`{name}` is NaN; it must be a number {bounds}"
        yield Finding(of(config, name), message, exception=text, fails_at="init", help=set_key(name, 0, " for no warm-up"))


@rule("STP004")
def warmup_longer_than_run(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if args["lr_scheduler_type"] in WITHOUT_WARMUP or not is_number(args["warmup_steps"]) or args["warmup_steps"] < 1:
        return
    run = steps(config)
    if run.total and run.warmup and run.warmup >= run.total:
        message = f"`warmup_steps` is {run.warmup}, but the run has only {run.total} steps"
        remedy = f"set `warmup_steps` below {run.total}"
        yield Finding(of(config, "warmup_steps"), message, note="the learning rate does not reach its full value", help=remedy)


@rule("STP005")
def overridden_epochs(config: TrainerConfig) -> Iterator[Finding]:
    limit = config.arguments["max_steps"]
    if "num_train_epochs" in config.arguments and is_number(limit) and limit > 0:
        related = (of(config, "max_steps"),)
        message = f"`num_train_epochs` is overridden by `max_steps` ({limit})"
        remedy = remove_key("num_train_epochs") | remove_key("max_steps")
        yield Finding(of(config, "num_train_epochs"), message, related=related, help=remedy)


@rule("STP006")
def interval_longer_than_run(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    intervals = [("logging_steps", args["logging_strategy"], "nothing is logged")]
    if config.version < LAST_EVALUATED:
        intervals.append(("eval_steps", args.eval_strategy, "nothing is evaluated"))
    written = [(name, consequence) for name, unit, consequence in intervals if unit == "steps" and name in args]
    total = steps(config).total if written else None
    for name, consequence in written if total else ():
        every = args[name]
        if is_number(every) and every > total:
            message = f"`{name}` is {every}, but the run has only {total} steps, so {consequence}"
            yield Finding(of(config, name), message, help=f"set `{name}` to {total} or less")


@rule("STP007")
def no_training_steps(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    limit, epochs = args["max_steps"], args["num_train_epochs"]
    if type(limit) is int and limit == 0 and config.version >= ZERO_IS_A_LIMIT:
        remedy = set_key("max_steps", -1, " for no limit")
        yield Finding(of(config, "max_steps"), "`max_steps` is 0, which ends the run after one step", help=remedy)
    if is_number(epochs) and epochs <= 0 and is_number(limit) and limit < 0:
        message = f"`num_train_epochs` is {epochs}, so no training step is made"
        yield Finding(of(config, "num_train_epochs"), message, help="set `num_train_epochs` to a positive number")
    accumulation = accumulation_steps(config)
    if is_number(accumulation.value) and accumulation.value < 0:
        message = f"`{ACCUMULATION}` is {accumulation.value}; it must be positive, but the Trainer does not check it"
        yield Finding(accumulation, message, note="the number of steps per epoch is negative or 0", help=set_key(ACCUMULATION, 1))


@rule("STP008")
def no_checkpoints(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["save_steps"]
    if config.arguments["save_strategy"] == "steps" and type(value) in (int, float) and value <= 0:
        message = f"`save_steps` is {value}, so no checkpoint is saved before the end of the run"
        remedy = 'set `save_strategy: "no"` if that is meant, else a positive `save_steps`'
        yield Finding(of(config, "save_steps"), message, severity=INFO if value == 0 else None, help=remedy)


@rule("STP009")
def conflicting_warmup(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    count, ratio = args["warmup_steps"], args["warmup_ratio"]
    if not has_field("warmup_ratio", config.version) or not is_number(count) or not is_number(ratio) or count <= 0 or ratio <= 0:
        return
    ignored, used = ("warmup_ratio", "warmup_steps") if config.version < RATIO_TAKEN else ("warmup_steps", "warmup_ratio")
    message = f"`{ignored}` is overridden by `{used}` ({args[used]})"
    yield Finding(of(config, ignored), message, related=(of(config, used),), help=remove_key(ignored))


@rule("STP010")
def float_warmup_of_one_step(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["warmup_steps"]
    if config.version >= RATIO_TAKEN and isinstance(value, float) and 1 <= value < INFINITE and (value == 1 or not value.is_integer()):
        count = int(value)
        message = f"`warmup_steps` is {value}, which means {count} step{'s' * (count > 1)}; only a value below 1 is a ratio of the run"
        remedy = set_key("warmup_steps", count, " if that is meant") | "a value below 1 for a fraction of the run"
        yield Finding(of(config, "warmup_steps"), message, help=remedy)


@rule("STP011")
def ignored_warmup(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    kind = args["lr_scheduler_type"]
    related = (of(config, "lr_scheduler_type"),)
    for name in ("warmup_steps", "warmup_ratio") if kind in WITHOUT_WARMUP else ():
        if is_number(args[name]) and args[name] > 0:
            message = f"`{name}` is ignored: `lr_scheduler_type: {kind}` has no warm-up"
            other = set_key("lr_scheduler_type", f"{kind}_with_warmup") | remove_key(name)
            yield Finding(of(config, name), message, related=related, help=other if kind == "constant" else remove_key(name))
    if kind in ("constant", "constant_with_warmup") and isinstance(args["lr_scheduler_kwargs"], dict) and args["lr_scheduler_kwargs"]:
        message = f"`lr_scheduler_kwargs` is ignored with `lr_scheduler_type: {kind}`"
        yield Finding(of(config, "lr_scheduler_kwargs"), message, related=related, help=remove_key("lr_scheduler_kwargs"))


@rule("STP012")
def large_evaluation_batch(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    train, evaluation = args["per_device_train_batch_size"], args["per_device_eval_batch_size"]
    if args.eval_strategy not in ("steps", "epoch") or not is_number(train) or not is_number(evaluation) or train <= 0:
        return
    if evaluation >= FAR_MORE * train:
        related = (of(config, "per_device_train_batch_size"),)
        default = "" if of(config, "per_device_eval_batch_size").written else " by default"
        message = f"`per_device_eval_batch_size` is {evaluation}{default}, far more than the training batch ({train})"
        remedy, note = set_key("per_device_eval_batch_size", train), "the first evaluation may run out of memory"
        yield Finding(of(config, "per_device_eval_batch_size"), message, related=related, note=note, help=remedy)


@rule("STP013")
def last_steps_not_evaluated(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if config.version >= LAST_EVALUATED or args.eval_strategy != "steps" or not args["load_best_model_at_end"]:
        return
    ratio, total = args.eval_steps, steps(config).total
    if not total or not is_number(ratio) or not 0 < ratio < 1:
        return
    every = -int(-total * ratio // 1)
    done, meant = total // every, round(1 / ratio)
    if done < meant and total % every:
        text = f"`eval_steps` is {ratio}, so every {every:,} of {total:,} steps: the last {total % every:,} steps are not evaluated"
        note, remedy = "the best model is one from before them", set_key("eval_steps", total // meant)
        yield Finding(of(config, "eval_steps"), text, note=note, help=remedy)
