"""Rules about ZeRO: its stages, incompatible settings, offloading parameters and optimizer states, and ZenFlow."""

from __future__ import annotations

from cfglint.findings.remedy import Remedy, any_of, remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import default_of_key
from cfglint.frameworks.deepspeed.optimizers import PARAMETERS, TESTED_WITH_ZERO, TITLES
from cfglint.frameworks.deepspeed.rules.values import uses_bf16_optimizer
from cfglint.frameworks.remedies import insert, remove
from cfglint.source.annotations import Iterator, Operand

STAGE_1_EXEMPT = (0, 13, 0)  # first release that scales gradients before reduce-scatter with stage 1


def builds_stage_1_or_2(config: DeepSpeedConfig) -> bool:
    return config.stage in (1, 2) and config.has_optimizer and not uses_bf16_optimizer(config) and not config.zero["legacy_stage1"]


MUON_AT_STAGE_3 = (0, 18, 9)
AUTOCAST_REPLACES = (0, 18, 3)  # from here on torch_autocast may be set next to fp16 and bf16


@rule("DSP011")
def zero_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage in (1, 2) and not config.has_optimizer and readable_optimizer(config):
        raised = f"AssertionError: zero stage {config.stage} requires an optimizer"
        text = f"`zero_optimization.stage` is {config.stage}, which requires an `optimizer` section, and there is none"
        setting, missing = config.at("zero_optimization", "stage"), [config.absent("optimizer")]
        yield Finding(setting, text, missing, exception=raised, help="add an `optimizer` section")


def readable_optimizer(config: DeepSpeedConfig) -> bool:
    """Whether the `optimizer` section can be parsed; DeepSpeed fails earlier on any other."""
    section = config.values.get("optimizer", {})
    return isinstance(section, dict) and isinstance(section.get("type", ""), (str, type(None)))


@rule("DSP012")
def untested_zero_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if config.stage not in (1, 2, 3) or optimizer is None or not optimizer.class_name:
        return
    if optimizer.class_name in TITLES:  # whatever `zero_allow_untested_optimizer` is
        raised = f"AssertionError: {TITLES[optimizer.class_name].replace('1-bit ', '1bit-')} is not compatible with ZeRO"
        text = f"`optimizer.type` is {spelled(optimizer.name)}, which is not compatible with ZeRO"
        remedy = set_key("optimizer.type", "AdamW") | set_key("zero_optimization.stage", 0)
        yield Finding(config.setting("optimizer", "type"), text, exception=raised, help=remedy, depends_on=config.rest)
    elif optimizer.class_name not in TESTED_WITH_ZERO and not config.values.get("zero_allow_untested_optimizer", False):
        raised = "AssertionError: You are using an untested ZeRO Optimizer."
        fix = insert(config, ("zero_allow_untested_optimizer",), True, "set `zero_allow_untested_optimizer` to true")
        text = f"`optimizer.type` is {spelled(optimizer.name)}, which requires `zero_allow_untested_optimizer` with ZeRO"
        yield Finding(config.setting("optimizer", "type"), text, exception=raised, fix=fix, depends_on=config.rest)


