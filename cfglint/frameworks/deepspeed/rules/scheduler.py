"""Rules about the `scheduler` section: the name, and the parameters of its class."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.optimizers import OWN, TORCH, WARMUPS, has_own, scheduler_of
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import choice, mistyped, raised_by, replace
from cfglint.source.annotations import ConfigMapping, Iterator

STEPS_CHECKED_SINCE = (0, 19, 3)
CYCLE_CHECKED_SINCE = (0, 19, 4)
WRAPPERS: dict[int | None, str] = {  # stage of ZeRO -> the class in which the engine wraps the optimizer
    0: "FP16_Optimizer",
    **dict.fromkeys((1, 2), "DeepSpeedZeroOptimizer"),
    3: "DeepSpeedZeroOptimizer_Stage3",
}


@rule("STP100")
def unknown_scheduler(config: DeepSpeedConfig) -> Iterator[Finding]:
    name, setting = config.get("scheduler", "type"), config.setting("scheduler", "type")
    if name is None or not config.has_optimizer:
        return
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
    scheduler = scheduler_of(config)
    if scheduler is None or scheduler.own or not scheduler.known or scheduler.name == "ChainedScheduler":
        return
    if not isinstance(scheduler.params, dict) or scheduler.missing or scheduler.extra:
        return
    wrapped = WRAPPERS.get(config.stage) if config.stage != 0 or config.precision != "fp32" else None
    if wrapped:
        name = f"`scheduler.type` is {spelled(scheduler.name)}"
        text = f"{name} of torch, which does not accept the optimizer that DeepSpeed wraps ({wrapped})"
        setting, remedy = config.setting("scheduler", "type"), "use one of DeepSpeed's own, such as WarmupCosineLR"
        yield Finding(setting, text, exception=f"TypeError: {wrapped} is not an Optimizer", help=remedy, depends_on=config.rest)


@rule("STP102")
def invalid_scheduler_parameters(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = scheduler_of(config)
    if scheduler is None or not scheduler.known:
        return
    name, params, setting = scheduler.name, scheduler.params, config.setting("scheduler", "params")
    if not isinstance(params, dict):
        raised = f"TypeError: deepspeed.runtime.lr_schedules.{name}() argument after ** must be a mapping, not {type(params).__name__}"
        yield Finding(setting, f"{name} requires `params` to be an object", exception=raised, help='add `"params": {}` for the defaults')
        return
    for key in scheduler.extra:
        raised = f"TypeError: {name}.__init__() got an unexpected keyword argument '{key}'"
        remedy = remove_key(f"scheduler.params.{key}")
        extra = config.setting("scheduler", "params", key)
        yield Finding(extra, f"{name} has no parameter `{key}`", exception=raised, on_key=True, help=remedy)
    lacking = scheduler.missing
    if lacking:
        arguments = f"argument{'s' * (len(lacking) > 1)}: {' and '.join(map(repr, lacking))}"
        raised = f"TypeError: {name}.__init__() missing {len(lacking)} required positional {arguments}"
        keys = " and ".join(f"`{key}`" for key in lacking)
        yield Finding(setting, f"{name} requires {keys}", exception=raised, help=f"add {keys} to `scheduler.params`")


@rule("STP103")
def invalid_scheduler_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = scheduler_of(config)
    if scheduler is None or not scheduler.own or not isinstance(scheduler.params, dict) or scheduler.missing or scheduler.extra:
        return
    key, raised = next(refused_values(config, scheduler.name, scheduler.params), ("", ""))
    value = scheduler.params.get(key)
    if key and not (value == "auto" and config.open):
        since = (CYCLE_CHECKED_SINCE if key.startswith("cycle_") else STEPS_CHECKED_SINCE) if raised.startswith("ValueError: ") else ()
        release = f" from DeepSpeed {dotted(since)} on" if since else ""
        text = f"`scheduler.params.{key}` is {spelled(value)}, which {scheduler.name} does not accept{release}"
        wanted = "positive integer" if "positive integer" in raised else "positive number" if "positive" in raised else "number"
        setting, remedy = config.setting("scheduler", "params", key), f"set `scheduler.params.{key}` to a {wanted}"
        yield Finding(setting, text, exception=raised, help=remedy)


def refused_values(config: DeepSpeedConfig, name: str, params: ConfigMapping) -> Iterator[tuple[str, str]]:
    """(parameter, exception) for the values that a scheduler of DeepSpeed's own uses during construction."""
    key = {"LRRangeTest": "lr_range_test_step_size", "OneCycle": ""}.get(name, "warmup_num_steps")
    steps, optimizer = params.get(key, 1), config.optimizer
    if key and (not isinstance(steps, int) or steps <= 0) and config.version >= STEPS_CHECKED_SINCE:
        yield key, f"ValueError: {key} must be a positive integer, got {steps}"
    if name in ("WarmupLR", "WarmupDecayLR"):  # the two rates are subtracted; a list has one per parameter group
        low, high = params.get("warmup_min_lr", 0.0), params.get("warmup_max_lr", 0.001 if name == "WarmupDecayLR" else None)
        if high is None:
            high = optimizer.arguments.get("lr", 0.001) if optimizer is not None else 0.001
        wrong = [key for key, value in (("warmup_max_lr", high), ("warmup_min_lr", low)) if not isinstance(value, (int, float))]
        if wrong and not isinstance(low, list) and not isinstance(high, list):
            yield wrong[0], f"TypeError: unsupported operand type(s) for -: '{type(high).__name__}' and '{type(low).__name__}'"
    if name in WARMUPS:
        if isinstance(params.get("warmup_type"), (list, dict)):
            yield "warmup_type", f"TypeError: unhashable type: '{type(params['warmup_type']).__name__}'"
        total = params.get("total_num_steps", 0)
        if not isinstance(total, (int, float)):
            yield "total_num_steps", f"TypeError: '<' not supported between instances of '{type(total).__name__}' and 'int'"
    if name == "OneCycle":
        sizes = {"cycle_first_step_size": params.get("cycle_first_step_size", 2000)}
        if params.get("cycle_second_step_size") is not None:
            sizes["cycle_second_step_size"] = params["cycle_second_step_size"]
        yield from ((key, raised) for key, value in sizes.items() if (raised := raised_by(float, value)))
        for key, value in sizes.items() if config.version >= CYCLE_CHECKED_SINCE else ():
            if float(value) < 0 or (float(value) == 0 and key == "cycle_first_step_size"):
                wanted = "positive" if key == "cycle_first_step_size" else "non-negative"
                yield key, f"ValueError: {key} must be {wanted}, got {float(value)}"
        has_momentum = params.get("cycle_momentum", True) and optimizer is not None and "betas" in (optimizer.accepted() or ())
        for key in ("decay_step_size", "decay_lr_rate", *(("decay_mom_rate",) if has_momentum else ())):
            if not isinstance(params.get(key, 0), (int, float)):
                yield key, f"TypeError: must be real number, not {type(params[key]).__name__}"


