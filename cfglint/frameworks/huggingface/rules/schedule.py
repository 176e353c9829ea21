"""Steps, warm-up and learning-rate schedules with their arguments."""

from __future__ import annotations

from math import isnan

from cfglint.batch.steps import LAST_EVALUATED, RATIO_TAKEN, ZERO_IS_A_LIMIT
from cfglint.findings.diagnostic import INFO
from cfglint.findings.remedy import Remedy, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import ACCUMULATION, INFINITE, UNKNOWN, accumulation_steps, steps, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import choices, has_field
from cfglint.frameworks.huggingface.rules import of, refused, shown
from cfglint.frameworks.huggingface.rules.arguments import described, spelled_as_number
from cfglint.frameworks.huggingface.schedule_operations import BUILDS, STABLE_STEPS_OPTIONAL, certain_failure, possible_runs
from cfglint.frameworks.remedies import either
from cfglint.source.annotations import ConfigMapping, Iterator
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
        text, message = "ValueError: cannot convert float NaN to integer", f"`{name}` is NaN; it must be a number {bounds}"
        yield Finding(of(config, name), message, exception=text, fails_at="init", help=set_key(name, 0, " for no warm-up"))


@rule("STP004")
def warmup_longer_than_run(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if args["lr_scheduler_type"] in WITHOUT_WARMUP or not is_number(args["warmup_steps"]) or args["warmup_steps"] < 1:
        return
    run = steps(config)
    if run.total and run.warmup and run.warmup >= run.total:
        message, remedy = f"`warmup_steps` is {run.warmup}, but the run has only {run.total} steps", f"set `warmup_steps` below {run.total}"
        yield Finding(of(config, "warmup_steps"), message, note="the learning rate does not reach its full value", help=remedy)


@rule("STP005")
def overridden_epochs(config: TrainerConfig) -> Iterator[Finding]:
    limit = config.arguments["max_steps"]
    if "num_train_epochs" in config.arguments and is_number(limit) and limit > 0:
        yield overridden(config, "num_train_epochs", "max_steps", either("num_train_epochs", "max_steps"))


def overridden(config: TrainerConfig, ignored: str, used: str, remedy: Remedy) -> Finding:
    message = f"`{ignored}` is overridden by `{used}` ({config.arguments[used]})"
    return Finding(of(config, ignored), message, related=(of(config, used),), help=remedy)


@rule("STP006")
def interval_longer_than_run(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    intervals = [("logging_steps", args["logging_strategy"], "nothing is logged")]
    if config.version < LAST_EVALUATED:
        intervals.append(("eval_steps", args.eval_strategy, "nothing is evaluated"))
    written = [(name, args[name], consequence) for name, unit, consequence in intervals if unit == "steps" and name in args]
    total = steps(config).total if written else None
    for name, every, consequence in written:
        if total and is_number(every) and every > total:
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
    yield overridden(config, ignored, used, remove_key(ignored))


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
    if args.eval_strategy not in ("steps", "epoch") or not is_number(train) or not is_number(evaluation):
        return
    if train > 0 and evaluation >= FAR_MORE * train:
        setting, related = of(config, "per_device_eval_batch_size"), (of(config, "per_device_train_batch_size"),)
        default, note = "" if setting.written else " by default", "the first evaluation may run out of memory"
        message = f"`per_device_eval_batch_size` is {evaluation}{default}, far more than the training batch ({train})"
        yield Finding(setting, message, related=related, note=note, help=set_key("per_device_eval_batch_size", train))


@rule("STP013")
def last_steps_not_evaluated(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if config.version >= LAST_EVALUATED or args.eval_strategy != "steps" or not args["load_best_model_at_end"]:
        return
    ratio, total = args.eval_steps, steps(config).total
    if not total or not is_number(ratio) or not 0 < ratio < 1:
        return
    every, meant = -int(-total * ratio // 1), round(1 / ratio)
    if total // every < meant and total % every:
        text = f"`eval_steps` is {ratio}, so every {every:,} of {total:,} steps: the last {total % every:,} steps are not evaluated"
        note, remedy = "the best model is one from before them", set_key("eval_steps", total // meant)
        yield Finding(of(config, "eval_steps"), text, note=note, help=remedy)


MINIMAL_RATE = ("cosine_with_min_lr", "cosine_warmup_with_min_lr")
MIN_RATE = set_key("lr_scheduler_kwargs", {"min_lr_rate": 0.1}) | "a `min_lr`"
INVERSE_SQRT_ARGUMENTS = (5, 4)  # inverse_sqrt gets lr_scheduler_kwargs from here on
PLATEAU = "mode factor patience threshold threshold_mode cooldown"
MINIMUM = "num_cycles min_lr min_lr_rate"
# What builds each schedule, and its keywords before `last_epoch`: transformers 5.23.0 and 4.42.4 optimization.py.
SCHEDULES = {
    "linear": ("get_linear_schedule_with_warmup", ""),
    "cosine": ("get_cosine_schedule_with_warmup", "num_cycles"),
    "cosine_with_restarts": ("get_cosine_with_hard_restarts_schedule_with_warmup", "num_cycles"),
    "polynomial": ("get_polynomial_decay_schedule_with_warmup", "lr_end power"),
    "inverse_sqrt": ("get_inverse_sqrt_schedule", "timescale"),
    "reduce_lr_on_plateau": ("ReduceLROnPlateau.__init__", f"{PLATEAU} min_lr eps"),
    "cosine_with_min_lr": ("get_cosine_with_min_lr_schedule_with_warmup", MINIMUM),
    "cosine_warmup_with_min_lr": ("get_cosine_with_min_lr_schedule_with_warmup_lr_rate", f"{MINIMUM} warmup_lr_rate"),
    "warmup_stable_decay": ("get_wsd_schedule", "num_decay_steps num_stable_steps warmup_type decay_type min_lr_ratio num_cycles"),
    "greedy": ("GreedyLR.__init__", f"{PLATEAU} warmup min_lr max_lr eps verbose smooth window_size reset_start"),
}
DIVIDED = "unsupported operand type(s) for /: '{}' and 'float'"
COMPARED = "'>' not supported between instances of 'float' and '{}'"
# Arguments used in arithmetic at once: the operation that fails with a value of another type.
NUMBERS_NEEDED: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(MINIMAL_RATE, (("min_lr", DIVIDED),)),
    "polynomial": (("lr_end", COMPARED),),
    **dict.fromkeys(("reduce_lr_on_plateau", "greedy"), (("factor", "'>=' not supported between instances of '{}' and 'float'"),)),
}
SOUND = {"num_decay_steps": 1, "num_stable_steps": 1, "min_lr_rate": 0.1}  # of the arguments without which some schedule is not built
REQUIRED = {
    "lr_end": "a number below the learning rate",
    **dict.fromkeys(("min_lr", "num_cycles"), "a number"),
    **dict.fromkeys(("min_lr_rate", "min_lr_ratio", "warmup_lr_rate"), "a fraction such as 0.1"),
    **dict.fromkeys(("num_decay_steps", "num_stable_steps"), "an integer"),
    "power": "a number such as 1.0",
    "timescale": "an integer greater than 0",
}
SHAPE_KEYS = ("warmup_type", "decay_type")
SHAPES = ("linear", "cosine", "1-sqrt")
OWN = ("optimizer", "num_warmup_steps", "num_training_steps")  # arguments that the trainer itself passes


@rule("STP003")
def invalid_scheduler_arguments(config: TrainerConfig) -> Iterator[Finding]:
    kind, given, launch = config.arguments["lr_scheduler_type"], config.arguments["lr_scheduler_kwargs"], config.deepspeed
    if not config.parsed or kind not in choices("lr_scheduler_type", config.version)[1] or kind not in SCHEDULES:
        return
    if (launch is not None and "scheduler" in launch.written) or (kind == "inverse_sqrt" and config.version < INVERSE_SQRT_ARGUMENTS):
        return  # no function receives the arguments
    if given is not None and not isinstance(given, dict):
        name = f"transformers.optimization.{SCHEDULES[kind][0]}()"
        text = f"TypeError: {name} argument after ** must be a mapping, not {type(given).__name__}"
        message, remedy = f"`lr_scheduler_kwargs` is {shown(given)}, not a mapping", remove_key("lr_scheduler_kwargs")
        yield Finding(of(config, "lr_scheduler_kwargs"), message, exception=text, help=remedy)
        return
    keywords: ConfigMapping = given or {}
    refused = [*refused_arguments(kind, keywords, config)]
    unset, advice = config.unset("lr_scheduler_kwargs"), MIN_RATE if kind in MINIMAL_RATE else None
    for message, text in requirements(kind, keywords, config):
        refused.append(Finding(of(config, "lr_scheduler_type"), message, exception=text, depends_on=unset, help=advice))
    yield from refused or failed_operations(kind, keywords, config)


def refused_arguments(kind: str, keywords: ConfigMapping, config: TrainerConfig) -> Iterator[Finding]:
    """The arguments that the function of a schedule does not take, and those that it computes with although they are not numbers."""
    builder, named = SCHEDULES[kind]
    taken = [key for key in named.split() if config.version >= STABLE_STEPS_OPTIONAL or key not in SHAPE_KEYS]
    taken += ["last_epoch"] * ("." not in builder)
    for key in keywords:
        if key in OWN:
            text = "got multiple values for keyword argument"
            message = f"`lr_scheduler_kwargs.{key}` is passed by the Trainer itself and must not be set"
        elif key not in taken:
            text = "got an unexpected keyword argument"
            message = f"`lr_scheduler_type: {kind}` has no parameter `{key}` (valid: {', '.join(taken)})"
        else:
            continue
        text, remedy = f"TypeError: {builder}() {text} {key!r}", remove_key(f"lr_scheduler_kwargs.{key}")
        yield Finding(config.setting("lr_scheduler_kwargs", key), message, exception=text, on_key=True, help=remedy)
    for key, operation in NUMBERS_NEEDED.get(kind, ()):
        value = keywords.get(key)
        if value is not None and not is_number(value):
            text = f"TypeError: {operation.format(type(value).__name__)}"
            place = config.setting("lr_scheduler_kwargs", key)
            message = f"`lr_scheduler_kwargs.{key}` is {described(value)}, not a number"
            yield Finding(place, message, exception=text, fix=spelled_as_number(place), depends_on=config.other_parsers)


def failed_operations(kind: str, keywords: ConfigMapping, config: TrainerConfig) -> Iterator[Finding]:
    """The argument on which the schedule fails when it is built, or in the first step."""
    rate = config.arguments["learning_rate"]
    if kind not in BUILDS or not keywords or not is_number(rate) or not rate or not config.arguments.known("learning_rate"):
        return
    length = steps(config) if config.facts.complete else UNKNOWN
    runs = possible_runs(rate, length.warmup, length.total, config.version)
    failure = certain_failure(kind, keywords, runs)
    if failure is None or (failure[0] != "init" and not takes_steps(config)):
        return
    alone = [key for key, value in keywords.items() if certain_failure(kind, {**SOUND, key: value}, runs) is not None]
    key = alone[0] if alone else next(iter(keywords))
    name, place, (fails_at, error) = f"lr_scheduler_kwargs.{key}", config.setting("lr_scheduler_kwargs", key), failure
    message = f"`{name}` is {described(keywords[key])}, which `lr_scheduler_type: {kind}` cannot compute with"
    finding = Finding(place, message, exception=f"{type(error).__name__}: {error}", fails_at=fails_at, fix=spelled_as_number(place))
    finding.depends_on = (*config.unset("lr_scheduler_type", "lr_scheduler_kwargs"), *config.other_parsers)
    finding.help = f"set `{name}` to {REQUIRED[key]}" if key in REQUIRED else remove_key(name, " for the default")
    yield finding


def requirements(kind: str, given: ConfigMapping, config: TrainerConfig) -> Iterator[tuple[str, str]]:
    """(message, exception) of what the function of a schedule requires of its arguments."""
    if kind in MINIMAL_RATE:
        count = sum(given.get(key) is not None for key in ("min_lr", "min_lr_rate"))
        if count == 0:
            text = "ValueError: One of min_lr or min_lr_rate should be set through the `lr_scheduler_kwargs`"
            yield f"`lr_scheduler_type: {kind}` requires `min_lr` or `min_lr_rate` in `lr_scheduler_kwargs`", text
        elif count == 2:
            text = "ValueError: Only one of min_lr or min_lr_rate should be set"
            yield f"`lr_scheduler_type: {kind}` accepts only one of `min_lr` and `min_lr_rate`", text
    elif kind == "warmup_stable_decay":
        modern = config.version >= STABLE_STEPS_OPTIONAL
        missing = [key for key in ("num_stable_steps", "num_decay_steps")[modern:] if key not in given]
        if missing:
            names = " and ".join(f"`{key}`" for key in missing)
            text = f"{len(missing)} required positional argument{'s' * (len(missing) > 1)}: {' and '.join(map(repr, missing))}"
            message = f"`lr_scheduler_type: {kind}` requires {names} in `lr_scheduler_kwargs`"
            yield message, f"TypeError: get_wsd_schedule() missing {text}"
        for key in SHAPE_KEYS:
            if modern and key in given and given[key] not in SHAPES:
                message = f"`lr_scheduler_kwargs.{key}` is {shown(given[key])}; it must be one of {', '.join(SHAPES)}"
                yield message, f"ValueError: Unknown {key.replace('_', ' ')}: {given[key]}"
    elif kind == "polynomial":
        rate, end = config.arguments["learning_rate"], given.get("lr_end", 1e-7)
        if is_number(rate) and is_number(end) and not rate > end:
            message = f"`learning_rate` is {rate}; `lr_scheduler_type: polynomial` requires it to be greater than `lr_end` ({end})"
            yield message, f"ValueError: lr_end ({end}) must be smaller than initial lr ({rate})"
    elif kind in ("reduce_lr_on_plateau", "greedy"):
        factor = given.get("factor", 0.1)
        if is_number(factor) and factor >= 1:
            yield f"`lr_scheduler_kwargs.factor` is {factor}; it must be < 1", "ValueError: Factor should be < 1.0."
        if given.get("mode", "min") not in ("min", "max"):
            message = f"`lr_scheduler_kwargs.mode` is {shown(given['mode'])}; it must be min or max"
            yield message, f"ValueError: mode {given['mode']} is unknown!"
