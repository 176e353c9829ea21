"""The rules of launch lines; importing this package registers them."""

from __future__ import annotations

from cfglint.frameworks.launch.rules import accelerator, lines, program

__all__ = ["accelerator", "lines", "program"]
