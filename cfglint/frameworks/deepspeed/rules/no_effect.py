"""Rules about settings that DeepSpeed silently ignores or overrides."""

from __future__ import annotations

from cfglint.findings.diagnostic import WARNING
from cfglint.findings.rule import SKIP, Finding, info, warning
from cfglint.findings.setting import DEFAULT
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import ZERO
from cfglint.frameworks.remedies import replace
from cfglint.source.annotations import Iterator

ADAM = '"optimizer": {"type": "Adam", "params": {"lr": 1e-4}}'
STAGE_3_ONLY = tuple(
    """
    stage3_prefetch_bucket_size stage3_param_persistence_threshold stage3_model_persistence_threshold stage3_max_live_parameters
    stage3_max_reuse_distance stage3_module_granularity_threshold stage3_use_all_reduce_for_fetch_params stage3_allgather_sequential
    sub_group_size zero_hpz_partition_size zero_quantized_weights zero_quantized_nontrainable_weights leaf_module
    """.split()
)
BELOW_3_ONLY = ("round_robin_gradients", "parameter_alignment")
TRUTHY = (  # keys that DeepSpeed uses as `if value`, without converting them to a boolean
    "managed_gradient_accumulation",
    "prescale_gradients",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "memory_breakdown",
    "dump_state",
    "disable_python_gc",
    "use_data_before_expert_parallelism",
)
OFF_WORDS = ("false", "no", "off", "0", "none", "null")


