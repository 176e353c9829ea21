"""What is wrong with a launch line itself: its launcher refuses it, or starts something else than it says."""

from __future__ import annotations
