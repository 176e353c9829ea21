"""Rules about objects that a program passes to `deepspeed.initialize` in the place of what its config has."""

from __future__ import annotations

from cfglint.findings.remedy import set_key
from cfglint.findings.rule import Finding, rule
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.source.annotations import Iterator

SECTIONS = {"optimizer": "optimizer", "scheduler": "lr_scheduler"}
OPTIMIZERS = ("torch.optim.", "deepspeed.ops.", "apex.optimizers.", "bitsandbytes.optim.")
LION = (0, 17, 6)  # from here on the engine accepts DeepSpeedCPULion, too
RAISED = "ZeRORuntimeException: You are using ZeRO-Offload with a client provided optimizer (<class '{}'>)"


@rule("DSP117")
def section_replaced_by_object(config: DeepSpeedConfig) -> Iterator[Finding]:
    for section, name in SECTIONS.items():
        if config.passes(name) and config.has(section):
            text = f"`{section}` is ignored: the program passes `{name}` to `deepspeed.initialize`"
            yield Finding(config.setting(section), text, on_key=True, help=f"remove `{section}`, or the argument `{name}`")


@rule("DSP118")
def offload_of_torch_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    made = (config.facts.launch.passed or {}).get("optimizer", "")
    forced = config.get("zero_force_ds_cpu_optimizer")
    accepted = made.endswith("CPUAdam") or (made.endswith("CPULion") and config.version >= LION)
    if config.stage and config.offload != "none" and made.startswith(OPTIMIZERS) and not accepted and forced in (None, True):
        text = f"`zero_optimization.offload_optimizer` requires `DeepSpeedCPUAdam`, but the program passes `{made}`"
        remedy = "pass `DeepSpeedCPUAdam` to `deepspeed.initialize`" | set_key("zero_force_ds_cpu_optimizer", False)
        yield Finding(config.at("zero_optimization", "offload_optimizer"), text, exception=RAISED.format(made), help=remedy)
