from dataclasses import dataclass
from typing import Optional

from ...utils import Environment


@dataclass
class BaseConfig:
    environment: Environment


@dataclass
class ClusterConfig(BaseConfig):
    num_processes: int = -1
    ip: Optional[str] = None
    names: list[str] = None
    deepspeed_config: Optional[dict] = None
    fsdp_config: Optional[dict] = None
    dynamo_config: Optional[dict] = None


@dataclass
class SageMakerConfig(BaseConfig):
    role: str
    ip: Optional[str] = None
