from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Optional, Union

from .utils import logging

log_levels = logging.get_log_levels_dict().copy()
trainer_log_levels = dict(**log_levels, passive=-1)


class Strategy(Enum):
    NO = "no"
    STEPS = "steps"


@dataclass
class TrainingArguments:
    _NOT_A_FIELD = ["x"]

    output_dir: str | None = field(default=None)
    strategy: Union[Strategy, str] = field(default="no", metadata={"help": "When."})
    log_level: Optional[str] = field(default="passive", metadata={"choices": trainer_log_levels.keys()})
    names: "list[str] | None" = field(default_factory=list)
    space: str | None | Literal[False] = field(default=None)
    warmup: float = field(default=0)
    _n_gpu: int = field(init=False, repr=False, default=-1)