@warning(
    "DSP100",
    source="deepspeed 0.19.8 runtime/engine.py:2666-2708 (stage 1 and 2) against 2709-2795 (stage 3)",
    old_names=("stage-3-key-below-stage-3",),
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "sub_group_size": 1e8}, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "sub_group_size": 1e8}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/sub_group_size"},
)
def zero_3_key_at_lower_stage(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A key of stage 3 at a lower stage.

    `sub_group_size`, `leaf_module`, `zero_hpz_partition_size`, `zero_quantized_weights` and keys that begin
    with `stage3_` are parsed and checked, but not passed to the optimizer of stage 1 and 2.
    """
    if config.stage not in (0, 1, 2):
        return
    section = config.zero
    for written in section.given.values():
        name = written if written.startswith(("stage3_", "sub_", "zero_", "leaf_")) else f"stage3_{written}"
        if name in STAGE_3_ONLY and does_something(config, written):
            setting = config.at("zero_optimization", written)
            yield Finding(
                setting,
                f"`{written}` has no effect with ZeRO stage {config.stage}; it requires stage 3",
                on_key=True,
                help=f"set `zero_optimization.stage` to 3, or remove `zero_optimization.{written}`",
            )


def does_something(config: DeepSpeedConfig, key: str) -> bool:
    """Whether a written value differs from the default; an empty section has no effect either."""
    field = ZERO.fields[ZERO.names.get(key, key)]
    return config.get("zero_optimization", key) not in (field.default_at(config.version), None, {})


@warning(
    "DSP101",
    source="deepspeed 0.19.8 runtime/engine.py:2666-2708 (not passed to the optimizer of stage 1 and 2)",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/offload_param"},
)
def offloaded_parameters_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`offload_param` below stage 3: the parameters stay on the GPU.

    Only stage 3 partitions the parameters and can offload them. At a lower stage the run uses more GPU memory
    than planned.
    """
    section = config.zero["offload_param"]
    if config.stage in (0, 1, 2) and section is not None and section["device"] != "none":
        setting = config.at("zero_optimization", "offload_param")
        text = f"`offload_param` has no effect with ZeRO stage {config.stage}; it requires stage 3"
        yield Finding(
            setting,
            text,
            note="the parameters stay on the GPU",
            on_key=True,
            help="set `zero_optimization.stage` to 3, or remove `zero_optimization.offload_param`",
        )


@warning(
    "DSP102",
    source="deepspeed 0.19.8 runtime/zero/stage_1_and_2.py:220, runtime/engine.py:1562, 2384",
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}, '
        + ADAM
        + "}\n"
    ),
    good=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme"}}, '
        + ADAM
        + "}\n"
    ),
    example={"gpus": 8, "at": "/zero_optimization/offload_optimizer/device"},
)
def offloaded_optimizer_below_its_stage(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`offload_optimizer` at a stage that does not support its device.

    NVMe requires stage 3: at stage 1 and 2 the states go to CPU memory and the path is ignored. At stage 0
    nothing is partitioned or offloaded, but Adam still becomes DeepSpeedCPUAdam.
    """
    if config.offload == "none" or config.stage not in (0, 1, 2) or config.zero["offload_optimizer"] is None:
        return
    setting = config.at("zero_optimization", "offload_optimizer", "device")
    if config.stage == 0:
        text = "`offload_optimizer` has no effect with ZeRO stage 0; it requires stage 1 or higher"
        yield Finding(
            setting,
            text,
            note="the optimizer still becomes its CPU version",
            help="set `zero_optimization.stage` to 2, or remove `zero_optimization.offload_optimizer`",
        )
    elif config.offload == "nvme":
        text = f'`offload_optimizer.device` is "nvme", which requires ZeRO stage 3, but the stage is {config.stage}'
        yield Finding(
            setting,
            text,
            note="the optimizer states go to CPU memory",
            help='set `zero_optimization.stage` to 3, or set `zero_optimization.offload_optimizer.device` to "cpu"',
        )


@warning(
    "DSP103",
    source="deepspeed 0.19.8 runtime/engine.py:1575, 2737-2742 (used in the branch of stage 3 only)",
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "super_offload": true}}, '
        + ADAM
        + "}\n"
    ),
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/offload_optimizer/super_offload"},
)
def offload_feature_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`super_offload` below stage 3 has no effect."""
    section = config.zero["offload_optimizer"]
    setting = config.at("zero_optimization", "offload_optimizer", "super_offload")
    if section is not None and section["super_offload"] and setting.origin != DEFAULT and config.stage in (0, 1, 2):
        yield Finding(
            setting,
            f"`super_offload` has no effect with ZeRO stage {config.stage}; it requires stage 3",
            help="set `zero_optimization.stage` to 3, or remove `zero_optimization.offload_optimizer.super_offload`",
        )


@warning(
    "DSP104",
    source="deepspeed 0.19.8 runtime/engine.py:2709-2795 (not passed to the optimizer of stage 3)",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "round_robin_gradients": true}, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "round_robin_gradients": true}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/round_robin_gradients"},
)
def key_of_lower_stages_at_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`round_robin_gradients` or `parameter_alignment` at stage 3, which does not support them."""
    if config.stage == 3:
        for key in BELOW_3_ONLY:
            if key in config.zero.given and config.zero[key]:
                yield Finding(
                    config.at("zero_optimization", key),
                    f"`{key}` has no effect with ZeRO stage 3",
                    on_key=True,
                    help=f"remove `zero_optimization.{key}`",
                )


@warning(
    "DSP105",
    source="deepspeed 0.19.8 runtime/config.py:288-300, 323-335",
    bad='{"train_batch_size": 8, "optimizer": {"name": "Adam", "params": {"lr": 1e-4}}}\n',
    good='{"train_batch_size": 8, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/optimizer"},
    old_names=("optimizer-without-type",),
)
def section_without_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An `optimizer` or `scheduler` section without `type` is ignored.

    The name belongs under `type`, not under `name`. At stage 0 the run then silently has no optimizer.
    """
    for key in ("optimizer", "scheduler"):
        section = config.values.get(key)
        if isinstance(section, dict) and section and section.get("type") is None:
            yield Finding(config.setting(key), f"`{key}` is ignored, because it has no `type`", on_key=True, help=f"add `type` to `{key}`")


