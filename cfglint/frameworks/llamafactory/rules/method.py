"""Rules about options that are incompatible with a fine-tuning method, adapters, quantization or special optimizers."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.huggingface.fields import OPTIMIZERS
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.llamafactory.releases import choices
from cfglint.frameworks.remedies import choice, insert, replace
from cfglint.source.annotations import Iterator

STAGE_NAMED = Releases((0, 8, 3))  # in the message about an unknown stage
GALORE_OPTIMIZERS = ("adamw_torch", "adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit", "adafactor")
APOLLO_OPTIMIZERS = ("adamw_torch",)


@rule("LLF021")
def unknown_stage(config: LlamaFactoryConfig) -> Iterator[Finding]:
    stages = choices("stage", config.own_version)
    if config.stage not in stages and config.package not in config.facts.outside:  # a fork may have more
        message = f"`stage` is {spelled(config.stage)}; it must be one of {', '.join(stages)}"
        text = f"ValueError: Unknown task: {config.stage}." if config.own_version in STAGE_NAMED else "ValueError: Unknown task."
        yield Finding(config.field("stage"), message, exception=text, help=choice("stage", config.stage, stages))


@rule("LLF025")
def low_rank_optimizer(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or not config.parsed or not config.makes_optimizer:
        return
    for name, taken in (("use_galore", GALORE_OPTIMIZERS), ("use_apollo", APOLLO_OPTIMIZERS)):
        if not config.own(name):
            continue
        optimizer, written = config.arguments.optimizer, "optim" in config.values
        if optimizer not in taken and optimizer in OPTIMIZERS:
            unknown = "Unknow" if config.own_version < (0, 9, 1) else "Unknown"
            text = f"NotImplementedError: {unknown} optim: OptimizerNames.{str(optimizer).upper()}."
            message = f"`{name}` requires `optim: adamw_torch`" + ("" if written else f" (the default is {optimizer})")
            setting = config.field("optim" if written else name)
            fix = (
                replace(setting, APOLLO_OPTIMIZERS[0], "write adamw_torch", safe=True)
                if written
                else insert(config, ("optim",), APOLLO_OPTIMIZERS[0], "add optim: adamw_torch", safe=True)
            )
            yield Finding(setting, message, exception=text, depends_on=config.unset("optim"), fix=fix)
        return


@rule("LLF026")
def layerwise_accumulation(config: LlamaFactoryConfig) -> Iterator[Finding]:
    if not config.trains or config.arguments["gradient_accumulation_steps"] == 1 or not config.makes_optimizer:
        return
    for switch, name, title in (("use_galore", "galore_layerwise", "GaLore"), ("use_apollo", "apollo_layerwise", "APOLLO")):
        if config.own(switch) and config.own(name):
            text = f"ValueError: Per-layer {title} does not support gradient accumulation."
            message = f"`{name}` requires `gradient_accumulation_steps: 1`"
            remedy = set_key("gradient_accumulation_steps", 1) | set_key(name, False)
            related = [config.field("gradient_accumulation_steps")]
            yield Finding(config.field(name), message, related=related, exception=text, help=remedy)
            return
