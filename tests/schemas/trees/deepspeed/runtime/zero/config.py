from enum import Enum
from typing import Literal, Optional

from deepspeed.runtime.config_utils import DeepSpeedConfigModel
from pydantic import Field


class Stage(int, Enum):
    off = 0
    on = 1
    most = 1


class OffloadConfig(DeepSpeedConfigModel):
    device: Literal["cpu", "disk"] = "cpu"
    ratio: float = Field(1.0, ge=0.0, le=1.0)


class ZeroConfig(DeepSpeedConfigModel):
    stage: Stage = 0
    bucket: int = Field(pp_int(5e8), gt=0, alias="stage_bucket")
    overlap: Optional[bool] = None
    offload: Optional[OffloadConfig] = None
    old_overlap: bool = Field(False, json_schema_extra={"deprecated": True, "new_param": "overlap"})


def get_zero_config(param_dict):
    if "zero" in param_dict:
        zero_dict = param_dict["zero"]
    else:
        zero_dict = {}
    return ZeroConfig(**zero_dict)
