"""Helpers shared by the Trainer rules."""

from __future__ import annotations

from cfglint.findings.setting import Setting
from cfglint.findings.wording import spelled as shown
from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.config import TrainerConfig

__all__ = ["article", "lost_strategy", "of", "shown", "strategy"]


def strategy(config: TrainerConfig) -> Setting:
    """The evaluation strategy, under the key that the file uses."""
    return config.setting(config.arguments.strategy_key, value=config.arguments.eval_strategy)


def lost_strategy(config: TrainerConfig) -> Setting | None:
    """The removed `evaluation_strategy`, if the best model could be loaded with it: then it is the only cause of that error."""
    former = config.setting("evaluation_strategy")
    if not former.written or config.declares("evaluation_strategy"):
        return None
    args = config.arguments
    is_cause = args["load_best_model_at_end"] and args.eval_strategy != args["save_strategy"] == former.value
    return former if is_cause else None


def article(value: object) -> str:
    """The type of a value with its article, in the terms of YAML and JSON: `a list`, `an integer`."""
    names = {str: "a string", bool: "a boolean", int: "an integer", float: "a number", list: "a list", dict: "a mapping"}
    return names.get(type(value), shown(value))
