"""The memory settings of an axolotl run where they differ from those of the Trainer.

Source: axolotl 0.21.0 utils/config/__init__.py `normalize_config` (the load dtype follows the precision), loaders/model.py (4-bit
loading; embeddings and norms go back to the 16-bit dtype after `prepare_model_for_kbit_training`), integrations/liger and
cut_cross_entropy. Its full training has not been measured: class C.
"""

from __future__ import annotations

from cfglint.batch.memory import settings as modes
from cfglint.batch.memory.settings import Lora, Settings
from cfglint.frameworks.axolotl.config import AxolotlConfig
from cfglint.frameworks.huggingface.memory import DEFAULT_TARGETS, TrainerMemory
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.source.annotations import ConfigValue, Operand
from cfglint.source.record import changed


class AxolotlMemory(TrainerMemory):
    """The memory settings of fine-tuning; reinforcement learning and preference training are not modelled."""

    config: AxolotlConfig
    row_keys = ("sequence_len",)
    dtype_known = True  # it follows from the precision

    def doubts(self) -> list[str]:
        return []

    def value(self, name: str) -> Operand:
        """A value of the validated model, else of the Trainer's arguments."""
        try:
            found = getattr(self.config.model, name)
        except (AttributeError, RuntimeError):
            return super().value(name)
        return found

    def of_framework(self, settings: Settings) -> Settings:
        if self.value("liger_fused_linear_cross_entropy") is True:
            settings = changed(settings, loss=modes.LOSS_FUSED)
        elif self.value("cut_cross_entropy") is True:
            settings = changed(settings, loss=modes.LOSS_CHUNKED)
        return changed(settings, unmeasured=True)

    @property
    def packed(self) -> bool:
        return bool(self.value("sample_packing"))

    def loaded(self) -> str:
        if self.value("bf16") or self.value("bfloat16"):
            return modes.BF16
        return modes.FP16 if self.value("fp16") or self.value("float16") else modes.FP32

    def autocast(self) -> str | None:
        """Mixed precision, as handed to the Trainer; `bf16: full` has none."""
        if self.value("bf16") == "full":
            return None
        arguments = self.config.arguments
        return next((name for name in (modes.BF16, modes.FP16) if arguments[name] is True), None)

    def checkpointing(self) -> ConfigValue:
        return bool(self.value("gradient_checkpointing"))

    def attention(self) -> str:
        return modes.EAGER if self.value("eager_attention") is True or self.value("attn_implementation") == "eager" else modes.FUSED

    def liger(self) -> bool:
        return self.value("liger_rms_norm") is True or self.value("liger_glu_activation") is True

    def lora(self) -> Lora | None:
        if self.value("adapter") not in ("lora", "qlora"):
            return None
        written = self.value("lora_target_modules")
        targets = (modes.ALL_LINEAR,) if self.value("lora_target_linear") is True else self.targets(written) if written else DEFAULT_TARGETS
        return self.adapters(self.value("lora_r"), targets, self.value("lora_dropout"), self.value("lora_modules_to_save"))

    def quantization(self) -> str:
        """The quantization; 4-bit is double-quantised nf4."""
        if self.value("load_in_4bit") is True:
            return modes.NF4_DOUBLE
        return modes.INT8 if self.value("load_in_8bit") is True else modes.NONE

    def prepares_quantized(self) -> bool:
        """Return false: norms and embeddings go back to the 16-bit dtype."""
        return False


def inputs(config: AxolotlConfig, model: Model) -> Inputs | None:
    if not config.parsed or config.model is None:
        return None
    axolotl_memory = AxolotlMemory(config, model)
    return None if axolotl_memory.value("rl") else axolotl_memory.inputs()
