import copy

from .config_utils import get_scalar_param
from .constants import *
from .zero.config import get_zero_config

_REMOVED_TOP_LEVEL_CONFIG_KEYS = {"elastic": "gone"}
_REMOVED_ZERO_CONFIG_KEYS = {}


def _reject_removed_config_keys(param_dict):
    for key in _REMOVED_TOP_LEVEL_CONFIG_KEYS:
        assert key not in param_dict


def get_optimizer_name(param_dict):
    if OPTIMIZER in param_dict.keys() and TYPE in param_dict[OPTIMIZER].keys():
        return param_dict[OPTIMIZER][TYPE]
    return None


def get_pipeline(param_dict):
    config = {"stages": "auto", "interval": 0}
    for key, value in param_dict.get("pipeline", {}).items():
        config[key] = value
    return config


class WriterConfig:
    def __init__(self, param_dict):
        self._read(param_dict.get(WRITER, {}))

    def _read(self, writer):
        self.bytes = get_scalar_param(writer, WRITER_BYTES, WRITER_BYTES_DEFAULT)


class DeepSpeedConfig:
    def __init__(self, config, mpu=None):
        self._param_dict = config
        _reject_removed_config_keys(self._param_dict)
        param_dict = copy.copy(self._param_dict)
        self._initialize_params(param_dict)

    def _initialize_params(self, param_dict):
        self.steps = get_scalar_param(param_dict, STEPS, STEPS_DEFAULT)
        self.clipping = get_scalar_param(param_dict, CLIPPING, CLIPPING_DEFAULT)
        self.zero = get_zero_config(param_dict)
        self.optimizer_name = get_optimizer_name(param_dict)
        self.pipeline = get_pipeline(param_dict)
        self.writer = WriterConfig(param_dict)
