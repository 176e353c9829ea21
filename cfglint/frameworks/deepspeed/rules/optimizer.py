"""Rules about the `optimizer` and `scheduler` sections: the name, and the parameters of its class."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed import optimizers
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.optimizers import Optimizer
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import choice, mistyped, move, raised_by, remove, replace
from cfglint.source.annotations import ConfigMapping, Iterator

FILLED = ("DeepSpeedCPUAdam", "ZenFlowCPUAdam")  # DeepSpeed passes these arguments itself
SHARED_WITH_ADAMW = ("lr", "betas", "eps", "weight_decay", "bias_correction", "amsgrad")
OPENLY_TORCH = ("SGD", "RMSprop", "Adamax", "NAdam", "RAdam", "Adadelta", "Adafactor", "ASGD", "LBFGS", "Rprop", "SparseAdam")


@rule("DSP040")
def unknown_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if optimizer is None or optimizer.class_name:
        return
    setting, text = config.setting("optimizer", "type"), f"`optimizer.type` is {spelled(optimizer.name)}"
    raised, fix, remedy = f"AssertionError: {optimizer.name} is not a supported DeepSpeed Optimizer", None, None
    meant = next((name for name in OPENLY_TORCH if name.lower() == optimizer.name.lower()), None)
    if optimizer.known:
        text += ", a module of torch.optim and not an optimizer"
        raised, remedy = "TypeError: 'module' object is not callable", set_key("optimizer.type", "AdamW") | "another optimizer"
    elif meant:
        text += ", which is unknown: names of torch.optim are case-sensitive"
        fix = replace(setting, meant, f"write {meant}")
    elif optimizer.name.lower() in optimizers.ONE_BIT:
        text += f", which was removed in DeepSpeed {dotted(optimizers.ONE_BIT_REMOVED)}"
        remedy = set_key("optimizer.type", "AdamW")
        for key in optimizer.arguments:
            if key not in SHARED_WITH_ADAMW:
                remedy &= remove_key(f"optimizer.params.{key}")
    else:
        text += ", which neither DeepSpeed nor torch.optim has"
    yield Finding(setting, text, exception=raised, fix=fix, help=remedy, depends_on=config.rest)


@rule("DSP041")
def max_grad_norm_in_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if optimizer is None or "max_grad_norm" not in optimizer.arguments:
        return
    setting = config.setting("optimizer", "params", "max_grad_norm")
    if "gradient_clipping" in config.values:
        fix = remove(setting, f"remove it, `gradient_clipping` is {config.setting('gradient_clipping').spelled}")
    else:
        fix = move(config, setting, ("gradient_clipping",), "move it to top-level `gradient_clipping`")
    raised = "ValueError: 'max_grad_norm' is not supported as an optimizer parameter"
    text = "`max_grad_norm` is not an optimizer parameter; DeepSpeed clips by top-level `gradient_clipping`"
    yield Finding(setting, text, exception=raised, fix=fix, on_key=True, depends_on=config.rest)


@rule("DSP042")
def unknown_optimizer_parameter(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    accepted = optimizer.accepted() if optimizer is not None else None
    if optimizer is None or accepted is None or "max_grad_norm" in optimizer.arguments:
        return
    name = optimizer.class_name
    passes_foreach = optimizer.name in ("adam", "adamw") and name in ("Adam", "AdamW")  # DeepSpeed itself
    for key in optimizer.arguments:
        if key in accepted or (key == "foreach" and passes_foreach):
            continue
        raised = f"TypeError: {name}.__init__() got an unexpected keyword argument '{key}'"
        if key in ("params", "model_params") or (key == "adamw_mode" and name in FILLED):
            raised = f"TypeError: {name}() got multiple values for keyword argument '{key}'"
        setting, remedy = config.setting("optimizer", "params", key), remove_key(f"optimizer.params.{key}")
        yield Finding(setting, f"{name} has no parameter `{key}`", exception=raised, on_key=True, help=remedy, depends_on=config.rest)


@rule("DSP043")
def invalid_optimizer_parameter(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if optimizer is None or not optimizer.class_name or "max_grad_norm" in optimizer.arguments:
        return
    for key, raised in refused_values(optimizer):
        if optimizer.arguments.get(key) != "auto" or not config.open:
            setting, remedy = config.setting("optimizer", "params", key), remove_key(f"optimizer.params.{key}", " for the default")
            text = f"`optimizer.params.{key}` is {setting.spelled}, which {optimizer.class_name} does not accept"
            yield Finding(setting, text, exception=raised, help=remedy, depends_on=config.rest)


def refused_values(optimizer: Optimizer) -> Iterator[tuple[str, str]]:
    """(parameter, exception) for the values that the class itself checks."""
    arguments, name = optimizer.arguments, optimizer.class_name
    if name in optimizers.NO_AMSGRAD and arguments.get("amsgrad"):
        yield "amsgrad", f"RuntimeError: {optimizers.TITLES.get(name, name)} does not support the AMSGrad variant."
    if name in optimizers.TITLES and arguments.get("comm_backend_name", "nccl") not in optimizers.ONE_BIT_BACKENDS:
        yield "comm_backend_name", "AttributeError: 'NoneType' object has no attribute 'size'"
    if name == "MuonWithAuxAdam" and arguments.get("ns_method", "gram") not in ("gram", "standard"):
        yield "ns_method", f"AssertionError: ns_method must be one of {{'standard', 'gram'}}, got {arguments['ns_method']}"
    for key in (*optimizers.NOT_NEGATIVE.get(name, "").split(), *optimizers.ABOVE_ZERO.get(name, "").split()):
        value = arguments.get(key, 1)
        if not isinstance(value, (int, float)):
            yield key, f"TypeError: '<=' not supported between instances of 'float' and '{type(value).__name__}'"
        elif not (value > 0 or (value == 0 and name not in optimizers.ABOVE_ZERO)):
            title = {"lr": "learning rate", "eps": "epsilon value"}.get(key, f"{key} value")
            yield key, f"ValueError: Invalid {title}: {value}"
    if name == "SGD" and arguments.get("nesterov") and (not arguments.get("momentum", 0) or arguments.get("dampening", 0)):
        yield "nesterov", "ValueError: Nesterov momentum requires a momentum and zero dampening"
    if arguments.get("fused") is True and arguments.get("foreach") is True and name in ("Adam", "AdamW", "Adagrad", "SGD"):
        yield "fused", "RuntimeError: `fused` and `foreach` cannot be `True` together."
    rho = arguments.get("rho")
    if name == "Adadelta" and isinstance(rho, (int, float)) and rho > 1:
        yield "rho", f"ValueError: Invalid rho value: {rho}"
    if name in optimizers.READS_BETAS and "betas" in arguments:
        raised = two_betas(arguments["betas"], compared=name not in (*FILLED, "DeepSpeedCPULion"), floats=name in ("Adam", "AdamW"))
        if raised:
            yield "betas", raised


def two_betas(value: object, compared: bool, floats: bool) -> str:
    """The error of an optimizer for its betas, of which it uses the first two; empty if they are valid.

    With `floats` both must be floats (torch 2.13 optim/adam.py:68). hjson parses `0.0` as the integer 0.
    """
    if not isinstance(value, (list, tuple, str)):
        return f"TypeError: '{type(value).__name__}' object is not subscriptable"
    if len(value) < 2:
        return "IndexError: list index out of range"
    for index, beta in enumerate(value[:2]) if compared else ():
        if not isinstance(beta, (int, float)):
            return f"TypeError: '<=' not supported between instances of 'float' and '{type(beta).__name__}'"
        if not 0 <= beta < 1:
            return f"ValueError: Invalid beta parameter at index {index}: {beta}"
    if floats and not all(isinstance(beta, float) for beta in value[:2]):
        return "ValueError: betas must be either both floats or both Tensors"
    return ""


@rule("DSP044")
def lamb_needs_dynamic_scale(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    scale = config.section("fp16")["loss_scale"]
    if optimizer is not None and optimizer.name == "lamb" and scale:
        raised = "AssertionError: DeepSpeed lamb optimizer requires dynamic loss scaling"
        text = f"`fp16.loss_scale` is {config.at('fp16', 'loss_scale').spelled}; Lamb requires 0, dynamic loss scaling"
        yield Finding(config.at("fp16", "loss_scale"), text, exception=raised, help=set_key("fp16.loss_scale", 0), depends_on=config.rest)


RATE_TAKEN_SINCE = (0, 17, 2)  # the first release in which WarmupLR takes the rate of the optimizer by default
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
    if optimizers.has_own(name, config.version) or name in optimizers.TORCH:
        return
    raised = f"AssertionError: DeepSpeed does not recognize LR scheduler {name}"
    own = [each for each in optimizers.OWN if optimizers.has_own(each, config.version)]
    meant = next((known for known in (*own, *optimizers.TORCH) if known.lower() == name.lower()), None)
    if meant is None:
        text = f"`scheduler.type` is {spelled(name)}, which neither DeepSpeed nor torch has"
        yield Finding(setting, text, exception=raised, help=choice("scheduler.type", name, own))
        return
    fix = replace(setting, meant, f"write {meant}")
    yield Finding(setting, f"`scheduler.type` is {spelled(name)}, which is unknown: names are case-sensitive", exception=raised, fix=fix)


@rule("STP101")
def torch_scheduler_with_wrapped_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    scheduler = config.scheduler
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
    scheduler = config.scheduler
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
    scheduler = config.scheduler
    if scheduler is None or not scheduler.own or not isinstance(scheduler.params, dict) or scheduler.missing or scheduler.extra:
        return
    key, raised = next(refused_by_scheduler(config, scheduler.name, scheduler.params), ("", ""))
    value = scheduler.params.get(key)
    if key and not (value == "auto" and config.open):
        since = (CYCLE_CHECKED_SINCE if key.startswith("cycle_") else STEPS_CHECKED_SINCE) if raised.startswith("ValueError: ") else ()
        release = f" from DeepSpeed {dotted(since)} on" if since else ""
        text = f"`scheduler.params.{key}` is {spelled(value)}, which {scheduler.name} does not accept{release}"
        wanted = "positive integer" if "positive integer" in raised else "positive number" if "positive" in raised else "number"
        setting, remedy = config.setting("scheduler", "params", key), f"set `scheduler.params.{key}` to a {wanted}"
        yield Finding(setting, text, exception=raised, help=remedy)


def refused_by_scheduler(config: DeepSpeedConfig, name: str, params: ConfigMapping) -> Iterator[tuple[str, str]]:
    """(parameter, exception) for the values that a scheduler of DeepSpeed's own uses during construction."""
    key = {"LRRangeTest": "lr_range_test_step_size", "OneCycle": ""}.get(name, "warmup_num_steps")
    steps, optimizer = params.get(key, 1), config.optimizer
    if key and (not isinstance(steps, int) or steps <= 0) and config.version >= STEPS_CHECKED_SINCE:
        yield key, f"ValueError: {key} must be a positive integer, got {steps}"
    if name in ("WarmupLR", "WarmupDecayLR"):  # the two rates are subtracted; a list has one per parameter group
        takes_rate = name == "WarmupLR" and config.version >= RATE_TAKEN_SINCE
        low, high = params.get("warmup_min_lr", 0.0), params.get("warmup_max_lr", None if takes_rate else 0.001)
        if high is None and config.version >= RATE_TAKEN_SINCE:
            high = optimizer.arguments.get("lr", 0.001) if optimizer is not None else 0.001
        wrong = [key for key, value in (("warmup_max_lr", high), ("warmup_min_lr", low)) if not isinstance(value, (int, float))]
        if wrong and not isinstance(low, list) and not isinstance(high, list):
            yield wrong[0], f"TypeError: unsupported operand type(s) for -: '{type(high).__name__}' and '{type(low).__name__}'"
    if name in optimizers.WARMUPS:
        if not isinstance(steps, (int, float)):
            yield key, f"TypeError: '>' not supported between instances of '{type(steps).__name__}' and 'int'"
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
    scheduler = config.scheduler
    if scheduler is None or scheduler.name not in optimizers.WARMUPS or not isinstance(scheduler.params, dict):
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
    scheduler = config.scheduler
    if scheduler is None or scheduler.name not in optimizers.WARMUPS or not isinstance(scheduler.params, dict):
        return
    value = scheduler.params.get("warmup_type", "log")
    if value not in ("log", "linear") and not (value == "auto" and config.open):
        text = f'`warmup_type` is {spelled(value)}, which is unknown: the warm-up is logarithmic ("log")'
        remedy = set_key("scheduler.params.warmup_type", "linear") | 'to "log"'
        yield Finding(config.setting("scheduler", "params", "warmup_type"), text, help=remedy)
