"""Parses the values of a file as TRL's parser does: strings are cast to the type of their field, all other values are kept.

`TrlParser` puts the values of the file in the place of argparse's defaults, and argparse converts a default only if it
is a string (CPython argparse.py, `parse_known_args`). Source: trl 1.16.0 scripts/utils.py:307-385,
scripts/_hf_argparser.py:39-75, 178-262; 0.17.0 scripts/utils.py:165-226 with transformers 4.51.3 hf_argparser.py:39-55.
"""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.launch import argparse_types
from cfglint.launch.argparse_types import invalid_value, spellings
from cfglint.source.annotations import Collection, ConfigMapping, ConfigTable, ConfigValue, Operand
from cfglint.source.document import Document
from cfglint.source.limits import MOST_DIGITS
from cfglint.source.record import Record
from cfglint.source.shell.command import CommandDocument, Words

LIST = "list:"  # before the type of the words of a list
DEBUG_OPTIONS = ("underflow_overflow", "tpu_metrics_debug")
NULL_WORDS = ("none", "null")
NULL_WORDS_READ = (1, 6, 0)  # from here on TRL's own parser treats `none` as null for an optional field (scripts/_hf_argparser.py)
CASTS = (0, 9, 6)  # from here on the values are defaults of argparse; before, they are set as they are (commands/cli_utils.py)


class UncastString(Record):
    name: str
    value: str
    kind: str

    @property
    def text(self) -> str:
        """The message that argparse prints before the process exits with status 2."""
        return invalid_value(spellings(self.name), self.kind, self.value)


def cast(
    values: ConfigMapping, types: dict[str, str], nullable: Collection[str], options: Collection[str] = ()
) -> tuple[ConfigMapping, list[UncastString]]:
    """The values as the parser passes them to the dataclasses, and the strings that it refuses, which are left out.

    For the fields of `nullable`, the words "none" and "null" mean null. `options` are words of the line: a list has one or more.
    """
    found: ConfigMapping = {}
    refused: list[UncastString] = []
    for name, value in values.items():
        kind = types.get(name, "str") if isinstance(name, str) else "str"
        several = name in options and kind.startswith(LIST) and isinstance(value, (str, list))
        words = value if several and isinstance(value, list) else [value]
        if kind in ("str", LIST + "str", "enum") or not isinstance(words[0], str):
            found[name] = words if several else value
            continue
        try:
            made = [converted(word := each, kind, name in nullable) for each in words]
            found[name] = made if several else made[0]
        except (ValueError, TypeError):
            refused.append(UncastString(name, word, kind.removeprefix(LIST)))
    return found, refused


def converted(text: str, kind: str, null_words: bool) -> ConfigValue:
    """A string converted to one of the parser's types; raises ValueError if argparse refuses it."""
    if kind == "bool":
        word = argparse_types.converted("bool", text)
        if word is None:
            raise ValueError(text)
        return word
    if null_words and text.lower() in NULL_WORDS and not kind.startswith(LIST):
        return None
    if kind in ("int", "list:int"):
        if len(text) > MOST_DIGITS and text.strip().isdecimal():
            return Unknown(Reason("budget", "the digits of an integer that are read"))
        if len(text) > MOST_DIGITS:
            raise ValueError(text)
        return int(text)
    if kind in ("float", "list:float"):
        return float(text)
    if kind == "list:DebugOption" and text in DEBUG_OPTIONS:
        return text
    if kind == "list:DatasetConfig":
        return text  # DatasetConfig(path=text), which its mixture refuses
    if kind == "dict" and not text:
        return {}  # dict("") is a mapping, dict of any other string is refused
    raise ValueError(text)


class TrlWords(Words):
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
