"""The rules of DeepSpeed: start-up checks, and settings that are silently ignored or overridden."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.vocabulary import Kind

DEEPSPEED: tuple[Kind, ...] = ("deepspeed",)  # the kinds that these rules are for
