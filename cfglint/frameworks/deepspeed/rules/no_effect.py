"""Rules about what DeepSpeed takes without a word, and does not do."""

from __future__ import annotations

from cfglint.findings.diagnostic import INFO, WARNING
from cfglint.findings.rule import SKIP, Finding, rule
from cfglint.frameworks.deepspeed.models import ZERO
from cfglint.frameworks.deepspeed.rules import DEEPSPEED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

ADAM = '"optimizer": {"type": "Adam", "params": {"lr": 1e-4}}'
STAGE_3_ONLY = (
    "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold",
    "stage3_model_persistence_threshold",
    "stage3_max_live_parameters",
    "stage3_max_reuse_distance",
    "stage3_module_granularity_threshold",
    "stage3_use_all_reduce_for_fetch_params",
    "stage3_allgather_sequential",
    "sub_group_size",
    "zero_hpz_partition_size",
    "zero_quantized_weights",
    "zero_quantized_nontrainable_weights",
    "leaf_module",
)
BELOW_3_ONLY = ("round_robin_gradients", "parameter_alignment")
READ_AS_TRUTH = (
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


@rule(
    "DSP100",
    "stage-3-key-below-stage-3",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "sub_group_size": 1e8}, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "sub_group_size": 1e8}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/sub_group_size"},
)
def stage_3_key_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A key that only stage 3 uses, at a lower stage.

    `sub_group_size`, `leaf_module`, `zero_hpz_partition_size`, `zero_quantized_weights` and what begins with
    `stage3_` is read and checked, and goes nowhere: the optimizer of stage 1 and 2 is not given it.

    Fix: stage 3 if the parameters are to be split, or take the key out.

    Source: deepspeed 0.19.8 runtime/engine.py:2666-2708 (stage 1 and 2) against 2709-2795 (stage 3).
    """
    if config.stage not in (0, 1, 2):
        return
    section = config.zero
    for written in section.given.values():
        name = written if written.startswith(("stage3_", "sub_", "zero_", "leaf_")) else f"stage3_{written}"
        if name in STAGE_3_ONLY and does_something(config, written):
            setting = config.at("zero_optimization", written)
            yield Finding(setting, f"{written} has no effect at stage {config.stage}", on_key=True)


def does_something(config: DeepSpeedConfig, key: str) -> bool:
    """Whether a written value differs from not writing it; an empty section asks for nothing either."""
    field = ZERO.fields[ZERO.names.get(key, key)]
    return config.get("zero_optimization", key) not in (field.default, None, {})


@rule(
    "DSP101",
    "offloaded-parameters-below-stage-3",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/offload_param"},
)
def offloaded_parameters_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`offload_param` below stage 3: the parameters stay on the GPU.

    Only stage 3 splits the parameters and can offload them. Whoever counted on the memory runs out of it.

    Fix: stage 3, or take the section out.

    Source: deepspeed 0.19.8 runtime/engine.py:2666-2708 (not passed to the optimizer of stage 1 and 2).
    """
    section = config.zero["offload_param"]
    if config.stage in (0, 1, 2) and section is not None and section["device"] != "none":
        setting = config.at("zero_optimization", "offload_param")
        yield Finding(setting, f"parameters are not offloaded at stage {config.stage}", on_key=True)


