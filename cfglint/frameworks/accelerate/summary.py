"""What `explain` shows of an accelerate launch: machines, processes, engine."""

from __future__ import annotations

from cfglint.frameworks.summary import LAUNCH, PRECISION, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.accelerate.config import AccelerateConfig


def account(config: AccelerateConfig) -> Summary:
    """The launcher's lines."""
    told = Summary(config.release)
    told.add(LAUNCH, "launched as", config.setting("distributed_type"))
    told.add(LAUNCH, "machines", config.setting("num_machines", value=1))
    if config.per_machine is not None:
        told.derive(LAUNCH, "processes each", "per_machine", config.per_machine, per_machine_because(config))
    if config.trainer is None:
        told.add(PRECISION, "precision", config.setting("mixed_precision", value="no"))
    for label, key in (
        ("ZeRO stage", "zero_stage"),
        ("optimizer offload", "offload_optimizer_device"),
        ("weights offload", "offload_param_device"),
    ):
        if config.uses_deepspeed and config.has("deepspeed_config", key):
            told.add(PRECISION, label, config.setting("deepspeed_config", key))
    if config.distributed == "FSDP":
        told.add(PRECISION, "FSDP version", config.setting("fsdp_config", "fsdp_version", value=1))
    if config.trainer is None:
        told.assumed.append("the script's own arguments are not in these files: batch and length are unknown")
    return told


def per_machine_because(config: AccelerateConfig) -> str:
    """How the processes of a machine come about."""
    setting = config.setting("num_processes")
    if not config.spawns:
        return f"distributed_type is {config.distributed}: the script is started once"
    if config.machines == 1:
        return str(setting)
    rest = config.processes % config.machines
    lost = f", {rest} not started" if rest else ""
    return f"{setting} / num_machines {config.machines}{lost}"
