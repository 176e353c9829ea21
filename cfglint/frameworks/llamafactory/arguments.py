"""The values of LLaMA-Factory's own fields, and of the trainer's as `get_train_args` leaves them."""

from __future__ import annotations

from cfglint.findings.releases import Releases
from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.huggingface.arguments import Arguments
from cfglint.frameworks.llamafactory.releases import default, ever
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import ConfigMapping, Operand

OVERWRITTEN = {"remove_unused_columns": False}  # parser.py:437
SCHEDULE_FILLED = Releases((0, 9, 3))
FILLED_SCHEDULE = "warmup_stable_decay"
FILLED_STEPS = ("num_stable_steps", "num_decay_steps")  # one and two thirds of the steps after warm-up; trainer_utils.py:556-570


class TrainerArguments(Arguments):
    """`TrainingArguments` of a LLaMA-Factory run. `own_version` is the release of LLaMA-Factory."""

    def __init__(self, values: ConfigMapping, version: Version, own_version: Version) -> None:
        self.own_version = own_version
        super().__init__(values, version)

    def __getitem__(self, name: str) -> Operand:
        """The value of a field as it is passed to the trainer."""
        if name in OVERWRITTEN:
            return OVERWRITTEN[name]
        value = super().__getitem__(name)
        filled = name == "lr_scheduler_kwargs" and self.own_version in SCHEDULE_FILLED
        if filled and (value is None or isinstance(value, dict)) and self["lr_scheduler_type"] == FILLED_SCHEDULE:
            return {**dict.fromkeys(FILLED_STEPS, 1), **(value or {})}
        return value

    @property
    def checkpointing(self) -> Operand:
        """Whether the Trainer's own switch enables gradient checkpointing, in addition to LLaMA-Factory's."""
        return self["gradient_checkpointing"]


def default_of(name: str, release: Version) -> Operand:
    """The default of one of LLaMA-Factory's fields; None if the release does not have it."""
    if not ever(name):
        raise NoSuchField(name)
    return default(name, release)


def comma_list(value: object) -> Operand:
    """A string as the list that `split_arg` converts it to; any other value unchanged (data_args.py:148-151)."""
    return [item.strip() for item in value.split(",")] if isinstance(value, str) else value
