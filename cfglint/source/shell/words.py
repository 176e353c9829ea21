"""The loader of a command's arguments: strings, as the shell passes them."""

from __future__ import annotations

from cfglint.source.annotations import ConfigTable, ConfigValue
from cfglint.source.document import Document, Node, Problem
from cfglint.source.loaders import Loader
from cfglint.source.shell.command import CommandDocument


class Words(Loader):
    """Loads each option with its value as a string, None for an option without one."""

    name = "sys.argv"

    def refusals(self, document: Document) -> list[Problem]:
        return []

    def construct(self, document: Document) -> ConfigTable:
        assert isinstance(document, CommandDocument)
        return {key: " ".join(words) if words else None for key, words in document.words.items()}

    def value_of(self, node: Node) -> ConfigValue:
        return node.raw


WORDS = Words()
