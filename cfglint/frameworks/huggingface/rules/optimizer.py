"""Rules about the optimizer and its arguments."""

from __future__ import annotations

from math import isnan

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.huggingface.batch import accumulation_steps
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.huggingface.field_operations import ADAMS, TORCH_ADAMS
from cfglint.frameworks.huggingface.rules import of, shown
from cfglint.frameworks.remedies import raised_by
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.numbers import is_number

Conversions = dict[str, Callable[[str], float]]
LOW_RANK = ("galore", "apollo")
APOLLO = (4, 49)  # from here on the exceptions name the optimizer, not only GaLore
TORCH_ARGUMENTS = (5, 3)  # sgd, adagrad and rmsprop read optim_args from here on
LOW_RANK_NUMBERS: Conversions = {"rank": int, "update_proj_gap": int, "scale": float}
# The arguments that the Trainer converts, by a part of the optimizer's name: the first part that fits.
CONVERTED: dict[str, Conversions] = {
    "galore": LOW_RANK_NUMBERS,
    "apollo": LOW_RANK_NUMBERS,
    "grokadamw": dict.fromkeys(("alpha_init", "lamb", "gamma", "grokking_signal_decay_rate", "gradient_clipping"), float),
    "schedule_free": {"weight_lr_power": float, "r": float},
    "ademamix": {**dict.fromkeys(("beta1", "beta2", "beta3", "alpha", "eps"), float), "t_alpha": int, "t_beta3": int},
}
# The arguments that torch's constructors refuse below 0, in their order (torch 2.13 optim/sgd.py:44-57, adagrad.py:52-61,
# rmsprop.py:46-56).
NOT_NEGATIVE = ("lr_decay", "eps", "momentum", "weight_decay", "alpha")
TORCH_CONVERTED: dict[str, Conversions] = {
    "sgd": dict.fromkeys(("momentum", "dampening", "weight_decay"), float),
    "adagrad": dict.fromkeys(("lr_decay", "weight_decay", "eps"), float),
    "rmsprop": dict.fromkeys(("momentum", "alpha", "eps", "weight_decay"), float),
}


@rule("HFT050")
def optimizer_value_out_of_range(config: TrainerConfig) -> Iterator[Finding]:
    args = config.arguments
    if not config.parsed or not config.makes_optimizer:
        return
    optimizer = args.optimizer
    rate = args["learning_rate"]
    if is_number(rate) and not rate >= 0 and optimizer != "adafactor":  # NaN too
        text = f"ValueError: Invalid learning rate: {rate}"
        yield Finding(of(config, "learning_rate"), f"`learning_rate` is {rate}; it must be >= 0", exception=text)
    if optimizer not in ADAMS:
        return
    if is_number(args["adam_epsilon"]) and not args["adam_epsilon"] >= 0:
        text = f"ValueError: Invalid epsilon value: {args['adam_epsilon']}"
        remedy = set_key("adam_epsilon", 1e-08, ", which is the default")
        yield Finding(of(config, "adam_epsilon"), f"`adam_epsilon` is {args['adam_epsilon']}; it must be >= 0", exception=text, help=remedy)
    for index, name in enumerate(("adam_beta1", "adam_beta2")):
        value = args[name]
        if is_number(value) and not 0 <= value < 1:
            text = f"ValueError: Invalid beta parameter at index {index}: {value}"
            remedy = set_key(name, 0.9 if name == "adam_beta1" else 0.999, ", which is the default")
            yield Finding(of(config, name), f"`{name}` is {value}; it must be >= 0 and < 1", exception=text, help=remedy)
        elif is_number(value) and not isinstance(value, float) and optimizer in TORCH_ADAMS:
            text = "ValueError: betas must be either both floats or both Tensors"
            remedy = set_key(name, float(value))
            yield Finding(of(config, name), f"`{name}` is {shown(value)}, an integer; it must be a float", exception=text, help=remedy)


