"""The rules of verl."""

from __future__ import annotations

from cfglint.frameworks.verl.rules import checks, composition  # noqa: F401
