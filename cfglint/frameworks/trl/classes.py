"""The classes of TRL that a parser may be given, by name, and their fields."""

from __future__ import annotations

from cfglint.frameworks.trl.releases import HISTORY

# Configurations of trainers, subclasses of TrainingArguments, and the trainers that they are for.
CLASSES = {
    "SFTConfig": "sft",
    "DPOConfig": "dpo",
    "KTOConfig": "kto",
    "RewardConfig": "reward",
    "GRPOConfig": "grpo",
    "RLOOConfig": "rloo",
    "DistillationConfig": "distillation",
    "ORPOConfig": "orpo",
    "CPOConfig": "cpo",
    "GKDConfig": "gkd",
    "BCOConfig": "bco",
    "PRMConfig": "prm",
    "PPOConfig": "ppo",
    "OnlineDPOConfig": "online_dpo",
    "NashMDConfig": "nash_md",
    "XPOConfig": "xpo",
}
OTHER_CLASSES = {
    "ScriptArguments": "script",
    "ModelConfig": "model",
    "DatasetMixtureConfig": "mixture",
    "GRPOScriptArguments": "grpo script",
}


def fields_of_class(name: str) -> set[str]:
    """The fields of a class in any modelled release; empty for a class of another package."""
    return set(HISTORY.names(CLASSES.get(name) or OTHER_CLASSES.get(name, "")))
