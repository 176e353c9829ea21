"""The arguments of a launch line as `HfArgumentParser` parses them: converted to the type of their field."""

from __future__ import annotations

from cfglint.frameworks.argparse_types import converted
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.unknown import Unknown
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.launch_facts import Launch
    from cfglint.frameworks.overrides import Override
    from cfglint.frameworks.program import Field
    from cfglint.source.document import Document
    from cfglint.source.values import ConfigTable, ConfigValue

LISTS = ("debug", "include_for_metrics", "label_names")  # nargs "+" in the parser of transformers 4.51.3 and 5.23.0


def cast(override: Override) -> ConfigValue:
    """The value of a field on the launch line; the unchanged string if the parser would reject it.

    An argument without a value is true. Source: transformers 5.23.0
    hf_argparser.py:39-55 (string_to_bool), 158-260 (the type of an argument is that of its field).
    """
    key, texts = override.key, override.texts
    if not texts:
        return True
    if key not in FIELDS:
        from cfglint.frameworks.overrides import by_omegaconf

        return by_omegaconf(override)
    kinds = FIELDS[key][0].split("|")
    if "list" in kinds and (len(texts) > 1 or "str" not in kinds):
        return texts
    text = " ".join(texts)
    if key == "warmup_steps" and text.removeprefix("-").isdecimal() and len(text) < 20:
        return int(text)  # an integer field up to 4.57, a float since; the number is the same
    for kind in kinds:
        value = converted(kind, text)
        if value is not None:
            return value
    return text


class HfWords(Words):
    """Parses the words of a command as `HfArgumentParser` does: each value by the type of its field, unknown ones as strings.

    `fields` are the arguments that the program defines itself.
    """

    name = "HfArgumentParser.parse_args_into_dataclasses"

    def __init__(self, launch: Launch) -> None:
        self.fields = launch.parser.fields if launch.parser is not None else {}

    def construct(self, document: Document) -> ConfigValue:
        """The values by option; `--no_x` of a field that is true by default means false."""
        from cfglint.frameworks.overrides import ARGS, Override

        assert isinstance(document, CommandDocument)
        found: ConfigTable = {}
        for key, words in document.words.items():
            positive = key.removeprefix("no_")
            if words is None:
                found[key] = Unknown(document.unknown.get(key, ()))
            elif positive != key and positive in FIELDS and not words and FIELDS[positive][1] is True:
                found[positive] = False
            elif not words and is_number(key):  # which the parser refuses
                found[key] = Unknown(("an option without its value",))
            elif key in self.fields:
                found[key] = own_value(self.fields[key], words)
            else:
                found[key] = cast(Override(key, first_words(key, words), ARGS))
        return found


def is_number(key: str) -> bool:
    """Whether a field of TrainingArguments is a number, whose option needs a value."""
    kinds = FIELDS[key][0].split("|") if key in FIELDS else []
    return not {"int", "float"}.isdisjoint(kinds) and "bool" not in kinds


def own_value(field: Field, words: list[str]) -> ConfigValue:
    """The value of an argument that the program defines itself, by the type of its field."""
    if not words:
        return True
    kind = field.kind.removeprefix("list:")
    values = [text if (value := converted(kind, text)) is None else value for text in words]
    return values if field.takes in ("+", "*") else values[0]


def first_words(key: str, words: list[str]) -> list[str]:
    """The words that an option takes: all of them for a list, else one."""
    return words[:1] if takes_one(key) else words


def takes_one(key: str) -> bool:
    """Whether an option takes one word, as `report_to` and `fsdp` do although they may be lists in a file."""
    return key in FIELDS and key not in LISTS
