"""Rules about offloading parameters and optimizer states, and about ZenFlow."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.rule import WARN, Finding, init_error, warning
from cfglint.findings.wording import spelled
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.optimizers import PARAMETERS
from cfglint.frameworks.deepspeed.rules.zero import builds_stage_1_or_2
from cfglint.source.annotations import ConfigValue, Iterator

# The first parameter of SuperOffload that an optimizer does not have.
LACKING = {"FusedAdam": "amsgrad", "FusedLamb": "amsgrad", "FusedLion": "eps", "DeepSpeedCPULion": "eps"}
OFFLOADED = '"offload_optimizer": {"device": "cpu"}'
ADAM = '"optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}'
OVERWRITTEN = (
    "Warning: If use auto select strategy, select_interval will be set to 1 and select_strategy will be set to epoch,"
    " thus select_interval would be overwritten."
)


@init_error(
    "DSP030",
    source="deepspeed 0.19.8 runtime/zero/stage3.py:840, runtime/zero/partition_parameters.py:1229",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme"}}}\n',
    example={"gpus": 8, "at": "/zero_optimization/offload_param"},
)
def nvme_without_path(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Offload to NVMe at stage 3 without `nvme_path`.

    Below stage 3 the path is ignored: an offloaded optimizer goes to the CPU, and parameters are not offloaded.

    Run-time errors: `TypeError: expected str, bytes or os.PathLike object, not NoneType` (optimizer),
    `AssertionError: "nvme_path" in DeepSpeed Config cannot be None if remote device is nvme` (parameters).
    """
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
            yield Finding(
                config.at("zero_optimization", key),
                text,
                exception=exception,
                help=f'set `{path}.nvme_path` to a folder on a local disk, or set `{path}.device` to "cpu"',
            )


@init_error(
    "DSP031",
    source="deepspeed 0.19.8 runtime/zero/stage3.py:312-316",
    when_partial=WARN,
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}},'
        ' "optimizer": {"type": "Lion", "params": {"lr": 1e-4}}}\n'
    ),
    good=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}},'
        ' "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n'
    ),
    example={"gpus": 8, "at": "/zero_optimization/offload_optimizer/ratio"},
)
def partial_offload_needs_cpu_adam(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An offload ratio below 1 with an optimizer other than DeepSpeedCPUAdam.

    Fix: use `Adam` or `AdamW` without `torch_adam`, or remove `ratio`.
    """
    section, optimizer = config.zero["offload_optimizer"], config.optimizer
    if config.stage != 3 or section is None or optimizer is None or section["device"] == "none" or section["ratio"] == 1.0:
        return
    if optimizer.class_name and optimizer.class_name != "DeepSpeedCPUAdam":
        raised = "AssertionError: Hybrid Optimizer Only Supports DeepSpeedCPUAdam"
        setting = config.at("zero_optimization", "offload_optimizer", "ratio")
        text = f"`ratio` below 1 requires DeepSpeedCPUAdam, but the optimizer is {optimizer.class_name}"
        yield Finding(setting, text, exception=raised, help="remove `zero_optimization.offload_optimizer.ratio`")


@warning(
    "DSP116",
    source="deepspeed 0.19.8 runtime/zero/stage3.py:1100-1108, 1235-1258, 1330-1345",
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer":'
        ' {"device": "nvme", "nvme_path": "/local_nvme", "ratio": 0.5}}, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n'
    ),
    good=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}},'
        ' "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n'
    ),
    example={"gpus": 8, "at": "/zero_optimization/offload_optimizer/ratio"},
)
def partial_offload_to_nvme(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An offload ratio below 1 with an optimizer that is offloaded to NVMe.

    DeepSpeed updates the part of the parameter groups that it does not offload with an optimizer on the GPU, but a group that was
    swapped to NVMe comes back to the memory of the CPU. A model of one group (`sub_group_size`) has no such part.

    Run-time error: of torch, in the first step, if the model has several groups.
    """
    section = config.zero["offload_optimizer"]
    if config.stage == 3 and section is not None and section["device"] == "nvme" and section["ratio"] < 1.0:
        yield Finding(
            config.at("zero_optimization", "offload_optimizer", "ratio"),
            "`ratio` below 1 keeps groups of parameters on the GPU, which is incompatible with `device: nvme`",
            note="the groups are swapped to the memory of the CPU; with several groups the step on the GPU fails",
            help='set `zero_optimization.offload_optimizer.device` to "cpu", or remove `zero_optimization.offload_optimizer.ratio`',
        )


@init_error(
    "DSP032",
    source="deepspeed 0.19.8 runtime/superoffload/superoffload_stage3.py:47-56",
    when_partial=WARN,
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "none", "super_offload": true}},'
        ' "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n'
    ),
    good=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "super_offload": true}},'
        ' "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n'
    ),
    example={"gpus": 8, "at": "/zero_optimization/offload_optimizer/super_offload"},
)
def super_offload_needs_cpu_adam(config: DeepSpeedConfig) -> Iterator[Finding]:
    """SuperOffload with an optimizer that does not have the parameters of DeepSpeedCPUAdam.

    It copies learning rate, betas, eps, weight decay and amsgrad from the optimizer; the fused and the other
    optimizers do not have all of them.
    """
    section, optimizer = config.zero["offload_optimizer"], config.optimizer
    if config.stage != 3 or section is None or optimizer is None or not section["super_offload"]:
        return
    lacking = LACKING.get(optimizer.class_name)
    if lacking:
        setting = config.at("zero_optimization", "offload_optimizer", "super_offload")
        text = f"`super_offload` requires DeepSpeedCPUAdam, but the optimizer is {optimizer.class_name}"
        yield Finding(
            setting, text, exception=f"KeyError: '{lacking}'", help="set `zero_optimization.offload_optimizer.super_offload` to false"
        )


