"""Strings of a shell script with the place where each of their characters was written, and with unknown parts; the words of pieces."""

from __future__ import annotations

import re
from zlib import crc32

from cfglint.evaluate import Choice, Reason, Unknown, distinct
from cfglint.source.annotations import Iterable, Sequence
from cfglint.source.record import Record
from cfglint.source.shell.reasons import from_caller

Place = tuple[str, int, int]  # path, start and end offset in its text

BLANKS = " \t\n"
UNKNOWN = "<?>"  # how an unknown part is shown
LONGEST_SOURCE = 500
MOST_FIELDS = 2_000


class TextPart(Record):
    """A piece of a string: `text` is None if it is unknown, and `reasons` are then the causes.

    `place` is where exactly these characters are written; None for computed ones. `source` is the known part of what an unknown piece is
    computed from: where it differs between two states of a script, the piece may differ. `options` are the strings of which it is one.
    """

    text: str | None
    place: Place | None = None
    reasons: tuple[Reason, ...] = ()
    source: str = ""
    options: tuple[str, ...] = ()

    def cut(self, start: int, end: int) -> TextPart:
        text = (self.text or "")[start:end]
        if self.place is None:
            return TextPart(text)
        path, first, _ = self.place
        return TextPart(text, (path, first + start, first + start + len(text)))


class Text:
    """A string as its parts.

    `string` has its characters, with a mark for each unknown part; `value` the same, None if some of them are unknown;
    `known`: whether every part is.
    """

    __slots__ = ("known", "parts", "string", "value")

    def __init__(self, parts: Iterable[TextPart] = ()) -> None:
        self.parts = parts = tuple(parts)
        if len(parts) == 1:
            self.value = text = parts[0].text
            self.known = text is not None
            self.string: str = UNKNOWN if text is None else text
            return
        texts = [part.text for part in parts]
        self.known = None not in texts
        self.string = "".join(texts) if self.known else "".join([UNKNOWN if text is None else text for text in texts])  # type: ignore[arg-type]
        self.value = self.string if self.known else None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return () if self.known else distinct(reason for part in self.parts for reason in part.reasons)

    @property
    def options(self) -> tuple[str, ...]:
        """The strings of which it is one; empty if they are not known."""
        if self.known:
            return (self.string,)
        unknown = [part for part in self.parts if part.text is None]
        texts = unknown[0].options if len(unknown) == 1 else ()
        return tuple("".join(text if part.text is None else part.text for part in self.parts) for text in texts)

    @property
    def place(self) -> Place | None:
        """The place where all of it is written unchanged; None for a string composed of several places."""
        parts = [part for part in self.parts if part.text != ""]
        if not parts or parts[0].place is None or parts[0].text is None:
            return None
        path, start, end = parts[0].place
        for part in parts[1:]:
            if part.place is None or part.text is None or part.place[:2] != (path, end):
                return None
            end = part.place[2]
        return path, start, end

    @property
    def begins(self) -> list[tuple[str, int]]:
        """The places, by path and offset, where the parts begin that are written somewhere."""
        return [part.place[:2] for part in self.parts if part.place is not None]

    @property
    def source(self) -> str:
        """The string, with what its unknown parts are computed from in their place."""
        return self.string if self.known else "".join(part.source or UNKNOWN if part.text is None else part.text for part in self.parts)

    def __add__(self, other: Text) -> Text:
        return Text((*self.parts, *other.parts))

    def __len__(self) -> int:
        return len(self.string) if self.known else sum(len(part.text or "") for part in self.parts)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __getitem__(self, span: slice) -> Text:
        """Characters of a known string by their positions."""
        start, end, _ = span.indices(len(self))
        text_parts: list[TextPart] = []
        offset = 0
        for part in self.parts:
            length = len(part.text or "")
            low, high = max(start - offset, 0), min(end - offset, length)
            if low < high:
                text_parts.append(part.cut(low, high))
            offset += length
        return Text(text_parts)

    def __repr__(self) -> str:
        return f"Text({self.string!r})"


def literal(text: str) -> Text:
    return Text((TextPart(text),))


def unknown(*reasons: Reason, source: str = "", options: tuple[str, ...] = ()) -> Text:
    """A string that is unknown; `source` is the known part of what it is computed from, `options` are the strings of which it is one."""
    return Text((TextPart(None, None, distinct(reasons), shortened(source), options),))


def unknown_value(texts: Sequence[Text]) -> Unknown:
    """The value of an option whose words are not all known."""
    reasons, options = distinct(reason for text in texts for reason in text.reasons), texts[0].options if len(texts) == 1 else ()
    return Choice(options, *reasons) if options else Unknown(*reasons)


