"""The source of a script with its syntax tree."""

from __future__ import annotations

import sys
from bisect import bisect_right
from functools import cache, cached_property, lru_cache
from itertools import count

from cfglint import source
from cfglint.source.annotations import Any, SyntaxNode
from cfglint.source.shell.placed_text import EMPTY, Place, Text, TextPart
from cfglint.source.shell.syntax import Fault, fault_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Parser

LONGEST = 1_000_000  # maximum number of characters of a script
HELD = "\x7f"  # placeholder of a character that the grammar parses differently from bash: a carriage return is part of a word
PLACEHOLDER = "__unknown_"  # variables for the unknown parts of a string that is itself a script
CHUNK = 1 << 16
MOST_CALLBACKS = 60_000  # of the library while it builds a syntax tree, about a second
MOST_LOOKED_AHEAD = 200_000_000  # characters: at each `((` the grammar's scanner looks for the end, in a single step of the library
SECONDS = 10.0  # for building a syntax tree, if neither of these limits ends it
MOST_MARKS = 100  # of here-documents that an operator follows, for each of which the end is searched
PARTS = 4_096  # number of cached nodes of these trees
TREES = 64  # number of cached syntax trees: loops parse the same sources in each iteration


class Script:
    """A shell source. `first_line` is the number of its first line in the file, `offset` where it begins there.

    A source that another script composes (`eval`, `bash -c`) keeps the places of its `parts`. `parsed` is what the syntax
    tree is built of, of the same length as `text`, where that is not the source itself.
    """

    def __init__(
        self, path: str, text: str, offset: int = 0, first_line: int = 1, parts: Text | None = None, parsed: str | None = None
    ) -> None:
        self.path = path
        self.text = text[:LONGEST]
        self.offset = offset
        self.first_line = first_line
        self.unknown: dict[str, Text] = {}
        self._parts = parts
        self._parsed = parsed
        self._starts: list[int] = []
        if parts is not None:
            composed = ""
            for number, part in enumerate(parts.parts):
                self._starts.append(len(composed))
                if part.text is None:
                    name = f"{PLACEHOLDER}{number}"
                    self.unknown[name] = Text((part,))
                    composed += f"${{{name}}}"
                else:
                    composed += part.text
            self.text = composed[:LONGEST]

    @property
    def verbatim(self) -> bool:
        """Whether the source is an unchanged part of its file."""
        return self._parts is None

    @cached_property
    def conflict(self) -> int:
        """The place of the first mark of a merge conflict, -1 without one."""
        return f"\n{self.text}".find("\n<<<<<<< ")

    @cached_property
    def fault(self) -> Fault | None:
        """Where bash stops reading it."""
        return fault_of(self.text)

    def tree(self) -> SyntaxNode | None:
        """The root of the syntax tree; offsets are those of `text`. None if building it took too long."""
        return root_of(self.text if self._parsed is None else self._parsed[:LONGEST])

    def line(self, offset: int) -> int:
        """The number of the line in the file that contains an offset of the source."""
        return self.first_line + self.text.count("\n", 0, offset)

    def place(self, start: int, end: int) -> Place | None:
        """The place in the file where some characters of the source are written."""
        if self._parts is None:
            return self.path, self.offset + start, self.offset + end
        index = bisect_right(self._starts, start) - 1
        if index < 0:
            return None
        part = self._parts.parts[index]
        inside = start - self._starts[index]
        if part.place is None or part.text is None or inside + end - start > len(part.text):
            return None
        path, first, _ = part.place
        return path, first + inside, first + inside + end - start

    def literal(self, start: int, end: int) -> Text:
        if start >= end:
            return EMPTY
        if self._parts is None:
            return Text((TextPart(self.text[start:end], (self.path, self.offset + start, self.offset + end)),))
        return Text((TextPart(self.text[start:end], self.place(start, end)),))


@lru_cache(TREES)
def root_of(text: str) -> SyntaxNode | None:
    """The root of the syntax tree of a source; None if building it took too long."""
    if text.count("((") * len(text) > MOST_LOOKED_AHEAD:
        return None
    import re
    import time

    if "`#" in text:  # comments between backquotes, which have no meaning and which the grammar does not accept
        text = re.sub(r"`#[^`\n]*`", lambda match: " " * len(match.group()), text)
    if "<<" in text:
        text = with_separate_marks(text)
    plain = text.translate(IN_ASCII).encode("ascii")
    limit = time.monotonic() + SECONDS
    calls = count()
    try:
        tree = parser().parse(
            lambda offset, _: plain[offset : offset + CHUNK],
            progress_callback=lambda *_: next(calls) > MOST_CALLBACKS or time.monotonic() > limit,
        )
    except (TypeError, ValueError):
        return None
    return tree.root_node if tree is not None else None


@lru_cache(PARTS)
def part_of(node: SyntaxNode, field: str) -> SyntaxNode | None:
    """The child of a node that a field of the grammar names, or None; the same object each time, which caches its own children."""
    return node.child_by_field_name(field)


def with_separate_marks(text: str) -> str:
    """The source with a blank behind each mark of a here-document that an operator follows: `<<EOF>file`.

    The grammar reads a mark up to the next blank. To keep all offsets, the blank takes the last character of the mark, and a line break
    that of its end.
    """
    import re

    marks = re.finditer(r"(?<!<)<<-?[ \t]*([A-Za-z_]\w+)(?=[>|;&)])", text)
    for _, start in zip(range(MOST_MARKS), marks, strict=False):
        end = re.compile(rf"^\t*{start[1]}$", re.MULTILINE).search(text, start.end())
        if end is not None:
            text = f"{text[: start.end() - 1]} {text[start.end() : end.end() - 1]}\n{text[end.end() :]}"
    return text


@cache
def parser() -> Parser:
    """The parser of the grammar, imported only if there is a script."""
    library, grammar = binding("tree_sitter"), binding("tree_sitter_bash")
    parser: Parser = library.Parser(library.Language(grammar.language()))
    return parser


def binding(package: str) -> Any:
    """The extension module of a package.

    In the process of the command line it is loaded without the package, whose own imports (`typing`, `importlib.resources`) take ten
    times as long and are not used.
    """
    if source.IS_OWN_PROCESS and package not in sys.modules:
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(package)
        inner = PathFinder.find_spec(f"{package}._binding", spec.submodule_search_locations) if spec is not None else None
        if inner is not None and inner.loader is not None:
            module = inner.loader.create_module(inner)
            if module is not None:
                inner.loader.exec_module(module)
                return module
    return __import__(f"{package}._binding", fromlist=["_binding"])


class InAscii(dict[int, str]):
    """Maps each character to one of ASCII, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if " " <= char <= "~" or char in "\n\t" else "x" if char.isalnum() else HELD
        return self[code]


IN_ASCII = InAscii()
