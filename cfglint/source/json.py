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
ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = ("null", "true", "false")
CONSTANTS = ("NaN", "Infinity", "-Infinity")
HEX = "0123456789abcdefABCDEF"
TEXT = "!text"  # the tag of an unquoted string that resembles a number or word but is a string in hjson


HJSON_ERROR = "hjson.scanner.HjsonDecodeError"
INDEX_ERROR = "IndexError"


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
        return document
    except HjsonRefusal as refused:
        problem = syntax_problem(document, refused)
    except TooDeep:
        problem = too_deep(parser.position)
    except TooMany:
        problem = too_many()
    document.problems.append(problem)
    for node in parser.open:
        node.end = min(parser.position, len(text))
    return document


def syntax_problem(document: Document, refused: HjsonRefusal) -> Problem:
    """A syntax error with the exception that hjson would raise; the message is reworded where that of hjson is unclear."""
    text, mark = document.text, int(document.bom)
    exception = f"{refused.exception}: {refused.reason}"
    message = f"invalid JSON: {refused.reason[0].lower()}{refused.reason[1:]}"
    if refused.exception == HJSON_ERROR:
        # A place or range as Python's decoders spell it: only LF ends a line, and a byte order mark counts as a character.
        ends = [refused.place, len(text)] if refused.reason == EXTRA else [refused.place]
        lines = [(text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)) for place in ends]
        spelled = " - ".join(f"line {line} column {column + mark * (line == 1)}" for line, column in lines)
        exception += f": {spelled} (char {' - '.join(str(place + mark) for place in ends)})"
    elif refused.exception == INDEX_ERROR:
        message = "unexpected end of file in a comment or string"
    if refused.reason == END_IN_KEY:
        message = "unexpected end of file, expected `}`"
    place = min(refused.place, len(text))
    return Problem(place, min(place + 1, len(text)), message, "syntax", exception)


