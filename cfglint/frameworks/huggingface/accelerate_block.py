"""The DeepSpeed config that accelerate creates from the `deepspeed_config` block of its own, for a Trainer that then fills it in as a file
(accelerate 1.15.0 utils/dataclasses.py:1228-1337, transformers 5.23.0 training_args.py:1716-1720, trainer.py:886).
"""

from __future__ import annotations

from contextlib import suppress

from cfglint.evaluate import Unknown
from cfglint.findings.setting import DEFAULT, OVERRIDE, Setting
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.accelerate.config import AccelerateConfig
from cfglint.frameworks.huggingface.deepspeed_integration import AUTO, HfDeepSpeedConfig
from cfglint.frameworks.huggingface.trainer_files import TrainerFiles
from cfglint.source.annotations import Callable, ConfigTable, ConfigValue
from cfglint.source.limits import LONGEST_NUMBER

BLOCK = "deepspeed_config"
# Keys of the configuration that have another name in the accelerate config.
NAMES = {
    "gradient_accumulation_steps": (BLOCK, "gradient_accumulation_steps"),
    "gradient_clipping": (BLOCK, "gradient_clipping"),
    "zero_optimization.stage": (BLOCK, "zero_stage"),
    "zero_optimization.offload_optimizer.device": (BLOCK, "offload_optimizer_device"),
    "zero_optimization.offload_param.device": (BLOCK, "offload_param_device"),
    "fp16.enabled": ("mixed_precision",),
    "bf16.enabled": ("mixed_precision",),
}
DEFAULT_STAGE = 2


class BlockLaunch(HfDeepSpeedConfig):
    def __init__(self, trainer: TrainerFiles, launcher: AccelerateConfig) -> None:
        block = launcher.section(BLOCK)
        config: ConfigTable = {
            "train_batch_size": AUTO,
            "train_micro_batch_size_per_gpu": AUTO,
            "gradient_accumulation_steps": passed_on(block.get("gradient_accumulation_steps"), AUTO),
            "zero_optimization": {
                "stage": passed_on(block.get("zero_stage"), DEFAULT_STAGE, "-"),
                "offload_optimizer": offload(block.get("offload_optimizer_device")),
                "offload_param": offload(block.get("offload_param_device")),
                "stage3_gather_16bit_weights_on_model_save": str(block.get("zero3_save_16bit_model", False)).lower() == "true",
            },
        }
        clipping = block.get("gradient_clipping")
        if clipping is None or clipping == AUTO:
            config["gradient_clipping"] = AUTO
        elif clipping or isinstance(clipping, Unknown):
            config["gradient_clipping"] = clipping
            with suppress(ValueError):
                config["gradient_clipping"] = float(str(clipping))
        super().__init__(trainer, config, launcher.documents[0], (BLOCK,))
        self.launcher = launcher

    def setting(self, path: str) -> Setting:
        keys = NAMES.get(path, (BLOCK,))
        setting = self.launcher.setting(*keys)
        origin = setting.origin if setting.written or setting.origin == OVERRIDE else DEFAULT
        value = self.value(path) if keys[0] == BLOCK else setting.value
        return Setting(keys, value, origin, setting.document, setting.node, setting.key_node)

    def accepts_auto(self, setting: Setting) -> bool:
        """Whether a key may be "auto": two keys of the block may, none of the flags."""
        return setting.written and setting.path[-1] in ("gradient_accumulation_steps", "gradient_clipping")

    @property
    def stages(self) -> tuple[tuple[Stage, Callable[[], None]], ...]:
        """The steps between the accelerate config and the engine: here accelerate comes before the trainer."""
        return (
            ("config", self._stage_and_offload),
            ("config", self._precision),
            ("init", self._arguments),
            ("init", self._loader),
            ("init", self._finalize),
            ("init", self._prepare),
        )

    @property
    def precision(self) -> str:
        """The trainer's own precision, else that of the launch; fp8 runs on bf16."""
        args = self.trainer.arguments
        if args["fp16"] or args["bf16"]:
            return super().precision
        named = self.launcher.precision or "no"
        return "bf16" if named == "fp8" else named


def passed_on(value: ConfigValue, default: ConfigValue, sign: str = "") -> ConfigValue:
    """A setting as the environment of the launcher has it, a number if it is written as one, with or without a `sign`."""
    text = str(default if value is None else value)
    if isinstance(value, Unknown):
        return value
    return int(text) if text.removeprefix(sign).isdecimal() and len(text) < LONGEST_NUMBER else value if sign else text


def offload(value: ConfigValue) -> ConfigTable:
    """The section of a device; the launcher does not pass on the block's own path."""
    if isinstance(value, Unknown):
        return {"device": value, "nvme_path": value}
    device = "none" if value is None else str(value).lower()
    return {"device": device, "nvme_path": "none" if device == "nvme" else None}
