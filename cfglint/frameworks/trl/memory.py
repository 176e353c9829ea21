"""The memory settings of a TRL run where they differ from those of the Trainer.

Source: trl 1.16.0 trainer/sft_trainer.py:846-911 (adapters under ZeRO-3 and over quantised models), :1590-1620 (the fused head);
trl 0.17.0 trainer/sft_trainer.py:427 (`prepare_model_for_kbit_training`), trainer/dpo_trainer.py (pairs, the reference model).
"""

from __future__ import annotations

from cfglint.batch.memory.settings import LOSS_CHUNKED, NONE, ZERO, Settings
from cfglint.frameworks.huggingface.memory import TrainerMemory
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.frameworks.trl import PACKAGE
from cfglint.frameworks.trl.config import TrlConfig
from cfglint.source.record import changed
from cfglint.source.shell.tables import names

FUSED_HEAD = (1, 16)  # SFT's loss without complete logits; the releases between 1.0 and this one were not examined
READ_BEFORE = (1,)
SFT = "sft"
PAIRS = ("dpo", "orpo", "cpo", "reward")  # trainers whose micro batch consists of chosen and rejected rows
REFERENCE = ("dpo", "kto")  # trainers that hold a reference model, unless adapters can be switched off
# Fields of TRL's ModelConfig, without effect unless `use_peft` or the quantisation is on.
MODEL_ARGUMENTS = names(
    "use_peft lora_r lora_alpha lora_dropout lora_target_modules lora_target_parameters lora_modules_to_save lora_task_type use_rslora"
    " use_dora load_in_8bit load_in_4bit bnb_4bit_quant_type use_bnb_nested_quant bnb_4bit_compute_dtype bnb_4bit_quant_storage"
)
MODELLED = (SFT, *PAIRS, "kto")


class TrlMemory(TrainerMemory):
    """The memory settings of SFT and of the trainers for preference pairs; those that generate are not modelled."""

    config: TrlConfig
    understood = MODEL_ARGUMENTS

    def inputs(self) -> Inputs:
        found = super().inputs()
        facts = self.config.facts
        may_be_fused = PACKAGE in facts.target and (self.config.trl_version < FUSED_HEAD or not facts.is_known(PACKAGE))
        if may_be_fused and self.config.trl_version >= READ_BEFORE and self.config.only(SFT) and not self.liger():
            return changed(found, alternatives=(*found.alternatives, changed(found.settings, loss=LOSS_CHUNKED)))
        return found

    def of_framework(self, settings: Settings) -> Settings:
        config = self.config
        if config.facts.is_known(PACKAGE) and config.trl_version >= FUSED_HEAD and config.only(SFT) and not self.liger():
            settings = changed(settings, loss=LOSS_CHUNKED)
        if config.only(*PAIRS):
            settings = changed(settings, rows_per_sample=2)
        if config.only(*REFERENCE) and settings.lora is None:
            settings = changed(settings, reference_model=not self.value("precompute_ref_log_probs"))
        # Adapters are fp32, but not over a quantised model, and not over a 16-bit one under ZeRO-3.
        partitioned = settings.strategy == ZERO and settings.zero is not None and settings.zero.stage == 3
        if settings.lora is not None and not self.prepares_quantized() and (settings.quantization != NONE or partitioned):
            settings = changed(settings, lora=changed(settings.lora, fp32=False))
        return changed(settings, own_code=settings.own_code or not config.only(SFT))

    def prepares_quantized(self) -> bool:
        """Whether norms, embeddings and head are cast to fp32: before 1.0."""
        return self.config.trl_version < READ_BEFORE


def inputs(config: TrlConfig, model: Model) -> Inputs | None:
    return TrlMemory(config, model).inputs() if config.parsed and config.only(*MODELLED) else None
