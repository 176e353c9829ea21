"""The fields of TRL's classes through its releases."""

from __future__ import annotations

from cfglint.frameworks.releases.history import History, holds
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl._tables import ENTRIES, FIELDS, SPANS, STABLE

HISTORY = History(FIELDS, SPANS)
ENTRY = History(ENTRIES)  # of an entry of `datasets`
# Configurations of trainers, subclasses of TrainingArguments, and the trainers that they are for.
CLASSES = {f"{name}Config": name.lower() for name in "SFT DPO KTO Reward GRPO RLOO Distillation ORPO CPO GKD BCO PRM PPO".split()}
CLASSES |= {"OnlineDPOConfig": "online_dpo", "NashMDConfig": "nash_md", "XPOConfig": "xpo"}
OTHER_CLASSES = {"ScriptArguments": "script", "ModelConfig": "model", "DatasetMixtureConfig": "mixture"}
OTHER_CLASSES |= {"GRPOScriptArguments": "grpo script"}


def is_experimental(name: str, release: Version) -> bool:
    """Whether a release has a class in its folder `experimental` only."""
    return name in STABLE and not any(holds(since, until, release) for since, until in STABLE[name])
