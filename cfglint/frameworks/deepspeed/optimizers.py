"""The classes of the optimizer and the scheduler that DeepSpeed builds from a config, and their parameters.

The class of the optimizer depends on where its states are: on the CPU, DeepSpeed uses its CPU optimizers instead of
the fused ones (DeepSpeed 0.19.8, runtime/engine.py:2377-2549, runtime/lr_schedules.py; torch 2.13 for torch's own).
"""

from __future__ import annotations

from cfglint.frameworks.deepspeed._tables import OPTIMIZERS, SCHEDULERS
from cfglint.frameworks.releases.history import holds
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigMapping, Operand
from cfglint.source.record import Record

ONE_BIT = {"onebitadam": "OnebitAdam", "onebitlamb": "OnebitLamb", "zerooneadam": "ZeroOneAdam"}
ONE_BIT_REMOVED = OPTIMIZERS["onebitadam"][-1][1]
TITLES = {"OnebitAdam": "1-bit Adam", "OnebitLamb": "1-bit Lamb", "ZeroOneAdam": "0/1 Adam"}  # what messages call them
ONE_BIT_BACKENDS = ("nccl", "mpi", "hccl", "compressed")
NOT_CLASSES = ("lr_scheduler", "swa_utils")  # attributes of torch.optim that pass the check of names and cannot be called
ADAM_KEYS = "lr bias_correction betas eps weight_decay amsgrad"
ONE_BIT_KEYS = f"{ADAM_KEYS} eps_inside_sqrt max_grad_norm cuda_aware comm_backend_name"
TORCH_COMMON = "maximize foreach differentiable"
PARAMETERS = {
    "FusedAdam": f"{ADAM_KEYS} set_grad_none",
    **dict.fromkeys(("DeepSpeedCPUAdam", "ZenFlowCPUAdam"), ADAM_KEYS),
    "FusedLamb": "lr bias_correction betas eps eps_inside_sqrt weight_decay max_grad_norm max_coeff min_coeff amsgrad",
    "FusedLion": "lr betas weight_decay set_grad_none",
    "OnebitAdam": f"{ONE_BIT_KEYS} freeze_step",
    "OnebitLamb": f"{ONE_BIT_KEYS} freeze_step max_coeff min_coeff coeff_beta factor_max factor_min factor_threshold",
    "ZeroOneAdam": f"{ONE_BIT_KEYS} var_freeze_step var_update_scaler local_step_scaler local_step_clipper",
    "DeepSpeedCPULion": "lr betas weight_decay fp32_optimizer_states",
    "DeepSpeedCPUAdagrad": "lr eps weight_decay amsgrad fp32_optimizer_states",
    "Adam": f"lr betas eps weight_decay amsgrad {TORCH_COMMON} capturable fused decoupled_weight_decay",
    "AdamW": f"lr betas eps weight_decay amsgrad {TORCH_COMMON} capturable fused",
    "Adagrad": f"lr lr_decay weight_decay initial_accumulator_value eps {TORCH_COMMON} fused",
    "ASGD": f"lr lambd alpha t0 weight_decay {TORCH_COMMON} capturable",
    "Adadelta": f"lr rho eps weight_decay {TORCH_COMMON} capturable",
    "Adafactor": "lr beta2_decay eps d weight_decay foreach maximize",
    "Adamax": f"lr betas eps weight_decay {TORCH_COMMON} capturable",
    "LBFGS": "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn",
    "NAdam": f"lr betas eps weight_decay momentum_decay decoupled_weight_decay {TORCH_COMMON} capturable",
    "Optimizer": "defaults",
    "RAdam": f"lr betas eps weight_decay decoupled_weight_decay {TORCH_COMMON} capturable",
    "RMSprop": f"lr alpha eps weight_decay momentum centered {TORCH_COMMON} capturable",
    "Rprop": f"lr etas step_sizes {TORCH_COMMON} capturable",
    "SGD": f"lr momentum dampening weight_decay nesterov {TORCH_COMMON} fused",
    "SparseAdam": "lr betas eps maximize",
}
# torch's classes check that these are not negative.
NOT_NEGATIVE = {
    **dict.fromkeys(("Adam", "AdamW", "Adamax", "RAdam"), "lr eps weight_decay"),
    **dict.fromkeys(("ASGD", "Adafactor"), "lr weight_decay"),
    **dict.fromkeys(("LBFGS", "Rprop"), "lr"),
    "Adagrad": "lr lr_decay weight_decay initial_accumulator_value eps",
    "Adadelta": "lr rho eps weight_decay",
    "NAdam": "lr eps weight_decay momentum_decay",
    "RMSprop": "lr eps momentum weight_decay alpha",
    "SGD": "lr momentum weight_decay",
}
ABOVE_ZERO = {"SparseAdam": "lr eps"}
# Classes that unpack `betas` in their constructor.
READS_BETAS = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam", "DeepSpeedCPUAdam", "ZenFlowCPUAdam", "DeepSpeedCPULion")
NO_AMSGRAD = ("FusedAdam", "FusedLamb", *TITLES)
NATIVE = ("FusedAdam", "FusedLamb", "FusedLion", "DeepSpeedCPUAdam", "ZenFlowCPUAdam", "DeepSpeedCPULion", "DeepSpeedCPUAdagrad")
TESTED_WITH_ZERO = (
    *("Adam", "AdamW", "Adagrad", "FusedAdam", "FusedLion", "MuonWithAuxAdam"),
    *("DeepSpeedCPUAdam", "ZenFlowCPUAdam", "DeepSpeedCPUAdagrad", "DeepSpeedCPULion"),
)
CLASSES = {  # DeepSpeed's name -> its class, and that with the optimizer's states on the CPU
    "adagrad": ("Adagrad", "DeepSpeedCPUAdagrad"),
    "lion": ("FusedLion", "DeepSpeedCPULion"),
    "lamb": ("FusedLamb", "FusedLamb"),
    "muon": ("MuonWithAuxAdam", "MuonWithAuxAdam"),
    **{name: (title, title) for name, title in ONE_BIT.items()},
    "muadam": ("Adam", "Adam"),
    "muadamw": ("AdamW", "AdamW"),
    "musgd": ("SGD", "SGD"),
}
# DeepSpeed removes these from `params` before it builds the class.
TAKEN_BY_ADAM = ("adam_w_mode", "torch_adam", "fp32_optimizer_states")

