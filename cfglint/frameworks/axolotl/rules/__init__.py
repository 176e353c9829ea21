"""The rules of axolotl; importing this package registers them."""

from __future__ import annotations

from cfglint.frameworks.axolotl.rules import fields, no_effect, start, validation
from cfglint.frameworks.huggingface import rules as trainer_rules

__all__ = ["fields", "no_effect", "start", "trainer_rules", "validation"]