@rule("DSP013")
def removed_legacy_stage1(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.zero["legacy_stage1"] and config.stage in (1, 2, 3) and not uses_bf16_optimizer(config):
        setting = config.at("zero_optimization", "legacy_stage1")
        raised = "Exception: The deprecated version of ZeRO Stage 1 is not supported in deepspeed >= 0.5.9."
        text = "`legacy_stage1` was removed in DeepSpeed 0.5.9"
        yield Finding(setting, text, exception=raised, fix=remove(setting, "remove `legacy_stage1`"))


@rule("DSP014")
def gradient_norm_required(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.zero["compute_grad_norm"] is not False or config.stage not in (1, 2) or not config.has_optimizer:
        return
    norm: Operand = config.values.get("gradient_clipping", default_of_key("gradient_clipping", config.version))
    ours, needed = "", list[Remedy]()
    if uses_bf16_optimizer(config):
        theirs = "does not support ZeRO Stage 1 with BF16 parameters and FP32 gradient accumulation"
    elif isinstance(norm, (int, float)) and norm > 0:
        theirs, needed = "requires gradient_clipping=0", [set_key("gradient_clipping", 0)]
        default = "" if "gradient_clipping" in config.values else ", the default"
        ours = f"requires a `gradient_clipping` of 0, but it is {norm}{default}"
    elif config.zero["zenflow"] is not None:
        theirs, needed = "does not support ZenFlow", [remove_key("zero_optimization.zenflow")]
    elif config.offload != "none":
        theirs, needed = "does not support optimizer offload", [remove_key("zero_optimization.offload_optimizer")]
    else:
        return
    setting, raised = config.at("zero_optimization", "compute_grad_norm"), f"ValueError: zero_optimization.compute_grad_norm=false {theirs}"
    remedy = any_of(*needed, set_key("zero_optimization.compute_grad_norm", True))
    yield Finding(setting, f"`compute_grad_norm: false` {ours or theirs}", exception=raised, help=remedy, depends_on=config.rest)


@rule("DSP015")
def prescale_with_reduce_scatter(config: DeepSpeedConfig) -> Iterator[Finding]:
    stage = config.stage
    scattering = (2, 3) if config.version >= STAGE_1_EXEMPT else (1, 2, 3)
    if stage not in scattering or not config.has_optimizer or config.zero["reduce_scatter"] is not True:
        return
    if stage == 2 and str(config.values.get("gradient_allreduce_op")).lower() == "sum":
        return
    factor = config.values.get("gradient_predivide_factor", 1.0)
    if factor != 1.0:
        raised = f"AssertionError: gradient_predivide_factor != 1.0 is not yet supported with ZeRO-{stage} with reduce scatter enabled"
        text = f"`gradient_predivide_factor` is {spelled(factor)}; it must be 1.0 with ZeRO stage {stage} and `reduce_scatter`"
        remedy = set_key("gradient_predivide_factor", 1.0) | set_key("zero_optimization.reduce_scatter", False)
        yield Finding(config.setting("gradient_predivide_factor"), text, exception=raised, help=remedy)
    if config.values.get("prescale_gradients", False):
        raised = f"AssertionError: pre-scale gradients is not yet supported with ZeRO-{stage} with reduce scatter enabled"
        text = f"`prescale_gradients` is incompatible with ZeRO stage {stage} and `reduce_scatter`"
        remedy = set_key("prescale_gradients", False) | set_key("zero_optimization.reduce_scatter", False)
        yield Finding(config.setting("prescale_gradients"), text, exception=raised, help=remedy)


@rule("DSP016")
def odd_allgather_bucket(config: DeepSpeedConfig) -> Iterator[Finding]:
    size = config.zero["allgather_bucket_size"]
    if isinstance(size, int) and size % 2 and builds_stage_1_or_2(config):
        raised = "AssertionError: allgather_bucket_size must be a multiple of nccl_start_alignment_factor, 2"
        text = f"`allgather_bucket_size` is {size}; it must be even"
        remedy = set_key("zero_optimization.allgather_bucket_size", size + 1)
        yield Finding(config.at("zero_optimization", "allgather_bucket_size"), text, exception=raised, help=remedy, depends_on=config.rest)


@rule("DSP017")
def muon_with_reduce_scatter(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if config.stage != 3 or not config.has_optimizer:
        return
    scatter, quantized = config.zero["reduce_scatter"], config.zero["zero_quantized_gradients"]
    muon = optimizer is not None and optimizer.name == "muon"
    if muon and config.version < MUON_AT_STAGE_3:
        text = "`stage` is 3, which Muon does not support in this release"
        raised = "AssertionError: Muon optimizer is not yet compatible with ZeRO Stage 3"
        newer = "use ZeRO stage 2, or DeepSpeed 0.18.9 or later"
        yield Finding(config.at("zero_optimization", "stage"), text, exception=raised, help=newer, depends_on=config.rest)
    elif muon and (scatter or quantized):
        other = "reduce scatter" if scatter else "all2all process group"
        key = "reduce_scatter" if scatter else "zero_quantized_gradients"
        raised = f"ValueError: Muon and {other} cannot be used together"
        text = f"`{key}` is incompatible with Muon and ZeRO stage 3"
        remedy = set_key(f"zero_optimization.{key}", False) | "use another optimizer"
        yield Finding(config.at("zero_optimization", key), text, exception=raised, help=remedy, depends_on=config.rest)
    elif quantized and scatter is False:
        raised = "AssertionError: when enable all_to_all_reduce, reduce_scatter should also be enabled for data type checks."
        text = "`reduce_scatter` is false, but `zero_quantized_gradients` requires it"
        remedy = set_key("zero_optimization.reduce_scatter", True)
        yield Finding(config.at("zero_optimization", "reduce_scatter"), text, exception=raised, help=remedy, depends_on=config.rest)


@rule("DSP018")
def indivisible_secondary_partition(config: DeepSpeedConfig) -> Iterator[Finding]:
    size, world = config.zero["zero_hpz_partition_size"], config.world_size
    if config.stage == 3 and isinstance(size, int) and size > 1 and world is not None and world % min(size, world) and config.has_optimizer:
        raised = f"AssertionError: {world} is not divisible by {size}"
        text = f"`zero_hpz_partition_size` is {size}, which does not divide {world} GPUs"
        remedy = f"set `zero_optimization.zero_hpz_partition_size` to a divisor of {world}"
        yield Finding(config.at("zero_optimization", "zero_hpz_partition_size"), text, exception=raised, help=remedy)


@rule("DSP019")
def unsupported_unmanaged_accumulation(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.values.get("managed_gradient_accumulation", True) or not config.looks_up("managed_gradient_accumulation"):
        return
    setting = config.setting("managed_gradient_accumulation")
    text = "AssertionError: managed_gradient_accumulation=False"
    if config.stage in (0, 1) and config.overlap_comm:
        message = "`managed_gradient_accumulation: false` with `overlap_comm` requires ZeRO stage 2"
        remedy = set_key("managed_gradient_accumulation", True) | set_key("zero_optimization.overlap_comm", False)
        yield Finding(setting, message, exception=f"{text} supports ZeRO overlap_comm only with ZeRO stage 2", help=remedy)
    if config.section("compile")["deepcompile"]:
        message = "`managed_gradient_accumulation: false` is incompatible with DeepCompile"
        remedy = set_key("managed_gradient_accumulation", True) | set_key("compile.deepcompile", False)
        yield Finding(setting, message, exception=f"{text} is not supported with DeepCompile", help=remedy)


@rule("DSP020")
def incompatible_autocast(config: DeepSpeedConfig) -> Iterator[Finding]:
    if not config.get("torch_autocast", "enabled") or not config.looks_up("torch_autocast"):
        return
    found = [("zero_optimization", "zero_quantized_weights", "zero quantized weights")] if config.zero["zero_quantized_weights"] else []
    if config.precision != "fp32" and config.version < AUTOCAST_REPLACES:
        found.insert(0, (config.precision, "enabled", config.precision.replace("bf", "bfloat")))
    for *path, said in found[:1]:
        setting, raised = config.at(*path), f"AssertionError: Cannot enable both torch autocast and {said}"
        text = f"`{path[-1] if path[-1] != 'enabled' else path[0]}` is incompatible with `torch_autocast`"
        yield Finding(setting, text, exception=raised, help=remove_key("torch_autocast") | remove_key(".".join(path)))


@rule("DSP021")
def secondary_partition_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    size = config.zero["zero_hpz_partition_size"]
    if config.stage == 3 and isinstance(size, int) and size > 1 and not config.has_optimizer and readable_optimizer(config):
        raised = "AttributeError: 'DeepSpeedEngine' object has no attribute '_set_zero_group_parallelism'"
        setting = config.at("zero_optimization", "zero_hpz_partition_size")
        text = "`zero_hpz_partition_size` requires an optimizer, and none is set"
        remedy = "add an `optimizer` section" | remove_key("zero_optimization.zero_hpz_partition_size")
        yield Finding(setting, text, [config.absent("optimizer")], exception=raised, help=remedy)


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
        name = "deepspeed.ops.adam.zenflow_torch_adam.ZenFlowSelectiveAdamW"
        raised = f"TypeError: {name}() argument after ** must be a mapping, not NoneType"
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
