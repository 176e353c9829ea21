"""Rules about options that the losses of Liger do not support; from 1.15 on TRL's trainers have a fused loss of their own instead."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.trl.batch import WITHOUT_KL
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import losses, of
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Stage

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
SOME_LOSSES = ("sigmoid", "apo_zero", "apo_down", "sppo_hard", "nca_pair")
DPO_SEVERAL = Releases((0, 29, 0), (1, 14, 0), "DPO, several losses")
DPO_LOG_PROBS = Releases((0, 29, 0), (1, 14, 0), "DPO, `precompute_ref_log_probs`")
DPO_ADAPTERS = Releases((0, 29, 0), (1, 8, 0), "DPO, `use_peft`")
KTO_LOSS = Releases((0, 17, 0), (1, 14, 0), "KTO, `loss_type: apo_zero_unpaired`")
KTO_LOG_PROBS = Releases((0, 17, 0), (1, 14, 0), "KTO, `precompute_ref_log_probs`")
KTO_ADAPTERS = Releases((0, 17, 0), (1, 8, 0), "KTO, `use_peft`")
KTO_NEW_TEXT = (1, 8, 0)


def switch(config: TrlConfig) -> str:
    """The field that turns Liger's loss on in this release, as the file has it."""
    return OLD_SWITCH if config.trl_version < RENAMED_SWITCH else config.arguments.written(SWITCH)


def enabled(config: TrlConfig) -> bool:
    """Whether Liger's loss is on."""
    name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
    return bool(config.arguments[name]) and config.arguments.known(name)


def generation_conflict(config: TrlConfig) -> tuple[str, str, Stage] | None:
    """(field, exception, stage) of the first option of GRPO that Liger's loss does not support."""
    args, release = config.arguments, config.trl_version
    if release in DELTA and args["delta"] is not None:
        what = "loss" if release < RENAMED_SWITCH else "kernel"
        return "delta", f"ValueError: Liger {what} does not support two-sided GRPO loss yet.", "config"
    if release in OLD_ADAPTERS and peft(config):
        return "use_peft", "TypeError: Liger loss is not supported with a PEFT model.", "init"
    if release in OLD_LOSS and args["loss_type"] != "bnpo":
        text = f"ValueError: The provided loss type (`{args['loss_type']}`) is not supported with `use_liger_loss`."
        return "loss_type", text, "init"
    if release in OFF_POLICY and args["off_policy_mask_threshold"] is not None:
        return "off_policy_mask_threshold", "ValueError: Liger kernel does not support off-policy sequence masking yet.", "init"
    quantile = args["top_entropy_quantile"]
    if release in ENTROPY and isinstance(quantile, (int, float)) and quantile < 1.0:
        text = "NotImplementedError: Liger Kernels don't currently support masking token positions based on entropy."
        return "top_entropy_quantile", text, "init"
    if release in TOKEN_LEVEL and args["importance_sampling_level"] != "token":
        text = "NotImplementedError: Liger Kernels currently only support token-level importance sampling."
        return "importance_sampling_level", text, "init"
    if release in ENTROPY_BONUS:
        name = "use_adaptive_entropy" if args["use_adaptive_entropy"] else "entropy_coef"
        if args[name]:
            return name, "NotImplementedError: Entropy bonus is not supported with Liger kernel.", "init"
    return None


@rule("TRL063")
def liger_with_grpo_option(config: TrlConfig) -> Iterator[Finding]:
    if not config.only("grpo") or not enabled(config):
        return
    found = generation_conflict(config)
    if found is not None and config.arguments.known(found[0]):
        name, text, stage = found
        yield Finding(
            of(config, name),
            f"`{name}` is not supported with `{switch(config)}`",
            related=(of(config, switch(config)),),
            exception=text,
            fails_at=stage,
            help=f"set `{switch(config)}: false`, or remove `{name}`",
        )


def preference_conflict(config: TrlConfig) -> tuple[str, str] | None:
    """(field, exception) of the first option of DPO or KTO that Liger's loss does not support."""
    args, release = config.arguments, config.trl_version
    if config.only("dpo"):
        chosen, one = losses(config), losses(config)[0] if len(losses(config)) == 1 else None
        if release in DPO_SIGMOID and one != "sigmoid":
            return "loss_type", "ValueError: You set `use_liger_loss=True` but the loss type is not `sigmoid`."
        if release in DPO_SOME and one not in SOME_LOSSES:
            name = OLD_SWITCH if release < RENAMED_SWITCH else SWITCH
            return "loss_type", f"ValueError: You set `{name}=True` but the loss type is not from `[{', '.join(SOME_LOSSES)}`."
        if release in DPO_SEVERAL and len(chosen) != 1:
            return "loss_type", "NotImplementedError: Multiple loss types are not yet supported when using Liger kernel."
        if release in DPO_LOG_PROBS and args["precompute_ref_log_probs"]:
            return "precompute_ref_log_probs", "ValueError: Liger DPO loss does not support precomputing reference log probabilities."
        if release in DPO_ADAPTERS and peft(config):
            return "use_peft", "NotImplementedError: Liger DPO loss is not implemented for PEFT models."
        return None
    if release in KTO_LOSS and args["loss_type"] == WITHOUT_KL:
        return "loss_type", "ValueError: You cannot set `loss_type='apo_zero_unpaired'` with liger-kernel."
    if release in KTO_LOG_PROBS and args["precompute_ref_log_probs"]:
        new = "ValueError: Liger KTO loss does not support precomputing reference log probabilities."
        old = "ValueError: You cannot use `precompute_ref_log_probs=True` with liger kernel."
        return "precompute_ref_log_probs", new if release >= KTO_NEW_TEXT else old
    if release in KTO_ADAPTERS and peft(config):
        return "use_peft", f"ValueError: You cannot use `{OLD_SWITCH if release < RENAMED_SWITCH else SWITCH}=True` with Peft models."
    return None


@rule("TRL064")
def liger_with_preference_option(config: TrlConfig) -> Iterator[Finding]:
    if not config.only("dpo", "kto") or len(config.trainers) != 1 or not enabled(config):
        return
    found = preference_conflict(config)
    if found is not None and config.arguments.known(found[0]):
        name, text = found
        yield Finding(
            of(config, name),
            f"`{name}` is not supported with `{switch(config)}`",
            related=(of(config, switch(config)),),
            exception=text,
            help=f"set `{switch(config)}: false`, or remove `{name}`",
        )
