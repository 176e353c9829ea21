"""A file's content as a tree of nodes, each with its span.

The tree is that of the syntax, before any framework interprets it: scalars keep their source, duplicate
keys stay, aliases are not expanded. `cfglint.source.loaders` converts it to values.
"""

from __future__ import annotations

from os.path import normpath

from cfglint.evaluate import Unknown
from cfglint.source.annotations import (
    Any,
    Callable,
    Collection,
    FileProblemKind,
    Iterator,
    Mapping,
    NodeKind,
    ProblemKind,
    Syntax,
)
from cfglint.source.record import Record

Path = tuple[str | int, ...]

SCALAR: NodeKind = "scalar"
MAPPING: NodeKind = "mapping"
SEQUENCE: NodeKind = "sequence"

LIMIT: FileProblemKind = "limit"  # the kind of a problem that is a limit of cfglint's own
NOT_STRICT_JSON: ProblemKind = "not-strict-json"  # the kind of a problem that only a strict JSON parser has
ALIAS: NodeKind = "alias"

NOTHING = ()  # the children of every scalar
LONG = 32  # minimum number of entries for which an index is built


class Problem(Record):
    """A reason why a content cannot be loaded, at a span.

    The kind `limit` is one of cfglint's own limits, which says nothing about the behaviour of a framework.
    `exception` is the one that the loader would raise, as `Type: message`, if it is known.
    `only_here`: another common parser of such files accepts it; `note` names that parser. `remedy` is what to write.
    """

    start: int
    end: int
    message: str
    kind: ProblemKind = "syntax"
    exception: str | None = None
    only_here: bool = False
    note: str | None = None
    remedy: str | None = None


class Node:
    """A scalar, mapping, sequence or alias with its span.

    `start`/`end` are the value's own characters, without anchor and tag; `head` is where those begin.
    `raw` is a scalar's string after quotes and escapes are removed, or an alias's name.
    `style` is `""` for an unquoted scalar, the quote or block mark for the others, and `"flow"` or `"block"`
    for collections (`"bare"` for the members of an hjson file without braces). `children` holds (key, value)
    pairs of a mapping, or the items of a sequence.
    """

    __slots__ = ("anchor", "children", "end", "head", "kind", "raw", "start", "style", "tag", "target")

    def __init__(self, kind: NodeKind, start: int, end: int, raw: str = "", style: str = "") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.head = start
        self.raw = raw
        self.style = style
        self.tag: str | None = None
        self.anchor: str | None = None
        self.target: Node | None = None  # an alias's anchored node
        self.children: Any = NOTHING if kind == SCALAR else []  # pairs or items, by kind

    def pairs(self) -> list[tuple[Node, Node]]:
        children: list[tuple[Node, Node]] = self.children if self.kind == MAPPING else []
        return children

    def items(self) -> list[Node]:
        nodes: list[Node] = self.children if self.kind == SEQUENCE else []
        return nodes

    def resolved(self) -> Node:
        """The node itself, or the target of an alias."""
        node = self
        while node.kind == ALIAS and node.target is not None:
            node = node.target
        return node

    def __repr__(self) -> str:
        return f"Node({self.kind}, {self.start}, {self.end}, {self.raw!r})"


class Written(Record):
    """The place of a value that a call takes from elsewhere, another module of its program or a config file that the program loads.

    `has_key`: the key there is the name of the argument, as for `**config["training"]`.
    """

    document: Document
    path: Path
    has_key: bool = False


