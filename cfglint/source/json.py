"""Parses JSON and its relatives into a span tree, without recursion.

The grammar is that of hjson (version 3.1.0, `hjson/decoder.py`), the most permissive of the parsers: strict JSON is
the part of it without relaxations. Only `NaN` and `Infinity` have different meanings in Python's json
and in hjson; they are parsed as json does.
"""

from __future__ import annotations

from cfglint.source.document import MAPPING, SCALAR, SEQUENCE, Document, Node, Problem
from cfglint.source.limits import MAX_DEPTH, MOST_PARTS, TooDeep, too_deep, too_many
from cfglint.source.numbers import is_json_number

COMMENT = "comment"
TRAILING_COMMA = "trailing comma"
MISSING_COMMA = "missing comma"
QUOTES = "single quotes"
ESCAPE = "escape"
BARE_KEY = "bare key"
BARE_STRING = "bare string"
MULTILINE = "multiline string"
NO_BRACES = "no braces"
CONSTANT = "constant"
EMPTY = "empty"
NUMBER = "number"

EXTRA = "Extra data"
END_IN_KEY = "Bad key name (eof)"
BARE = "bare"  # the style of a root object without braces
BAD_KEY = "Found '?' where a key name was expected (check your syntax or use quotes if the key name includes {}[],: or whitespace)"

BLANKS = " \t\n\r"
PUNCTUATION = "{}[],:"
ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = ("null", "true", "false")
CONSTANTS = ("NaN", "Infinity", "-Infinity")
HEX = "0123456789abcdefABCDEF"
TEXT = "!text"  # the tag of an unquoted string that resembles a number or word but is a string in hjson


HJSON_ERROR = "hjson.scanner.HjsonDecodeError"
INDEX_ERROR = "IndexError"
VALUE_ERROR = "ValueError"


class HjsonRefusal(Exception):
    """The position where hjson raises `exception`; `reason` is its message, without the place that its own class adds."""

    def __init__(self, place: int, reason: str, exception: str = HJSON_ERROR) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason
        self.exception = exception


class TooMany(Exception):
    """More values or comments than the limit."""


def parse(path: str, text: str, bom: bool = False, constants: bool = True) -> Document:
    """The span tree of a JSON or hjson file.

    `relaxations` are the places that are not strict JSON. A file that hjson refuses has a problem and the tree of
    the part before it. Without `constants`, `NaN` and `Infinity` are unquoted strings, as in hjson.
    """
    document = Document(path, text, "json", bom)
    parser = JsonParser(document, constants)
    try:
        parser.run()
    except HjsonRefusal as refused:
        document.problems.append(problem(document, refused))
        parser.abandon()
    except TooDeep:
        document.problems.append(too_deep(parser.position))
        parser.abandon()
    except TooMany:
        document.problems.append(too_many())
        parser.abandon()
    return document


def problem(document: Document, refused: HjsonRefusal) -> Problem:
    """A syntax error with the exception that hjson would raise."""
    exception = f"{refused.exception}: {refused.reason}"
    if refused.exception == HJSON_ERROR:
        exception += where(document, refused.place, len(document.text) if refused.reason == EXTRA else None)
    place = min(refused.place, len(document.text))
    return Problem(place, min(place + 1, len(document.text)), plain_reason(refused), "syntax", exception)


def plain_reason(refused: HjsonRefusal) -> str:
    """The message for a syntax error, reworded where that of hjson is unclear."""
    if refused.exception == INDEX_ERROR:
        return "unexpected end of file in a comment or string"
    if refused.reason == END_IN_KEY:
        return "unexpected end of file, expected `}`"
    return f"invalid JSON: {refused.reason[0].lower()}{refused.reason[1:]}"


def where(document: Document, place: int, end: int | None = None) -> str:
    """A place or range as Python's decoders spell it; they count a byte order mark as a character."""
    line, column = line_and_column(document, place)
    mark = int(document.bom)
    if end is None:
        return f": line {line} column {column} (char {place + mark})"
    end_line, end_column = line_and_column(document, end)
    return f": line {line} column {column} - line {end_line} column {end_column} (char {place + mark} - {end + mark})"


def line_and_column(document: Document, place: int) -> tuple[int, int]:
    """Both from 1, with only LF ending a line."""
    line = document.text.count("\n", 0, place) + 1
    return line, place + 1 + int(document.bom) if line == 1 else place - document.text.rindex("\n", 0, place)