def zenflow(config: DeepSpeedConfig) -> ConfigValue:
    """The parsed ZenFlow section; None where there is none."""
    return config.zero["zenflow"]


@init_error(
    "DSP050",
    source="deepspeed 0.19.8 runtime/zenflow/engine.py:34-64",
    releases=(Releases((0, 17, 5)),),
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, ' + OFFLOADED + ', "zenflow": {"select_interval": 4}}, ' + ADAM + "}\n",
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"},'
            ' "zenflow": {"select_strategy": "step"}}, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}\n'
        ),
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"},'
            ' "zenflow": {"select_strategy": "step", "select_interval": 1, "update_interval": 4}}, "optimizer": {"type": "Adam",'
            ' "params": {"lr": 1e-4}}}\n'
        ),
    ),
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, ' + OFFLOADED + ', "zenflow": {}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/zenflow/select_interval"},
    old_names=("zenflow-intervals",),
)
def invalid_zenflow_interval(config: DeepSpeedConfig) -> Iterator[Finding]:
    """ZenFlow's intervals are incompatible with its strategy.

    With the strategy "auto", `select_interval` has to be "auto"; with "step" or "epoch" a number. With "step"
    it must not be smaller than `update_interval`.
    """
    section = zenflow(config)
    if section is None:
        return
    strategy, select, update = section["select_strategy"], section["select_interval"], section["update_interval"]
    setting = config.at("zero_optimization", "zenflow", "select_interval")
    if strategy == "auto":
        if isinstance(select, int):
            text = f'`select_interval` is {select}; it must be "auto" when `select_strategy` is "auto"'
            yield Finding(setting, text, exception=OVERWRITTEN, help='set `zero_optimization.zenflow.select_interval` to "auto"')
    elif isinstance(select, str):
        raised = "ValueError: If don't use auto select strategy, select_interval must be a number."
        text = f"`select_interval` is {spelled(select)}; it must be an integer when `select_strategy` is {spelled(strategy)}"
        yield Finding(setting, text, exception=raised, help="set `zero_optimization.zenflow.select_interval` to an integer")
    elif strategy == "step" and isinstance(update, int) and select != 0 and select < update:
        raised = "ValueError: Select interval must be greater or equal to update interval"
        yield Finding(
            setting,
            f"`select_interval` is {select}, less than `update_interval` ({update})",
            exception=raised,
            help=f"set `zero_optimization.zenflow.select_interval` to {update}",
        )


