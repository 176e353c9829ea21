"""The memory settings of a LLaMA-Factory run where they differ from those of the Trainer.

Source: llamafactory 0.9.5 model/adapter.py `init_adapter` (trained parameters are cast to fp32, except with pure_bf16, and under ZeRO-3
or FSDP where it is fp32 already), model/model_utils/checkpointing.py (on unless `disable_gradient_checkpointing`),
model/model_utils/attention.py, hparams/parser.py (the compute dtype is that of the precision). Its full training has not been measured:
class C.
"""

from __future__ import annotations

from cfglint.batch.memory.settings import ALL_LINEAR, BF16, EAGER, FP16, FP32, FUSED, INT8, NF4, NF4_DOUBLE, NONE, Lora, Settings
from cfglint.findings.setting import NoSuchField
from cfglint.frameworks.huggingface.memory import TrainerMemory
from cfglint.frameworks.llamafactory.config import LlamaFactoryConfig
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.source.annotations import ConfigValue, Operand
from cfglint.source.record import changed

STAGES = ("pt", "sft")
PAIRS = ("dpo", "rm")


class LlamaFactoryMemory(TrainerMemory):
    """The memory settings of pre-training and supervised fine-tuning; preference training holds pairs of rows."""

    config: LlamaFactoryConfig
    row_keys = ("cutoff_len",)
    dtype_known = True  # it follows from the precision

    def doubts(self) -> list[str]:
        method = self.config.method
        return [] if method in ("full", "lora") else [f"all weights are trained, in spite of `finetuning_type: {method}`"]

    def value(self, name: str) -> Operand:
        try:
            return self.config.own(name)
        except NoSuchField:
            return super().value(name)

    def of_framework(self, settings: Settings) -> Settings:
        stage = self.config.stage
        if stage in PAIRS:
            settings = changed(settings, rows_per_sample=2)
        code = settings.own_code or stage not in STAGES
        return changed(settings, reference_model=stage in {"dpo", "kto"} and settings.lora is None, own_code=code, unmeasured=True)

    @property
    def half(self) -> str | None:
        """The 16-bit dtype of the precision."""
        if self.value("pure_bf16") is True or self.config.arguments["bf16"] is True:
            return BF16
        return FP16 if self.config.arguments["fp16"] is True else None

    def loaded(self) -> str:
        """The dtype of the loaded weights: fp32 for trained parameters unless `pure_bf16`, the compute dtype for a frozen base model."""
        if self.config.method != "lora" and self.value("pure_bf16") is not True:
            return FP32
        return self.half or self.model.checkpoint or BF16

    def checkpointing(self) -> ConfigValue:
        return self.value("disable_gradient_checkpointing") is not True

    def attention(self) -> str:
        return EAGER if self.value("flash_attn") == "disabled" else FUSED

    def optimizer(self) -> str:
        for name in ("use_galore", "use_apollo", "use_badam", "use_muon"):
            if self.value(name) is True:
                self.unread.append(f"the optimizer of {name} like AdamW")
        return super().optimizer()

    def liger(self) -> bool:
        return self.value("enable_liger_kernel") is True

    @property
    def packed(self) -> bool:
        """Whether samples are packed, as they are by default in pre-training."""
        written = self.value("packing")
        return bool(written) or bool(self.value("neat_packing")) or (written is None and self.config.stage == "pt")

    def lora(self) -> Lora | None:
        """The adapters; LoRA is the default method; `all` means every linear layer."""
        if self.config.method != "lora":
            return None
        written = self.value("lora_target")
        targets = (ALL_LINEAR,) if written == "all" else self.targets(written)
        extra = self.value("additional_target")
        saved = extra.split(",") if isinstance(extra, str) else extra
        adapters = self.adapters(self.value("lora_rank"), targets, self.value("lora_dropout"), saved)
        return changed(adapters, fp32=self.value("pure_bf16") is not True)

    def quantization(self) -> str:
        bits = self.value("quantization_bit")
        if bits == 8:
            return INT8
        if bits != 4:
            return NONE
        return NF4_DOUBLE if self.value("double_quantization") is True else NF4

    def prepares_quantized(self) -> bool:
        """Whether norms and embeddings are cast to fp32: only with `upcast_layernorm`."""
        return self.value("upcast_layernorm") is True


def inputs(config: LlamaFactoryConfig, model: Model) -> Inputs | None:
    """The memory settings of a run; None for stages that generate."""
    if not config.parsed or config.stage not in {*STAGES, *PAIRS, "kto"}:
        return None
    return LlamaFactoryMemory(config, model).inputs()
