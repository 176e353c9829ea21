"""Rules about values that TRL's configuration classes refuse during construction."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, config_error
from cfglint.findings.wording import counted
from cfglint.frameworks.remedies import excludes, one_off
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.rules import HEAD, of, shown
from cfglint.source.annotations import Iterator


@config_error(
    "TRL020",
    raises="ValueError: You can't use 8 bit and 4 bit precision at the same time",
    source="trl 1.16.0 trainer/model_config.py:173-175, 0.17.0 trainer/model_config.py:174-176",
    bad=HEAD + "use_peft: true\nload_in_8bit: true\nload_in_4bit: true\n",
    good=HEAD + "use_peft: true\nload_in_4bit: true\n",
    example={"at": "/load_in_8bit"},
    releases=Releases((0, 7, 11)),
)
def quantized_twice(config: TrlConfig) -> Iterator[Finding]:
    """`load_in_8bit` and `load_in_4bit` are incompatible."""
    args = config.arguments
    if args["load_in_8bit"] and args["load_in_4bit"]:
        yield excludes(of(config, "load_in_8bit"), of(config, "load_in_4bit"), one_off("load_in_8bit", "load_in_4bit"))


LISTED_IN_LOSS = Releases((0, 20, 0), (0, 29, 0), "`Length of loss_weights list ([1.0]) must match number of loss types`")


@config_error(
    "TRL021",
    source="trl 1.16.0 trainer/dpo_config.py:358-364, 0.20.0 trainer/dpo_config.py",
    releases=(LISTED_IN_LOSS, Releases((0, 29, 0))),
    bad=(
        HEAD + "loss_type: [sigmoid, sft]\nloss_weights: [1.0]\n",
        Example(HEAD + "loss_type: [sigmoid, sft]\nloss_weights: 0.5\n", "/loss_weights", "TypeError: "),
    ),
    good=HEAD + "loss_type: [sigmoid, sft]\nloss_weights: [1.0, 0.5]\n",
    example={"trainer": "dpo", "at": "/loss_weights"},
)
def loss_weights_length(config: TrlConfig) -> Iterator[Finding]:
    """DPO's `loss_weights` needs one weight for each loss of `loss_type`."""
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


@config_error(
    "TRL022",
    source="trl 1.16.0 trainer/sft_config.py:304-313 and the same lines of the other classes",
    bad=HEAD + "packing: true\npad_to_multiple_of: eight\n",
    good=HEAD + "packing: true\npad_to_multiple_of: 8\n",
    example={"trainer": "sft", "at": "/pad_to_multiple_of"},
    releases=Releases((1, 16, 0)),
)
def invalid_pad_to_multiple(config: TrlConfig) -> Iterator[Finding]:
    """`pad_to_multiple_of` is an integer, "auto", or null."""
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
