"""Options of a launcher before the program, as argparse parses them."""

from __future__ import annotations

from cfglint.launch.line import Option, Options
from cfglint.source.annotations import Collection
from cfglint.source.shell.placed_text import Text, after_mark


def read_options(words: list[Text], flags: Collection[str], short: dict[str, str]) -> Options:
    """Parse the options up to the program; `flags` have no value, every other option has one. `short` maps short names to long ones."""
    options = Options()
    index = 0
    while index < len(words):
        word = words[index]
        text = word.string
        index += 1
        if text == "--":
            options.rest.extend(words[index:])
            return options
        if not text.startswith("-") or len(text) < 2:
            if not any(part.text for part in word.parts) and not word.known:
                options.open = (*options.open, *word.reasons)
                continue
            options.rest.extend((word, *words[index:]))
            return options
        name, mark, _ = text.partition("=")
        key = short.get(name, name.lstrip("-").replace("-", "_"))
        if key in flags:
            options.given[key] = Option(key, word, None)
            continue
        if mark:
            options.given[key] = Option(key, word, word[len(name) + 1 :] if word.known else after_mark(word))
            continue
        if index >= len(words) or (is_option(words[index]) and words[index].known):
            options.missing = options.missing or Option(key, word, None)
            continue
        options.given[key] = Option(key, word, words[index])
        index += 1
    return options


def complete(options: Options, names: Collection[str]) -> None:
    for name in [each for each in options.given if each not in names]:
        full = [each for each in names if each.startswith(name)]
        if len(full) == 1:
            options.given[full[0]] = options.given.pop(name)


def is_option(word: Text) -> bool:
    """Whether argparse treats a word as an option: it begins with a dash and is not a negative number."""
    text = word.string
    if not text.startswith("-") or text == "-" or " " in text.partition("=")[0]:
        return False
    return not text[1:2].isdigit() and text[1:2] != "."