@rule("HFT051")
def invalid_optim_args(config: TrainerConfig) -> Iterator[Finding]:
    value = config.arguments["optim_args"]
    if not isinstance(value, str) or not value or not config.parsed or not config.makes_optimizer:
        return
    for part in value.replace(" ", "").split(","):
        count = part.count("=")
        if count != 1:
            found = "too many values to unpack (expected 2)" if count else "not enough values to unpack (expected 2, got 1)"
            text = f"ValueError: {found}"
            message = f"`optim_args` contains {shown(part)}, which is not name=value"
            yield Finding(of(config, "optim_args"), message, exception=text, help="write name=value, with commas between several")
            return
    given = dict(part.split("=") for part in value.replace(" ", "").split(","))
    optimizer, numbers_of = config.arguments.optimizer, Conversions()
    by_torch = optimizer in TORCH_CONVERTED and config.version >= TORCH_ARGUMENTS
    if isinstance(optimizer, str) and config.arguments.known("optim") and optimizer not in TORCH_CONVERTED:
        numbers_of = next((converted for part, converted in CONVERTED.items() if part in optimizer), {})
    for name, convert in (TORCH_CONVERTED[optimizer] if by_torch else numbers_of).items():
        text = raised_by(convert, given.get(name, "0"))
        if text:
            expected = "an integer" if convert is int else "a number"
            message = f"`{name}` in `optim_args` is {shown(given[name])}, not {expected}"
            yield Finding(of(config, "optim_args"), message, exception=text, help=f"set `{name}` to {expected}")
            return
    if not by_torch:
        return
    numbers = {name: float(given[name]) for name in TORCH_CONVERTED[optimizer] if name in given}
    for name in NOT_NEGATIVE:
        value = numbers.get(name, 0.0)
        if value < 0 or (isnan(value) and optimizer != "sgd"):
            message = f"`{name}` in `optim_args` is {given[name]}; it must be >= 0"
            text = f"ValueError: Invalid {'epsilon' if name == 'eps' else name} value: {value}"
            yield Finding(of(config, "optim_args"), message, exception=text, help=f"set `{name}` to a number >= 0")
            return
    nesterov = optimizer == "sgd" and given.get("nesterov", "").lower() in ("true", "1", "yes")
    if nesterov and (numbers.get("momentum", 0.0) <= 0 or numbers.get("dampening", 0.0) != 0):
        text = "ValueError: Nesterov momentum requires a momentum and zero dampening"
        message = "`nesterov` in `optim_args` requires `momentum` above 0, and no `dampening`"
        kept = [f"{name}={part}" for name, part in given.items() if name not in ("momentum", "dampening")]
        yield Finding(of(config, "optim_args"), message, exception=text, help=set_key("optim_args", ",".join((*kept, "momentum=0.9"))))


@rule("HFT052")
def missing_target_modules(config: TrainerConfig) -> Iterator[Finding]:
    optimizer = config.arguments.optimizer
    if not isinstance(optimizer, str) or not optimizer.startswith(LOW_RANK) or not config.parsed or not config.makes_optimizer:
        return
    setting, galore = of(config, "optim"), config.version < APOLLO
    if optimizer.endswith("layerwise") and config.launched:
        text = f"NotImplementedError: Layer-wise {'GaLore' if galore else optimizer} does not support DDP at this time"
        message = f"`optim: {optimizer}` does not support multiple processes (DDP)"
        yield Finding(setting, message, exception=text, help=set_key("optim", optimizer.removesuffix("_layerwise")))
    if config.arguments["optim_target_modules"] is None:
        text = f"ValueError: You need to define `optim_target_modules` to use {optimizer} optimizers"
        if galore:
            text = "ValueError: You need to define a `optim_target_modules` in order to properly use GaLore optimizers"
        unset = config.unset("optim_target_modules")
        message = f"`optim: {optimizer}` requires `optim_target_modules`"
        yield Finding(setting, message, exception=text, depends_on=unset, help=set_key("optim_target_modules", "all-linear"))
    accumulation = accumulation_steps(config).value
    if optimizer.endswith("layerwise") and accumulation != 1:
        text = f"ValueError: Layerwise {optimizer} does not support gradient accumulation!"
        if galore:
            text = "ValueError: Layerwise GaLoRE optimizer do not support gradient accumulation !"
        message = f"`optim: {optimizer}` does not support gradient accumulation, but `gradient_accumulation_steps` is {shown(accumulation)}"
        remedy = set_key("gradient_accumulation_steps", 1) | set_key("optim", optimizer.removesuffix("_layerwise"))
        yield Finding(setting, message, exception=text, help=remedy)
