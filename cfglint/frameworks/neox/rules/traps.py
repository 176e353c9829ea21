"""What GPT-NeoX takes without doing what the file says."""

from __future__ import annotations