@rule(
    "DSP102",
    "offloaded-optimizer-below-its-stage",
    WARNING,
    kinds=DEEPSPEED,
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
    """`offload_optimizer` where its device cannot be had.

    NVMe needs stage 3: at stage 1 and 2 the states go to the CPU's memory and the path is not looked at.
    At stage 0 nothing is split or offloaded, but Adam becomes the CPU's Adam all the same.

    Fix: stage 3 for NVMe, stage 1 or higher for the CPU, or take the section out.

    Source: deepspeed 0.19.8 runtime/zero/stage_1_and_2.py:220, runtime/engine.py:1562, 2384.
    """
    if config.offload == "none" or config.stage not in (0, 1, 2) or config.zero["offload_optimizer"] is None:
        return
    setting = config.at("zero_optimization", "offload_optimizer", "device")
    if config.stage == 0:
        yield Finding(setting, "at stage 0 nothing is offloaded, and the optimizer is the CPU's all the same")
    elif config.offload == "nvme":
        yield Finding(setting, f"at stage {config.stage} the states go to the CPU's memory, not to NVMe")


@rule(
    "DSP103",
    "offload-feature-below-stage-3",
    WARNING,
    kinds=DEEPSPEED,
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "super_offload": true}}, '
        + ADAM
        + "}\n"
    ),
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/offload_optimizer/super_offload"},
)
def offload_feature_below_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`super_offload` below stage 3, or without offload: it does nothing.

    Fix: stage 3, or take the key out.

    Source: deepspeed 0.19.8 runtime/engine.py:1575, 2737-2742 (asked for in the branch of stage 3 only).
    """
    section = config.zero["offload_optimizer"]
    if section is not None and section["super_offload"] and config.stage in (0, 1, 2):
        setting = config.at("zero_optimization", "offload_optimizer", "super_offload")
        yield Finding(setting, f"super_offload has no effect at stage {config.stage}")


@rule(
    "DSP104",
    "key-of-lower-stages-at-stage-3",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "round_robin_gradients": true}, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, "round_robin_gradients": true}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/round_robin_gradients"},
)
def key_of_lower_stages_at_stage_3(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`round_robin_gradients` or `parameter_alignment` at stage 3, which has neither.

    Fix: take the key out.

    Source: deepspeed 0.19.8 runtime/engine.py:2709-2795 (not passed to the optimizer of stage 3).
    """
    if config.stage == 3:
        for key in BELOW_3_ONLY:
            if config.zero[key]:
                yield Finding(config.at("zero_optimization", key), f"{key} has no effect at stage 3", on_key=True)


