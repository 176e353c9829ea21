"""The rules of TRL; importing this package registers them."""

from __future__ import annotations

from cfglint.frameworks.trl.rules import arguments, generation, keys, liger, no_effect, parsing, preference, sft, trainers

__all__ = ["arguments", "generation", "keys", "liger", "no_effect", "parsing", "preference", "sft", "trainers"]
