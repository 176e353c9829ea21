"""The context of the cursor in a file that may not parse yet: the section of a key, or the key of a value."""

from __future__ import annotations

from cfglint.source.annotations import Syntax, TypeAlias
from cfglint.source.record import Record

Section: TypeAlias = tuple[str, ...]

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


class Cursor(Record):
    """The section that contains the cursor, and the key whose value is being typed there, None if a key itself is typed.

    `word` is the offset of the word before the cursor, `quoted` whether it has an opening quote.
    """

    section: Section
    key: str | None
    word: int
    quoted: bool


def cursor_at(text: str, offset: int, syntax: Syntax) -> Cursor | None:
    """The cursor at an offset of a YAML, JSON or shell file; None in a comment, and where neither a key nor a value is possible."""
    word = offset
    while word and text[word - 1] in WORD:
        word -= 1
    if syntax == "json":
        return in_json(text, word)
    if syntax != "shell":
        return in_yaml(text, word)
    # In the options of a command line: `--key`, or the value after it.
    if text.startswith("--", word):
        return Cursor((), None, word + 2, False)
    line = text[text.rfind("\n", 0, word) + 1 : word]
    before = line.replace("=", " ").split()
    if not before or "#" in line or not before[-1].startswith("--") or line[-1:] not in (" ", "="):
        return None
    return Cursor((), before[-1][2:], word, False)


def in_yaml(text: str, word: int) -> Cursor | None:
    """The cursor in block mappings, by the indentation of the lines above."""
    start = text.rfind("\n", 0, word) + 1
    before = text[start:word]
    quoted = before[-1:] in ("'", '"')
    head = before[:-1] if quoted else before
    if "#" in before or "{" in before or "[" in before:
        return None
    key, mark, rest = head.partition(":")
    if (rest.strip() or not rest) if mark else head.strip():
        return None
    indent = len(before) - len(before.lstrip(" "))
    section: list[str] = []  # the keys of the mappings around the line, innermost first
    for line in reversed(text[:start].splitlines()):
        if not indent:
            break
        stripped = line.strip()
        columns = len(line) - len(line.lstrip(" "))
        if stripped and not stripped.startswith("#") and columns < indent and ":" in stripped:
            section.append(stripped.partition(":")[0].strip("\"' "))
            indent = columns
    return Cursor(tuple(reversed(section)), key.strip("\"' ") if mark else None, word, quoted)


def in_json(text: str, word: int) -> Cursor | None:
    """The cursor in objects, by the braces, keys and strings before it."""
    quoted = text[word - 1 : word] == '"'
    levels: list[str | None] = []  # the key that each open object or list is the value of
    in_list: list[bool] = []
    key: str | None = None  # the key before the last colon
    string: str | None = None  # the last complete string
    place, end = 0, word - 1 if quoted else word
    while place < end:
        char = text[place]
        if char == '"':
            close = place + 1
            while close < end and text[close] != '"':
                close += 2 if text[close] == "\\" else 1
            if close >= end:
                return None
            string, place = text[place + 1 : close], close
        elif char in "{[":
            levels.append(key)
            in_list.append(char == "[")
            key = string = None
        elif char in "}]" and levels:
            levels.pop()
            in_list.pop()
            key = string = None
        elif char == ":":
            key, string = string, None
        elif char == ",":
            key = string = None
        place += 1
    if not levels or in_list[-1] or string is not None:
        return None
    return Cursor(tuple(level for level in levels[1:] if level is not None), key, word, quoted)
