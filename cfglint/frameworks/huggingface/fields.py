"""The fields of `TrainingArguments` with their defaults, and the releases of transformers that have them.

The data is in `_tables.py`, generated together with the schema; `schemas/huggingface.json` describes each field. The default
optimizer is the fused AdamW from 4.54.0 on if torch is 2.8 or newer.
"""

from __future__ import annotations

from cfglint.frameworks.huggingface._tables import CHOICE_HISTORY, CHOICES, DEFAULT_HISTORY, FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.versions import Version

__all__ = ["CHOICES", "DTYPE_KEYS", "FIELDS", "OPTIMIZERS", "choices", "defaults", "has_field", "within"]

OPTIMIZERS = CHOICES["optim"]
DTYPE_KEYS = ("dtype", "torch_dtype")  # arguments of programs: the type in which they load the weights
# The Enum classes that exceptions name.
# The types that HfArgumentParser derives from the annotations of TrainingArguments, if they differ from the type in `FIELDS`.
PARSED: dict[str, str] = {
    "debug": "list:object",
    "include_for_metrics": "list:str",
    "include_num_input_tokens_seen": "bool",
    "label_names": "list:str",
    "liger_kernel_config": "dict",
    "parallelism_config": "object",
}
CLASSES = {
    "eval_strategy": "IntervalStrategy",
    "evaluation_strategy": "IntervalStrategy",
    "logging_strategy": "IntervalStrategy",
    "save_strategy": "SaveStrategy",
    "hub_strategy": "HubStrategy",
    "lr_scheduler_type": "SchedulerType",
    "optim": "OptimizerNames",
    "debug": "DebugOption",
}


def within(since: Version, until: Version, version: Version) -> bool:
    """Whether a release is in the half-open range between two releases, given as strings; an empty string is an open end."""
    return version >= since and (not until or version < until)


_defaults: dict[Version, dict[str, Any]] = {}


def defaults(version: Version) -> dict[str, Any]:
    """The fields of a release with their default values."""
    found = _defaults.get(version)
    if found is None:
        found = {name: value for name, (_, value, since, until) in FIELDS.items() if within(since, until, version)}
        for name, history in DEFAULT_HISTORY.items():
            if name in found:
                found[name] = [value for since, value in history if version >= since][-1]
        _defaults[version] = found
    return found


def has_field(name: Any, version: Version) -> bool:
    """Whether `TrainingArguments` of a release accepts a keyword of this name."""
    return isinstance(name, str) and name in defaults(version)


def has_choice(name: str, value: str, version: Version) -> bool:
    """Whether a release has a value of an Enum field."""
    return within(*CHOICE_HISTORY.get((name, value), ((), ())), version)


def choices(name: str, version: Version) -> tuple[str, tuple[str, ...]]:
    """(Enum class, its values) of a field in a release."""
    label = "IntervalStrategy" if name == "save_strategy" and not has_choice(name, "best", version) else CLASSES[name]
    return label, tuple(value for value in CHOICES[name] if has_choice(name, value, version))