@rule("STP104")
def scheduler_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.get("scheduler", "type") is not None and not config.has_optimizer:
        text = "`scheduler` is ignored, because there is no optimizer"
        yield Finding(config.setting("scheduler"), text, [config.absent("optimizer")], on_key=True, help="add an `optimizer` section")


@rule("STP105")
def warmup_longer_than_total_steps(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = scheduler_of(config)
    if scheduler is None or scheduler.name not in WARMUPS or not isinstance(scheduler.params, dict):
        return
    total, steps = scheduler.params.get("total_num_steps"), scheduler.params.get("warmup_num_steps", 1000)
    if isinstance(total, (int, float)) and isinstance(steps, int) and 0 < total < max(2, steps):
        related = (config.setting("scheduler", "params", "total_num_steps"),)
        text = f"`warmup_num_steps` is {steps}, more than `total_num_steps` ({spelled(total)})"
        setting = config.setting("scheduler", "params", "warmup_num_steps")
        remedy = f"set `scheduler.params.warmup_num_steps` below {spelled(total)}"
        yield Finding(setting, text, related=related, note="the learning rate never reaches its full value", help=remedy)


@rule("STP106")
def unknown_warmup_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = scheduler_of(config)
    if scheduler is None or scheduler.name not in WARMUPS or not isinstance(scheduler.params, dict):
        return
    value = scheduler.params.get("warmup_type", "log")
    if value not in ("log", "linear") and not (value == "auto" and config.open):
        text = f'`warmup_type` is {spelled(value)}, which is unknown: the warm-up is logarithmic ("log")'
        remedy = set_key("scheduler.params.warmup_type", "linear") | 'to "log"'
        yield Finding(config.setting("scheduler", "params", "warmup_type"), text, help=remedy)
