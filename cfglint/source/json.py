"""JSON text and its relatives as a span tree, without recursion.

The grammar is hjson's (version 3.1.0, `hjson/decoder.py`), the most generous of the readers: strict JSON is
the part of it that leaves no relaxation behind. Only `NaN` and `Infinity` mean something to Python's json
and something else to hjson; they are taken as json does.
"""

from __future__ import annotations

from cfglint.source.document import MAPPING, SCALAR, SEQUENCE, Document, Node, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

MAX_DEPTH = 200

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

BLANKS = " \t\n\r"
PUNCTUATION = "{}[],:"
ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = {"n": "null", "t": "true", "f": "false"}
CONSTANTS = ("NaN", "Infinity", "-Infinity")
HEX = "0123456789abcdefABCDEF"
TEXT = "!text"  # the tag of a bare string that looks like a number or word but is none to hjson


class Refused(Exception):
    """hjson would raise here: where, in whose words, and as which exception when not its own."""

    def __init__(self, place: int, reason: str, kind: str = "syntax", exception: str = "hjson.scanner.HjsonDecodeError") -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason
        self.kind = kind
        self.exception = exception


def parse(path: str, text: str, bom: bool = False, constants: bool = True) -> Document:
    """The span tree of a JSON or hjson text.

    `relaxations` tell where it leaves strict JSON. A text that hjson refuses has a problem and the tree of
    what stands before it. Without `constants`, `NaN` and `Infinity` are the bare strings that hjson sees.
    """
    document = Document(path, text, "json", bom)
    try:
        Parser(document, constants).run()
    except Refused as refused:
        document.problems.append(problem(document, refused))
    document.relaxations.sort()
    return document


def problem(document: Document, refused: Refused) -> Problem:
    """A refusal with the text of the exception that hjson would raise."""
    place = min(refused.place, len(document.text))
    end = min(place + 1, len(document.text))
    if refused.kind == "depth":
        return Problem(place, end, refused.reason, "depth")
    exception = f"{refused.exception}: {refused.reason}"
    if refused.exception.endswith("DecodeError"):
        exception += where(document, refused.place)
    return Problem(place, end, f"neither JSON nor hjson: {refused.reason[0].lower()}{refused.reason[1:]}", refused.kind, exception)


def where(document: Document, place: int) -> str:
    """A place as Python's decoders write it; they count a byte order mark as a character."""
    text, mark = document.text, int(document.bom)
    line = text.count("\n", 0, place) + 1
    column = place + 1 + mark if line == 1 else place - text.rindex("\n", 0, place)
    return f": line {line} column {column} (char {place + mark})"


class Parser:
    """One pass over a text; `position` is the next character to look at."""

    __slots__ = ("constants", "document", "open", "position", "relaxations", "text")

    def __init__(self, document: Document, constants: bool) -> None:
        self.document = document
        self.text = document.text
        self.relaxations = document.relaxations
        self.constants = constants
        self.position = 0
        self.open: list[Node] = []

    def run(self) -> None:
        """Read the root: an object, with or without braces, an array or a lone value."""
        char = self.skip()
        if char in ("{", "["):
            self.value()
        elif not char and not self.document.bom:
            self.relaxations.append((0, self.position, EMPTY))
            self.document.roots.append(Node(MAPPING, self.position, self.position, "", "bare"))
        else:
            self.bare_root()
        self.collections()
        if self.skip():
            self.extra()

    def bare_root(self) -> None:
        """Members without braces, or else a single value, as hjson tries them."""
        start = self.position
        marks = len(self.relaxations), len(self.document.comments)
        node = Node(MAPPING, start, start, "", "bare")
        self.document.roots.append(node)
        self.open.append(node)
        self.relaxations.append((start, start, NO_BRACES))
        try:
            self.collections()
        except Refused:
            tree = list(self.document.roots), self.relaxations[:], self.document.comments[:]
            self.open.clear()
            self.document.roots.clear()
            del self.relaxations[marks[0] :], self.document.comments[marks[1] :]
            self.position = start
            if not self.lone_value():
                self.document.roots[:], self.relaxations[:], self.document.comments[:] = tree
                raise

    def lone_value(self) -> bool:
        """Try to read a single value at the position."""
        try:
            self.value()
        except Refused:
            return False
        return bool(self.document.roots)

    def extra(self) -> NoReturn:
        end = len(self.text)
        first, last = where(self.document, self.position), where(self.document, end)
        char, end_char = first[first.rindex("(char ") + 6 : -1], last[last.rindex("(char ") + 6 : -1]
        places = f"{first[: first.rindex(' (')]} - {last[2 : last.rindex(' (')]} (char {char} - {end_char})"
        refused = Refused(self.position, "Extra data" + places, exception="hjson.scanner.HjsonDecodeError: ")
        refused.exception = "hjson.scanner.HjsonDecodeError"
        raise refused

    def collections(self) -> None:
        """Read members and items until every open collection is closed."""
        while self.open:
            node = self.open[-1]
            if node.kind == MAPPING:
                self.member(node)
            else:
                self.item(node)

    def member(self, node: Node) -> None:
        """One `key: value` of an object, or its end."""
        char = self.skip()
        bare = node.style == "bare"
        if self.separated(node, char) and (char == "}" if not bare else not char and node.children):
            self.close(node, bare)
            return
        key = self.key()
        if self.skip() != ":":
            raise Refused(self.position, "Expecting ':' delimiter")
        self.position += 1
        self.skip()
        node.children.append((key, self.value()))

    def item(self, node: Node) -> None:
        """One value of an array, or its end."""
        char = self.skip()
        if not char and not node.children:
            raise Refused(self.position, "End of input while parsing an array (did you forget a closing ']'?)")
        if self.separated(node, char) and char == "]":
            self.close(node, False)
            return
        node.children.append(self.value())

    def separated(self, node: Node, char: str) -> bool:
        raise NotImplementedError
