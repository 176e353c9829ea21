"""The part of `explain` about a DeepSpeed config: optimizer, schedule, precision and ZeRO."""

from __future__ import annotations

from cfglint.batch import steps
from cfglint.evaluate import Unknown
from cfglint.findings.setting import Setting
from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
from cfglint.frameworks.deepspeed.models import default_of_key
from cfglint.frameworks.deepspeed.optimizers import WARMUPS
from cfglint.frameworks.own_loops import add_loop
from cfglint.frameworks.summary import LENGTH, PRECISION, RATE, Summary
from cfglint.source.python.call import CallDocument


def account(config: DeepSpeedConfig) -> Summary:
    summary = Summary(config.release)
    if isinstance(config.root, dict):
        rate(config, summary)
        schedule(config, summary)
        precision(config, summary)
        if config.loop is not None:
            passed = config.optimizer is None and config.get("optimizer") is None
            if passed and config.loop.optimizer is not None:
                summary.items = [item for item in summary.items if item.label != "optimizer"]
            known = {item.label for item in summary.items}
            added = Summary(summary.package)
            accumulation = config.batch.accumulation.integer
            add_loop(added, config.loop, config.facts.launch, accumulation, has_optimizer=passed)
            summary.items += [item for item in added.items if item.label not in known]
    if config.trainer is None:
        summary.assumed.append("N GPUs are N processes with one GPU each")
        complete = "no optimizer, scheduler or mpu is passed in code"
        summary.assumed.append(complete if config.facts.complete else "the file may be a part of the run (with --run it is complete)")
    return summary


def rate(config: DeepSpeedConfig, summary: Summary) -> None:
    optimizer = config.optimizer
    if optimizer is not None:
        summary.add(RATE, "optimizer", config.setting("optimizer", "type"))
        if isinstance(optimizer.params, dict):
            for label, key in (("learning rate", "lr"), ("weight decay", "weight_decay")):
                if key in optimizer.params:
                    summary.add(RATE, label, config.setting("optimizer", "params", key))
    elif config.trainer is None:
        summary.derive(RATE, "optimizer", "optimizer", None, "not in the file: passed in code")
    unwritten = default_of_key("gradient_clipping", config.version)
    summary.add(RATE, "gradient clipping", config.setting("gradient_clipping", value=unwritten))


def schedule(config: DeepSpeedConfig, summary: Summary) -> None:
    chosen = config.scheduler
    if chosen is None:
        first = config.documents[0]
        parts = first.parts if isinstance(first, CallDocument) else {}
        name = parts.get("scheduler", {}).get("type")
        if isinstance(name, str):  # the program computes other parts of the section
            summary.add(RATE, "schedule", config.setting("scheduler", value=name))
            summary.items[-1].setting.value = name
        return
    summary.add(RATE, "schedule", config.setting("scheduler", "type"))
    params = chosen.params if isinstance(chosen.params, dict) else {}
    if "total_num_steps" in params:
        summary.add(LENGTH, "schedule's total", config.setting("scheduler", "params", "total_num_steps"))
    warmup = params.get("warmup_num_steps", 1000)
    if chosen.name in WARMUPS and type(warmup) is int:
        setting = config.setting("scheduler", "params", "warmup_num_steps", value=warmup)
        used = steps.deepspeed_warmup_steps(warmup)
        because = setting.place if used == warmup else f"at least 2; {setting}"
        summary.derive(LENGTH, "schedule's warm-up", "scheduler_warmup", used, because)


def precision(config: DeepSpeedConfig, summary: Summary) -> None:
    if config.unknown_precision is not None:
        summary.add(PRECISION, "precision", config.setting("fp16", "enabled", value=config.unknown_precision))
    elif not config.knows_precision:
        summary.derive(PRECISION, "precision", "precision", None, '"auto" is resolved by the trainer')
    else:
        name = config.precision
        because = config.at(name, "enabled").place if name != "fp32" else "neither fp16 nor bf16 is enabled"
        summary.derive(PRECISION, "precision", "precision", name, because)
    section = config.values.get("zero_optimization")
    stage = section if isinstance(section, Unknown) else config.stage
    summary.add(PRECISION, "ZeRO stage", config.setting("zero_optimization", "stage", value=stage))
    for label, key in (("optimizer offload", "offload_optimizer"), ("weights offload", "offload_param")):
        if config.get("zero_optimization", key, "device") is not None:
            add_offload(summary, label, config.setting("zero_optimization", key, "device"), config.stage)


def add_offload(summary: Summary, label: str, setting: Setting, stage: object) -> None:
    """Add where ZeRO offloads weights or the optimizer to, if it does: below stage 3 no weights, and the optimizer to the CPU alone.

    Source: deepspeed 0.19.8 runtime/zero/stage_1_and_2.py:220, runtime/engine.py:1562, 2384; runtime/config_utils.py:57 leaves out "auto".
    """
    if setting.value in (None, "none", "auto") or stage == 0 or (stage in (1, 2) and "offload_param" in ".".join(map(str, setting.path))):
        return
    if stage in (1, 2) and setting.value == "nvme":
        summary.derive(PRECISION, label, "offload", "cpu", f"{setting}, which is the CPU with ZeRO stage {stage}")
    else:
        summary.add(PRECISION, label, setting)
