"""Rules about values that TRL's configuration classes refuse during construction."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, config_error
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.pages import OTHERS
from cfglint.frameworks.trl.rules import HEAD, refused
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
    return refused(config, "TRL020")


LISTED_IN_LOSS = Releases((0, 20, 0), (0, 29, 0), "`Length of loss_weights list ([1.0]) must match number of loss types`")


@config_error(
    "TRL021",
    source="trl 1.16.0 trainer/dpo_config.py:358-364, 0.20.0 trainer/dpo_config.py",
    releases=(LISTED_IN_LOSS, Releases((0, 29, 0))),
    bad=HEAD + "loss_type: [sigmoid, sft]\nloss_weights: [1.0]\n",
    good=HEAD + "loss_type: [sigmoid, sft]\nloss_weights: [1.0, 0.5]\n",
    example={"trainer": "dpo", "at": "/loss_weights"},
)
def loss_weights_length(config: TrlConfig) -> Iterator[Finding]:
    """DPO's `loss_weights` needs one weight for each loss of `loss_type`."""
    return refused(config, "TRL021")


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
    return refused(config, "TRL022")


@config_error(
    "TRL023",
    source="trl 1.16.0 trainer/*_config.py and experimental (__post_init__), trainer/*_trainer.py",
    bad=HEAD + "lmbda: 1.5\nseq_kd: true\n",
    good=HEAD + "lmbda: 0.5\nseq_kd: true\n",
    example={"trainer": "gkd", "at": "/lmbda"},
)
def unsupported_trl_arguments(config: TrlConfig) -> Iterator[Finding]:
    """A class or a trainer of TRL refuses values in a check that has no page of its own; the message is TRL's."""
    return refused(config, OTHERS)
