"""The adapter of an ms-swift run whose target modules are named (ms-swift 4.6.0 pipelines/train/tuner.py, 3.12.6 llm/train/tuner.py)."""

from __future__ import annotations

from cfglint.frameworks.peft.adapters import Place
from cfglint.frameworks.peft.lora import ALL_LINEAR
from cfglint.frameworks.swift.config import SwiftConfig
from cfglint.source.annotations import ConfigTable

KEYS = {  # field of LoraConfig -> argument
    "r": "lora_rank", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout", "target_modules": "target_modules",
    "modules_to_save": "modules_to_save", "use_rslora": "use_rslora", "use_dora": "use_dora",
}  # fmt: skip
OTHERWISE = ("adapters", "target_regex", "target_parameters", "freeze_parameters", "external_plugins", "tuner_type_map")


def adapters(config: SwiftConfig) -> list[Place]:
    """The adapter of `--tuner_type lora`, which is the default; all-linear is resolved by ms-swift, and always matches."""
    tuner = config.own("tuner_type") or config.own("train_type")
    targets = config.own("target_modules")
    if tuner != "lora" or not isinstance(targets, list) or ALL_LINEAR in targets or not all(isinstance(target, str) for target in targets):
        return []
    if config.own("tuner_backend") != "peft" or any(config.own(name) for name in OTHERWISE):
        return []
    given: ConfigTable = {field: config.own(name) for field, name in KEYS.items()}
    named = config.own("model")
    known = {field: value for field, value in given.items() if value is not None and value != []}
    return [Place(known, named if isinstance(named, str) else "", "", config.documents[0].path, config.version, False, None, KEYS)]
