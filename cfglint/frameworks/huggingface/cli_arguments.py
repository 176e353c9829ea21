"""The arguments of a launch line as `HfArgumentParser` parses them: converted to the type of their field."""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.releases import Releases
from cfglint.frameworks.huggingface import PACKAGE
from cfglint.frameworks.huggingface.fields import FIELDS, HISTORY, PARSED, SECTION, defaults, type_of
from cfglint.frameworks.releases.history import SINCE, TYPE, UNTIL
from cfglint.frameworks.releases.versions import Version
from cfglint.launch import Launch
from cfglint.launch.argparse_types import NUMERIC, converted
from cfglint.launch.overrides import ARGS, Override, by_omegaconf
from cfglint.source.annotations import ConfigTable, Operand
from cfglint.source.document import Document
from cfglint.source.shell.command import CommandDocument, Words

REFUSED = Reason("argument", "a value that the parser refuses")
NO_VALUE = Reason("argument", "an option without its value")
LIST_OF_CHOICES = "debug"  # several values of a choice: nargs "+" in the parser of transformers 4.51.3 and 5.23.0


def cast(override: Override, version: Version) -> Operand:
    """The value of a field on the launch line by its type in a release; the unchanged string if the parser would reject it.

    Source: transformers 5.23.0 hf_argparser.py:39-55 (string_to_bool), 158-260 (the type of an argument is that of its field).
    """
    key, texts = override.key, override.texts
    if not texts:
        return True
    if key not in FIELDS:
        if override.origin == ARGS and (len(texts) > 1 or texts[0].startswith("[")):
            return texts if len(texts) > 1 else texts[0]  # argparse makes a list of several words, and of none of them
        return by_omegaconf(override)
    kinds = type_of(key, version).split("|")
    if "list" in kinds and (len(texts) > 1 or "str" not in kinds):
        return texts
    text = " ".join(texts)
    if "float" in kinds and key == "warmup_steps" and text.removeprefix("-").isdecimal() and len(text) < 20:
        return int(text)  # an integer field up to 4.57, a float since; the number is the same
    for kind in kinds:
        value = converted(kind, text)
        if value is not None:
            return value
    return text


class HfWords(Words):
    """Parses the words of a command as `HfArgumentParser` does: each value by the type of its field, unknown ones as strings."""

    name = "HfArgumentParser.parse_args_into_dataclasses"

    def __init__(self, launch: Launch, version: Version) -> None:
        self.version = version
        self.fields = launch.parser.fields if launch.parser is not None else {}
        self.refuses = launch.parser is not None and launch.parser.parses_all  # what it refuses is reported with the line

    def construct(self, document: Document) -> Operand:
        """The values by option; `--no_x` of a field that is true by default means false."""
        assert isinstance(document, CommandDocument)
        found: ConfigTable = {}
        for key, words in document.words.items():
            positive, kinds = key.removeprefix("no_"), FIELDS[key][0].split("|") if key in FIELDS else []
            if words is None:
                found[key] = document.unknown.get(key, Unknown())
            elif positive != key and not words and defaults(self.version).get(positive) is True:
                found[positive] = False
            elif not words and not {"int", "float"}.isdisjoint(kinds) and "bool" not in kinds:  # which the parser refuses
                found[key] = Unknown(NO_VALUE)
            elif key in self.fields and words:
                kind = self.fields[key].kind.removeprefix("list:")
                values = [text if (value := converted(kind, text)) is None else value for text in words]
                found[key] = values if self.fields[key].takes in ("+", "*") else values[0]
            elif self.refuses and words and any(self.version in releases for _, releases in refusals(key, words[0])):
                found[key] = Unknown(REFUSED)
            else:
                found[key] = cast(Override(key, words[:1] if takes_one(key, self.version) else words, ARGS), self.version)
        return found


def refusals(key: str, text: str) -> list[tuple[str, Releases]]:
    found = []
    for row in HISTORY.names(SECTION).get(key, ()):
        kind = PARSED.get(key, row[TYPE])
        if kind in NUMERIC and converted(kind, text) is None:
            found.append((kind, Releases(row[SINCE], row[UNTIL], package=PACKAGE)))
    return found


def takes_one(key: str, version: Version) -> bool:
    """Whether an option takes one word, as `fsdp` does although it may be a list in a file, and `report_to` since 4.40."""
    return key in FIELDS and key != LIST_OF_CHOICES and type_of(key, version) != "list"
