from dataclasses import dataclass, field
from typing import Literal

from ..extras.constants import Attention


@dataclass
class Base:
    model: str | None = field(default=None, metadata={"help": "Which."})
    attention: Attention = field(default=Attention.AUTO)


@dataclass
class ModelArguments(Base):
    mode: Literal["convert", "load"] | None = field(default=None)
    dtype: str = field(default=None, init=False)
