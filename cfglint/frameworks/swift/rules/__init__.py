"""The rules of ms-swift."""

from __future__ import annotations

from cfglint.frameworks.swift.rules import arguments, checks, no_effect  # noqa: F401