@warning(
    "DSP106",
    source="deepspeed 0.19.8 runtime/config.py:209-270 (plain lookups), used as `if value`",
    bad='{"train_batch_size": 8, "zero_allow_untested_optimizer": "false"}\n',
    good='{"train_batch_size": 8, "zero_allow_untested_optimizer": false}\n',
    example={"gpus": 8, "at": "/zero_allow_untested_optimizer"},
    old_names=("text-counts-as-true",),
)
def string_counts_as_true(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A boolean is written as a string such as "false", which counts as true.

    The booleans at top level and in the lenient sections are not converted, and every string that is not
    empty is true in Python.
    """
    paths = [(key,) for key in TRUTHY] + [("torch_autocast", "enabled")]
    for path in paths:
        value = config.get(*path)
        if isinstance(value, str) and value.lower() in OFF_WORDS:
            setting = config.setting(*path)
            fix = replace(setting, False, "write false", safe=False)
            yield Finding(
                setting,
                f"`{setting.name}` is the string {spelled(value)}, which counts as true",
                fix=fix,
                note="DeepSpeed does not convert it, and a string that is not empty is true",
            )


@info(
    "DSP107",
    source="deepspeed 0.19.8 runtime/zero/config.py:57-73",
    bad='{"train_batch_size": 8, "zero_optimization": true, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 1}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization"},
    old_names=("old-zero-format",),
)
def deprecated_zero_boolean(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`zero_optimization` is a boolean: true means stage 1.

    DeepSpeed warns that the format is deprecated, and reads top-level `allgather_size` only with it.
    """
    value = config.values.get("zero_optimization")
    if isinstance(value, bool):
        text = f"`zero_optimization` is the boolean {spelled(value)}, a deprecated form"
        yield Finding(
            config.setting("zero_optimization"),
            text,
            help=f'write `"zero_optimization": {{"stage": {int(value)}}}`',
            note=f"it still works, as stage {int(value)}",
        )


@warning(
    "DSP108",
    source="deepspeed 0.19.8 datastates/config.py:20",
    bad='{"train_batch_size": 8, "datastates_ckpt": null}\n',
    good='{"train_batch_size": 8, "datastates_ckpt": false}\n',
    example={"gpus": 8, "at": "/datastates_ckpt"},
    old_names=("writes-fast-checkpoints",),
)
def enabled_datastates_checkpoint(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`datastates_ckpt` is on unless it is `false`: null, 0 and {} turn it on."""
    if "datastates_ckpt" in config.values and config.values["datastates_ckpt"] in (None, 0, "", {}, "false"):
        value = config.values["datastates_ckpt"]
        if value is not False:
            text = f"`datastates_ckpt` is {spelled(value)}, which turns it on: only false turns it off"
            yield Finding(config.setting("datastates_ckpt"), text, help="set `datastates_ckpt` to false")


@warning(
    "DSP109",
    source="deepspeed 0.19.8 runtime/data_pipeline/config.py:14-140; the engine uses the inner ones only (runtime/engine.py:1420, 1440)",
    bad=(
        '{"train_batch_size": 8, "data_efficiency": {"enabled": false, "data_sampling": {"curriculum_learning":'
        ' {"enabled": true, "curriculum_metrics": {}}}}}\n'
    ),
    good=(
        '{"train_batch_size": 8, "data_efficiency": {"enabled": true, "data_sampling": {"enabled": true, "curriculum_learning":'
        ' {"enabled": true, "curriculum_metrics": {}}}}}\n'
    ),
    example={"gpus": 8, "at": "/data_efficiency/enabled"},
    old_names=("inner-switch-decides",),
)
def ineffective_outer_switch(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An outer `enabled: false` of `data_efficiency` around an inner one that is on.

    The outer `enabled` keys are parsed but never used: curriculum learning and random layer dropping run when
    their own `enabled` is true.
    """
    if "data_efficiency" not in config.values:
        return
    for path in (("data_sampling", "curriculum_learning"), ("data_routing", "random_ltd")):
        if not config.get("data_efficiency", *path, "enabled"):
            continue
        for outer in (("data_efficiency",), ("data_efficiency", path[0])):
            if config.get(*outer, "enabled") is False:
                inner = config.setting("data_efficiency", *path, "enabled")
                text = f"`{'.'.join(outer)}.enabled` is false, but does not turn off `{path[1]}`"
                yield Finding(config.setting(*outer, "enabled"), text, related=(inner,), help=f"set `{inner.name}` to false")


@warning(
    "DSP110",
    source="deepspeed 0.19.8 runtime/config.py:455-475 against runtime/engine.py:957, utils/groups.py:168",
    bad='{"train_batch_size": 16, "tensor_parallel": {"autotp_size": 2}}\n',
    good='{"train_batch_size": 16, "tensor_parallel": {"autotp_size": 1}}\n',
    example={"gpus": 8, "at": "/tensor_parallel/autotp_size"},
    old_names=("tensor-parallel-batch",),
)
def smaller_batch_with_autotp(config: DeepSpeedConfig) -> Iterator[Finding]:
    """With AutoTP a step consumes fewer samples than `train_batch_size`.

    The ranks of a tensor-parallel group process the same samples, but DeepSpeed divides the batch by all GPUs.
    The train batch size that it prints is too large by the factor `autotp_size`.

    Fix: expect `train_batch_size / autotp_size` samples per step, also when setting the learning rate, or
    multiply the gradient accumulation steps by `autotp_size`.
    """
    batch = config.batch
    total, taken = batch.global_batch.value, batch.consumed_batch
    if batch.layout.tensor_parallel > 1 and config.trainer is None and isinstance(total, int) and taken not in (None, total):
        setting = config.setting("tensor_parallel", "autotp_size")
        keys = [each.name for each in (batch.global_batch, batch.accumulation) if each.written] or [batch.accumulation.name]
        yield Finding(
            setting,
            f"`autotp_size` is {setting.spelled}, so a step consumes {taken} samples, not {total}",
            related=(batch.global_batch,),
            note=f"the {setting.spelled} GPUs of a tensor-parallel group train on the same samples, but DeepSpeed counts all GPUs",
            help=f"multiply {' and '.join(f'`{key}`' for key in keys)} by {setting.spelled} to consume {total} samples per step",
        )


@warning(
    "DSP111",
    source="deepspeed 0.19.8 runtime/config.py:469 (a true division)",
    bad='{"train_batch_size": 16, "sequence_parallel_size": 3}\n',
    good='{"train_batch_size": 16, "sequence_parallel_size": 2}\n',
    example={"gpus": 8, "at": "/sequence_parallel_size"},
    old_names=("sequence-parallel-fraction",),
)
def indivisible_sequence_parallel(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`sequence_parallel_size` does not divide the GPUs, and DeepSpeed computes with a fraction.

    With 8 GPUs and size 3 the data-parallel size is 2.67, and a batch that happens to be consistent with it is
    accepted. Such process groups cannot be formed.
    """
    size, world = config.values.get("sequence_parallel_size"), config.world_size
    if isinstance(size, int) and size > 0 and world is not None and world % size and "data_parallel_size" not in config.values:
        text = f"`sequence_parallel_size` is {size}, which does not divide {world} GPUs"
        yield Finding(
            config.setting("sequence_parallel_size"),
            text,
            note="DeepSpeed computes the batch with a fraction of a data-parallel size",
            help=f"set `sequence_parallel_size` to a divisor of {world}",
        )


@warning(
    "DSP112",
    source="deepspeed 0.19.8 runtime/zenflow/engine.py:69",
    bad=(
        '{"train_batch_size": 64, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 2,'
        ' "offload_optimizer": {"device": "cpu"}, "zenflow": {"update_interval": 4}}, ' + ADAM + "}\n"
    ),
    good=(
        '{"train_batch_size": 32, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2,'
        ' "offload_optimizer": {"device": "cpu"}, "zenflow": {"update_interval": 4}}, ' + ADAM + "}\n"
    ),
    example={"gpus": 8, "at": "/gradient_accumulation_steps"},
    old_names=("zenflow-sets-accumulation",),
)
def zenflow_overrides_accumulation(config: DeepSpeedConfig) -> Iterator[Finding]:
    """ZenFlow overwrites `gradient_accumulation_steps` with its `update_interval`.

    It does so after the batch check, so the three batch sizes no longer agree. With `"auto"` the
    accumulation becomes 0, and ZenFlow decides at run time.

    Fix: write the same number in both, or set `update_interval` to "auto".
    """
    section, steps = config.zero["zenflow"], config.values.get("gradient_accumulation_steps")
    if section is None or not isinstance(steps, int) or steps == 1:
        return
    interval = section["update_interval"]
    if interval != steps:
        setting = config.setting("gradient_accumulation_steps")
        text = f"`gradient_accumulation_steps` is overridden by `zenflow.update_interval` ({spelled(interval)})"
        yield Finding(
            setting,
            text,
            on_key=True,
            note="the batch sizes no longer agree with each other",
            help=f"set `gradient_accumulation_steps` to {spelled(interval)}" if isinstance(interval, int) else None,
        )


@warning(
    "DSP113",
    source="deepspeed 0.19.8 runtime/engine.py:681-693",
    when_partial=SKIP,
    bad='{"train_batch_size": 8, "fp16": {"enabled": true}}\n',
    good='{"train_batch_size": 8, "fp16": {"enabled": true}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/fp16/enabled"},
)
def fp16_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    """fp16 without ZeRO and without an optimizer: there is no loss scaling.

    The model is cast to half precision, and its gradients may underflow. DeepSpeed does not check this.
    """
    if config.stage == 0 and config.precision == "fp16" and not config.has_optimizer and config.facts.complete:
        text = "`fp16.enabled` is true without an optimizer, so loss scaling is off"
        yield Finding(
            config.at("fp16", "enabled"), text, help="add an `optimizer` section, or use `bf16`", note="small gradients may become 0"
        )


@info(
    "DSP114",
    source="deepspeed 0.19.8 runtime/engine.py:2380-2384",
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},'
        ' "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": true}}}\n'
    ),
    good=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},'
        ' "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}}\n'
    ),
    example={"gpus": 8, "at": "/optimizer/params/torch_adam"},
)
def slow_optimizer_offload(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`torch_adam` with an offloaded optimizer: torch's Adam on the CPU is several times slower than DeepSpeed's."""
    optimizer = config.optimizer
    if optimizer is None or optimizer.name not in ("adam", "adamw"):
        return
    if optimizer.class_name in ("Adam", "AdamW") and config.offload != "none":
        setting = config.setting("optimizer", "params", "torch_adam")
        yield Finding(
            setting, "`torch_adam` is slow with an offloaded optimizer", help="remove `optimizer.params.torch_adam` to use DeepSpeedCPUAdam"
        )


@info(
    "DSP115",
    source="deepspeed 0.19.8 runtime/engine.py:2486-2490",
    bad=(
        '{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "weight_decay": 0.01}}}\n',
        '{"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "adam_w_mode": false}}}\n',
    ),
    good='{"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": 0.01}}}\n',
    example={"gpus": 8, "at": "/optimizer/type"},
)
def adam_is_adamw(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`Adam` with weight decay runs as AdamW.

    The decay is decoupled unless `adam_w_mode` is false; with `AdamW` it is always decoupled.
    """
    optimizer = config.optimizer
    if optimizer is None or not isinstance(optimizer.params, dict):
        return
    mode = optimizer.params.get("adam_w_mode")
    if optimizer.name == "adam" and mode is None and optimizer.params.get("weight_decay") not in (None, 0, 0.0, "auto"):
        text = "`Adam` with weight decay runs as AdamW (`adam_w_mode` defaults to true)"
        advice = 'set `optimizer.type` to "AdamW", or set `optimizer.params.adam_w_mode` to false'
        yield Finding(config.setting("optimizer", "type"), text, help=advice)
    elif optimizer.name == "adamw" and mode is False:
        text = "`adam_w_mode: false` has no effect with `AdamW`: weight decay stays decoupled"
        yield Finding(
            config.setting("optimizer", "params", "adam_w_mode"),
            text,
            severity=WARNING,
            help='set `optimizer.type` to "Adam", or remove `optimizer.params.adam_w_mode`',
        )
