"""The rules of GPT-NeoX: values that it rejects, in its own order, and values that it silently ignores or overrides."""

from __future__ import annotations

from cfglint.frameworks.neox.config import NeoXConfig
from cfglint.source.annotations import Iterator, Operand


def elsewhere(config: NeoXConfig, *names: str) -> bool:
    """Whether another file of the run may still set one of these arguments."""
    return not config.facts.complete and not all(name in config.values for name in names)


def leaves(value: Operand, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Operand]]:
    """The values inside a mapping or list, at any depth, with their paths."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, (dict, list)):
            yield from leaves(inner, (*path, key))
        else:
            yield (*path, key), inner