class Document:
    """The content of one file and its syntax tree.

    `text` is decoded, without a byte order mark; offsets count its characters. `roots` holds one node per
    YAML document (a JSON file has at most one). `leaves` are the scalars and aliases of a YAML file, keys included,
    in file order. `relaxations` are the places where a JSON file is not
    strict JSON (a comment, a trailing comma, ...), or where PyYAML's two parsers read a YAML file
    differently: (start, end, description). `missing` are the files that this one names and that do not exist, `outside`
    those outside its project, which are not read: (path, name).
    """

    elsewhere: Mapping[str, Written] = {}  # the places in other documents that the values of keys come from
    is_editable = True  # whether its places are those of a file
    completed: Callable[[Any], Any] = staticmethod(lambda values: values)  # what becomes of the loaded values
    set_later: Collection[str] = ()  # keys that a program sets on the object, after the class has checked what it was constructed with

    def __init__(self, path: str, text: str, syntax: Syntax, bom: bool = False) -> None:
        self.path = path
        self.text = text
        self.syntax = syntax
        self.bom = bom
        self.roots: list[Node] = []
        self.leaves: list[Node] = []
        self.problems: list[Problem] = []
        self.comments: list[tuple[int, int]] = []
        self.missing: list[tuple[Path, str]] = []
        self.outside: list[tuple[Path, str]] = []
        self.rewritten: list[str] = []  # files that it names and its program writes
        self.relaxations: list[tuple[int, int, str]] = []
        self.loaded: dict[object, Any] = {}  # loader -> its result
        self._breaks: list[int] | None = None
        self._indexes: dict[int, dict[str | int, list[int]]] = {}
        self._lines: dict[int, str] = {}  # cached, because a thousand findings may be on one line

    @property
    def is_command(self) -> bool:
        """Whether it is a command of a script: its keys are options."""
        return self.syntax == "shell"

    @property
    def is_call(self) -> bool:
        """Whether it is a call in a program: its keys are parameters."""
        return self.syntax == "python"

    @property
    def is_in_code(self) -> bool:
        """Whether it is a command or a call, and not a file of its own."""
        return self.syntax in ("shell", "python")

    @property
    def root(self) -> Node | None:
        return self.roots[0] if self.roots else None

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1, in characters; lines as editors count them."""
        from bisect import bisect_right

        if self._breaks is None:
            self._breaks = line_starts(self.text)
        line = bisect_right(self._breaks, offset)
        return line, offset - self._breaks[line - 1] + 1

    def line(self, number: int) -> str:
        """The content of a line (from 1) without its line break."""
        if self._breaks is None:
            self._breaks = line_starts(self.text)
        if number not in self._lines:
            start = self._breaks[number - 1]
            end = self._breaks[number] if number < len(self._breaks) else len(self.text)
            self._lines[number] = self.text[start:end].rstrip("\r\n")
        return self._lines[number]

    def find(self, path: Path) -> tuple[Node | None, Node | None]:
        """(key node, value node) at a path, of duplicate keys the last; no key for the root and for items, None for both without any."""
        key: Node | None = None
        node = self.root
        for step in path:
            if node is None:
                return None, None
            node = node.resolved()
            if node.kind == MAPPING and len(node.children) > LONG:  # by an index: a rule may look up every key
                if places := self.places(node, step):
                    key, node = node.children[places[-1]]
                    continue
                if not self.places(node, "<<"):
                    return None, None
            key, node = child(node, step)
        return (key, node) if node is not None else (None, None)

    def places(self, mapping: Node, name: str | int) -> list[int]:
        """The positions, among the pairs of a mapping, of those with a key of this name; cached."""
        if id(mapping) not in self._indexes:
            index = self._indexes[id(mapping)] = {}
            for place, (key, _) in enumerate(mapping.children):
                index.setdefault(key.raw, []).append(place)
        return self._indexes[id(mapping)].get(name, [])

    def written_elsewhere(self) -> list[Written]:
        """The places in other documents that its values come from."""
        return [*self.elsewhere.values()]

    def key_text(self, path: Path) -> str:
        """A key for people: as a JSON pointer into the file, or an option as its line spells it."""
        return pointer(path)

    def source(self, start: int, end: int) -> str:
        """The text between two offsets, in a notebook that of its code."""
        return self.text[start:end]

    def is_literal(self, key: str) -> bool:
        """Whether the value of a key stands at its place as it is, and neither another file nor a program has made it."""
        return True

    def is_set_later(self, key: str) -> bool:
        return key in self.set_later

    def default_of(self, path: Path) -> Written | None:
        """Where the default of a missing key is written, or where the key could be added; None if that is this document."""
        return None

    def forget_places(self) -> None:
        """Drop the cached positions after the tree has changed."""
        self._indexes.clear()

    def walk(self) -> Iterator[tuple[Path, Node | None, Node]]:
        """Every (path, key, value) of the first document, outer before inner; aliases are not followed."""
        stack: list[tuple[Path, Node | None, Node]] = [((), None, self.root)] if self.root is not None else []
        while stack:
            path, key, node = stack.pop()
            yield path, key, node
            if node.kind == MAPPING:
                stack.extend(((*path, name.raw), name, value) for name, value in reversed(node.children))
            elif node.kind == SEQUENCE:
                stack.extend(((*path, index), None, item) for index, item in reversed(list(enumerate(node.children))))

    def mappings(self) -> Iterator[Node]:
        """Every mapping of the first document, without its path; aliases are not followed."""
        stack = [self.root] if self.root is not None else []
        while stack:
            node = stack.pop()
            if node.kind == MAPPING:
                yield node
                stack.extend(value for _, value in node.children if value.children)
            else:
                stack.extend(item for item in node.children if item.children)


class Part(Document):
    """A part of a file that is a document of its own: the arguments of a command or of a call.

    `extent` is the span of that part, `again` finds it in another version of the file. `unknown` are the unknown values by key, `files`
    the paths of all files that its values come from, `others` the other parts of the file that are configured beside it.
    """

    others: Mapping[int, Document] = {}

    def __init__(self, path: str, text: str, syntax: Syntax, start: int, end: int) -> None:
        super().__init__(path, text, syntax)
        self.extent = (start, end)
        self.unknown: dict[str, Unknown] = {}
        self.again: Callable[[str], Document] | None = None
        self.files = frozenset((path,))
        self.roots = [Node(MAPPING, start, end, style="block")]

    def reread(self, texts: Mapping[str, str]) -> Document:
        """The part in other versions of its files, by their normal paths."""
        text = texts.get(normpath(self.path))
        return self.again(text) if text is not None and self.again is not None else self


def child(node: Node, step: str | int) -> tuple[Node | None, Node | None]:
    """The (key, value) of a step in a path; YAML merge keys are searched last."""
    if node.kind == SEQUENCE:
        return None, node.children[step] if isinstance(step, int) and 0 <= step < len(node.children) else None
    seen: set[int] = set()
    waiting = [node] if node.kind == MAPPING else []  # mappings, outer before inner; each is searched once
    while waiting:
        mapping = waiting.pop()
        if id(mapping) in seen:
            continue
        seen.add(id(mapping))
        for key, value in reversed(mapping.children):
            if key.raw == step:
                return key, value
        sources = [source for key, value in mapping.children if key.raw == "<<" and not key.style for source in merged(value)]
        waiting.extend(reversed(sources))
    return None, None


def merged(value: Node) -> list[Node]:
    """The mappings that a merge key's value includes; the first takes precedence."""
    value = value.resolved()
    sources = value.children if value.kind == SEQUENCE else [value]
    return [source.resolved() for source in sources if source.resolved().kind == MAPPING]


def line_starts(text: str) -> list[int]:
    """The offsets at which lines begin; a line ends with LF, CR LF or a lone CR."""
    starts = [0]
    if "\r" not in text:
        found = text.find("\n")
        while found >= 0:
            starts.append(found + 1)
            found = text.find("\n", found + 1)
        return starts
    for index, char in enumerate(text):
        if char == "\n" or (char == "\r" and text[index + 1 : index + 2] != "\n"):
            starts.append(index + 1)
    return starts


def pointer(path: Path) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
