"""The memory settings of an ms-swift run: those of the Trainer, under other names. Its full training was not measured: class C."""

from __future__ import annotations

from cfglint.batch.memory.settings import Settings
from cfglint.frameworks.huggingface.memory import TrainerMemory
from cfglint.frameworks.memory.inputs import Inputs, Model
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import Operand
from cfglint.source.record import changed

SUPERVISED = ("sft", "pt")
MODELLED = (*SUPERVISED, "dpo", "kto", "orpo", "cpo", "simpo", "rm")
PAIRS = ("dpo", "orpo", "cpo", "simpo", "rm")  # a micro batch consists of chosen and rejected rows
NAMES = {"lora_r": "lora_rank", "lora_target_modules": "target_modules", "attn_implementation": "attn_impl", "dtype": "torch_dtype"}
BNB, FOUR_BITS, EIGHT_BITS = "bnb", 4, 8


class SwiftMemory(TrainerMemory):
    config: SwiftConfig

    def value(self, name: str) -> Operand:
        """The value of an argument, under the name that other trainers' scripts have for it."""
        own = self.config.own
        if name == "use_peft":
            return own(self.config.arguments.tuner_key) in ("lora", "longlora", "adalora")
        if name in ("load_in_4bit", "load_in_8bit"):
            return own("quant_method") == BNB and own("quant_bits") == (FOUR_BITS if name == "load_in_4bit" else EIGHT_BITS)
        name = NAMES.get(name, name)
        if name not in self.config.known:
            return None
        found = own(name)
        return found[0] if name == "target_modules" and isinstance(found, list) and len(found) == 1 else found

    def doubts(self) -> list[str]:
        return []

    def of_framework(self, settings: Settings) -> Settings:
        trainer = self.config.trainer
        if trainer in PAIRS:
            settings = changed(settings, rows_per_sample=2)
        code = settings.own_code or trainer not in SUPERVISED
        return changed(settings, reference_model=trainer in ("dpo", "kto") and settings.lora is None, own_code=code, unmeasured=True)


def inputs(config: SwiftConfig, model: Model) -> Inputs | None:
    """The memory settings of a run; None for the trainers that generate."""
    return SwiftMemory(config, model).inputs() if config.parsed and config.trainer in MODELLED and not config.is_spread else None
