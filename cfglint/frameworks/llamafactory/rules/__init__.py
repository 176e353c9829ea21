"""The rules of LLaMA-Factory; importing this package registers them."""

from __future__ import annotations

from cfglint.frameworks.llamafactory.rules import data, keys, launch, method, no_effect, older_releases, preference, training, value_types

__all__ = ["data", "keys", "launch", "method", "no_effect", "older_releases", "preference", "training", "value_types"]
