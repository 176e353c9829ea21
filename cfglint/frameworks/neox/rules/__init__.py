"""The rules of GPT-NeoX: values that it rejects, in its own order, and values that it silently ignores or overrides."""

from __future__ import annotations

from cfglint.frameworks.neox.config import NeoXConfig


def elsewhere(config: NeoXConfig, *names: str) -> bool:
    """Whether another file of the run may still set one of these arguments."""
    return not config.facts.complete and not all(name in config.values for name in names)
