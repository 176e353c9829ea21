"""Rules about the `optimizer` section: the name, and what the class behind it takes."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import WARN, Finding, rule
from cfglint.frameworks.deepspeed.optimizers import ABOVE_ZERO, NO_AMSGRAD, NOT_NEGATIVE, ONE_BIT, ONE_BIT_REMOVED, READS_BETAS
from cfglint.frameworks.deepspeed.rules import DEEPSPEED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
    from cfglint.frameworks.deepspeed.optimizers import Optimizer

FILLED = ("DeepSpeedCPUAdam", "ZenFlowCPUAdam")  # DeepSpeed passes these arguments itself
OPENLY_TORCH = ("SGD", "RMSprop", "Adamax", "NAdam", "RAdam", "Adadelta", "Adafactor", "ASGD", "LBFGS", "Rprop", "SparseAdam")


@rule(
    "DSP040",
    "unknown-optimizer",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "optimizer": {"type": "sgd", "params": {"lr": 0.1}}}\n',
    good='{"train_batch_size": 8, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}\n',
    fixed='{"train_batch_size": 8, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}}\n',
    example={"gpus": 8, "at": "/optimizer/type"},
)
def unknown_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An optimizer that neither DeepSpeed nor torch has.

    DeepSpeed's own names (Adam, AdamW, Adagrad, Lamb, Lion, Muon, MuAdam, MuAdamW, MuSGD) are taken in any
    case; those of `torch.optim` only as they are written there. OneBitAdam, OneBitLamb and ZeroOneAdam are
    gone since 0.19.7.

    Run-time error: `AssertionError: sgd is not a supported DeepSpeed Optimizer`; for `lr_scheduler` and
    `swa_utils`, which torch.optim has, `TypeError: 'module' object is not callable`.

    Fix: one of these names as it is written here; AdamW in place of the 1-bit optimizers.

    Source: deepspeed 0.19.8 runtime/engine.py:1987, 2016-2018.
    """
    optimizer = config.optimizer
    if optimizer is None or optimizer.class_name:
        return
    setting = config.setting("optimizer", "type")
    if optimizer.known:
        yield Finding(setting, f"{optimizer.name} is a module of torch.optim", exception="TypeError: 'module' object is not callable")
        return
    raised = f"AssertionError: {optimizer.name} is not a supported DeepSpeed Optimizer"
    meant = next((name for name in OPENLY_TORCH if name.lower() == optimizer.name.lower()), None)
    if meant:
        from cfglint.findings.fix_builders import replace

        said = f"torch's optimizers are known by their exact names: {meant}, not {optimizer.name}"
        yield Finding(setting, said, exception=raised, fix=replace(setting, meant, f"write {meant}", safe=True))
        return
    said = f"neither DeepSpeed nor torch.optim has an optimizer {optimizer.name!r}"
    if optimizer.name.lower() in ONE_BIT:
        said = f"DeepSpeed {'.'.join(map(str, ONE_BIT_REMOVED))} removed the 1-bit optimizers"
    yield Finding(setting, said, exception=raised)