@init_error(
    "DSP051",
    source="deepspeed 0.19.8 runtime/zenflow/zenflow_stage_1_and_2.py:75, 116, runtime/zenflow/engine_stage3.py:104",
    bad=(
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "zenflow": {}}, ' + ADAM + "}\n",
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "overlap_comm": false,'
            ' "offload_optimizer": {"device": "cpu"}, "zenflow": {"offload": true}}, "optimizer": {"type": "Adam",'
            ' "params": {"lr": 1e-4}}}\n'
        ),
    ),
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, ' + OFFLOADED + ', "zenflow": {}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/zero_optimization/zenflow"},
)
def zenflow_without_offload(config: DeepSpeedConfig) -> Iterator[Finding]:
    """ZenFlow at stage 1 or 2 without an offloaded optimizer, or its own offload without overlapped communication."""
    section = zenflow(config)
    if section is None or not (builds_stage_1_or_2(config) or (config.stage == 3 and config.has_optimizer)):
        return
    if section["offload"] and not config.overlap_comm:
        raised = "AssertionError: offload selective optimizer should be used with overlap_comm"
        yield Finding(
            config.at("zero_optimization", "zenflow", "offload"),
            "`zenflow.offload` requires `overlap_comm`",
            exception=raised,
            help="set `zero_optimization.overlap_comm` to true, or set `zero_optimization.zenflow.offload` to false",
        )
    elif config.stage != 3 and config.offload == "none":
        raised = "ValueError: Zenflow must be used with cpu offload"
        yield Finding(
            config.at("zero_optimization", "zenflow"),
            "`zenflow` requires `offload_optimizer`",
            exception=raised,
            help='set `zero_optimization.offload_optimizer.device` to "cpu"',
        )


@init_error(
    "DSP052",
    source="deepspeed 0.19.8 runtime/zenflow/zenflow_stage_1_and_2.py:81",
    when_partial=WARN,
    bad=(
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2, ' + OFFLOADED + ', "zenflow": {}},'
            ' "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "bias_correction": true}}}\n'
        ),
        (
            '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}, "zenflow": {}},'
            ' "optimizer": {"type": "AdamW"}}\n'
        ),
    ),
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 2, ' + OFFLOADED + ', "zenflow": {}}, ' + ADAM + "}\n",
    example={"gpus": 8, "at": "/optimizer/params/bias_correction"},
    old_names=("zenflow-optimizer-parameters",),
)
def unknown_zenflow_optimizer_parameter(config: DeepSpeedConfig) -> Iterator[Finding]:
    """An optimizer parameter that ZenFlow's second optimizer does not have.

    At stage 1 and 2 ZenFlow passes `optimizer.params` unchanged to torch's AdamW, which has no parameters
    `torch_adam`, `adam_w_mode` or `bias_correction`. Without `params` it fails too.
    """
    optimizer = config.optimizer
    if zenflow(config) is None or optimizer is None or not builds_stage_1_or_2(config) or config.offload == "none":
        return
    if optimizer.params is None:
        raised = "TypeError: ZenFlowSelectiveAdamW() argument after ** must be a mapping, not NoneType"
        yield Finding(
            config.setting("optimizer"), "`zenflow` requires `optimizer.params`", exception=raised, help="add `params` to `optimizer`"
        )
        return
    accepted = PARAMETERS["AdamW"].split()
    for key in optimizer.params if isinstance(optimizer.params, dict) else ():
        if key not in accepted:
            raised = f"TypeError: AdamW.__init__() got an unexpected keyword argument '{key}'"
            text = f"ZenFlow's AdamW has no parameter `{key}`"
            yield Finding(
                config.setting("optimizer", "params", key), text, exception=raised, on_key=True, help=f"remove `optimizer.params.{key}`"
            )
