"""A command of ms-swift as its parser takes it: what the configs of `swift` and `megatron` have in common.

Source: ms-swift 4.6.0 pipelines/base.py:35-44, utils/utils.py:178-190; transformers 5.19.0 hf_argparser.py:158-260.
"""

from __future__ import annotations

from cfglint.findings.setting import WRITTEN, Setting
from cfglint.frameworks.arguments.config import OptionsConfig
from cfglint.frameworks.arguments.parsing import LEFT, RefusedWords
from cfglint.frameworks.swift.command_line import (
    CONFIG,
    FILE_WINS,
    VISIBLE,
    devices_per_process,
    named_by_option,
    named_file,
    shown_devices,
)
from cfglint.frameworks.swift.fields import Arguments, exists
from cfglint.launch.argparse_types import spellings
from cfglint.source.annotations import ConfigMapping, Operand
from cfglint.source.document import SCALAR, Node
from cfglint.source.shell.command import CommandDocument

ENVIRONMENT = "ENV"  # a key of a file, for variables


class CommandConfig(OptionsConfig):
    """The arguments of a command."""

    command: str
    known: Arguments
    root: Operand

    def _completed(self, values: ConfigMapping) -> ConfigMapping:
        """The values that the parser makes of the words."""
        document = self.documents[0]
        words = dict(values) if document.is_command else {str(key): as_words(value) for key, value in values.items() if key != ENVIRONMENT}
        by_option = not document.is_command and named_by_option(self.facts.launch.line)
        in_file = tuple(words) if by_option and self.own_version < FILE_WINS else ()
        if by_option and self.own_version >= FILE_WINS:
            words = {CONFIG: [named_file(self.facts.launch.line)]}  # no argument of this name: the file is not read
        unread = not (document.is_command or by_option) and self.own_version < FILE_WINS and self.facts.launch.line is not None
        found = self.parse_words(
            {} if unread else words, [override for override in self.facts.overrides if override.key not in in_file], spellings
        )
        self.refused += [RefusedWords(LEFT, "", (named_file(self.facts.launch.line),))] if unread else []
        return found

    def exists(self, key: str) -> bool:
        """Whether a command of any release has an argument of this name."""
        return exists(key)

    @property
    def devices_setting(self) -> Setting:
        """The variable with the visible GPUs, with its place; the command if it is not set in the script."""
        document, line = self.documents[0], self.facts.launch.line
        word = shown_devices(line) if line is not None else None
        if word is None or not isinstance(document, CommandDocument) or word.place is None or word.place[0] != document.path:
            return self.setting()
        start, end = document.within(word.place)
        return Setting((VISIBLE[0],), word.string, WRITTEN, document, Node(SCALAR, start, end, word.string))

    @property
    def shares_devices(self) -> bool:
        """Whether the processes share the GPUs that they see."""
        return True

    @property
    def devices(self) -> tuple[int, int] | None:
        """(visible GPUs, processes) of a node; None if unknown, or if ms-swift does not compare them."""
        return devices_per_process(self.facts)

    @property
    def is_whole(self) -> bool:
        """Whether all arguments of the command are known."""
        return super().is_whole and not (self.facts.launch.line is not None and CONFIG in self.root)


def as_words(value: object) -> list[str]:
    """The words that ms-swift makes of a value of its YAML or JSON file (4.6.0 cli/main.py:50-61)."""
    if isinstance(value, list):
        return [str(each) for each in value]
    if isinstance(value, dict):
        import json

        return [json.dumps(value, ensure_ascii=False)]
    return [str(value)]
