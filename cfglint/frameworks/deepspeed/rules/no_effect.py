"""Rules about settings that DeepSpeed silently ignores or overrides."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.findings.remedy import remove_key, set_key
from cfglint.findings.rule import Finding, rule
from cfglint.findings.setting import DEFAULT, Setting
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import ZERO
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator

STAGE_3_ONLY = tuple(
    """
    stage3_prefetch_bucket_size stage3_param_persistence_threshold stage3_model_persistence_threshold stage3_max_live_parameters
    stage3_max_reuse_distance stage3_module_granularity_threshold stage3_use_all_reduce_for_fetch_params stage3_allgather_sequential
    sub_group_size zero_hpz_partition_size zero_quantized_weights zero_quantized_nontrainable_weights leaf_module
    """.split()
)
BELOW_3_ONLY = ("round_robin_gradients", "parameter_alignment")
TRUTHY = tuple(  # keys that DeepSpeed uses as `if value`, without converting them to a boolean
    """
    managed_gradient_accumulation prescale_gradients zero_allow_untested_optimizer zero_force_ds_cpu_optimizer memory_breakdown
    dump_state disable_python_gc use_data_before_expert_parallelism
    """.split()
)
OFF_WORDS = ("false", "no", "off", "0", "none", "null")


@rule("DSP100")
def zero_3_key_at_lower_stage(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage not in (0, 1, 2):
        return
    for written in config.zero.given.values():
        name = written if written.startswith(("stage3_", "sub_", "zero_", "leaf_")) else f"stage3_{written}"
        if name not in STAGE_3_ONLY:
            continue
        default = ZERO.fields[ZERO.names.get(written, written)].default_at(config.version)
        if config.get("zero_optimization", written) not in (default, None, {}):
            setting = config.at("zero_optimization", written)
            text = f"`{written}` has no effect with ZeRO stage {config.stage}; it requires stage 3"
            remedy = set_key("zero_optimization.stage", 3) | remove_key(f"zero_optimization.{written}")
            yield Finding(setting, text, severity=INFO if is_for_any_stage(setting) else None, on_key=True, help=remedy)


def is_for_any_stage(setting: Setting) -> bool:
    """Whether a program writes the mapping, which may serve all stages that its arguments choose."""
    return setting.document is not None and setting.document.path.endswith(".py")


@rule("DSP101")
def offloaded_parameters_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.zero["offload_param"]
    if config.stage in (0, 1, 2) and section is not None and section["device"] != "none":
        setting = config.at("zero_optimization", "offload_param")
        text = f"`offload_param` has no effect with ZeRO stage {config.stage}; it requires stage 3"
        note = "the parameters stay on the GPU"
        remedy = set_key("zero_optimization.stage", 3) | remove_key("zero_optimization.offload_param")
        yield Finding(setting, text, severity=INFO if is_for_any_stage(setting) else None, note=note, on_key=True, help=remedy)


@rule("DSP102")
def offloaded_optimizer_below_its_stage(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.offload == "none" or config.stage not in (0, 1, 2) or config.zero["offload_optimizer"] is None:
        return
    setting = config.at("zero_optimization", "offload_optimizer", "device")
    if config.stage == 0:
        text = "`offload_optimizer` has no effect with ZeRO stage 0; it requires stage 1 or higher"
        remedy = set_key("zero_optimization.stage", 2) | remove_key("zero_optimization.offload_optimizer")
        yield Finding(setting, text, note="the optimizer still becomes its CPU version", help=remedy)
    elif config.offload == "nvme":
        text = f'`offload_optimizer.device` is "nvme", which requires ZeRO stage 3, but the stage is {config.stage}'
        remedy = set_key("zero_optimization.stage", 3) | set_key("zero_optimization.offload_optimizer.device", "cpu")
        yield Finding(setting, text, note="the optimizer states go to CPU memory", help=remedy)


@rule("DSP103")
def offload_feature_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    section = config.zero["offload_optimizer"]
    setting = config.at("zero_optimization", "offload_optimizer", "super_offload")
    if section is not None and section["super_offload"] and setting.origin != DEFAULT and config.stage in (0, 1, 2):
        remedy = set_key("zero_optimization.stage", 3) | remove_key("zero_optimization.offload_optimizer.super_offload")
        yield Finding(setting, f"`super_offload` has no effect with ZeRO stage {config.stage}; it requires stage 3", help=remedy)


@rule("DSP104")
def key_of_lower_stages_at_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage == 3:
        for key in BELOW_3_ONLY:
            if key in config.zero.given and config.zero[key]:
                text = f"`{key}` has no effect with ZeRO stage 3"
                yield Finding(config.at("zero_optimization", key), text, on_key=True, help=remove_key(f"zero_optimization.{key}"))


@rule("DSP105")
def section_without_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    for key in ("optimizer", "scheduler"):
        section = config.values.get(key)
        if isinstance(section, dict) and section and section.get("type") is None:
            yield Finding(config.setting(key), f"`{key}` is ignored, because it has no `type`", on_key=True, help=f"add `type` to `{key}`")


@rule("DSP106")
def string_counts_as_true(config: DeepSpeedConfig) -> Iterator[Finding]:
    for path in (*((key,) for key in TRUTHY), ("torch_autocast", "enabled")):
        value = config.get(*path)
        if isinstance(value, str) and value.lower() in OFF_WORDS:
            setting = config.setting(*path)
            fix = replace(setting, False, "write false", safe=False)
            text = f"`{setting.name}` is the string {spelled(value)}, which counts as true"
            yield Finding(setting, text, fix=fix, note="DeepSpeed does not convert it, and a string that is not empty is true")


@rule("DSP107")
def deprecated_zero_boolean(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("zero_optimization")
    if isinstance(value, bool):
        text = f"`zero_optimization` is the boolean {spelled(value)}, a deprecated form"
        remedy = f'write `"zero_optimization": {{"stage": {int(value)}}}`'
        yield Finding(config.setting("zero_optimization"), text, help=remedy, note=f"it still works, as stage {int(value)}")


@rule("DSP108")
def enabled_datastates_checkpoint(config: DeepSpeedConfig) -> Iterator[Finding]:
    value = config.values.get("datastates_ckpt", False)
    if value is not False and value in (None, 0, "", {}, "false"):
        text = f"`datastates_ckpt` is {spelled(value)}, which turns it on: only false turns it off"
        yield Finding(config.setting("datastates_ckpt"), text, help=set_key("datastates_ckpt", False))


@rule("DSP109")
def ineffective_outer_switch(config: DeepSpeedConfig) -> Iterator[Finding]:
    for path in (("data_sampling", "curriculum_learning"), ("data_routing", "random_ltd")):
        if not config.get("data_efficiency", *path, "enabled"):
            continue
        for outer in (("data_efficiency",), ("data_efficiency", path[0])):
            if config.get(*outer, "enabled") is False:
                inner = config.setting("data_efficiency", *path, "enabled")
                text = f"`{'.'.join(outer)}.enabled` is false, but does not turn off `{path[1]}`"
                yield Finding(config.setting(*outer, "enabled"), text, related=(inner,), help=set_key(inner.name, False))


@rule("DSP110")
def smaller_batch_with_autotp(config: DeepSpeedConfig) -> Iterator[Finding]:
    batch = config.batch
    total, taken = batch.global_batch.value, batch.consumed_batch
    if batch.layout.tensor_parallel > 1 and config.trainer is None and isinstance(total, int) and taken not in (None, total):
        setting = config.setting("tensor_parallel", "autotp_size")
        keys = [each.name for each in (batch.global_batch, batch.accumulation) if each.written] or [batch.accumulation.name]
        text = f"`autotp_size` is {setting.spelled}, so a step consumes {taken} samples, not {total}"
        note = f"the {setting.spelled} GPUs of a tensor-parallel group train on the same samples, but DeepSpeed counts all GPUs"
        remedy = f"multiply {' and '.join(f'`{key}`' for key in keys)} by {setting.spelled} to consume {total} samples per step"
        yield Finding(setting, text, related=(batch.global_batch,), note=note, help=remedy)


@rule("DSP111")
def indivisible_sequence_parallel(config: DeepSpeedConfig) -> Iterator[Finding]:
    size, world = config.values.get("sequence_parallel_size"), config.world_size
    if isinstance(size, int) and size > 0 and world is not None and world % size and "data_parallel_size" not in config.values:
        text = f"`sequence_parallel_size` is {size}, which does not divide {world} GPUs"
        setting = config.setting("sequence_parallel_size")
        remedy = f"set `sequence_parallel_size` to a divisor of {world}"
        yield Finding(setting, text, note="DeepSpeed computes the batch with a fraction of a data-parallel size", help=remedy)


@rule("DSP112")
def zenflow_overrides_accumulation(config: DeepSpeedConfig) -> Iterator[Finding]:
    section, steps = config.zero["zenflow"], config.values.get("gradient_accumulation_steps")
    if section is None or not isinstance(steps, int) or steps == 1:
        return
    interval = section["update_interval"]
    if interval != steps:
        setting = config.setting("gradient_accumulation_steps")
        text = f"`gradient_accumulation_steps` is overridden by `zenflow.update_interval` ({spelled(interval)})"
        remedy = set_key("gradient_accumulation_steps", interval) if isinstance(interval, int) else None
        yield Finding(setting, text, on_key=True, note="the batch sizes no longer agree with each other", help=remedy)


@rule("DSP113")
def fp16_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    if config.stage == 0 and config.precision == "fp16" and not config.has_optimizer:
        text = "`fp16.enabled` is true without an optimizer, so loss scaling is off"
        remedy = "add an `optimizer` section, or use `bf16`"
        yield Finding(config.at("fp16", "enabled"), text, [config.absent("optimizer")], help=remedy, note="small gradients may become 0")


@rule("DSP114")
def slow_optimizer_offload(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    is_adam = optimizer is not None and optimizer.name in ("adam", "adamw") and optimizer.class_name in ("Adam", "AdamW")
    if is_adam and config.offload != "none":
        setting = config.setting("optimizer", "params", "torch_adam")
        remedy = "remove `optimizer.params.torch_adam` to use DeepSpeedCPUAdam"
        yield Finding(setting, "`torch_adam` is slow with an offloaded optimizer", help=remedy)


@rule("DSP115")
def adam_is_adamw(config: DeepSpeedConfig) -> Iterator[Finding]:
    optimizer = config.optimizer
    if optimizer is None or not isinstance(optimizer.params, dict):
        return
    mode = optimizer.params.get("adam_w_mode")
    if optimizer.name == "adam" and mode is None and optimizer.params.get("weight_decay") not in (None, 0, 0.0, "auto"):
        text = "`Adam` with weight decay runs as AdamW (`adam_w_mode` defaults to true)"
        advice = set_key("optimizer.type", "AdamW") | set_key("optimizer.params.adam_w_mode", False)
        yield Finding(config.setting("optimizer", "type"), text, help=advice)
    elif optimizer.name == "adamw" and mode is False:
        text = "`adam_w_mode: false` has no effect with `AdamW`: weight decay stays decoupled"
        remedy = set_key("optimizer.type", "Adam") | remove_key("optimizer.params.adam_w_mode")
        yield Finding(config.setting("optimizer", "params", "adam_w_mode"), text, severity=WARNING, help=remedy)
