"""Functions that several rules of TRL use."""

from __future__ import annotations

from cfglint.frameworks.huggingface.batch import of
from cfglint.frameworks.huggingface.rules import shown
from cfglint.frameworks.trl.config import TrlConfig

TRUNCATIONS = ("keep_start", "keep_end")

__all__ = ["of", "shown"]


def losses(config: TrlConfig) -> list[object]:
    """DPO's losses as a list; empty for a release whose class does not have the field."""
    if not config.has_field("loss_type"):
        return []
    value = config.arguments["loss_type"]
    return list(value) if isinstance(value, (list, dict)) else [value]
