"""Parses the words after a program into options with their values."""

from __future__ import annotations

from cfglint.frameworks.launch_line import Argument
from cfglint.source.annotations import Iterable
from cfglint.source.shell.command import stands_for_more
from cfglint.source.shell.expansion import ALL_OF_CALLER
from cfglint.source.shell.placed_text import UNKNOWN, Text, around_mark


def read_arguments(words: Iterable[Text], *, assignments: bool = False) -> tuple[list[Argument], list[Text]]:
    """Parse words into (options with the words after each, words before the first option, and those that stand for further options).

    `assignments`: words such as `seed=1` are options too, as in OmegaConf's command line after a LLaMA-Factory file.
    """
    found: list[Argument] = []
    before: list[Text] = []
    for word in words:
        text = word.string
        name, mark, _ = text.partition("=")
        if text.startswith("--") and len(text) > 2 and " " not in name:  # as argparse parses it
            found.append(argument(name[2:].replace("-", "_"), word))
        elif assignments and mark and name.replace(".", "_").isidentifier():
            found.append(argument(name, word))
        elif found and found[-1].texts and (is_all_of_caller(word) or stands_for_more(word)):
            continue
        elif found:
            found[-1].texts.append(word)
        else:
            before.append(word)
    return found, before


def override_arguments(words: Iterable[Text]) -> list[Argument]:
    """The words of a Hydra command line as arguments: `key=value`, `+key=value`, `~key`, and Hydra's own options."""
    found: list[Argument] = []
    for word in words:
        name = word.string.partition("=")[0]
        key = name.lstrip("+~-") if not name.startswith("--") else name[2:].replace("-", "_")
        if key and UNKNOWN not in key:
            found.append(argument(key, word))
    return found


def argument(name: str, word: Text) -> Argument:
    """An argument, with the value behind its `=` if it has one."""
    own, value = around_mark(word)
    return Argument(name, own, [value] if own is not word else [])


def is_all_of_caller(word: Text) -> bool:
    """Whether a word is `"$@"` of a script whose call is not known: any number of options with their values."""
    return ALL_OF_CALLER in word.reasons and not word.string.strip(UNKNOWN)


def may_have_more(words: Iterable[Text]) -> bool:
    """Whether a line may have further options: some of its words come from the caller of the script, or a page leaves them out."""
    return any(is_all_of_caller(word) or stands_for_more(word) for word in words)
