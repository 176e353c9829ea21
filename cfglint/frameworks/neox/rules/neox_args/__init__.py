"""Rules about values that the launcher rejects when it builds NeoXArgs: calculate_derived and validate_values."""

from __future__ import annotations

from cfglint.frameworks.neox.rules.neox_args import attention, data_and_saving, launch, optimizer, precision, sizes

__all__ = ["attention", "data_and_saving", "launch", "optimizer", "precision", "sizes"]