@rule(
    "DSP105",
    "optimizer-without-type",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "optimizer": {"name": "Adam", "params": {"lr": 1e-4}}}\n',
    good='{"train_batch_size": 8, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/optimizer"},
)
def optimizer_without_type(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An `optimizer` or `scheduler` section without `type`: it is passed over as a whole.

    The name stands under `type`, not under `name`. At stage 0 the run then has no optimizer and nothing
    says so.

    Fix: write the name under `type`.

    Source: deepspeed 0.19.8 runtime/config.py:288-300, 323-335.
    """
    for key in ("optimizer", "scheduler"):
        section = config.values.get(key)
        if isinstance(section, dict) and section and section.get("type") is None:
            yield Finding(config.setting(key), f"without a type, {key} is not used", on_key=True)


@rule(
    "DSP106",
    "text-counts-as-true",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "zero_allow_untested_optimizer": "false"}\n',
    good='{"train_batch_size": 8, "zero_allow_untested_optimizer": false}\n',
    example={"gpus": 8, "at": "/zero_allow_untested_optimizer"},
)
def text_counts_as_true(config: DeepSpeedConfig) -> Iterator[Finding]:
    """A switch that says no in text: any text that is not empty counts as on.

    The switches at the top level and in the lenient sections are not converted; `"false"` in quotes is
    true to Python.

    Fix: false without quotes.

    Source: deepspeed 0.19.8 runtime/config.py:209-270 (plain look-ups), used as `if value`.
    """
    from cfglint.findings.fix_builders import replace

    paths = [(key,) for key in READ_AS_TRUTH] + [("torch_autocast", "enabled")]
    for path in paths:
        value = config.get(*path)
        if isinstance(value, str) and value.lower() in OFF_WORDS:
            setting = config.setting(*path)
            fix = replace(setting, False, "write false", safe=False)
            yield Finding(setting, f"{setting.name} is the text {value!r}, which counts as on", fix=fix)


@rule(
    "DSP107",
    "old-zero-format",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "zero_optimization": true, ' + ADAM + "}\n",
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 1}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization"},
)
def old_zero_format(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`zero_optimization` is a bare boolean: true is stage 1.

    DeepSpeed warns that the format is deprecated, and reads `allgather_size` at the top level only then.

    Fix: `{"stage": 1}`.

    Source: deepspeed 0.19.8 runtime/zero/config.py:57-73.
    """
    value = config.values.get("zero_optimization")
    if isinstance(value, bool):
        yield Finding(config.setting("zero_optimization"), f"the old way to write stage {int(value)}")


@rule(
    "DSP108",
    "writes-fast-checkpoints",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "datastates_ckpt": null}\n',
    good='{"train_batch_size": 8, "datastates_ckpt": false}\n',
    example={"gpus": 8, "at": "/datastates_ckpt"},
)
def writes_fast_checkpoints(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`datastates_ckpt` is on unless it is `false`: null, 0 and {} turn it on.

    Fix: false, or leave the key out.

    Source: deepspeed 0.19.8 datastates/config.py:20.
    """
    if "datastates_ckpt" in config.values and config.values["datastates_ckpt"] in (None, 0, "", {}, "false"):
        value = config.values["datastates_ckpt"]
        if value is not False:
            yield Finding(config.setting("datastates_ckpt"), f"{value!r} turns it on: only false is off")


@rule(
    "DSP109",
    "inner-switch-decides",
    WARNING,
    kinds=DEEPSPEED,
    bad=(
        '{"train_batch_size": 8, "data_efficiency": {"enabled": false, "data_sampling": {"curriculum_learning":'
        ' {"enabled": true, "curriculum_metrics": {}}}}}\n'
    ),
    good=(
        '{"train_batch_size": 8, "data_efficiency": {"enabled": true, "data_sampling": {"enabled": true, "curriculum_learning":'
        ' {"enabled": true, "curriculum_metrics": {}}}}}\n'
    ),
    example={"gpus": 8, "at": "/data_efficiency/enabled"},
)
def inner_switch_decides(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An outer `enabled: false` of `data_efficiency` around an inner one that is on.

    The outer switches are read and never used: curriculum learning and random layer dropping run when
    their own switch is on.

    Fix: `"enabled": false` in the innermost section.

    Source: deepspeed 0.19.8 runtime/data_pipeline/config.py:14-140; the engine asks the inner ones only
    (runtime/engine.py:1420, 1440).
    """
    if "data_efficiency" not in config.values:
        return
    for path in (("data_sampling", "curriculum_learning"), ("data_routing", "random_ltd")):
        if not config.get("data_efficiency", *path, "enabled"):
            continue
        for outer in (("data_efficiency",), ("data_efficiency", path[0])):
            if config.get(*outer, "enabled") is False:
                inner = config.setting("data_efficiency", *path, "enabled")
                yield Finding(config.setting(*outer, "enabled"), f"this does not turn {path[1]} off", related=(inner,))


@rule(
    "DSP110",
    "tensor-parallel-batch",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 16, "tensor_parallel": {"autotp_size": 2}}\n',
    good='{"train_batch_size": 16, "tensor_parallel": {"autotp_size": 1}}\n',
    example={"gpus": 8, "at": "/tensor_parallel/autotp_size"},
)
def tensor_parallel_batch(config: DeepSpeedConfig) -> Iterator[Finding]:
    """With AutoTP a step consumes fewer samples than `train_batch_size` says.

    The ranks of a tensor-parallel group share their samples, but DeepSpeed divides the batch by all GPUs.
    What it prints as the train batch size is too large by `autotp_size`.

    Fix: count on `train_batch_size / autotp_size` samples a step, in the learning rate as well, or multiply
    the accumulation by `autotp_size`.

    Source: deepspeed 0.19.8 runtime/config.py:455-475 against runtime/engine.py:957, utils/groups.py:168.
    """
    batch = config.batch
    total, taken = batch.global_batch.value, batch.consumed_batch
    if batch.layout.tensor_parallel > 1 and config.trainer is None and isinstance(total, int) and taken is not None:
        setting = config.setting("tensor_parallel", "autotp_size")
        yield Finding(setting, f"a step consumes {taken} samples, not the {total} that DeepSpeed prints", related=(batch.global_batch,))