class JsonParser:
    """One pass over a content; `position` is that of the next character, `relax` records a deviation from strict JSON."""

    def __init__(self, document: Document, constants: bool) -> None:
        self.document = document
        self.text = document.text
        self.relax = document.relaxations.append
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
            self.relax((0, self.position, EMPTY))
        else:
            self.bare_root()
        if self.skip():
            raise HjsonRefusal(self.position, EXTRA)

    def bare_root(self) -> None:
        """Parse members without braces, or else a single value, as hjson does."""
        document, start = self.document, self.position
        root = Node(MAPPING, start, start, "", BARE)
        document.roots.append(root)
        self.open.append(root)
        self.relax((start, start, NO_BRACES))
        try:
            self.collections()
        except HjsonRefusal as refused:
            if refused.exception != HJSON_ERROR:
                raise
            lone = JsonParser(Document("", self.text, "json"), self.constants)
            lone.position = start
            try:
                value = lone.value()
            except HjsonRefusal:
                raise refused from None
            self.open.clear()
            document.roots[:] = [value]
            constants = [relaxation for relaxation in document.relaxations if relaxation[2] == CONSTANT]  # hjson may parse this as members
            document.relaxations[:] = lone.document.relaxations + constants
            document.comments[:] = [span for span in document.comments if span[1] <= start]
            self.position = lone.position

    def collections(self) -> None:
        """Parse members and items until every open collection is closed."""
        for _ in range(MOST_PARTS):
            if not self.open:
                return
            node = self.open[-1]
            children = node.children
            char, comma = self.skip(), -1
            if children and char == ",":
                comma = self.position
                self.position += 1
                char = self.skip()
            if not char and node.kind == SEQUENCE and not children:
                raise HjsonRefusal(self.position, "End of input while parsing an array (did you forget a closing ']'?)")
            if node.style == BARE:
                ended = not char and bool(children)
                node.end = children[-1][1].end if children else node.start
            elif ended := char == ("}" if node.kind == MAPPING else "]"):
                self.position += 1
                node.end = self.position
            if ended:
                if comma >= 0:
                    self.relax((comma, comma + 1, TRAILING_COMMA))
                self.open.pop()
                continue
            if comma < 0 and children:
                self.relax((self.position, self.position, MISSING_COMMA))
            if node.kind == SEQUENCE:
                children.append(self.value())
                continue
            key = self.key()
            try:
                if self.skip() != ":":
                    raise HjsonRefusal(self.position, "Expecting ':' delimiter")
                self.position += 1
                self.skip()
                children.append((key, self.value()))
            except HjsonRefusal:  # the key stays in the tree, without a value
                children.append((key, Node(SCALAR, key.end, key.end)))
                raise
        raise TooMany

    def key(self) -> Node:
        """Parse a quoted key, or one up to its colon: no punctuation, and spaces only before the colon."""
        text, start = self.text, self.position
        if text[start : start + 1] in ('"', "'"):
            return self.string(text[start])
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
        self.relax((start, start + len(raw), BARE_KEY))
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
        if text[start] in "{}[],:":
            raise HjsonRefusal(start, "Found a punctuator character when expecting a quoteless string (check your syntax)")
        end = start
        while (char := text[end : end + 1]) and char not in ",}]#\r\n":
            if char == "/" and text[end + 1 : end + 2] in ("/", "*"):
                break
            end += 1
        raw, tag, relaxed = text[start:end].rstrip("\t "), None, ""
        self.position = behind = end
        if raw in WORDS or (raw[0] in "-0123456789" and is_json_number(raw)):
            relaxed = "" if raw.isascii() else NUMBER
        elif raw in CONSTANTS and self.constants:
            relaxed = CONSTANT
        elif raw[0] in "ntf" and raw.strip() in WORDS:
            raw, relaxed = raw.strip(), BARE_STRING
        else:
            while text[behind : behind + 1] not in ("", "\r", "\n"):
                behind += 1
            self.position = behind
            raw, relaxed = text[start:behind].strip(), BARE_STRING
            tag = TEXT if raw in WORDS or is_json_number(raw) else None
            end = start + len(raw)
        node = Node(SCALAR, start, start + len(raw), raw)
        node.tag = tag
        if relaxed:
            self.relax((start, end if relaxed == BARE_STRING else node.end, relaxed))
        return node

    def string(self, quote: str) -> Node:
        """Parse a quoted string; the position is then after it."""
        start = self.position
        if quote == "'":
            self.relax((start, start + 1, QUOTES))
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
            if char < " " and char:
                raise HjsonRefusal(position + 1, f"Invalid control character {text[position + 1 : position + 2]!r} at")
            position += 1
            if char == "\\":
                char = text[position : position + 1]
                position += 1
                if char == "u":
                    char, position = self.character(position)
                elif char and char not in ESCAPES:
                    raise HjsonRefusal(position - 1, f"Invalid \\X escape sequence {char!r}")
                else:
                    if char == "'":
                        self.relax((position - 2, position, ESCAPE))
                    char = ESCAPES.get(char, "")
            if not char:
                raise HjsonRefusal(start, "Unterminated string starting at")
            chunks.append(char)
        return "".join(chunks), position

    def character(self, start: int) -> tuple[str, int]:
        """The character of the escape sequence whose digits begin at `start`, with a second surrogate if one follows; its end."""
        code, end = self.code(start), start + 4
        if code is None:
            raise HjsonRefusal(start - 2, "Invalid \\uXXXX escape sequence")
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", end):
            low = self.code(end + 2)
            if low is not None and 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00))), end + 6
            digits = self.text[end + 2 : end + 6]
            if low is None and len(digits) == 4 and digits[1] not in "xX":
                raise HjsonRefusal(end, "Invalid \\uXXXX escape sequence")
        return chr(code), end

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
            raise HjsonRefusal(position - 2, "chr() arg not in range(0x110000)", "ValueError")
        if digits.strip(HEX):
            self.relax((position - 2, position + 4, ESCAPE))
        return code

    def multiline(self) -> Node:
        """Parse a string in three quotes; each line loses as much indentation as the opening quotes have."""
        from bisect import bisect_left

        text, start = self.text, self.position
        if self.breaks is None:
            self.breaks = [place for place, char in enumerate(text) if char == "\n"]
        if not self.breaks:
            raise HjsonRefusal(start, "string index out of range", INDEX_ERROR)
        before = bisect_left(self.breaks, start)
        indent = start - 1 - self.breaks[before - 1]
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
        lines = []
        while (line_end := text.find("\n", position, end)) >= 0:
            lines.append(text[position:line_end].replace("\r", ""))
            position = self.indent(line_end + 1, indent)
        last = text[position:end].replace("\r", "")
        if last or not lines:  # the last line break is not part of the string
            lines.append(last)
        self.position = end + 3
        self.relax((start, self.position, MULTILINE))
        return Node(SCALAR, start, self.position, "\n".join(lines), "'''")

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
        comments = self.document.comments
        while True:
            while char and char in BLANKS:
                position += 1
                char = text[position : position + 1]
            if char not in ("#", "/"):
                break
            if text.startswith("/*", position):
                end = text.find("*/", position + 2) + 2
                if end < 2:
                    raise HjsonRefusal(position, "string index out of range", INDEX_ERROR)
            elif char == "#" or text.startswith("//", position):
                end = position
                while text[end : end + 1] not in ("", "\r", "\n"):
                    end += 1
            else:
                break
            if len(comments) >= MOST_PARTS:
                raise TooMany
            comments.append((position, end))
            self.relax((position, end, COMMENT))
            position = end
            char = text[position : position + 1]
        self.position = position
        return char
