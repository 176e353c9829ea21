"""The words of a command as `HfArgumentParser` parses them for ms-swift: abbreviations, types, choices, and what is left over.

Source: ms-swift 4.6.0 pipelines/base.py:35-44, utils/utils.py:178-190; transformers 5.19.0 hf_argparser.py:158-260; CPython argparse.py.
"""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.frameworks.swift.fields import Arguments, SwiftArgument
from cfglint.launch.argparse_types import converted, invalid_choice, invalid_value, spellings
from cfglint.source.annotations import ConfigTable, ConfigValue, Mapping
from cfglint.source.record import Record

Words = list[str] | Unknown

NO = "no_"  # before the name of a flag that is true by default
LEFT = "left over"  # words that no argument takes: ms-swift refuses them after everything else
INVALID = "invalid"  # words that argparse refuses
MOST_NAMED = 3


class RefusedWords(Record):
    """The words of an option that are refused: why (`LEFT`, `INVALID`), the option, its words, and argparse's message."""

    why: str
    name: str
    words: tuple[str, ...]
    message: str = ""
    candidates: tuple[str, ...] = ()


class Parsed:
    """The values of the arguments, the option that sets each of them, and what is refused."""

    def __init__(self) -> None:
        self.values: ConfigTable = {}
        self.options: dict[str, str] = {}
        self.refused: list[RefusedWords] = []


def parse(given: Mapping[str, Words], arguments: Arguments) -> Parsed:
    """Parse the words of each option."""
    parsed = Parsed()
    for option, words in given.items():
        names = candidates(option, arguments)
        if len(names) > 1:
            shown = ", ".join(f"--{each}" for each in names)
            parsed.refused.append(RefusedWords(INVALID, option, (), f"ambiguous option: --{option} could match {shown}", tuple(names)))
        elif not names:
            left = () if isinstance(words, Unknown) else tuple(words)
            parsed.refused.append(RefusedWords(LEFT, option, left))
        else:
            take(parsed, option, names[0], words, arguments)
    return parsed


def candidates(option: str, arguments: Arguments) -> list[str]:
    """The arguments that an option may mean: the one of its name, else all whose names begin with it."""
    if option in arguments or is_negated(option, arguments):
        return [option]
    return sorted([name for name in arguments if name.startswith(option)]) if option[:1].isalpha() else []


def is_negated(option: str, arguments: Arguments) -> bool:
    """Whether an option is `--no_x` of a flag that is true by default."""
    positive = arguments.get(option.removeprefix(NO)) if option.startswith(NO) else None
    return positive is not None and positive.is_flag and positive.default is True


def take(parsed: Parsed, option: str, name: str, words: Words, arguments: Arguments) -> None:
    """Take the words of an option."""
    if is_negated(name, arguments) and name not in arguments:
        parsed.values[name.removeprefix(NO)] = False
        parsed.options[name.removeprefix(NO)] = option
        return
    argument = arguments[name]
    parsed.options[name] = option
    if isinstance(words, Unknown):
        parsed.values[name] = words
        return
    taken = words if argument.is_list else words[:1]
    if len(words) > len(taken):
        parsed.refused.append(RefusedWords(LEFT, option, tuple(words[len(taken) :])))
    if not taken and not argument.is_flag:
        number = "at least one argument" if argument.is_list else "one argument"
        parsed.refused.append(RefusedWords(INVALID, name, (), f"argument {spellings(name)}: expected {number}"))
        return
    values = [value_of(name, argument, word) for word in taken]
    refused = [each for each in values if isinstance(each, RefusedWords)]
    if refused:
        parsed.refused.append(refused[0])
    else:
        parsed.values[name] = values if argument.is_list else values[0] if values else True


def value_of(name: str, argument: SwiftArgument, word: str) -> ConfigValue:
    """The value of a word; why it is refused, if it is."""
    if argument.choices:
        chosen = {str(each): each for each in argument.choices}
        return (
            chosen[word]
            if word in chosen
            else RefusedWords(INVALID, name, (word,), invalid_choice(spellings(name), word, listed(argument)))
        )
    if argument.type not in ("int", "float", "bool"):
        return word
    if argument.type == "float" and word.isdecimal():
        return int(word)  # the same number, shown as it is written
    value = converted(argument.type, word)
    return RefusedWords(INVALID, name, (word,), invalid_value(spellings(name), argument.type, word)) if value is None else value


def listed(argument: SwiftArgument) -> list[str]:
    """The choices as argparse lists them."""
    return [repr(each) for each in argument.choices]


def as_words(value: object) -> list[str]:
    """The words that ms-swift makes of a value of its YAML or JSON file (4.6.0 cli/main.py:50-61)."""
    if isinstance(value, list):
        return [str(each) for each in value]
    if isinstance(value, dict):
        import json

        return [json.dumps(value, ensure_ascii=False)]
    return [str(value)]
