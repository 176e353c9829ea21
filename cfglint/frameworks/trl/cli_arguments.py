"""The arguments of a launch line for `TrlParser`: strings, which the parser casts by the types of their fields."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.source.annotations import ConfigMapping, ConfigTable, Operand
from cfglint.source.document import Document
from cfglint.source.shell.command import CommandDocument, Words


class TrlWords(Words):
    """Parses the words of a command into options with their words; an option without a word is true."""

    name = "TrlParser.parse_args_and_config"

    def construct(self, document: Document) -> Operand:
        assert isinstance(document, CommandDocument)
        found: ConfigTable = {}
        for key, words in document.words.items():
            if words is None:
                found[key] = document.unknown.get(key, Unknown())
            else:
                found[key] = True if not words else words[0] if len(words) == 1 else list(words)
        return found


ARGUMENTS = TrlWords()


def complemented(values: ConfigMapping, types: dict[str, str], defaults: ConfigTable) -> ConfigMapping:
    """The values with `no_x` converted to false for a boolean field `x` that is true by default."""
    found: ConfigMapping = {}
    for name, value in values.items():
        positive = name.removeprefix("no_") if isinstance(name, str) else name
        if positive != name and value is True and name not in types and defaults.get(positive) is True:
            found[positive] = False
        else:
            found[name] = value
    return found
