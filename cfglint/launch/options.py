"""Options of a launcher before the program, as argparse parses them."""

from __future__ import annotations

from cfglint.frameworks.launch_line import Option, Options
from cfglint.source.shell.placed_text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection


def read_options(words: list[Text], flags: Collection[str], short: dict[str, str] | None = None, stops: bool = True) -> Options:
    """Parse the options up to the program; `flags` have no value, every other option has one. `short` maps short names to long ones.

    Without `stops` words that are not options are kept in `rest`, and options after them are parsed as well.
    """
    found = Options()
    index = 0
    while index < len(words):
        word = words[index]
        text = word.string
        index += 1
        if text == "--":
            found.rest.extend(words[index:])
            return found
        if not text.startswith("-") or len(text) < 2:
            if not any(part.text for part in word.parts) and not word.known:
                found.open = (*found.open, *word.reasons)
                continue
            found.rest.append(word)
            if stops:
                found.rest.extend(words[index:])
                return found
            continue
        name, mark, _ = text.partition("=")
        key = (short or {}).get(name, name.lstrip("-").replace("-", "_"))
        if key in flags:
            found.given[key] = Option(key, word, None)
            continue
        if mark:
            found.given[key] = Option(key, word, word[len(name) + 1 :] if word.known else after_mark(word))
            continue
        if index >= len(words) or (is_option(words[index]) and words[index].known):
            found.missing = found.missing or Option(key, word, None)
            continue
        found.given[key] = Option(key, word, words[index])
        index += 1
    return found


def is_option(word: Text) -> bool:
    """Whether argparse treats a word as an option: it begins with a dash and is not a negative number."""
    text = word.string
    if not text.startswith("-") or text == "-" or " " in text.partition("=")[0]:
        return False
    return not text[1:2].isdigit() and text[1:2] != "."


def after_mark(word: Text) -> Text:
    """The part of a word after the first `=`."""
    from cfglint.source.shell.placed_text import Part

    parts: list[Part] = []
    seen = False
    for part in word.parts:
        if seen or part.text is None:
            parts.append(part)
            continue
        at = part.text.find("=")
        if at >= 0:
            seen = True
            if at + 1 < len(part.text):
                parts.append(part.cut(at + 1, len(part.text)))
    return Text(parts)


def before_mark(word: Text) -> Text:
    """The part of a word before the first `=`."""
    from cfglint.source.shell.placed_text import Part

    parts: list[Part] = []
    for part in word.parts:
        at = -1 if part.text is None else part.text.find("=")
        if at >= 0:
            parts.append(part.cut(0, at))
            break
        parts.append(part)
    return Text(parts)
