"""Rules about offloading parameters and optimizer states."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR
from cfglint.findings.rule import WARN, Finding, rule
from cfglint.frameworks.deepspeed.rules import DEEPSPEED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

# The first of SuperOffload's settings that an optimizer has not.
LACKING = {"FusedAdam": "amsgrad", "FusedLamb": "amsgrad", "FusedLion": "eps", "DeepSpeedCPULion": "eps"}


@rule(
    "DSP030",
    "nvme-without-path",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
    bad='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}\n',
    good='{"train_batch_size": 8, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme"}}}\n',
    example={"gpus": 8, "at": "/zero_optimization/offload_param"},
)
def nvme_without_path(config: DeepSpeedConfig) -> Iterator[Finding]:
    """Offload to NVMe at stage 3 without `nvme_path`.

    Below stage 3 the path is not looked at: an offloaded optimizer goes to the CPU there, and parameters
    are not offloaded at all.

    Run-time errors: `TypeError: expected str, bytes or os.PathLike object, not NoneType` (optimizer),
    `AssertionError: "nvme_path" in DeepSpeed Config cannot be None if remote device is nvme` (parameters).

    Fix: `"nvme_path"`, a folder on the node's own disk; or `"device": "cpu"`.

    Source: deepspeed 0.19.8 runtime/zero/stage3.py:840, runtime/zero/partition_parameters.py:1229.
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
            yield Finding(config.at("zero_optimization", key), f"{key} to nvme needs nvme_path", exception=exception)


@rule(
    "DSP031",
    "partial-offload-needs-cpu-adam",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
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
    """An offload ratio below 1 with another optimizer than DeepSpeed's CPU Adam.

    Run-time error: `AssertionError: Hybrid Optimizer Only Supports DeepSpeedCPUAdam`.

    Fix: `Adam` or `AdamW` without `torch_adam`, or leave `ratio` out.

    Source: deepspeed 0.19.8 runtime/zero/stage3.py:312-316.
    """
    section, optimizer = config.zero["offload_optimizer"], config.optimizer
    if config.stage != 3 or section is None or optimizer is None or section["device"] == "none" or section["ratio"] == 1.0:
        return
    if optimizer.class_name and optimizer.class_name != "DeepSpeedCPUAdam":
        raised = "AssertionError: Hybrid Optimizer Only Supports DeepSpeedCPUAdam"
        setting = config.at("zero_optimization", "offload_optimizer", "ratio")
        yield Finding(setting, f"a ratio below 1 needs DeepSpeedCPUAdam, not {optimizer.class_name}", exception=raised)


@rule(
    "DSP032",
    "super-offload-needs-cpu-adam",
    ERROR,
    kinds=DEEPSPEED,
    fails_at="init",
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
    """SuperOffload with an optimizer that has not the settings of Adam on the CPU.

    It copies learning rate, betas, eps, weight decay and amsgrad from the optimizer; the fused ones and
    the other kinds lack one or more of them.

    Run-time error: `KeyError: 'amsgrad'`.

    Fix: `Adam` or `AdamW` without `torch_adam`, offloaded to the CPU; or `"super_offload": false`.

    Source: deepspeed 0.19.8 runtime/superoffload/superoffload_stage3.py:47-56.
    """
    section, optimizer = config.zero["offload_optimizer"], config.optimizer
    if config.stage != 3 or section is None or optimizer is None or not section["super_offload"]:
        return
    lacking = LACKING.get(optimizer.class_name)
    if lacking:
        setting = config.at("zero_optimization", "offload_optimizer", "super_offload")
        said = f"SuperOffload needs Adam on the CPU, not {optimizer.class_name}"
        yield Finding(setting, said, exception=f"KeyError: '{lacking}'")
