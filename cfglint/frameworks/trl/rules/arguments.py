"""Rules about values that TRL's configuration classes refuse during construction."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import counted
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.rules import of, shown
from cfglint.source.annotations import Iterator


@rule("TRL020")
def quantized_twice(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    if args["load_in_8bit"] and args["load_in_4bit"]:
        yield excludes(of(config, "load_in_8bit"), of(config, "load_in_4bit"), one_off("load_in_8bit", "load_in_4bit"))


LISTED_IN_LOSS = Releases((0, 20, 0), (0, 29, 0), "`Length of loss_weights list ([1.0]) must match number of loss types`")


@rule("TRL021")
def loss_weights_length(config: TrlConfig) -> Iterator[Finding]:
    args = config.arguments
    weights, losses = args["loss_weights"], args["loss_type"]
    if not config.only("dpo") or weights is None:
        return
    losses = [losses] if isinstance(losses, str) else losses
    setting = of(config, "loss_weights")
    if not isinstance(weights, (list, dict, str)) or not isinstance(losses, (list, dict)):
        wrong = weights if not isinstance(weights, (list, dict, str)) else losses
        text = f"TypeError: object of type '{type(wrong).__name__}' has no len()"
        yield Finding(
            setting,
            f"`loss_weights` is {shown(weights)}; it must be a list of numbers",
            exception=text,
            help="write one number for each loss",
        )
    elif len(weights) != len(losses):
        text = "ValueError: `loss_weights` must have the same length as `loss_type` when combining multiple losses. "
        text += f"Got {len(weights)} weights for {len(losses)} loss types."
        if config.trl_version in LISTED_IN_LOSS:
            text = f"ValueError: Length of loss_weights list ({weights}) must match number of loss types ({losses})."
        yield Finding(
            setting,
            f"`loss_weights` has {counted(len(weights), 'weight')}, but `loss_type` has {len(losses)} losses",
            related=(of(config, "loss_type"),),
            exception=text,
            depends_on=config.unset("loss_type"),
            help=f"write {counted(len(losses), 'number')}",
        )


@rule("TRL022")
def invalid_pad_to_multiple(config: TrlConfig) -> Iterator[Finding]:
    value = config.arguments["pad_to_multiple_of"]
    if not isinstance(value, str) or value == "auto" or value.lower() in ("none", "null"):
        return
    try:
        int(value)
    except ValueError as error:
        message = f'`pad_to_multiple_of` is {shown(value)}, not an integer or "auto"'
        yield Finding(
            of(config, "pad_to_multiple_of"),
            message,
            exception=f"ValueError: {error}",
            help="set `pad_to_multiple_of: auto`, or remove `pad_to_multiple_of`",
        )