@rule(
    "DSP041",
    "max-grad-norm-in-optimizer",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "max_grad_norm": 1.0}}}\n',
    good='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}, "gradient_clipping": 1.0}\n',
    fixed='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n',
    example={"gpus": 8, "at": "/optimizer/params/max_grad_norm"},
)
def max_grad_norm_in_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`max_grad_norm` stands among the optimizer's parameters.

    Clipping is DeepSpeed's own, under `gradient_clipping` at the top. While the config is read this is
    only a warning; the engine refuses it, whatever the value.

    Run-time error: `ValueError: 'max_grad_norm' is not supported as an optimizer parameter, please switch
    to using the deepspeed parameter 'gradient_clipping'`.

    Fix: move the value to `gradient_clipping` (without that key, gradients are clipped at 1.0 from 0.19.3
    on).

    Source: deepspeed 0.19.8 runtime/engine.py:2481.
    """
    optimizer = config.optimizer
    if optimizer is None or "max_grad_norm" not in optimizer.arguments:
        return
    setting = config.setting("optimizer", "params", "max_grad_norm")
    raised = "ValueError: 'max_grad_norm' is not supported as an optimizer parameter"
    yield Finding(
        setting, "clipping is gradient_clipping's, at the top level", exception=raised, fix=clip_at_top(config, setting.value), on_key=True
    )


def clip_at_top(config: DeepSpeedConfig, value: Any) -> Any:
    """The move to `gradient_clipping`, or the plain removal where that key is there or its default says the same."""
    from cfglint.findings.fix_builders import inserted, removed, several

    gone = removed(config.setting("optimizer", "params", "max_grad_norm"))
    if "gradient_clipping" in config.values or (value == 1 and config.version >= (0, 19, 3)):
        return several([gone], "remove max_grad_norm", safe=True)
    return several([gone, inserted(config, ("gradient_clipping",), value)], "move it to gradient_clipping", safe=True)


@rule(
    "DSP042",
    "unknown-optimizer-parameter",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "beta1": 0.9}}}\n',
    good='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "betas": [0.9, 0.99]}}}\n',
    example={"gpus": 8, "at": "/optimizer/params/beta1"},
)
def unknown_optimizer_parameter(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A parameter that the optimizer's class does not take.

    The class depends on the rest of the config: Adam is FusedAdam on the GPU, DeepSpeedCPUAdam with an
    offloaded optimizer, torch's own with `torch_adam`, and each takes other parameters.

    Run-time error: `TypeError: FusedAdam.__init__() got an unexpected keyword argument 'beta1'`.

    Fix: take it out, or write the name that the class has.

    Source: deepspeed 0.19.8 runtime/engine.py:2377-2549.
    """
    optimizer = config.optimizer
    accepted = optimizer.accepted() if optimizer is not None else None
    if optimizer is None or accepted is None or "max_grad_norm" in optimizer.arguments:
        return
    for key in optimizer.arguments:
        if key not in accepted and not (key == "foreach" and taken_by_torch_adam(optimizer)):
            setting = config.setting("optimizer", "params", key)
            yield Finding(setting, f"{optimizer.class_name} takes no {key}", exception=unexpected(optimizer, key), on_key=True)


def taken_by_torch_adam(optimizer: Optimizer) -> bool:
    """Whether DeepSpeed itself hands `foreach` on."""
    return optimizer.name in ("adam", "adamw") and optimizer.class_name in ("Adam", "AdamW")


def unexpected(optimizer: Optimizer, key: Any) -> str:
    """What the class raises for an argument that it does not take, or that DeepSpeed passes already."""
    name = optimizer.class_name
    if key in ("params", "model_params") or (key == "adamw_mode" and name in FILLED):
        return f"TypeError: {name}() got multiple values for keyword argument '{key}'"
    return f"TypeError: {name}.__init__() got an unexpected keyword argument '{key}'"


