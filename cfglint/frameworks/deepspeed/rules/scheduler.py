"""Rules about the `scheduler` section: the name, and the parameters of its class."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.schedulers import OWN, TORCH, WARMUPS, Scheduler, chosen, has_own
from cfglint.frameworks.releases.versions import Version, dotted
from cfglint.frameworks.remedies import choice, mistyped, replace
from cfglint.source.annotations import ConfigMapping, Iterator, Operand

STEPS_CHECKED_SINCE = (0, 19, 3)
CYCLE_CHECKED_SINCE = (0, 19, 4)


def at(config: DeepSpeedConfig, key: str) -> Operand:
    return config.setting("scheduler", "params", key)


@rule("STP100")
def unknown_scheduler(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("scheduler")
    if not isinstance(section, dict) or section.get("type") is None or not config.has_optimizer:
        return
    name = section["type"]
    setting = config.setting("scheduler", "type")
    if not isinstance(name, str):
        raised, remedy = "TypeError: attribute name must be string", set_key("scheduler.type", "WarmupLR") | "another scheduler"
        yield mistyped(setting, "a string", raised, remedy)
        return
    if has_own(name, config.version) or name in TORCH:
        return
    raised = f"AssertionError: DeepSpeed does not recognize LR scheduler {name}"
    own = [each for each in OWN if has_own(each, config.version)]
    meant = next((known for known in (*own, *TORCH) if known.lower() == name.lower()), None)
    if meant is None:
        text = f"`scheduler.type` is {spelled(name)}, which neither DeepSpeed nor torch has"
        yield Finding(setting, text, exception=raised, help=choice("scheduler.type", name, own))
        return
    fix = replace(setting, meant, f"write {meant}", safe=True)
    yield Finding(setting, f"`scheduler.type` is {spelled(name)}, which is unknown: names are case-sensitive", exception=raised, fix=fix)


@rule("STP101")
def torch_scheduler_with_wrapped_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = chosen(config)
    if scheduler is None or scheduler.own or not scheduler.known or scheduler.name == "ChainedScheduler":
        return
    if not isinstance(scheduler.params, dict) or missing(scheduler) or extra(scheduler):
        return
    wrapped = wrapper(config)
    if wrapped:
        setting = config.setting("scheduler", "type")
        text = (
            f"`scheduler.type` is {spelled(scheduler.name)} of torch, which does not accept the optimizer that DeepSpeed wraps ({wrapped})"
        )
        remedy = "use one of DeepSpeed's own, such as WarmupCosineLR"
        yield Finding(setting, text, exception=f"TypeError: {wrapped} is not an Optimizer", help=remedy, depends_on=config.rest)


def wrapper(config: DeepSpeedConfig) -> str:
    """The class in which the engine wraps the optimizer; empty in fp32 without ZeRO, or where it is unknown."""
    if config.stage in (1, 2):
        return "DeepSpeedZeroOptimizer"
    if config.stage == 3:
        return "DeepSpeedZeroOptimizer_Stage3"
    return "FP16_Optimizer" if config.stage == 0 and config.precision != "fp32" else ""


@rule("STP102")
def invalid_scheduler_parameters(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = chosen(config)
    if scheduler is None or not scheduler.known:
        return
    params = scheduler.params
    if not isinstance(params, dict):
        raised = (
            f"TypeError: deepspeed.runtime.lr_schedules.{scheduler.name}() argument after ** must be a mapping, not {type(params).__name__}"
        )
        text = f"{scheduler.name} requires `params` to be an object"
        yield Finding(config.setting("scheduler", "params"), text, exception=raised, help='add `"params": {}` for the defaults')
        return
    for key in extra(scheduler):
        raised = f"TypeError: {scheduler.name}.__init__() got an unexpected keyword argument '{key}'"
        text = f"{scheduler.name} has no parameter `{key}`"
        yield Finding(at(config, key), text, exception=raised, on_key=True, help=remove_key(f"scheduler.params.{key}"))
    lacking = missing(scheduler)
    if lacking:
        names = " and ".join(f"'{key}'" for key in lacking)
        plural = "s" if len(lacking) > 1 else ""
        raised = f"TypeError: {scheduler.name}.__init__() missing {len(lacking)} required positional argument{plural}: {names}"
        text = f"{scheduler.name} requires {' and '.join(f'`{key}`' for key in lacking)}"
        remedy = f"add {' and '.join(f'`{key}`' for key in lacking)} to `scheduler.params`"
        yield Finding(config.setting("scheduler", "params"), text, exception=raised, help=remedy)


def extra(scheduler: Scheduler) -> list[Operand]:
    return [key for key in scheduler.params or () if key not in scheduler.takes]


def missing(scheduler: Scheduler) -> list[str]:
    return [key for key in scheduler.needs if key not in (scheduler.params or ())]


@rule("STP103")
def invalid_scheduler_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = chosen(config)
    if scheduler is None or not scheduler.own or not isinstance(scheduler.params, dict) or missing(scheduler) or extra(scheduler):
        return
    params = scheduler.params
    if scheduler.name in WARMUPS:
        found = list(warmup_values(config, scheduler.name, params))
    elif scheduler.name == "LRRangeTest":
        found = list(positive_integer(params, "lr_range_test_step_size", config.version))
    else:
        found = list(cycle_values(config, params))
    for key, raised in found[:1]:
        if not (params.get(key) == "auto" and config.open):
            since = (CYCLE_CHECKED_SINCE if key.startswith("cycle_") else STEPS_CHECKED_SINCE) if raised.startswith("ValueError: ") else ()
            release = f" from DeepSpeed {dotted(since)} on" if since else ""
            text = f"`scheduler.params.{key}` is {spelled(params.get(key))}, which {scheduler.name} does not accept{release}"
            wanted = "positive integer" if "positive integer" in raised else "positive number" if "positive" in raised else "number"
            yield Finding(at(config, key), text, exception=raised, help=f"set `scheduler.params.{key}` to a {wanted}")


def positive_integer(params: ConfigMapping, key: str, version: Version) -> Iterator[tuple[str, str]]:
    value = params.get(key, 1)
    if (not isinstance(value, int) or value <= 0) and version >= STEPS_CHECKED_SINCE:
        yield key, f"ValueError: {key} must be a positive integer, got {value}"


def warmup_values(config: DeepSpeedConfig, name: str, params: ConfigMapping) -> Iterator[tuple[str, str]]:
    yield from positive_integer(params, "warmup_num_steps", config.version)
    if name != "WarmupCosineLR":
        yield from rates(config, name, params)
    if isinstance(params.get("warmup_type"), (list, dict)):
        yield "warmup_type", f"TypeError: unhashable type: '{type(params['warmup_type']).__name__}'"
    total = params.get("total_num_steps", 0)
    if not isinstance(total, (int, float)):
        yield "total_num_steps", f"TypeError: '<' not supported between instances of '{type(total).__name__}' and 'int'"


def rates(config: DeepSpeedConfig, name: str, params: ConfigMapping) -> Iterator[tuple[str, str]]:
    """Check the two rates of WarmupLR and WarmupDecayLR, which are subtracted; a list has one per parameter group."""
    low, high = params.get("warmup_min_lr", 0.0), params.get("warmup_max_lr", 0.001 if name == "WarmupDecayLR" else None)
    key = "warmup_max_lr"
    if high is None:
        optimizer = config.optimizer
        high = optimizer.arguments.get("lr", 0.001) if optimizer is not None else 0.001
    if isinstance(low, list) or isinstance(high, list):
        return
    for value, at_key in ((high, key), (low, "warmup_min_lr")):
        if not isinstance(value, (int, float)):
            yield at_key, f"TypeError: unsupported operand type(s) for -: '{type(high).__name__}' and '{type(low).__name__}'"
            return


def cycle_values(config: DeepSpeedConfig, params: ConfigMapping) -> Iterator[tuple[str, str]]:
    first, second = params.get("cycle_first_step_size", 2000), params.get("cycle_second_step_size")
    for key, value in (("cycle_first_step_size", first), ("cycle_second_step_size", second)):
        if value is None and key == "cycle_second_step_size":
            continue
        raised = not_float(value)
        if raised:
            yield key, raised
            return
    if config.version < CYCLE_CHECKED_SINCE:
        pass
    elif float(first) <= 0:
        yield "cycle_first_step_size", f"ValueError: cycle_first_step_size must be positive, got {float(first)}"
    elif second is not None and float(second) < 0:
        yield "cycle_second_step_size", f"ValueError: cycle_second_step_size must be non-negative, got {float(second)}"
    compared = ["decay_step_size", "decay_lr_rate"]
    if params.get("cycle_momentum", True) and has_betas(config):
        compared.append("decay_mom_rate")
    for key in compared:
        value = params.get(key, 0)
        if not isinstance(value, (int, float)):
            yield key, f"TypeError: must be real number, not {type(value).__name__}"


def not_float(value: Operand) -> str:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError) as raised:
        return f"{type(raised).__name__}: {raised}"
    return ""


def has_betas(config: DeepSpeedConfig) -> bool:
    optimizer = config.optimizer
    return optimizer is not None and "betas" in (optimizer.accepted() or ())


@rule("STP104")
def scheduler_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.values.get("scheduler")
    if isinstance(section, dict) and section.get("type") is not None and not config.has_optimizer:
        text = "`scheduler` is ignored, because there is no optimizer"
        yield Finding(config.setting("scheduler"), text, [config.absent("optimizer")], on_key=True, help="add an `optimizer` section")


@rule("STP105")
def warmup_longer_than_total_steps(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = chosen(config)
    if scheduler is None or scheduler.name not in WARMUPS or not isinstance(scheduler.params, dict):
        return
    total, steps = scheduler.params.get("total_num_steps"), scheduler.params.get("warmup_num_steps", 1000)
    if isinstance(total, (int, float)) and isinstance(steps, int) and 0 < total < max(2, steps):
        related = (at(config, "total_num_steps"),)
        text = f"`warmup_num_steps` is {steps}, more than `total_num_steps` ({spelled(total)})"
        setting = at(config, "warmup_num_steps")
        remedy = f"set `scheduler.params.warmup_num_steps` below {spelled(total)}"
        yield Finding(setting, text, related=related, note="the learning rate never reaches its full value", help=remedy)


@rule("STP106")
def unknown_warmup_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = chosen(config)
    if scheduler is None or scheduler.name not in WARMUPS or not isinstance(scheduler.params, dict):
        return
    value = scheduler.params.get("warmup_type", "log")
    if value not in ("log", "linear") and not (value == "auto" and config.open):
        text = f'`warmup_type` is {spelled(value)}, which is unknown: the warm-up is logarithmic ("log")'
        yield Finding(at(config, "warmup_type"), text, help=set_key("scheduler.params.warmup_type", "linear") | 'to "log"')
