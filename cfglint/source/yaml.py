"""Parses YAML into a span tree, from the events of PyYAML's parsers.

libyaml's parser is twelve times faster; the pure Python one gives the same tree and is the one that
`yaml.safe_load` and `yaml.FullLoader` use. So it decides wherever the two differ.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice

from cfglint.source import libyaml
from cfglint.source.annotations import Any, Callable, Iterator, NodeKind
from cfglint.source.document import ALIAS, MAPPING, SCALAR, SEQUENCE, Document, Node, Problem
from cfglint.source.limits import MAX_DEPTH, MOST_FOR_PYTHON, MOST_PARTS, TooDeep, too_deep, too_many

TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"  # 1,000 levels, since PyYAML 6.0.4; before any event if they are on one line
TAB = "tab"
PURE = "refused by libyaml"
QUESTION = "question mark in a bare scalar"
MARK = "byte order mark inside the file"
HEADER = "comment on a block scalar's header"
DIRECTIVE = "directive"
TAG = "tag"
BREAKS = "\n\r\x85\u2028\u2029"
USUAL_LINE = 160  # characters within which most lines end


def parse(path: str, text: str, bom: bool = False, pure: bool = False) -> Document:
    """The span tree of a YAML file, every document of it in `roots`.

    libyaml parses if it is installed, and the Python parser whatever libyaml refuses. `relaxations` hold the places
    where the two may differ. `pure` requests the Python parser only. A file that cannot be
    parsed has a `syntax` problem and the tree of the part before it.
    """
    document = Document(path, text, "yaml", bom)
    builder = Builder(document)
    large = len(text) > MOST_FOR_PYTHON
    fast = libyaml.parser() if not pure or large else None
    parsed = fast is not None and builder.run(fast)
    if not parsed and not (large and fast):
        complaint = builder.problem
        builder = Builder(document)
        if builder.run(pure_parser()) and complaint is not None:
            document.relaxations.append((complaint.start, complaint.end, PURE))
    builder.finish()
    refused = builder.problem
    if refused is not None and refused.kind == "control":  # control characters are searched for before parsing
        before = parse(path, text[: refused.start], bom, pure)
        document.roots, document.leaves, document.comments = before.roots, before.leaves, before.comments
    if parsed and not pure:
        builder.differences()
    return document


def pure_parser() -> Callable[[str], Any]:
    """PyYAML's parser in Python, as a class that takes the content."""
    libyaml.complete()
    from yaml.loader import Loader
    from yaml.parser import Parser
    from yaml.scanner import Scanner

    class PureParser(Loader, Scanner, Parser):
        def __init__(self, text: str) -> None:
            Loader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)

    return PureParser


