"""What `explain` shows of a DeepSpeed config: optimizer, schedule, precision and ZeRO."""

from __future__ import annotations

from cfglint.batch import steps
from cfglint.frameworks.deepspeed import schedulers
from cfglint.frameworks.summary import LENGTH, PRECISION, RATE, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig
CLIPPING_SINCE = (0, 19, 3)  # a file without gradient_clipping clips at 1.0


def account(config: DeepSpeedConfig) -> Summary:
    """The engine's lines."""
    told = Summary(config.release)
    if isinstance(config.root, dict):
        rate(config, told)
        schedule(config, told)
        precision(config, told)
    if config.trainer is None:
        told.assumed.append("N GPUs are N processes with one GPU each")
        nobody = "nobody passes an optimizer, scheduler or mpu in code"
        told.assumed.append(nobody if config.facts.whole else "the file may be a part of the run (with --run it is all of it)")
    return told


def rate(config: DeepSpeedConfig, told: Summary) -> None:
    """The optimizer of the file, and its clipping."""
    optimizer = config.optimizer
    if optimizer is not None:
        told.add(RATE, "optimizer", config.setting("optimizer", "type"))
        if isinstance(optimizer.params, dict):
            for label, key in (("learning rate", "lr"), ("weight decay", "weight_decay")):
                if key in optimizer.params:
                    told.add(RATE, label, config.setting("optimizer", "params", key))
    elif config.trainer is None:
        told.derive(RATE, "optimizer", "optimizer", None, "not in the file: passed in code")
    unwritten = 1.0 if config.version >= CLIPPING_SINCE else 0.0
    told.add(RATE, "gradient clipping", config.setting("gradient_clipping", value=unwritten))


def schedule(config: DeepSpeedConfig, told: Summary) -> None:
    """The schedule of the file with the steps that it takes for warm-up and decay."""
    chosen = schedulers.chosen(config)
    if chosen is None:
        return
    told.add(RATE, "schedule", config.setting("scheduler", "type"))
    params = chosen.params if isinstance(chosen.params, dict) else {}
    if "total_num_steps" in params:
        told.add(LENGTH, "schedule's total", config.setting("scheduler", "params", "total_num_steps"))
    warmup = params.get("warmup_num_steps", 1000)
    if chosen.name in schedulers.WARMUPS and type(warmup) is int:
        setting = config.setting("scheduler", "params", "warmup_num_steps", value=warmup)
        used = steps.deepspeed_warmup_steps(warmup)
        told.derive(LENGTH, "schedule's warm-up", "scheduler_warmup", used, setting.place if used == warmup else f"at least 2; {setting}")


def precision(config: DeepSpeedConfig, told: Summary) -> None:
    """Data type, ZeRO stage and what is moved off the GPU."""
    if not config.knows_precision:
        told.derive(PRECISION, "precision", "precision", None, '"auto": the trainer decides')
    else:
        name = config.precision
        section = config.at(name, "enabled") if name != "fp32" else None
        told.derive(PRECISION, "precision", "precision", name, section.place if section else "neither fp16 nor bf16 is enabled")
    stage(config, told)


def stage(config: DeepSpeedConfig, told: Summary) -> None:
    """ZeRO stage and what is moved off the GPU."""
    told.add(PRECISION, "ZeRO stage", config.setting("zero_optimization", "stage", value=config.stage))
    for label, key in (("optimizer offload", "offload_optimizer"), ("weights offload", "offload_param")):
        device = config.get("zero_optimization", key, "device")
        if device not in (None, "none"):
            told.add(PRECISION, label, config.setting("zero_optimization", key, "device"))
