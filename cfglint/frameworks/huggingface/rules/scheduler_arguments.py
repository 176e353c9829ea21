"""The arguments of the learning-rate schedules."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import UNKNOWN, steps, takes_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.fields import choices
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.huggingface.rules.value_types import described, spelled_as_number
from cfglint.frameworks.huggingface.schedule_operations import BUILDS, STABLE_STEPS_OPTIONAL, certain_failure, possible_runs
from cfglint.source.annotations import ConfigMapping, Iterator
from cfglint.source.numbers import is_number

MINIMAL_RATE = ("cosine_with_min_lr", "cosine_warmup_with_min_lr")
MIN_RATE = set_key("lr_scheduler_kwargs", {"min_lr_rate": 0.1}) | "a `min_lr`"
INVERSE_SQRT_ARGUMENTS = (5, 4)  # inverse_sqrt gets lr_scheduler_kwargs from here on
PLATEAU = "mode factor patience threshold threshold_mode cooldown"
# The functions that build each schedule, and their keywords: transformers 5.23.0 and 4.42.4 optimization.py.
SCHEDULES = {
    "linear": ("get_linear_schedule_with_warmup", "last_epoch"),
    "cosine": ("get_cosine_schedule_with_warmup", "num_cycles last_epoch"),
    "cosine_with_restarts": ("get_cosine_with_hard_restarts_schedule_with_warmup", "num_cycles last_epoch"),
    "polynomial": ("get_polynomial_decay_schedule_with_warmup", "lr_end power last_epoch"),
    "inverse_sqrt": ("get_inverse_sqrt_schedule", "timescale last_epoch"),
    "reduce_lr_on_plateau": ("ReduceLROnPlateau.__init__", f"{PLATEAU} min_lr eps"),
    "cosine_with_min_lr": ("get_cosine_with_min_lr_schedule_with_warmup", "num_cycles min_lr min_lr_rate last_epoch"),
    "cosine_warmup_with_min_lr": (
        "get_cosine_with_min_lr_schedule_with_warmup_lr_rate",
        "num_cycles min_lr min_lr_rate warmup_lr_rate last_epoch",
    ),
    "warmup_stable_decay": (
        "get_wsd_schedule",
        "num_decay_steps num_stable_steps warmup_type decay_type min_lr_ratio num_cycles last_epoch",
    ),
    "greedy": ("GreedyLR.__init__", f"{PLATEAU} warmup min_lr max_lr eps verbose smooth window_size reset_start"),
}
DIVIDED = "unsupported operand type(s) for /: '{}' and 'float'"
COMPARED = "'>' not supported between instances of 'float' and '{}'"
# Arguments used in arithmetic at once: the operation that fails with a value of another type.
NUMBERS_NEEDED: dict[str, tuple[tuple[str, str], ...]] = {
    "cosine_with_min_lr": (("min_lr", DIVIDED),),
    "cosine_warmup_with_min_lr": (("min_lr", DIVIDED),),
    "polynomial": (("lr_end", COMPARED),),
    "reduce_lr_on_plateau": (("factor", "'>=' not supported between instances of '{}' and 'float'"),),
    "greedy": (("factor", "'>=' not supported between instances of '{}' and 'float'"),),
}
SOUND = {"num_decay_steps": 1, "num_stable_steps": 1, "min_lr_rate": 0.1}  # of the arguments without which some schedule is not built
REQUIRED = {
    "lr_end": "a number below the learning rate",
    "min_lr": "a number",
    "min_lr_rate": "a fraction such as 0.1",
    "min_lr_ratio": "a fraction such as 0.1",
    "num_cycles": "a number",
    "num_decay_steps": "an integer",
    "num_stable_steps": "an integer",
    "power": "a number such as 1.0",
    "timescale": "an integer greater than 0",
    "warmup_lr_rate": "a fraction such as 0.1",
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
    taken = [key for key in SCHEDULES[kind][1].split() if config.version >= STABLE_STEPS_OPTIONAL or key not in SHAPE_KEYS]
    for key in keywords:
        if key in OWN:
            text = "got multiple values for keyword argument"
            message = f"`lr_scheduler_kwargs.{key}` is passed by the Trainer itself and must not be set"
        elif key not in taken:
            text = "got an unexpected keyword argument"
            message = f"`lr_scheduler_type: {kind}` has no parameter `{key}` (valid: {', '.join(taken)})"
        else:
            continue
        text, remedy = f"TypeError: {SCHEDULES[kind][0]}() {text} {key!r}", remove_key(f"lr_scheduler_kwargs.{key}")
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
    yield Finding(
        place,
        f"`{name}` is {described(keywords[key])}, which `lr_scheduler_type: {kind}` cannot compute with",
        exception=f"{type(error).__name__}: {error}",
        fails_at=fails_at,
        fix=spelled_as_number(place),
        depends_on=(*config.unset("lr_scheduler_type", "lr_scheduler_kwargs"), *config.other_parsers),
        help=f"set `{name}` to {REQUIRED[key]}" if key in REQUIRED else remove_key(name, " for the default"),
    )


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
