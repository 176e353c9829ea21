"""The rules of verl."""

from __future__ import annotations

from cfglint.frameworks.verl.rules import checks, composition, no_effect  # noqa: F401
