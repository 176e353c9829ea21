"""Parses the words after a program into options with their values."""

from __future__ import annotations

from cfglint.evaluate import Reason, distinct
from cfglint.launch.line import Argument
from cfglint.source.annotations import Iterable, Sequence
from cfglint.source.shell.command import is_all_of_caller, stands_for_more
from cfglint.source.shell.placed_text import UNKNOWN, Differing, Text, around_mark, of_any_number, unknown
from cfglint.source.shell.reasons import OF_CALL, from_caller

END_OF_OPTIONS = "--"


def read_arguments(words: Iterable[Text], *, assignments: bool = False) -> tuple[list[Argument], list[Text]]:
    """Parse words into (options with the words after each, words before the first option).

    `assignments`: words such as `seed=1` are options too, as in OmegaConf's command line after a LLaMA-Factory file. What a word that
    stands for further options may set again is unknown: the last one counts. `--` ends the options, as argparse parses them.
    """
    words = [*words]
    words = words[: len(words) - len(behind_dashes(words))]
    arguments: list[Argument] = []
    before: list[Text] = []
    further = further_options(words)
    for place, word in enumerate(words):
        text = word.string
        name, mark, _ = text.partition("=")
        if text.startswith("--") and len(text) > 2 and " " not in name:  # as argparse parses it
            arguments.append(argument(name[2:].replace("-", "_"), word))
        elif assignments and mark and name.replace(".", "_").isidentifier():
            arguments.append(argument(name, word))
        elif place in further:
            if arguments and not arguments[-1].texts:
                arguments[-1].texts.append(word)
            if not may_be_missing(word):
                for each in arguments:
                    each.texts = [unknown(*word.reasons)]
        elif arguments:
            arguments[-1].texts.append(word)
        else:
            before.append(word)
    return arguments, before


def behind_dashes(words: Sequence[Text]) -> Sequence[Text]:
    return words[next((place for place, word in enumerate(words) if word.value == END_OF_OPTIONS), len(words)) :]


def override_arguments(words: Iterable[Text]) -> list[Argument]:
    arguments: list[Argument] = []
    for word in words:
        name = word.string.partition("=")[0]
        key = name.lstrip("+~-") if not name.startswith("--") else name[2:].replace("-", "_")
        if key.strip() and UNKNOWN not in key:
            arguments.append(argument(key, word))
    return arguments


def argument(name: str, word: Text) -> Argument:
    text, value = around_mark(word)
    return Argument(name, text, [value] if text is not word else [])


def may_be_missing(word: Text) -> bool:
    """Whether a word is none in a call of the script without arguments, or in the example of a page."""
    return stands_for_more(word) or all(from_caller(reason) or reason == OF_CALL for reason in word.reasons)


def further_options(words: Sequence[Text]) -> list[int]:
    """The positions of the words that may stand for further options: `"$@"`, the `...` of a page, an array or an expansion that is not
    known; an expansion right behind an option is its value.
    """
    found: list[int] = []
    takes_value = False
    for place, word in enumerate(words):
        if stands_for_more(word) or is_all_of_caller(word) or (of_any_number(word) and (of_any_number(word, Differing) or not takes_value)):
            found.append(place)
        takes_value = word.string.startswith("-") and "=" not in word.string
    return found


def further_arguments(words: Sequence[Text]) -> tuple[Reason, ...]:
    return (Reason("argument", "further arguments of the line"),) if further_options(words) else ()


def hidden_options(words: Sequence[Text]) -> tuple[Reason, ...]:
    """Why some options of a line are unknown: a word of it is not known that has further ones in any call."""
    reasons = (reason for place in further_options(words) if not may_be_missing(words[place]) for reason in words[place].reasons)
    return distinct(reasons)


def known_words(words: Sequence[Text]) -> list[Text]:
    """The words that no other one changes: without those that stand for further options, and without what these may set again.

    `"$@"` sets nothing in a call of the script without arguments, which is the usual one.
    """
    further = further_options(words)
    first = max((place + 1 for place in further if not (is_all_of_caller(words[place]) or stands_for_more(words[place]))), default=0)
    return [word for place, word in enumerate(words) if place >= first and place not in further]
