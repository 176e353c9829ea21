"""The part of `explain` about an accelerate launch: machines, processes, engine."""

from __future__ import annotations

from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.summary import LAUNCH, PRECISION, Summary


def account(config: AccelerateConfig) -> Summary:
    summary = Summary(config.release)
    summary.add(LAUNCH, "distributed type", config.setting("distributed_type"))
    summary.add(LAUNCH, "machines", config.setting("num_machines", value=1))
    if config.per_machine is not None:
        summary.derive(LAUNCH, "processes per machine", "per_machine", config.per_machine, per_machine_because(config))
    if config.trainer is None:
        summary.add(PRECISION, "precision", config.setting("mixed_precision", value="no"))
    section = "deepspeed_config"
    if config.uses_deepspeed and config.has(section, "zero_stage"):
        summary.add(PRECISION, "ZeRO stage", config.setting(section, "zero_stage"))
    for label, key in (("optimizer offload", "offload_optimizer_device"), ("weights offload", "offload_param_device")):
        if config.uses_deepspeed and config.has(section, key):
            from cfglint.frameworks.deepspeed.summary import add_offload

            add_offload(summary, label, config.setting(section, key), config.get(section, "zero_stage", default=2))
    if config.distributed == "FSDP":
        summary.add(PRECISION, "FSDP version", config.setting("fsdp_config", "fsdp_version", value=1))
    if config.trainer is None and config.facts.launch.consumer in ("", config.kind):
        summary.assumed.append("the script's arguments are not in these files: batch size and length are unknown")
    return summary


def per_machine_because(config: AccelerateConfig) -> str:
    setting = config.setting("num_processes")
    if not config.spawns:
        return f"distributed_type is {config.distributed}: the script is started once"
    if config.machines == 1:
        return str(setting)
    rest = config.processes % config.machines
    lost = f", {rest} not started" if rest else ""
    return f"{setting} / num_machines {config.machines}{lost}"