class JsonParser:
    """One pass over a content; `position` is that of the next character."""

    __slots__ = ("breaks", "comments", "constants", "document", "open", "position", "relaxations", "text")

    def __init__(self, document: Document, constants: bool) -> None:
        self.document = document
        self.text = document.text
        self.relaxations = document.relaxations
        self.comments = document.comments
        self.constants = constants
        self.position = 0
        self.open: list[Node] = []
        self.breaks: list[int] | None = None  # the line ends, computed for the first multiline string

    def run(self) -> None:
        """Parse the root: an object with or without braces, an array, or a single value."""
        char = self.skip()
        if char in ("{", "["):
            self.document.roots.append(self.value())
            self.collections()
        elif not char and not self.document.bom:
            self.relax(0, self.position, EMPTY)
        else:
            self.bare_root()
        if self.skip():
            raise HjsonRefusal(self.position, EXTRA)

    def abandon(self) -> None:
        """Close the open collections at the place where parsing stopped."""
        for node in self.open:
            node.end = min(self.position, len(self.text))

    def bare_root(self) -> None:
        """Parse members without braces, or else a single value, as hjson does."""
        start = self.position
        root = Node(MAPPING, start, start, "", BARE)
        self.document.roots.append(root)
        self.open.append(root)
        self.relax(start, start, NO_BRACES)
        try:
            self.collections()
        except HjsonRefusal as refused:
            lone = self.lone_value(start) if refused.exception == HJSON_ERROR else None
            if lone is None:
                raise
            self.open.clear()
            self.document.roots[:] = [lone.document.root] if lone.document.root is not None else []
            constants = [relaxation for relaxation in self.relaxations if relaxation[2] == CONSTANT]  # hjson may parse this as members
            self.relaxations[:] = lone.relaxations + constants
            self.comments[:] = [span for span in self.comments if span[1] <= start]
            self.position = lone.position

    def lone_value(self, start: int) -> JsonParser | None:
        """A parser that has parsed the single value at `start`; None if there is none."""
        other = JsonParser(Document("", self.text, "json"), self.constants)
        other.position = start
        try:
            other.document.roots.append(other.value())
        except HjsonRefusal:
            return None
        return other

    def collections(self) -> None:
        """Parse members and items until every open collection is closed."""
        for _ in range(MOST_PARTS):
            if not self.open:
                return
            node = self.open[-1]
            if self.at_end(node):
                self.open.pop()
            elif node.kind == MAPPING:
                self.member(node)
            else:
                node.children.append(self.value())
        raise TooMany

    def at_end(self, node: Node) -> bool:
        """Skip a comma and the end of a collection; return whether it ended."""
        char = self.skip()
        comma = -1
        if node.children and char == ",":
            comma = self.position
            self.position += 1
            char = self.skip()
        if not char and node.kind == SEQUENCE and not node.children:
            raise HjsonRefusal(self.position, "End of input while parsing an array (did you forget a closing ']'?)")
        if node.style == BARE:
            ended = not char and bool(node.children)
            node.end = last_end(node)
        elif ended := char == ("}" if node.kind == MAPPING else "]"):
            self.position += 1
            node.end = self.position
        if ended and comma >= 0:
            self.relax(comma, comma + 1, TRAILING_COMMA)
        elif not ended and comma < 0 and node.children:
            self.relax(self.position, self.position, MISSING_COMMA)
        return ended

    def member(self, node: Node) -> None:
        """Parse one `key: value` of an object; a key whose value cannot be parsed stays in the tree without one."""
        key = self.key()
        try:
            if self.skip() != ":":
                raise HjsonRefusal(self.position, "Expecting ':' delimiter")
            self.position += 1
            self.skip()
            value = self.value()
        except HjsonRefusal:
            node.children.append((key, Node(SCALAR, key.end, key.end)))
            raise
        node.children.append((key, value))

    def key(self) -> Node:
        """Parse a quoted or unquoted key; the position is then after it."""
        char = self.text[self.position : self.position + 1]
        if char in ('"', "'"):
            return self.string(char)
        return self.bare_key()

    def bare_key(self) -> Node:
        """Parse a key up to its colon: no punctuation, and spaces only before the colon."""
        text, start = self.text, self.position
        end, blank = start, -1
        while (char := text[end : end + 1]) != ":":
            if not char:
                raise HjsonRefusal(end, END_IN_KEY)
            if char in BLANKS:
                if blank < 0 or blank == end - 1:
                    blank = end
            elif char in "{}[],":
                raise HjsonRefusal(start, BAD_KEY.replace("?", char))
            end += 1
        if start == end:
            raise HjsonRefusal(start, "Found ':' but no key name (for an empty key name use quotes)")
        if 0 <= blank != end - 1:
            raise HjsonRefusal(blank, "Found whitespace in your key name (use quotes to include)")
        raw = text[start:end].rstrip() if blank >= 0 else text[start:end]
        self.position = end
        self.relax(start, start + len(raw), BARE_KEY)
        return Node(SCALAR, start, start + len(raw), raw)

    def value(self) -> Node:
        """Parse the value at the position; a collection is only opened."""
        start = self.position
        char = self.text[start : start + 1]
        if char == '"':
            return self.string(char)
        if char in ("{", "["):
            if len(self.open) >= MAX_DEPTH:
                raise TooDeep
            node = Node(MAPPING if char == "{" else SEQUENCE, start, start, "", "flow")
            self.open.append(node)
            self.position += 1
            return node
        if char == "'":
            return self.multiline() if self.text.startswith("'''", start) else self.string(char)
        if not char:
            raise HjsonRefusal(start, "Expecting value")
        return self.bare()

    def bare(self) -> Node:
        """Parse a number, a word, or an unquoted string, which extends to the end of its line."""
        text, start = self.text, self.position
        if text[start] in PUNCTUATION:
            raise HjsonRefusal(start, "Found a punctuator character when expecting a quoteless string (check your syntax)")
        end = start
        while (char := text[end : end + 1]) and char not in ",}]#\r\n":
            if char == "/" and text[end + 1 : end + 2] in ("/", "*"):
                break
            end += 1
        raw = text[start:end].rstrip("\t ")
        node = Node(SCALAR, start, start + len(raw), raw)
        self.position = end
        if raw in WORDS or (raw[0] in "-0123456789" and is_json_number(raw)):
            if not raw.isascii():
                self.relax(start, node.end, NUMBER)
        elif raw in CONSTANTS and self.constants:
            self.relax(start, node.end, CONSTANT)
        elif raw[0] in "ntf" and raw.strip() in WORDS:
            node.raw = raw.strip()
            node.end = start + len(node.raw)
            self.relax(start, end, BARE_STRING)
        else:
            self.bare_string(node)
        return node

    def bare_string(self, node: Node) -> None:
        """Extend an unquoted string to the end of its line."""
        text = self.text
        while (char := text[self.position : self.position + 1]) and char not in "\r\n":
            self.position += 1
        node.raw = text[node.start : self.position].strip()
        node.end = node.start + len(node.raw)
        if node.raw in WORDS or is_json_number(node.raw):
            node.tag = TEXT
        self.relax(node.start, node.end, BARE_STRING)

    def string(self, quote: str) -> Node:
        """Parse a quoted string; the position is then after it."""
        start = self.position
        if quote == "'":
            self.relax(start, start + 1, QUOTES)
        end = self.text.find(quote, start + 1)
        raw = self.text[start + 1 : end]
        if end < 0 or "\\" in raw or not raw.isprintable():
            raw, end = self.escaped(start, quote)
        self.position = end + 1
        return Node(SCALAR, start, end + 1, raw, quote)

    def escaped(self, start: int, quote: str) -> tuple[str, int]:
        """Decode a string with escapes; return it with the offset of its closing quote."""
        text = self.text
        chunks: list[str] = []
        position = start + 1
        while (char := text[position : position + 1]) != quote:
            if not char:
                raise HjsonRefusal(start, "Unterminated string starting at")
            if char == "\\":
                char, position = self.escape(start, position + 1)
                chunks.append(char)
                continue
            if char < " ":
                raise HjsonRefusal(position + 1, f"Invalid control character {text[position + 1 : position + 2]!r} at")
            chunks.append(char)
            position += 1
        return "".join(chunks), position

    def escape(self, start: int, position: int) -> tuple[str, int]:
        """Decode an escape sequence, with `position` after the backslash; return its character and its end."""
        name = self.text[position : position + 1]
        if not name:
            raise HjsonRefusal(start, "Unterminated string starting at")
        if name != "u":
            if name not in ESCAPES:
                raise HjsonRefusal(position, f"Invalid \\X escape sequence {name!r}")
            if name == "'":
                self.relax(position - 1, position + 1, ESCAPE)
            return ESCAPES[name], position + 1
        code = self.code(position + 1)
        if code is None:
            raise HjsonRefusal(position - 1, "Invalid \\uXXXX escape sequence")
        position += 5
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", position):
            return self.pair(code, position)
        return chr(code), position

    def pair(self, high: int, position: int) -> tuple[str, int]:
        """The character of two surrogates; the first alone if the second is not one."""
        low = self.code(position + 2)
        if low is None:
            digits = self.text[position + 2 : position + 6]
            if len(digits) == 4 and digits[1] not in "xX":
                raise HjsonRefusal(position, "Invalid \\uXXXX escape sequence")
        elif 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00))), position + 6
        return chr(high), position

    def code(self, position: int) -> int | None:
        """Parse four digits as `int(..., 16)` does, which accepts more than hexadecimal digits."""
        digits = self.text[position : position + 4]
        if len(digits) != 4 or digits[1] in "xX":
            return None
        try:
            code = int(digits, 16)
        except ValueError:
            return None
        if code < 0:
            raise HjsonRefusal(position - 2, "chr() arg not in range(0x110000)", VALUE_ERROR)
        if digits.strip(HEX):
            self.relax(position - 2, position + 4, ESCAPE)
        return code

    def multiline(self) -> Node:
        """Parse a string in three quotes; each line loses as much indentation as the opening quotes have."""
        from bisect import bisect_left

        text, start = self.text, self.position
        breaks = self.line_breaks()
        if not breaks:
            raise HjsonRefusal(start, "string index out of range", INDEX_ERROR)
        before = bisect_left(breaks, start)
        indent = start - 1 - breaks[before - 1]
        if not before:  # hjson searches backwards for a line break, and before the start continues from the end
            indent += len(text)
        position = self.indent(start + 3, -1)
        if position >= len(text):
            raise HjsonRefusal(start, "string index out of range", INDEX_ERROR)
        if text[position] == "\n":
            position = self.indent(position + 1, indent)
        end = text.find("'''", position)
        if end < 0:
            raise HjsonRefusal(len(text), "Bad multiline string")
        raw = self.unindented(position, end, indent)
        self.position = end + 3
        self.relax(start, self.position, MULTILINE)
        return Node(SCALAR, start, self.position, raw, "'''")

    def line_breaks(self) -> list[int]:
        """The offsets of line ends; cached."""
        if self.breaks is None:
            self.breaks = [place for place, char in enumerate(self.text) if char == "\n"]
        return self.breaks

    def unindented(self, position: int, end: int, indent: int) -> str:
        """The lines of a multiline string without their indentation and last line break."""
        lines = []
        while (line_end := self.text.find("\n", position, end)) >= 0:
            lines.append(self.text[position:line_end].replace("\r", ""))
            position = self.indent(line_end + 1, indent)
        lines.append(self.text[position:end].replace("\r", ""))
        return "\n".join(lines[:-1] if len(lines) > 1 and not lines[-1] else lines)

    def indent(self, position: int, most: int) -> int:
        """The offset after at most this many spaces; any number of them if negative."""
        while most and self.text[position : position + 1] in (" ", "\t", "\r"):
            position += 1
            most -= 1
        return position

    def skip(self) -> str:
        """Skip spaces and comments; return the next character, empty at the end."""
        text, position = self.text, self.position
        char = text[position : position + 1]
        if char > " " and char not in "#/":
            return char
        while True:
            char = text[position : position + 1]
            while char and char in BLANKS:
                position += 1
                char = text[position : position + 1]
            if char not in ("#", "/"):
                break
            end = self.comment_end(position)
            if end == position:
                break
            if len(self.comments) >= MOST_PARTS:
                raise TooMany
            self.comments.append((position, end))
            self.relax(position, end, COMMENT)
            position = end
        self.position = position
        return char

    def comment_end(self, start: int) -> int:
        """The end of the comment at `start`; `start` itself if there is none."""
        if self.text.startswith("/*", start):
            end = self.text.find("*/", start + 2)
            if end < 0:
                raise HjsonRefusal(start, "string index out of range", INDEX_ERROR)
            return end + 2
        if self.text[start] != "#" and not self.text.startswith("//", start):
            return start
        end = start
        while end < len(self.text) and self.text[end] not in "\r\n":
            end += 1
        return end

    def relax(self, start: int, end: int, what: str) -> None:
        """Record a deviation from strict JSON."""
        self.relaxations.append((start, end, what))


def last_end(node: Node) -> int:
    """The end of the last member of an object without braces."""
    return int(node.children[-1][1].end) if node.children else node.start
