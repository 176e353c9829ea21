"""The checkpoint that a GPT-NeoX run continues from: that of `load`, if its folder has one (megatron/checkpointing.py: load_checkpoint)."""

from __future__ import annotations

import os

from cfglint.data.checkpoint import STEP, Checkpoint, named_checkpoint, step_of
from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.frameworks.neox.steps import total_steps
from cfglint.frameworks.resumption import Resumption, given_checkpoint
from cfglint.source.annotations import ConfigTable
from cfglint.source.loaders import YAML11_FULL
from cfglint.source.parse import parse

FOLDER, ITERATION = "load", "iteration"
LATEST = "latest"
CONFIGS = "configs"  # the folder of a checkpoint with the files of the run that saved it


def resumption(config: NeoXConfig) -> Resumption | None:
    """The checkpoint of a run; a folder without one is where it begins, and `finetune` takes nothing but the weights."""
    checkpoint = given_checkpoint(config.facts, FOLDER) or named(config)
    if checkpoint is None or checkpoint.checkpoint is None or config.argument("finetune"):
        return checkpoint if checkpoint is not None and config.facts.resume is not None else None
    checkpoint.begin = step_of(tag_of(config, checkpoint.checkpoint), STEP)
    total = total_steps(config)
    checkpoint.end = max(total, checkpoint.begin) if total is not None and checkpoint.begin is not None else None
    return checkpoint if checkpoint.begin is not None else None


def named(config: NeoXConfig) -> Resumption | None:
    folder = config.argument(FOLDER)
    if not isinstance(folder, str) or not folder:
        return None
    checkpoint = named_checkpoint(folder, config.documents[0].path)
    return Resumption(config.setting(FOLDER), folder, checkpoint, config.facts.complete) if checkpoint is not None else None


def tag_of(config: NeoXConfig, checkpoint: Checkpoint) -> str:
    """The folder of the state that is loaded: of `iteration`, else the one that `latest` names."""
    iteration = config.argument(ITERATION)
    return f"{STEP}{iteration}" if type(iteration) is int else checkpoint.text(LATEST)


def saved_values(checkpoint: Checkpoint, tag: str) -> ConfigTable:
    """The values in the config files that the checkpoint has a copy of; a value that two of them give differently is left out."""
    found: ConfigTable = {}
    folder = os.path.join(tag, CONFIGS)
    for name in sorted(checkpoint.inside(folder)):
        text = checkpoint.content(os.path.join(folder, name)) if name.endswith((".yml", ".yaml")) else None
        value = YAML11_FULL.read(parse(name, text, "yaml")).value if text is not None else None
        for key, each in value.items() if isinstance(value, dict) else ():
            name_of_field = str(key).replace("-", "_")
            found[name_of_field] = each if found.get(name_of_field, each) == each else None
    return found
