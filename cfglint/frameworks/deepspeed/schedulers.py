"""The schedulers that a config can name, and their parameters (DeepSpeed 0.19.8 runtime/lr_schedules.py, torch 2.13)."""

from __future__ import annotations

from cfglint.frameworks.deepspeed._tables import SCHEDULERS
from cfglint.frameworks.releases.history import holds
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.deepspeed.config import DeepSpeedConfig

OWN = {
    "LRRangeTest": (
        "",
        "lr_range_test_min_lr lr_range_test_step_size lr_range_test_step_rate lr_range_test_staircase last_batch_iteration",
    ),
    "OneCycle": (
        "cycle_min_lr cycle_max_lr",
        "decay_lr_rate cycle_first_step_size cycle_second_step_size cycle_first_stair_count cycle_second_stair_count decay_step_size"
        " cycle_momentum cycle_min_mom cycle_max_mom decay_mom_rate last_batch_iteration",
    ),
    "WarmupLR": ("", "warmup_min_lr warmup_max_lr warmup_num_steps warmup_type last_batch_iteration"),
    "WarmupDecayLR": ("total_num_steps", "warmup_min_lr warmup_max_lr warmup_num_steps warmup_type last_batch_iteration"),
    "WarmupCosineLR": ("total_num_steps", "warmup_min_ratio warmup_num_steps cos_min_ratio warmup_type last_batch_iteration"),
}
TORCH = {
    "ConstantLR": ("", "factor total_iters last_epoch"),
    "CosineAnnealingLR": ("T_max", "eta_min last_epoch"),
    "CosineAnnealingWarmRestarts": ("T_0", "T_mult eta_min last_epoch"),
    "CyclicLR": (
        "base_lr max_lr",
        "step_size_up step_size_down mode gamma scale_fn scale_mode cycle_momentum base_momentum max_momentum last_epoch",
    ),
    "ExponentialLR": ("gamma", "last_epoch"),
    "LRScheduler": ("", "last_epoch"),
    "LambdaLR": ("lr_lambda", "last_epoch"),
    "LinearLR": ("", "start_factor end_factor total_iters last_epoch"),
    "MultiStepLR": ("milestones", "gamma last_epoch"),
    "MultiplicativeLR": ("lr_lambda", "last_epoch"),
    "OneCycleLR": (
        "max_lr",
        "total_steps epochs steps_per_epoch pct_start anneal_strategy cycle_momentum base_momentum max_momentum div_factor"
        " final_div_factor three_phase last_epoch",
    ),
    "PolynomialLR": ("", "total_iters power last_epoch"),
    "ReduceLROnPlateau": ("", "mode factor patience threshold threshold_mode cooldown min_lr eps"),
    "SequentialLR": ("schedulers milestones", "last_epoch"),
    "StepLR": ("step_size", "gamma last_epoch"),
    "ChainedScheduler": ("schedulers", ""),
    "_LRScheduler": ("", "last_epoch"),
}
WARMUPS = ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR")


class Scheduler:
    __slots__ = ("extra", "known", "missing", "name", "own", "params")

    def __init__(self, name: str, params: Operand, given: bool, version: Version) -> None:
        self.name = name
        self.own = has_own(name, version)
        entry = OWN[name] if self.own else TORCH.get(name)
        self.known = entry is not None
        self.params = params if given else None
        needed, others = (entry[0].split(), entry[1].split()) if entry else ([], [])
        self.extra: list[Operand] = [key for key in self.params or () if key not in needed and key not in others]
        self.missing = [key for key in needed if key not in (self.params or ())]


def has_own(name: str, version: Version) -> bool:
    return name in OWN and any(holds(since, until, version) for since, until in SCHEDULERS.get(name, ()))


def chosen(config: DeepSpeedConfig) -> Scheduler | None:
    section = config.values.get("scheduler")
    name = section.get("type") if isinstance(section, dict) else None
    if not isinstance(section, dict) or not isinstance(name, str) or not config.has_optimizer:
        return None
    return Scheduler(name, section.get("params"), "params" in section, config.version)