class Builder:
    """Builds the nodes of one file from parser events, without recursion."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.open: list[Node] = []
        self.children: list[Node] = []  # children of the open collection; for a mapping alternating keys and values until it is closed
        self.leaves: list[Node] = []
        document.leaves = self.leaves
        self.tags: list[int] = []
        self.anchors: dict[str, Node] = {}
        self.problem: Problem | None = None
        self.composer_problem: Problem | None = None

    def run(self, parser_class: Callable[[str], Any]) -> bool:
        """Build the tree; return False if the content could not be parsed to its end."""
        from yaml.error import YAMLError

        add_leaf, children = self.leaves.append, self.children
        try:
            events = iter(parser_class(self.text).get_event, None)
            for event in islice(events, MOST_PARTS):
                kind = type(event)
                if kind is libyaml.Leaf:
                    node = event
                elif kind.__name__ == "ScalarEvent":
                    node = libyaml.Leaf(event.anchor, event.tag, None, event.value, event.start_mark, event.end_mark, event.style)
                else:
                    self.take(kind.__name__, event)
                    children = self.children
                    continue
                if node.anchor is not None or node.tag is not None:
                    self.read_properties(node)
                elif node.start == node.end:  # an empty value is after the indicator before it: the two parsers report different places
                    place = node.start
                    while place > 0 and self.text[place - 1] in " \t":
                        place -= 1
                    node.head = node.start = node.end = place
                add_leaf(node)
                children.append(node)
            self.problem = too_many() if next(events, None) is not None else None
        except YAMLError as error:
            if getattr(error, "problem", None) == TOO_DEEP_FOR_LIBYAML:
                self.problem = too_deep(error.problem_mark.index)  # type: ignore[attr-defined]
                return True
            self.problem = syntax_problem(self.text, error)
            return False
        except UnicodeEncodeError as error:  # a lone surrogate, in a content that did not come from a file
            self.problem = unacceptable(self.text, self.text[error.start])
            return False
        except TooDeep:
            start = self.open[-1].start
            self.problem = too_deep(start)
        return True

    def take(self, name: str, event: Any) -> None:
        """Add an event other than a scalar to the tree."""
        if name in ("MappingStartEvent", "SequenceStartEvent"):
            kind: NodeKind = MAPPING if name == "MappingStartEvent" else SEQUENCE
            node = Node(kind, event.start_mark.index, event.end_mark.index, "", "flow" if event.flow_style else "block")
            if event.tag is not None or event.anchor is not None:
                node.tag, node.anchor = event.tag, event.anchor
                self.read_properties(node)
            self.children.append(node)
            self.children = node.children
            self.open.append(node)
            if len(self.open) > MAX_DEPTH:
                raise TooDeep
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            node, end = self.open.pop(), event.end_mark.index
            self.children = self.open[-1].children if self.open else self.document.roots
            last = pair_up(node)
            if node.style == "flow" and self.text[end - 1 : end] in ("}", "]") and self.text[node.start] in "{[":
                node.end = end
            else:  # a block collection, or the pair of `[a: 1]`, ends where its last value does
                node.end = max(last, node.start)
        elif name == "AliasEvent":
            node = Node(ALIAS, event.start_mark.index, event.end_mark.index, event.anchor)
            node.target = self.anchors.get(event.anchor)
            if node.target is None:
                self.refuse(node, f"alias `*{node.raw}` has no anchor before it", f"found undefined alias {node.raw!r}")
            self.leaves.append(node)
            self.children.append(node)
        elif name == "StreamStartEvent":
            self.children = self.document.roots = []
        elif name == "DocumentStartEvent":
            self.anchors = {}

    def read_properties(self, node: Node) -> None:
        """Record tag and anchor of a node, and where its own characters begin after them."""
        if node.anchor is not None:
            if node.anchor in self.anchors:
                reason = f"found duplicate anchor {node.anchor!r}; first occurrence: second occurrence"
                self.refuse(node, f"duplicate anchor `&{node.anchor}`", reason)
            self.anchors[node.anchor] = node
        if node.tag is not None:
            self.tags.append(node.head)
        end = skip_properties(self.text, node.head)
        node.start = min(end, node.end) if node.kind == SCALAR else end
        node.end = max(node.start, node.end)

    def refuse(self, node: Node, message: str, reason: str) -> None:
        """Record the first reason why PyYAML would not compose the tree."""
        if self.composer_problem is None:
            self.composer_problem = Problem(node.head, node.end, message, "syntax", f"yaml.composer.ComposerError: {reason}")

    def finish(self) -> None:
        """Store comments and problems in the document; close collections that an error left open."""
        while self.open:
            node = self.open.pop()
            node.end = max(pair_up(node), node.end)
        problems = [problem for problem in (self.composer_problem, self.problem) if problem is not None]
        self.document.problems.extend(sorted(problems, key=lambda problem: problem.start))
        if "#" in self.text:
            limit = self.problem.start if self.problem is not None else len(self.text)
            self.document.comments.extend(islice(self.comments(limit), MOST_PARTS))
            if len(self.document.comments) == MOST_PARTS:
                self.document.problems.append(too_many())

    def comments(self, limit: int) -> Iterator[tuple[int, int]]:
        """The spans of the comments, which events do not contain: every `#` outside scalars."""
        text, leaves, next_leaf = self.text, self.leaves, 0
        find_end = plain_line_end if text.isascii() and "\r" not in text else line_end
        found = text.find("#")
        while 0 <= found < limit:
            while next_leaf < len(leaves) and leaves[next_leaf].end <= found:
                next_leaf += 1
            inside = next_leaf < len(leaves) and leaves[next_leaf].start <= found
            if inside and not self.in_header(leaves[next_leaf], found):
                end = leaves[next_leaf].end
            else:
                end = find_end(text, found)
                yield found, end
            found = text.find("#", end)

    def in_header(self, leaf: Node, place: int) -> bool:
        """Whether a place is in the first line of a block scalar, after its mark."""
        return leaf.style in ("|", ">") and place < line_end(self.text, leaf.start)

    def differences(self) -> None:
        """Record constructs that libyaml accepts and the Python parser may reject or parse differently."""
        text, relaxations = self.text, self.document.relaxations
        if "\t" in text:
            relaxations.extend((place, place + 1, TAB) for place in self.tabs())
        if "?" in text:
            bare = (leaf for leaf in self.leaves if not leaf.style and "?" in leaf.raw)
            relaxations.extend((leaf.start, leaf.end, QUESTION) for leaf in bare)
        if "#" in text:
            headers = ((leaf.start, line_end(text, leaf.start)) for leaf in self.leaves if leaf.style in ("|", ">"))
            relaxations.extend((start, end, HEADER) for start, end in headers if "#" in text[start:end])
        if text.startswith("%") or "\n%" in text:
            place = text.find("%")
            relaxations.append((place, place + 1, DIRECTIVE))
        if "\ufeff" in text:
            place = text.index("\ufeff")
            relaxations.append((place, place + 1, MARK))
        relaxations.extend((place, place + 1, TAG) for place in self.tags)

    def tabs(self) -> Iterator[int]:
        """Places of tabs that separate or indent, or are in an unquoted scalar, one per line: Python's scanner rejects them."""
        comments, leaves, text = self.document.comments, self.leaves, self.text
        found = text.find("\t")
        while found >= 0:
            comment = bisect_right(comments, (found, len(text))) - 1
            index = bisect_right(leaves, found, key=lambda leaf: leaf.start) - 1
            if comment >= 0 and found < comments[comment][1]:
                end = comments[comment][1]
            elif index >= 0 and found < leaves[index].end and leaves[index].style and not self.in_header(leaves[index], found):
                end = leaves[index].end
            else:
                yield found
                end = plain_line_end(text, found)
            found = text.find("\t", end)


