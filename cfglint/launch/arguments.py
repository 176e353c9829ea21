"""Parses the words after a program into options with their values."""

from __future__ import annotations

from cfglint.launch.options import after_mark, before_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cfglint.source.shell.placed_text import Text


class Argument:
    """An option of the program: the word that names it, its words, and whether `=` joins them."""

    __slots__ = ("name", "texts", "word")

    def __init__(self, name: str, word: Text, texts: list[Text]) -> None:
        self.name = name
        self.word = word
        self.texts = texts


def read_arguments(words: Iterable[Text], *, assignments: bool = False) -> tuple[list[Argument], list[Text]]:
    """Parse words into (options with the words after each, words before the first option).

    `assignments`: words such as `seed=1` are options too, as in OmegaConf's command line after a LLaMA-Factory file.
    """
    found: list[Argument] = []
    before: list[Text] = []
    for word in words:
        text = word.string
        name, mark, _ = text.partition("=")
        if text.startswith("--") and len(text) > 2 and " " not in name:  # as argparse parses it
            key = name[2:].replace("-", "_")
            found.append(Argument(key, before_mark(word) if mark else word, [after_mark(word)] if mark else []))
        elif assignments and mark and name.replace(".", "_").isidentifier():
            found.append(Argument(name, before_mark(word), [after_mark(word)]))
        elif found:
            found[-1].texts.append(word)
        else:
            before.append(word)
    return found, before
