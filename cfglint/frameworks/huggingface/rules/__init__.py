"""The rules of the Hugging Face trainer; importing this package registers them."""

from __future__ import annotations

from cfglint.frameworks.huggingface.rules import (
    across,
    arguments,
    fsdp,
    keys,
    migrations,
    no_effect,
    precision,
    schedule,
    training,
    value_types,
)

__all__ = [
    "across",
    "arguments",
    "fsdp",
    "keys",
    "migrations",
    "no_effect",
    "precision",
    "schedule",
    "training",
    "value_types",
]
