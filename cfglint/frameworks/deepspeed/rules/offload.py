"""Rules about offloading parameters and optimizer states, and about ZenFlow."""

from __future__ import annotations

from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.optimizers import PARAMETERS
from cfglint.frameworks.deepspeed.rules.zero import builds_stage_1_or_2
from cfglint.source.annotations import Iterator

# The first parameter of SuperOffload that an optimizer does not have.
LACKING = {"FusedAdam": "amsgrad", "FusedLamb": "amsgrad", "FusedLion": "eps", "DeepSpeedCPULion": "eps"}
OVERWRITTEN = (
    "Warning: If use auto select strategy, select_interval will be set to 1 and select_strategy will be set to epoch,"
    " thus select_interval would be overwritten."
)


@rule("DSP030")
def nvme_without_path(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage != 3:
        return
    for key, exception in (
        ("offload_optimizer", "TypeError: expected str, bytes or os.PathLike object, not NoneType"),
        ("offload_param", 'AssertionError: "nvme_path" in DeepSpeed Config cannot be None if remote device is OffloadDeviceEnum.nvme'),
    ):
        section = config.zero[key]
        needed = key == "offload_param" or config.has_optimizer
        if section is not None and section["device"] == "nvme" and section["nvme_path"] is None and needed:
            text, path = f"`{key}` to NVMe requires `nvme_path`", f"zero_optimization.{key}"
            remedy = f"set `{path}.nvme_path` to a folder on a local disk" | set_key(f"{path}.device", "cpu")
            yield Finding(config.at("zero_optimization", key), text, exception=exception, help=remedy)


@rule("DSP031")
def partial_offload_needs_cpu_adam(config: DeepSpeedConfig) -> Iterator[Finding]:
    section, optimizer = config.zero["offload_optimizer"], config.optimizer
    if config.stage != 3 or section is None or optimizer is None or section["device"] == "none" or section["ratio"] == 1.0:
        return
    if optimizer.class_name and optimizer.class_name != "DeepSpeedCPUAdam":
        raised = "AssertionError: Hybrid Optimizer Only Supports DeepSpeedCPUAdam"
        setting = config.at("zero_optimization", "offload_optimizer", "ratio")
        text = f"`ratio` below 1 requires DeepSpeedCPUAdam, but the optimizer is {optimizer.class_name}"
        yield Finding(setting, text, exception=raised, help=remove_key("zero_optimization.offload_optimizer.ratio"), depends_on=config.rest)


@rule("DSP116")
def partial_offload_to_nvme(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.zero["offload_optimizer"]
    if config.stage == 3 and section is not None and section["device"] == "nvme" and section["ratio"] < 1.0:
        text = "`ratio` below 1 keeps groups of parameters on the GPU, which is incompatible with `device: nvme`"
        note = "the groups are swapped to the memory of the CPU; with several groups the step on the GPU fails"
        remedy = set_key("zero_optimization.offload_optimizer.device", "cpu") | remove_key("zero_optimization.offload_optimizer.ratio")
        yield Finding(config.at("zero_optimization", "offload_optimizer", "ratio"), text, note=note, help=remedy)


@rule("DSP032")
def super_offload_needs_cpu_adam(config: DeepSpeedConfig) -> Iterator[Finding]:
    section, optimizer = config.zero["offload_optimizer"], config.optimizer
    if config.stage != 3 or section is None or optimizer is None or not section["super_offload"]:
        return
    lacking = LACKING.get(optimizer.class_name)
    if lacking:
        setting = config.at("zero_optimization", "offload_optimizer", "super_offload")
        text = f"`super_offload` requires DeepSpeedCPUAdam, but the optimizer is {optimizer.class_name}"
        remedy = set_key("zero_optimization.offload_optimizer.super_offload", False)
        yield Finding(setting, text, exception=f"KeyError: '{lacking}'", help=remedy, depends_on=config.rest)


@rule("DSP050")
def invalid_zenflow_interval(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.zero["zenflow"]
    if section is None:
        return
    strategy, select, update = section["select_strategy"], section["select_interval"], section["update_interval"]
    setting = config.at("zero_optimization", "zenflow", "select_interval")
    if strategy == "auto":
        if isinstance(select, int):
            text = f'`select_interval` is {select}; it must be "auto" when `select_strategy` is "auto"'
            yield Finding(setting, text, exception=OVERWRITTEN, help=set_key("zero_optimization.zenflow.select_interval", "auto"))
    elif isinstance(select, str):
        raised = "ValueError: If don't use auto select strategy, select_interval must be a number."
        text = f"`select_interval` is {spelled(select)}; it must be an integer when `select_strategy` is {spelled(strategy)}"
        yield Finding(setting, text, exception=raised, help="set `zero_optimization.zenflow.select_interval` to an integer")
    elif strategy == "step" and isinstance(update, int) and select != 0 and select < update:
        raised = "ValueError: Select interval must be greater or equal to update interval"
        text = f"`select_interval` is {select}, less than `update_interval` ({update})"
        yield Finding(setting, text, exception=raised, help=set_key("zero_optimization.zenflow.select_interval", update))


@rule("DSP051")
def zenflow_without_offload(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.zero["zenflow"]
    if section is None or not (builds_stage_1_or_2(config) or (config.stage == 3 and config.has_optimizer)):
        return
    if section["offload"] and not config.overlap_comm:
        raised = "AssertionError: offload selective optimizer should be used with overlap_comm"
        text = "`zenflow.offload` requires `overlap_comm`"
        remedy = set_key("zero_optimization.overlap_comm", True) | set_key("zero_optimization.zenflow.offload", False)
        yield Finding(config.at("zero_optimization", "zenflow", "offload"), text, exception=raised, help=remedy)
    elif config.stage != 3 and config.offload == "none":
        raised = "ValueError: Zenflow must be used with cpu offload"
        remedy = set_key("zero_optimization.offload_optimizer.device", "cpu")
        yield Finding(config.at("zero_optimization", "zenflow"), "`zenflow` requires `offload_optimizer`", exception=raised, help=remedy)


@rule("DSP052")
def unknown_zenflow_optimizer_parameter(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if config.zero["zenflow"] is None or optimizer is None or not builds_stage_1_or_2(config) or config.offload == "none":
        return
    if optimizer.params is None:
        raised = (
            "TypeError: deepspeed.ops.adam.zenflow_torch_adam.ZenFlowSelectiveAdamW() argument after ** must be a mapping, not NoneType"
        )
        text = "`zenflow` requires `optimizer.params`"
        yield Finding(config.setting("optimizer"), text, exception=raised, help="add `params` to `optimizer`", depends_on=config.rest)
        return
    accepted = PARAMETERS["AdamW"].split()
    for key in optimizer.params if isinstance(optimizer.params, dict) else ():
        if key not in accepted:
            raised = f"TypeError: AdamW.__init__() got an unexpected keyword argument '{key}'"
            text = f"ZenFlow's AdamW has no parameter `{key}`"
            setting = config.setting("optimizer", "params", key)
            yield Finding(setting, text, exception=raised, on_key=True, help=remove_key(f"optimizer.params.{key}"), depends_on=config.rest)