@rule(
    "DSP043",
    "optimizer-argument-value",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "amsgrad": true}}}\n',
    good='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "torch_adam": true, "amsgrad": true}}}\n',
    example={"gpus": 8, "at": "/optimizer/params/amsgrad"},
)
def optimizer_value(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A parameter whose value the optimizer's class refuses when it is built.

    The fused optimizers have no AMSGrad. torch's optimizers compare their numbers with zero: a negative
    one is refused, a text cannot be compared. `betas` are two numbers. Muon knows the Newton-Schulz methods
    "gram" and "standard".

    Run-time errors: `RuntimeError: FusedAdam does not support the AMSGrad variant.`, `ValueError: Invalid
    learning rate: -0.1`, `TypeError: '<=' not supported between instances of 'float' and 'str'`.

    Fix: a value in the range that the message names; a number without quotes.

    Source: deepspeed 0.19.8 ops/adam/fused_adam.py:74, ops/adam/cpu_adam.py:95; torch 2.13 optim.
    """
    optimizer = config.optimizer
    if optimizer is None or not optimizer.class_name or "max_grad_norm" in optimizer.arguments:
        return
    for key, raised in refused_values(optimizer):
        if optimizer.arguments.get(key) == "auto" and config.open:
            continue
        setting = config.setting("optimizer", "params", key)
        yield Finding(setting, f"{optimizer.class_name} refuses {key} {setting.value!r}", exception=raised)


def refused_values(optimizer: Optimizer) -> Iterator[tuple[str, str]]:
    """(parameter, exception) for what the class checks itself."""
    arguments, name = optimizer.arguments, optimizer.class_name
    if name in NO_AMSGRAD and arguments.get("amsgrad"):
        yield "amsgrad", f"RuntimeError: {name} does not support the AMSGrad variant."
    if name == "MuonWithAuxAdam" and arguments.get("ns_method", "gram") not in ("gram", "standard"):
        yield "ns_method", f"AssertionError: ns_method must be one of {{'standard', 'gram'}}, got {arguments['ns_method']}"
    for table, above in ((NOT_NEGATIVE, False), (ABOVE_ZERO, True)):
        for key in table.get(name, "").split():
            raised = out_of_bounds(key, arguments[key], above) if key in arguments else ""
            if raised:
                yield key, raised
    yield from unfit(name, arguments)
    if name in READS_BETAS and "betas" in arguments:
        raised = two_betas(arguments["betas"], compared=name not in (*FILLED, "DeepSpeedCPULion"))
        if raised:
            yield "betas", raised


def out_of_bounds(key: str, value: Any, above: bool) -> str:
    """What torch's optimizers raise for a number that is negative, or zero with `above`; empty where they are content."""
    if not isinstance(value, (int, float)):
        return f"TypeError: '<=' not supported between instances of 'float' and '{type(value).__name__}'"
    said = {"lr": "learning rate", "eps": "epsilon value"}.get(key, f"{key} value")
    return "" if value > 0 or (value == 0 and not above) else f"ValueError: Invalid {said}: {value}"


def unfit(name: str, arguments: dict[Any, Any]) -> Iterator[tuple[str, str]]:
    """What torch's optimizers refuse about two arguments together, or about a number's upper end."""
    if name == "SGD" and arguments.get("nesterov") and (not arguments.get("momentum", 0) or arguments.get("dampening", 0)):
        yield "nesterov", "ValueError: Nesterov momentum requires a momentum and zero dampening"
    if arguments.get("fused") is True and arguments.get("foreach") is True and name in ("Adam", "AdamW", "Adagrad", "SGD"):
        yield "fused", "RuntimeError: `fused` and `foreach` cannot be `True` together."
    rho = arguments.get("rho")
    if name == "Adadelta" and isinstance(rho, (int, float)) and rho > 1:
        yield "rho", f"ValueError: Invalid rho value: {rho}"


def two_betas(value: Any, compared: bool) -> str:
    """What an optimizer raises for its betas, of which it takes the first two; empty where it takes them."""
    if not isinstance(value, (list, str)):
        return f"TypeError: '{type(value).__name__}' object is not subscriptable"
    if len(value) < 2:
        return "IndexError: list index out of range"
    for index, beta in enumerate(value[:2]) if compared else ():
        if not isinstance(beta, (int, float)):
            return f"TypeError: '<=' not supported between instances of 'float' and '{type(beta).__name__}'"
        if not 0 <= beta < 1:
            return f"ValueError: Invalid beta parameter at index {index}: {beta}"
    return ""


@rule(
    "DSP044",
    "lamb-needs-dynamic-scale",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    when_partial=WARN,
    bad='{"train_batch_size": 8, "fp16": {"enabled": true, "loss_scale": 128}, "optimizer": {"type": "Lamb", "params": {"lr": 1e-3}}}\n',
    good='{"train_batch_size": 8, "fp16": {"enabled": true, "loss_scale": 0}, "optimizer": {"type": "Lamb", "params": {"lr": 1e-3}}}\n',
    example={"gpus": 8, "at": "/fp16/loss_scale"},
)
def lamb_needs_dynamic_scale(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Lamb with a static loss scale, even where fp16 is off.

    Run-time error: `AssertionError: DeepSpeed lamb optimizer requires dynamic loss scaling`.

    Fix: `"loss_scale": 0`.

    Source: deepspeed 0.19.8 runtime/engine.py:2020.
    """
    optimizer = config.optimizer
    scale = config.section("fp16")["loss_scale"]
    if optimizer is not None and optimizer.name == "lamb" and scale:
        raised = "AssertionError: DeepSpeed lamb optimizer requires dynamic loss scaling"
        yield Finding(config.at("fp16", "loss_scale"), "Lamb needs a dynamic loss scale, which is 0", exception=raised)
