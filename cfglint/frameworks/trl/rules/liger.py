"""Rules about options that the losses of Liger do not support; from 1.15 on TRL's trainers have a fused loss of their own instead."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Example, Finding, init_error
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import HEAD, of, refused
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

OLD_SWITCH, SWITCH = "use_liger_loss", "use_liger_kernel"
RENAMED_SWITCH = (0, 25, 0)  # from here on `use_liger_kernel` turns Liger's loss on, which `use_liger_loss` sets until 0.28

DELTA = Releases((0, 18, 0), (1, 4, 0), "`delta`")
ENTROPY = Releases((0, 20, 0), (1, 14, 0), "`top_entropy_quantile` below 1")
TOKEN_LEVEL = Releases((0, 20, 0), (1, 0, 0), "`importance_sampling_level` other than token")
OFF_POLICY = Releases((0, 27, 0), (1, 14, 0), "`off_policy_mask_threshold`")
ENTROPY_BONUS = Releases((1, 8, 0), (1, 14, 0), "`entropy_coef` or `use_adaptive_entropy`")
OLD_ADAPTERS = Releases((0, 17, 0), (0, 18, 0), "`use_peft`")
OLD_LOSS = Releases((0, 17, 0), (0, 18, 0), "`loss_type` other than bnpo")

DPO_SIGMOID = Releases((0, 19, 0), (0, 22, 0), "DPO, `loss_type` other than sigmoid")
DPO_SOME = Releases((0, 22, 0), (0, 29, 0), "DPO, `loss_type` other than five")
DPO_SEVERAL = Releases((0, 29, 0), (1, 14, 0), "DPO, several losses")
DPO_LOG_PROBS = Releases((0, 29, 0), (1, 14, 0), "DPO, `precompute_ref_log_probs`")
DPO_ADAPTERS = Releases((0, 29, 0), (1, 8, 0), "DPO, `use_peft`")
KTO_LOSS = Releases((0, 17, 0), (1, 14, 0), "KTO, `loss_type: apo_zero_unpaired`")
KTO_LOG_PROBS = Releases((0, 17, 0), (1, 14, 0), "KTO, `precompute_ref_log_probs`")
KTO_ADAPTERS = Releases((0, 17, 0), (1, 8, 0), "KTO, `use_peft`")


def switch(config: TrlConfig) -> str:
    """The field that turns Liger's loss on in this release, as the file has it."""
    return OLD_SWITCH if config.trl_version < RENAMED_SWITCH else config.arguments.written(SWITCH)


def enabled(config: TrlConfig) -> bool:
    """Whether Liger's loss is on."""
    name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
    return bool(config.arguments[name]) and config.arguments.known(name)


def unsupported(config: TrlConfig, name: str, exception: str) -> Finding:
    """The finding that Liger's loss does not support a field."""
    related, remedy = (of(config, switch(config)),), f"set `{switch(config)}: false`, or remove `{name}`"
    return Finding(
        of(config, name), f"`{name}` is not supported with `{switch(config)}`", related=related, exception=exception, help=remedy
    )


@init_error(
    "TRL063",
    source="trl 1.8.0 trainer/grpo_trainer.py:700-810, 0.21.0 trainer/grpo_config.py, 0.17.0 trainer/grpo_trainer.py:543-556",
    releases=(OLD_ADAPTERS, OLD_LOSS, DELTA, TOKEN_LEVEL, ENTROPY, OFF_POLICY, ENTROPY_BONUS),
    bad=(
        HEAD + "num_generations: 8\nuse_liger_kernel: true\ntop_entropy_quantile: 0.2\n",
        Example(
            HEAD + "num_generations: 8\nuse_liger_loss: true\ndelta: 1.5\n",
            "/delta",
            "ValueError: Liger loss does not support two-sided",
            facts={"target": {"trl": "0.21.0"}},
        ),
    ),
    good=HEAD + "num_generations: 8\nuse_liger_kernel: true\n",
    example={"trainer": "grpo", "gpus": 8, "target": {"trl": "1.8.0"}, "at": "/top_entropy_quantile"},
)
def liger_with_grpo_option(config: TrlConfig) -> Iterator[Finding]:
    """Liger's GRPO loss does not support an option.

    Which ones changes from release to release: `delta`, `top_entropy_quantile`, `importance_sampling_level`,
    `off_policy_mask_threshold`, a bonus for entropy; in 0.17 LoRA and every loss except bnpo.
    """
    yield from refused(config, "TRL063")
    if config.only("grpo") and enabled(config) and config.trl_version in OLD_ADAPTERS and peft(config):
        yield unsupported(config, "use_peft", "TypeError: Liger loss is not supported with a PEFT model.")


@init_error(
    "TRL064",
    source="trl 1.4.0 trainer/dpo_trainer.py, experimental/kto/kto_trainer.py; 0.24.0 trainer/dpo_trainer.py, trainer/kto_trainer.py",
    releases=(DPO_SIGMOID, DPO_SOME, DPO_SEVERAL, DPO_LOG_PROBS, DPO_ADAPTERS, KTO_LOSS, KTO_LOG_PROBS, KTO_ADAPTERS),
    bad=(
        HEAD + "use_liger_kernel: true\nprecompute_ref_log_probs: true\n",
        Example(
            HEAD + "use_liger_loss: true\nloss_type: apo_zero_unpaired\n",
            "/loss_type",
            "ValueError: You cannot set",
            facts={"trainer": "kto", "target": {"trl": "0.19.1"}},
        ),
    ),
    good=HEAD + "use_liger_kernel: true\n",
    example={"trainer": "dpo", "target": {"trl": "1.4.0"}, "at": "/precompute_ref_log_probs"},
)
def liger_with_preference_option(config: TrlConfig) -> Iterator[Finding]:
    """Liger's DPO and KTO losses do not support an option: another loss, `precompute_ref_log_probs`, LoRA.

    Run-time error: `ValueError: Liger DPO loss does not support precomputing reference log probabilities.`, `NotImplementedError:
    Liger DPO loss is not implemented for PEFT models.`
    """
    yield from refused(config, "TRL064")
    if len(config.trainers) != 1 or not enabled(config) or not peft(config):
        return
    if config.only("dpo") and config.trl_version in DPO_ADAPTERS:
        yield unsupported(config, "use_peft", "NotImplementedError: Liger DPO loss is not implemented for PEFT models.")
    elif config.only("kto") and config.trl_version in KTO_ADAPTERS:
        name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
        yield unsupported(config, "use_peft", f"ValueError: You cannot use `{name}=True` with Peft models.")
