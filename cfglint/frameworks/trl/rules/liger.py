"""Rules about options that the losses of Liger do not support; from 1.15 on TRL's trainers have a fused loss of their own instead."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.frameworks.trl.field_operations import adapters as peft
from cfglint.frameworks.trl.rules import of, refused
from cfglint.source.annotations import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

OLD_SWITCH, SWITCH = "use_liger_loss", "use_liger_kernel"
RENAMED_SWITCH = (0, 25, 0)  # from here on `use_liger_kernel` turns Liger's loss on, which `use_liger_loss` sets until 0.28

OLD_ADAPTERS = Releases((0, 17, 0), (0, 18, 0), "`use_peft`")

DPO_ADAPTERS = Releases((0, 29, 0), (1, 8, 0), "DPO, `use_peft`")
KTO_ADAPTERS = Releases((0, 17, 0), (1, 8, 0), "KTO, `use_peft`")


def switch(config: TrlConfig) -> str:
    """The field that turns Liger's loss on in this release, as the file has it."""
    return OLD_SWITCH if config.trl_version < RENAMED_SWITCH else config.arguments.written(SWITCH)


def enabled(config: TrlConfig) -> bool:
    name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
    return bool(config.arguments[name]) and config.arguments.known(name)


def with_adapters(config: TrlConfig, exception: str) -> Finding:
    """The finding that Liger's loss does not support LoRA."""
    related, remedy = (of(config, switch(config)),), set_key(switch(config), False) | remove_key("use_peft")
    message = f"`use_peft` is not supported with `{switch(config)}`"
    return Finding(of(config, "use_peft"), message, related=related, exception=exception, help=remedy)


@rule("TRL063")
def liger_with_grpo_option(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL063")
    if config.only("grpo") and enabled(config) and config.trl_version in OLD_ADAPTERS and peft(config):
        yield with_adapters(config, "TypeError: Liger loss is not supported with a PEFT model.")


@rule("TRL064")
def liger_with_preference_option(config: TrlConfig) -> Iterator[Finding]:
    yield from refused(config, "TRL064")
    if len(config.trainers) != 1 or not enabled(config) or not peft(config):
        return
    if config.only("dpo") and config.trl_version in DPO_ADAPTERS:
        yield with_adapters(config, "NotImplementedError: Liger DPO loss is not implemented for PEFT models.")
    elif config.only("kto") and config.trl_version in KTO_ADAPTERS:
        name = OLD_SWITCH if config.trl_version < RENAMED_SWITCH else SWITCH
        yield with_adapters(config, f"ValueError: You cannot use `{name}=True` with Peft models.")
