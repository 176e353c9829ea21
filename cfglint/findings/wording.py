"""How messages write values: as a config file spells them, short enough for one line."""

from __future__ import annotations

from cfglint.source.annotations import Iterable, Sequence

LONGEST_VALUE = 60  # characters of a value in a message
OTHER_WRITING = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")  # letters that do not look like those of ASCII
LATIN_LOOK_ALIKES = "\u0131\u0251\u0261"  # dotless i, alpha, script g
MOST_LOOK_ALIKES = 3  # that are named for one word

MOMENTS = {  # the stages of a run, as they are written after "fails"
    "load": "while reading the file",
    "config": "while checking the config",
    "init": "during initialization",
    "first-step": "at the first step",
}


def spelled(value: object) -> str:
    """A value as JSON and YAML spell it: `null`, `true`, `"auto"`, `[1, 2]`, never `None`, `True` or `'auto'`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + shortened(value) + '"'
    if isinstance(value, (list, tuple)):
        return shortened("[" + ", ".join(spelled(each) for each in value[:LONGEST_VALUE]) + "]")
    if isinstance(value, dict):
        pairs = [f"{spelled(key)}: {spelled(each)}" for key, each in list(value.items())[:LONGEST_VALUE]]
        return shortened("{" + ", ".join(pairs) + "}")
    return shortened(str(value))


def described(value: object) -> str:
    """A value in a message about its type: `the string "1.0"`, else as the file spells it."""
    return ("the string " if isinstance(value, str) else "") + spelled(value)


def counted(number: object, noun: str) -> str:
    """`1 completion`, `2 completions`, `2 processes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def amount(number: int, noun: str) -> str:
    """`1 step`, `1,173 steps`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def first_few(names: Iterable[str], most: int = 3) -> str:
    """The first names, and whether there are more."""
    listed = [*names]
    return ", ".join([*listed[:most], *["..."] * (len(listed) > most)])


def first_names(names: Sequence[str], most: int) -> str:
    """`a.sh:1, a.sh:2, b.yaml and 2 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def with_look_alikes_named(message: str) -> str:
    """A message in which letters that look like those of ASCII are named behind the key that has them: `U+0430 CYRILLIC SMALL LETTER A`."""
    if message.isascii():
        return message
    parts = message.split("`")
    for place in range(1, len(parts) - 1, 2):
        found = look_alikes(parts[place])
        if found:
            parts[place + 1] = f" (with {', '.join(found)}){parts[place + 1]}"
    return "`".join(parts)


def look_alikes(text: str) -> list[str]:
    """The names of the letters in a word with ASCII letters that look like such letters, and are of another alphabet."""
    import unicodedata

    if text.isascii() or not any(char.isascii() and char.isalpha() for char in text):
        return []
    found: list[str] = []
    for char in dict.fromkeys(text):
        name = unicodedata.name(char, "") if not char.isascii() and char.isalpha() else ""
        if name and not name.startswith(OTHER_WRITING) and (char in LATIN_LOOK_ALIKES or not name.startswith("LATIN ")):
            found.append(f"U+{ord(char):04X} {name}")
    return found[:MOST_LOOK_ALIKES]


def shortened(text: str) -> str:
    """A string whose middle is left out if it is too long for a message."""
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def listed(values: Iterable[str], conjunction: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`."""
    *first, last = values
    return f"{', '.join(first)} {conjunction} {last}" if first else last
