"""The arguments of a Megatron-LM program as a config."""

from __future__ import annotations

from cfglint.frameworks.base import Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.megatron import FRAMEWORK
from cfglint.source.annotations import Sequence
from cfglint.source.document import Document
from cfglint.source.shell.command import WORDS, CommandDocument


class MegatronConfig(Config):
    """The arguments of a launch line, as strings; the batch sizes as integers, None if they are unknown."""

    framework = FRAMEWORK
    batch_keys = {"micro_batch": "micro_batch_size", "global_batch": "global_batch_size"}

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        super().__init__(documents, facts, kinds)
        command = documents[0]
        assert isinstance(command, CommandDocument)
        self.words = command.words
        self.values = WORDS.construct(documents[0])
        self.values.update({key: self.integer(key) for key in self.batch_keys.values() if key in self.words})

    def integer(self, name: str, default: int | None = None) -> int | None:
        """The positive integer that an argument gives; the default if it is not on the line, None if it is unknown."""
        if name not in self.words:
            return default
        text = " ".join(self.words[name] or ())
        return int(text) if text.isdecimal() and int(text) > 0 else None
