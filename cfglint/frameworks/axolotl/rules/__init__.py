"""What the rules of axolotl share."""

from __future__ import annotations
