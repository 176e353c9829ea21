"""Rules about the `optimizer` section: the name, and the parameters of its class."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.optimizers import ABOVE_ZERO, NO_AMSGRAD, NOT_NEGATIVE, ONE_BIT, ONE_BIT_REMOVED, READS_BETAS, Optimizer
from cfglint.frameworks.releases.versions import dotted
from cfglint.frameworks.remedies import move, remove, replace
from cfglint.source.annotations import Iterator

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
        fix = replace(setting, meant, f"write {meant}", safe=True)
    elif optimizer.name.lower() in ONE_BIT:
        text += f", which was removed in DeepSpeed {dotted(ONE_BIT_REMOVED)}"
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
        fix = remove(setting, f"remove it, `gradient_clipping` is {config.setting('gradient_clipping').spelled}", safe=True)
    else:
        fix = move(config, setting, ("gradient_clipping",), "move it to top-level `gradient_clipping`", safe=True)
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
    if name in NO_AMSGRAD and arguments.get("amsgrad"):
        yield "amsgrad", f"RuntimeError: {name} does not support the AMSGrad variant."
    if name == "MuonWithAuxAdam" and arguments.get("ns_method", "gram") not in ("gram", "standard"):
        yield "ns_method", f"AssertionError: ns_method must be one of {{'standard', 'gram'}}, got {arguments['ns_method']}"
    for key in (*NOT_NEGATIVE.get(name, "").split(), *ABOVE_ZERO.get(name, "").split()):
        value = arguments.get(key, 1)
        if not isinstance(value, (int, float)):
            yield key, f"TypeError: '<=' not supported between instances of 'float' and '{type(value).__name__}'"
        elif not (value > 0 or (value == 0 and name not in ABOVE_ZERO)):
            title = {"lr": "learning rate", "eps": "epsilon value"}.get(key, f"{key} value")
            yield key, f"ValueError: Invalid {title}: {value}"
    if name == "SGD" and arguments.get("nesterov") and (not arguments.get("momentum", 0) or arguments.get("dampening", 0)):
        yield "nesterov", "ValueError: Nesterov momentum requires a momentum and zero dampening"
    if arguments.get("fused") is True and arguments.get("foreach") is True and name in ("Adam", "AdamW", "Adagrad", "SGD"):
        yield "fused", "RuntimeError: `fused` and `foreach` cannot be `True` together."
    rho = arguments.get("rho")
    if name == "Adadelta" and isinstance(rho, (int, float)) and rho > 1:
        yield "rho", f"ValueError: Invalid rho value: {rho}"
    if name in READS_BETAS and "betas" in arguments:
        raised = two_betas(arguments["betas"], compared=name not in (*FILLED, "DeepSpeedCPULion"), floats=name in ("Adam", "AdamW"))
        if raised:
            yield "betas", raised


def two_betas(value: object, compared: bool, floats: bool) -> str:
    """The error of an optimizer for its betas, of which it uses the first two; empty if they are valid.

    With `floats` both must be floats (torch 2.13 optim/adam.py:68). hjson parses `0.0` as the integer 0.
    """
    if not isinstance(value, (list, str)):
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