@rule(
    "DSP111",
    "sequence-parallel-fraction",
    WARNING,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 16, "sequence_parallel_size": 3}\n',
    good='{"train_batch_size": 16, "sequence_parallel_size": 2}\n',
    example={"gpus": 8, "at": "/sequence_parallel_size"},
)
def sequence_parallel_fraction(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`sequence_parallel_size` does not divide the GPUs, and DeepSpeed computes on with a fraction.

    8 GPUs over 3 is 2.67 copies to it, and a batch that happens to multiply up is taken. No such groups
    can be formed.

    Fix: a size that divides the GPUs.

    Source: deepspeed 0.19.8 runtime/config.py:469 (a true division).
    """
    size, world = config.values.get("sequence_parallel_size"), config.world_size
    if isinstance(size, int) and size > 0 and world is not None and world % size and "data_parallel_size" not in config.values:
        yield Finding(config.setting("sequence_parallel_size"), f"{size} does not divide {world} GPUs")


@rule(
    "DSP112",
    "zenflow-sets-accumulation",
    WARNING,
    kinds=DEEPSPEED,
    bad=(
        '{"train_batch_size": 64, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 2,'
        ' "offload_optimizer": {"device": "cpu"}, "zenflow": {"update_interval": 4}}, ' + ADAM + "}\n"
    ),
    good=(
        '{"train_batch_size": 32, "gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2,'
        ' "offload_optimizer": {"device": "cpu"}, "zenflow": {"update_interval": 4}}, ' + ADAM + "}\n"
    ),
    example={"gpus": 8, "at": "/gradient_accumulation_steps"},
)
def zenflow_sets_accumulation(config: DeepSpeedConfig) -> Iterator[Finding]:
    """ZenFlow overwrites `gradient_accumulation_steps` with its `update_interval`.

    It does so after the batch has been checked, so that the three batch sizes no longer agree. With
    `"auto"` the accumulation becomes 0, and ZenFlow decides at run time.

    Fix: the same number in both, or leave `update_interval` to "auto".

    Source: deepspeed 0.19.8 runtime/zenflow/engine.py:69.
    """
    section, steps = config.zero["zenflow"], config.values.get("gradient_accumulation_steps")
    if section is None or not isinstance(steps, int) or steps == 1:
        return
    interval = section["update_interval"]
    if interval != steps:
        setting = config.setting("gradient_accumulation_steps")
        yield Finding(setting, f"ZenFlow's update_interval ({interval}) takes its place", on_key=True)


@rule(
    "DSP113",
    "fp16-without-optimizer",
    WARNING,
    kinds=DEEPSPEED,
    when_partial=SKIP,
    bad='{"train_batch_size": 8, "fp16": {"enabled": true}}\n',
    good='{"train_batch_size": 8, "fp16": {"enabled": true}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/fp16/enabled"},
)
def fp16_without_optimizer(config: DeepSpeedConfig) -> Iterator[Finding]:
    """fp16 without ZeRO and without an optimizer: there is no loss scaling.

    The model is cast to half precision, and nothing guards its gradients. DeepSpeed does not object.

    Fix: name an optimizer, or use `bf16`, which needs no loss scaling.

    Source: deepspeed 0.19.8 runtime/engine.py:681-693.
    """
    if config.stage == 0 and config.precision == "fp16" and not config.has_optimizer and config.facts.whole:
        yield Finding(config.at("fp16", "enabled"), "without an optimizer there is no loss scaling")


@rule(
    "DSP114",
    "slow-optimizer-offload",
    INFO,
    kinds=DEEPSPEED,
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
    """`torch_adam` with an offloaded optimizer: torch's Adam on the CPU, several times slower than DeepSpeed's.

    Fix: leave `torch_adam` out.

    Source: deepspeed 0.19.8 runtime/engine.py:2380-2384.
    """
    optimizer = config.optimizer
    if optimizer is None or optimizer.name not in ("adam", "adamw"):
        return
    if optimizer.class_name in ("Adam", "AdamW") and config.offload != "none":
        setting = config.setting("optimizer", "params", "torch_adam")
        yield Finding(setting, "the offloaded states are stepped by torch's Adam, which is slow on a CPU")


@rule(
    "DSP115",
    "adam-is-adamw",
    INFO,
    kinds=DEEPSPEED,
    bad='{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "weight_decay": 0.01}}}\n',
    good='{"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": 0.01}}}\n',
    example={"gpus": 8, "at": "/optimizer/type"},
)
def adam_is_adamw(config: DeepSpeedConfig) -> Iterator[Finding]:
    """`Adam` with weight decay is AdamW to DeepSpeed.

    The decay is decoupled unless `adam_w_mode: false` says otherwise; `AdamW` is decoupled whatever it
    says.

    Fix: write `AdamW` where that is meant, else `"adam_w_mode": false`.

    Source: deepspeed 0.19.8 runtime/engine.py:2486-2490.
    """
    optimizer = config.optimizer
    if optimizer is None or not isinstance(optimizer.params, dict):
        return
    mode = optimizer.params.get("adam_w_mode")
    if optimizer.name == "adam" and mode is None and optimizer.params.get("weight_decay") not in (None, 0, 0.0, "auto"):
        yield Finding(config.setting("optimizer", "type"), "weight decay is decoupled here: this is AdamW, unless adam_w_mode is false")
    elif optimizer.name == "adamw" and mode is False:
        yield Finding(config.setting("optimizer", "params", "adam_w_mode"), "AdamW stays AdamW", severity=WARNING)