def pair_up(node: Node) -> int:
    """Turn the alternating keys and values of a mapping into pairs; the end of a collection's last child."""
    children = node.children
    if not children:
        return node.start
    end: int = children[-1].end
    if node.kind == MAPPING:
        if len(children) % 2:
            children.append(Node(SCALAR, end, end))
        node.children = list(zip(children[::2], children[1::2], strict=True))
    return end


def line_end(text: str, start: int) -> int:
    """The offset of the line break at or after `start`, as YAML 1.1 counts breaks, or the end of the content."""
    reach = start + USUAL_LINE
    while True:
        found = [place for mark in BREAKS if (place := text.find(mark, start, reach)) >= 0]
        if found or reach >= len(text):
            return min(found, default=len(text))
        reach += 3 * (reach - start)


def plain_line_end(text: str, start: int) -> int:
    """The same for a content whose lines end with LF only."""
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def skip_properties(text: str, start: int) -> int:
    """The offset of the first character after a node's anchor and tag and the white space and comments after them."""
    position = start
    while (char := text[position : position + 1]) in ("&", "!"):
        if text.startswith("!<", position):
            position = text.index(">", position) + 1
        else:
            stops = (" \t,[]{}" if char == "&" else " \t,") + BREAKS
            position += 1
            while position < len(text) and text[position] not in stops:
                position += 1
        while (char := text[position : position + 1]) and (char in " \t#" or char in BREAKS):
            position = line_end(text, position) if char == "#" else position + 1
    return position


def syntax_problem(text: str, error: Any) -> Problem:
    """The problem for a parser error at its mark, with the exception's message and its name as in a traceback of PyYAML's Python loader."""
    character = getattr(error, "character", None)
    if character is not None:
        return unacceptable(text, chr(character))
    from cfglint.source.yaml_errors import plain

    start = min((error.problem_mark or error.context_mark).index, len(text.rstrip()))
    what = ": ".join(part for part in (error.context, error.problem) if part)
    name = type(error).__name__
    exception = f"yaml.{name.removesuffix('Error').lower()}.{name}: {what}"
    ours, remedy = plain(error.context or "", error.problem or "")
    return Problem(start, min(start + 1, len(text)), f"invalid YAML: {ours or what}", "syntax", exception, remedy=remedy or None)


def unacceptable(text: str, character: str) -> Problem:
    """The problem for an invalid character, at its first occurrence: libyaml counts bytes."""
    start = text.index(character)
    reason = f"unacceptable character #x{ord(character):04x}: special characters are not allowed"
    message = f"the character {character!r} is not allowed in YAML"
    return Problem(start, start + 1, message, "control", f"yaml.reader.ReaderError: {reason}")
