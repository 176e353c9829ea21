"""Megatron-SWIFT: `megatron sft`, `megatron pt` and `megatron rlhf` of ms-swift, which train with Megatron-core."""

from __future__ import annotations

from cfglint.frameworks._releases import OLDEST
from cfglint.frameworks.base import CERTAIN, NO_MATCH, Framework
from cfglint.frameworks.huggingface import SWIFT, relative_of, top_keys
from cfglint.frameworks.swift import MEGATRON, NEWEST, PACKAGE, RELATIVE, WRITTEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from cfglint.frameworks.base import Config
    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig
    from cfglint.frameworks.refusal import Refusal
    from cfglint.frameworks.resolved_batch import Batch
    from cfglint.frameworks.summary import Summary
    from cfglint.source.document import Document
    from cfglint.source.loaders import Loader

KIND: Final = "megatron_swift"


class MegatronSwift(Framework["MegatronSwiftConfig"]):
    """Command lines of ms-swift's training commands for Megatron-core, and the files of their arguments."""

    kind = KIND
    title = "Megatron-SWIFT"
    package = PACKAGE
    oldest = OLDEST[PACKAGE]
    newest = NEWEST
    reads_arguments = True
    telling_keys = SWIFT
    rule_families = {"SWM": title}
    no_generator = "a run is a command line, with what differs from the defaults"

    def detect(self, document: Document) -> int:
        """Detect by the top-level keys: those of ms-swift and of Megatron-core."""
        names = top_keys(document)
        matches = relative_of(names) == RELATIVE and names & MEGATRON and names.isdisjoint(WRITTEN)
        return CERTAIN if matches else NO_MATCH

    def may_be(self, names: list[str], path: str) -> bool:
        """Whether the file has one of ms-swift's own keys."""
        return not SWIFT.isdisjoint(names)

    def config(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> Config:
        """The config of the arguments of a command."""
        from cfglint.frameworks.megatron_swift.config import MegatronSwiftConfig

        return MegatronSwiftConfig(documents, facts)

    def batch(self, config: MegatronSwiftConfig) -> Batch:
        """The batch: the global size is given, the accumulation follows."""
        from cfglint.frameworks.megatron_swift.batch import batch

        return batch(config)

    def numbers(self, config: MegatronSwiftConfig) -> dict[str, int | None]:
        """The length of the run."""
        from cfglint.frameworks.megatron_swift.batch import numbers

        return numbers(config)

    def failing(self, config: MegatronSwiftConfig) -> list[Refusal]:
        """The checks of ms-swift that fail, in the order in which a run reaches them."""
        from cfglint.frameworks.megatron_swift.checks import failed

        return failed(config)

    def account(self, config: MegatronSwiftConfig) -> Summary:
        """The lines about launcher, parallelism, length and learning rate."""
        from cfglint.frameworks.megatron_swift.batch import account

        return account(config)

    def load_rules(self) -> None:
        """Register the rules, and those of ms-swift about arguments."""
        from cfglint.frameworks.megatron_swift import rules  # noqa: F401

    def loader(self, document: Document, facts: LaunchFacts) -> Loader:
        """The loader for the words of a command, or for the file that has them."""
        from cfglint.frameworks.swift.command_line import loader_of

        return loader_of(document)


FRAMEWORK = MegatronSwift()