def shortened(source: str) -> str:
    """A long source as its checksum: nested computations would double it each time."""
    return source if len(source) <= LONGEST_SOURCE else f"{crc32(source.encode()):x}"


EMPTY = Text()
GAP = Text()  # in the place of an element that a sparse array lacks


class Escaped(TextPart):
    """A blank or carriage return behind a backslash, which is a part of a word."""


class OfCall(TextPart):
    """An unknown part that the arguments of the script decide; `likely` is what it is in a call without arguments."""

    likely: Text = EMPTY


class AnyNumber(TextPart):
    """An unknown part that is a complete unquoted word: bash splits its value into any number of words."""

    __slots__ = ()


class MayBeNoWord(AnyNumber):
    """The same for what only the caller could set: bash passes no word if it is empty."""

    __slots__ = ()


class Differing(AnyNumber):
    """The words of one of two states of a script that have different ones."""

    __slots__ = ()


def in_call_without_arguments(text: Text) -> Text:
    """A string as it is in a call of the script without arguments."""
    if text.known or not any(isinstance(part, OfCall) for part in text.parts):
        return text
    return Text(text_part for part in text.parts for text_part in (part.likely.parts if isinstance(part, OfCall) else [part]))


def any_number(reason: Reason, source: str = "") -> Text:
    return Text([Differing(None, None, (reason,), source)])


def of_any_number(text: Text, kind: type[AnyNumber] = AnyNumber) -> bool:
    """Whether a word stands for any number of words, of one kind."""
    return len(text.parts) == 1 and isinstance(text.parts[0], kind)


def joined(texts: Iterable[Text], separator: str = " ") -> Text:
    parts: list[TextPart] = []
    for index, text in enumerate(texts):
        if index:
            parts.append(TextPart(separator))
        parts.extend(text.parts)
    return Text(parts)


def split(text: Text, separators: str = BLANKS) -> tuple[list[Text], bool, bool]:
    """(fields, whether it begins with a separator, whether it ends with one): the result of word splitting for an expansion.

    A separator that is not white space delimits a field each time, so that a field may be empty.
    """
    if not separators or (text.known and not any(map(text.string.__contains__, separators))):
        return [text] if text.string else [], False, False
    if text.known and separators.strip():
        blanks = len(text.string) - len(text.string.lstrip("".join(separator for separator in separators if separator.isspace())))
        cut = delimited(text[blanks:], separators)
        return cut, blanks > 0 and not (cut and not cut[0].parts), text.string[-1] in separators
    fields: list[list[TextPart]] = [[]]
    between = re.compile(f"[^{re.escape(separators)}]+")
    for part in text.parts:
        if part.text is None:
            fields[-1].append(part)
            continue
        last = 0
        for start, end in (run.span() for run in between.finditer(part.text)):
            if start > last:
                fields.append([])
            fields[-1].append(part.cut(start, end))
            last = end
        if last < len(part.text):
            fields.append([])
    texts = [Text(parts) for parts in fields if parts]
    first, final = text.string[:1], text.string[-1:]
    return texts, first != "" and first in separators, final != "" and final in separators


def delimited(text: Text, separators: str) -> list[Text]:
    """The fields of a known string, if some separator is not white space."""
    some = re.escape(separators)
    blanks = "".join(separator for separator in separators if separator.isspace())
    either = f"[{some}]" if not blanks else f"[{blanks}]*[{re.escape(separators.strip())}][{blanks}]*|[{blanks}]+"
    string = text.string
    if not string:
        return []
    texts: list[Text] = []
    start = 0
    for mark in re.finditer(either, string):
        texts.append(text[start : mark.start()])
        start = mark.end()
    return [*texts, text[start:]] if start < len(string) else texts


def around_mark(word: Text) -> tuple[Text, Text]:
    """(the part of a word before the first `=`, the part after it, with the unknown parts of both)."""
    for index, part in enumerate(word.parts):
        at = (part.text or "").find("=")
        if at >= 0:
            before, after = word.parts[:index], part.cut(at + 1, len(part.text or ""))
            unknown_before = (text_part for text_part in before if text_part.text is None)
            return Text((*before, part.cut(0, at))), Text((*unknown_before, *([after] if after.text else ()), *word.parts[index + 1 :]))
    return word, Text(text_part for text_part in word.parts if text_part.text is None)


def after_mark(word: Text) -> Text:
    return around_mark(word)[1]


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


def there(values: list[Text]) -> list[Text]:
    return [value for value in values if value is not GAP]
