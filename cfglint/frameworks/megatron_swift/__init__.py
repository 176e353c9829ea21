"""Megatron-SWIFT: `megatron sft`, `megatron pt` and `megatron rlhf` of ms-swift, which train with Megatron-core."""

from __future__ import annotations

from cfglint.frameworks.base import CERTAIN, NO_MATCH
from cfglint.frameworks.huggingface import relative_of, top_keys
from cfglint.frameworks.swift import MEGATRON, RELATIVE, WRITTEN, SwiftCommands
from cfglint.source.annotations import Final
from cfglint.source.document import Document

KIND: Final = "megatron_swift"


class MegatronSwift(SwiftCommands):
    """Command lines of ms-swift's training commands for Megatron-core, and the files of their arguments."""

    kind = KIND
    title = "Megatron-SWIFT"
    rule_families = {"SWM": title}
    rules = "swift.rules.arguments"
    no_generator = "a run is a command line, with what differs from the defaults"
    parts = {
        "config": "megatron_swift.config.MegatronSwiftConfig",
        "words": "swift.parsed_command.OPTIONS",
        "batch": "megatron_swift.batch.batch",
        "numbers": "megatron_swift.batch.numbers",
        "account": "megatron_swift.batch.account",
        "refusals": "megatron_swift.checks.failed",
        "refused": "swift.rules.arguments.refused",
    }

    def detect(self, document: Document) -> int:
        names = top_keys(document)
        matches = relative_of(names) == RELATIVE and names & MEGATRON and names.isdisjoint(WRITTEN)
        return CERTAIN if matches else NO_MATCH


FRAMEWORK = MegatronSwift()
