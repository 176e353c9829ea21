"""What the trainer's rules share."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, WARNING
from cfglint.frameworks.huggingface.batch import of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.huggingface.config import TrainerConfig
    from cfglint.frameworks.setting import Setting

KINDS = ("huggingface",)
OLD: dict[str, object] = {"target": {"transformers": "4.42.4"}}  # for examples of what only 4.x does

__all__ = ["KINDS", "OLD", "certainty", "number", "of", "shown", "strategy"]


def certainty(config: TrainerConfig, *names: str) -> str:
    """An error when the files are the whole run or say everything that it rests on, else a warning.

    A file on its own may get the keys that it lacks on the command line.
    """
    if config.facts.whole or all(name in config.arguments or config.arguments.written(name) in config.values for name in names):
        return ERROR
    return WARNING


def number(value: Any) -> bool:
    """Whether a value compares with numbers."""
    return isinstance(value, (int, float))


def strategy(config: TrainerConfig) -> Setting:
    """When to evaluate, under the key that the file uses."""
    return config.setting(config.arguments.strategy_key, value=config.arguments.eval_strategy)


def shown(value: Any) -> str:
    """A value as YAML and JSON write it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, str) else str(value)