# The schedulers that a config can name, with their required and their other parameters: DeepSpeed's own, and torch's.
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


class Optimizer(Record):
    """The optimizer of a config file.

    `name` is DeepSpeed's name (its own ones in lower case), `class_name` the class that it builds, empty if
    there is none. `params` is the value in the file, `arguments` are those that DeepSpeed passes to the class.
    """

    name: str
    class_name: str
    params: Operand
    arguments: ConfigMapping

    @property
    def known(self) -> bool:
        return bool(self.class_name) or self.name in NOT_CLASSES

    def accepted(self) -> list[str] | None:
        """The parameters of the class; None where it accepts any, or where they are unknown."""
        names = PARAMETERS.get(self.class_name)
        return names.split() if names is not None else None


def chosen(section: object, version: Version, is_offloaded: bool, has_zenflow: bool) -> Optimizer | None:
    name = section.get("type") if isinstance(section, dict) else None
    if not isinstance(name, str) or not isinstance(section, dict):
        return None
    is_own = any(holds(since, until, version) for since, until in OPTIMIZERS.get(name.lower(), ()))
    if is_own:
        name = name.lower()
    params = section.get("params")
    arguments = dict(params) if isinstance(params, dict) else {}
    if not is_own:
        is_of_torch = name in PARAMETERS and name[0].isupper() and name not in (*NATIVE, *TITLES)
        built = name if is_of_torch else ""
    elif name in ("adam", "adamw"):  # torch's with `torch_adam`, DeepSpeed's on the CPU with offload, else the fused one
        decoupled = arguments.get("adam_w_mode", True) or name == "adamw"
        if arguments.get("torch_adam", False):
            built = "AdamW" if decoupled else "Adam"
        else:
            built = "FusedAdam" if not is_offloaded else "ZenFlowCPUAdam" if has_zenflow else "DeepSpeedCPUAdam"
        for key in TAKEN_BY_ADAM:
            arguments.pop(key, None)
    else:
        built = CLASSES[name][is_offloaded]
    return Optimizer(name, built, params, arguments)


class Scheduler(Record):
    """The scheduler of a config file, with the parameters that it lacks, and those that it does not have."""

    name: str
    own: bool
    known: bool
    params: Operand
    missing: list[str]
    extra: list[Operand]


def has_own(name: str, version: Version) -> bool:
    return name in OWN and any(holds(since, until, version) for since, until in SCHEDULERS.get(name, ()))


def scheduler_of(section: object, version: Version) -> Scheduler | None:
    name, params = (section.get(key) for key in ("type", "params")) if isinstance(section, dict) else (None, None)
    if not isinstance(name, str):
        return None
    own, given = has_own(name, version), params if isinstance(params, dict) else ()
    needed, others = map(str.split, OWN[name] if own else TORCH.get(name, ("", "")))
    missing, extra = [key for key in needed if key not in given], [key for key in given if key not in needed and key not in others]
    return Scheduler(name, own, own or name in TORCH, params, missing, extra)
