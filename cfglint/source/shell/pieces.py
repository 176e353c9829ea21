"""The pieces of a word: parts that are quoted alike, and the words that bash forms of them."""

from __future__ import annotations

import re

from cfglint.source.annotations import Sequence
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import EMPTY, GAP, AnyNumber, MayBeNoWord, Text, TextPart, split
from cfglint.source.shell.reasons import from_caller

MOST_FIELDS = 2_000

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "e": "\x1b", "0": "\0"}


class Piece(Record):
    """A part of a word: `splits` for an expansion without quotes, `fields` for several words (`"$@"`)."""

    text: Text = EMPTY
    splits: bool = False
    fields: list[Text] | None = None


def split_by_bash(parts: Sequence[TextPart]) -> Sequence[TextPart]:
    """The parts of a word without quotes, marked if it is only one unknown value, which bash splits into words."""
    if len(parts) != 1 or parts[0].text is not None:
        return parts
    kind = MayBeNoWord if all(map(from_caller, parts[0].reasons)) else AnyNumber
    return [kind(None, None, parts[0].reasons, parts[0].source, parts[0].options)]


def assembled(pieces: list[Piece], separators: str) -> list[Text]:
    if len(pieces) == 1 and pieces[0].fields is None and not pieces[0].splits:
        return [pieces[0].text]
    words: list[list[TextPart]] = []
    open_word = False  # whether the next piece belongs to the last word
    for piece in pieces:
        leads = trails = False
        fields = [piece.text] if piece.fields is None else piece.fields
        if piece.splits and piece.fields is None:
            fields, leads, trails = split(piece.text, separators)
        open_word = open_word and not leads
        for field in fields:
            if open_word:
                words[-1].extend(field.parts)
            else:
                words.append([*field.parts])
            open_word = False
        open_word = (bool(fields) or open_word) and not trails
    return [Text(parts) for parts in words[:MOST_FIELDS]]


def ansi_c(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text, flags=re.DOTALL)


def there(values: list[Text]) -> list[Text]:
    return [value for value in values if value is not GAP]


def indexes(values: list[Text]) -> list[str]:
    """The indexes of the elements that are set."""
    return [str(index) for index, text in enumerate(values) if text is not GAP]
