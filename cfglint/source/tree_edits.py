"""The edits of a YAML or JSON document that one change needs, and the expected tree; the lines, commas and white space around nodes."""

from __future__ import annotations

from cfglint.source.annotations import Any, Callable, Syntax
from cfglint.source.change import DELETE, INSERT, REPLACE, Change, Edit, EditRefused
from cfglint.source.document import ALIAS, MAPPING, SCALAR, SEQUENCE, Document, Node, Path, merged
from cfglint.source.parse import parse
from cfglint.source.spelling import spell_key

Shape = list[Any]

SHORT, MOST_KEPT = 80, 200  # characters of a value whose tree is kept, and how many are

SIGNS = {ord(sign): None for sign in "_.+-/"}


def shape(node: Node | None) -> Shape:
    """The content of a tree, without positions and styles of collections, as nested lists that can be changed."""
    if node is None:
        return []
    if node.kind == MAPPING:
        return [MAPPING, node.tag, node.anchor, [[shape(key), shape(value)] for key, value in node.children]]
    if node.kind == SEQUENCE:
        return [SEQUENCE, node.tag, node.anchor, [shape(item) for item in node.children]]
    return [node.kind, node.tag, node.anchor, node.raw, node.style]


class Whitespace:
    """Queries on the characters between the nodes of a document; arguments and results are offsets."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text

    def value_end(self, value: Node) -> int:
        """The end of a value, without the empty lines after a block scalar."""
        last = deepest(value)
        end = max(last.end, value.end)
        if last.style and last.style in "|>" and "+" not in self.text[last.start : last.start + 3]:
            body = len(self.text[:end].rstrip("\r\n"))
            return min(self.after_break(body), end)
        return end

    def comma(self, start: int, end: int) -> int:
        """The offset of the comma that follows, after white space and comments at most; -1 without one."""
        position = start
        while position < end:
            if self.text[position] == ",":
                return position
            comment = next((span for span in self.document.comments if span[0] == position), None)
            if comment is not None:
                position = comment[1]
            elif self.text[position].isspace():
                position += 1
            else:
                break
        return -1

    def has_commas(self, container: Node) -> bool:
        """Whether members are separated by commas, which hjson does not require."""
        if len(container.children) > 1:
            return self.comma(container.children[-2][1].end, container.children[-1][0].head) >= 0
        value = container.children[-1][1]
        return not any(start == value.start and what == "bare string" for start, _, what in self.document.relaxations)

    def comment_end(self, start: int) -> int:
        """The end of the comment that follows on the same line, `start` without one."""
        position = self.next_on_line(start)
        return next((span[1] for span in self.document.comments if span[0] == position), start)

    def owns_line(self, node: Node) -> bool:
        return not self.text[line_start(self.text, node.head) : node.head].strip(" \t")

    def ends_line(self, end: int) -> bool:
        return not self.text[end : self.line_end(end)].strip(" \t")

    def next_on_line(self, start: int) -> int:
        """The offset after the spaces of a line."""
        while self.text[start : start + 1] in (" ", "\t"):
            start += 1
        return start

    def line_end(self, start: int) -> int:
        """The offset of the next line break, or the end of the content."""
        ends = [found for found in (self.text.find("\n", start), self.text.find("\r", start)) if found >= 0]
        return min(ends, default=len(self.text))

    def after_break(self, end: int) -> int:
        """The offset after the line break at `end`, `end` itself without one."""
        if self.text.startswith("\r\n", end):
            return end + 2
        return end + 1 if self.text[end : end + 1] in ("\n", "\r") else end

    def line_break(self) -> str:
        """The line break that the document uses first."""
        end = self.line_end(0)
        return self.text[end : self.after_break(end)] or "\n"

    def colon(self, container: Node) -> str:
        """The colon and the spaces around it, as the last member has them."""
        key, value = container.children[-1]
        between = self.text[key.end : value.head]
        if between.strip(" \t") == ":" and (between != ":" or self.document.syntax == "json") and value.start < value.end:
            # not where spaces align the values of the members
            is_usual = container.style == "flow" or len({self.text[key.end : value.head] for key, value in container.children}) == 1
            return between if is_usual else ": "
        return ": "

    def gap(self, container: Node) -> str:
        """The characters between the last comma and the last key."""
        if len(container.children) > 1:
            comma = self.comma(container.children[-2][1].end, container.children[-1][0].head)
            between = self.text[comma + 1 : container.children[-1][0].head]
            if comma >= 0 and not between.strip(" \t"):
                return between
        key, value = container.children[-1]
        return "" if self.text[key.end : value.head] == ":" else " "


class Step(Whitespace):
    """A change computed for a document: its edits, expected tree, removed comments; `amend` changes the collection at `indices`."""

    def __init__(self, document: Document, change: Change) -> None:
        super().__init__(document)
        self.edits: list[Edit] = []
        self.may_lose: list[tuple[int, int]] = []
        self.place = 0
        self.indices: list[int] = []
        self.amend: Callable[[Shape], None]
        if change.kind == INSERT:
            self.insert(change.path, change.key, change.text)
        elif change.kind == REPLACE:
            self.replace(change)
        elif change.kind == DELETE:
            self.delete(change)
        else:
            self.rename(change)

    # finding the place

    def container(self, path: Path) -> Node:
        """The collection at a path, which is the one to change."""
        node = self.document.root
        if node is None:
            raise EditRefused("the file is empty", 0)
        for step in path:
            self.refuse_shared(node, [node.anchor])
            index = self.index(node, step, None)
            if index < 0:
                raise self.missing(node, step)
            self.indices.append(index)
            node = entry_value(node, index)
            if node.kind == ALIAS:
                raise self.refuse_alias(node)
        self.refuse_shared(node, [node.anchor])
        return node

    def index(self, node: Node, step: str | int, occurrence: int | None) -> int:
        if node.kind == SEQUENCE:
            return step if isinstance(step, int) and 0 <= step < len(node.children) else -1
        if node.kind != MAPPING:
            return -1
        found = [index for index in self.document.places(node, step) if node.children[index][0].kind == SCALAR]
        wanted = found if occurrence is None else found[occurrence : occurrence + 1]
        return wanted[-1] if wanted else -1

    def missing(self, node: Node, step: str | int) -> EditRefused:
        source = brought_in(node, step)
        if source is not None:
            return EditRefused(f"`{step}` comes from a merge key, it is written on {self.line(source)}", source.start)
        return EditRefused(f"`{step}` does not exist here", node.start)

    def refuse_alias(self, node: Node) -> EditRefused:
        return EditRefused(f"alias `*{node.raw}` refers to a value on {self.line(node.resolved())}", node.start)

    def line(self, node: Node) -> str:
        return f"line {self.document.position(node.start)[0]}"

    def refuse_shared(self, node: Node, anchors: list[str | None]) -> None:
        """Refuse to change a node when an alias elsewhere refers to it or a part of it, by these anchors."""
        if self.document.root is None or not any(anchors):
            return
        for part in nodes(self.document.root):
            if part.kind == ALIAS and part.raw in anchors:
                raise EditRefused(f"alias `*{part.raw}` on {self.line(part)} refers to this value too", node.start)

    # the four changes

    def replace(self, change: Change) -> None:
        if not change.path:
            raise EditRefused("the document itself is not replaced", 0)
        container = self.container(change.path[:-1])
        step = change.path[-1]
        index = self.index(container, step, change.occurrence)
        if index < 0:
            if brought_in(container, step) is None:
                raise self.missing(container, step)
            self.indices.clear()
            self.insert(change.path[:-1], str(step), change.text)
            return
        node = entry_value(container, index)
        self.place = node.start
        if node.kind == ALIAS:
            raise self.refuse_alias(node)
        if node.tag is not None:
            raise EditRefused(f"the tag {node.tag} determines the type of this value", node.start)
        if node.kind != SCALAR and node.style != "flow":
            raise EditRefused("a nested block is not replaced", node.start)
        self.refuse_shared(node, [part.anchor for part in nodes(node)])
        value = self.when_partial(change.text)
        value[2] = node.anchor

        def put(part: Shape) -> None:
            if part[0] == MAPPING:
                part[3][index][1] = value
            else:
                part[3][index] = value

        self.amend = put
        text, end = change.text, node.end
        if node.start == end and self.text[node.start - 1 : node.start] not in (" ", "\t", "\n"):
            text = " " + text  # in place of an empty value
        elif node.style and node.style in "|>":  # a block scalar keeps its last line break
            end = node.start + len(self.text[node.start : end].rstrip("\r\n"))
        self.edits.append(Edit(node.start, end, text))

    def rename(self, change: Change) -> None:
        container, index = self.member(change)
        key = container.children[index][0]
        self.place = key.start
        if key.anchor is not None or key.tag is not None or key.start == key.end:
            raise EditRefused("this key is not a plain string", key.start)
        self.refuse_taken(container, change.key)
        text = spell_key(change.key, self.document, key)
        name = self.key_shape(text)
        self.amend = lambda part: part[3][index].__setitem__(0, name)
        self.edits.append(Edit(key.start, key.end, text))

    def member(self, change: Change) -> tuple[Node, int]:
        if not change.path:
            raise EditRefused("the document itself is not a key", 0)
        container = self.container(change.path[:-1])
        index = self.index(container, change.path[-1], change.occurrence)
        if index < 0:
            raise self.missing(container, change.path[-1])
        if container.kind != MAPPING:
            raise EditRefused("an item of a list is not a key", container.start)
        return container, index

    def refuse_taken(self, container: Node, key: str) -> None:
        index = self.index(container, key, None)
        if index >= 0:
            raise EditRefused(f"`{key}` exists already", container.children[index][0].start)

    def insert(self, path: Path, key: str, text: str) -> None:
        if self.document.root is None and not path and self.document.syntax == "yaml":
            name = spell_key(key, self.document)  # the first key, after the comments of the file
            added = [MAPPING, None, None, [[self.key_shape(name), self.when_partial(text)]]]
            self.amend = lambda part: part.extend(added)
            line_break, end = self.line_break(), len(self.text)
            is_open = bool(self.text) and self.text[-1] not in "\r\n"
            self.edits.append(Edit(end, end, f"{line_break}{name}: {text}" if is_open else f"{name}: {text}{line_break}"))
            return
        container = self.container(path)
        self.place = container.start
        if container.kind != MAPPING:
            raise EditRefused("not a mapping", container.start)
        self.refuse_taken(container, key)
        sibling = container.children[-1][0] if container.children else None
        name = spell_key(key, self.document, sibling)
        member = [self.key_shape(name), self.when_partial(text)]
        self.amend = lambda part: part[3].append(member)
        if container.style == "flow":
            self.insert_flow(container, name, text)
        else:
            self.insert_line(container, name, text)

    def insert_line(self, container: Node, name: str, text: str) -> None:
        """Add a line after the last one of a block mapping, at the column of the first key."""
        first = container.children[0][0]
        indent = " " * (first.head - line_start(self.text, first.head))
        if container.style == "bare":
            indent = self.text[line_start(self.text, first.head) : first.head]
        last = deepest(container)
        end = last.end
        line_break = self.line_break()
        member = f"{indent}{name}{self.colon(container)}{text}"
        if last.style and last.style in "|>" and self.text[end - 1 : end] in ("\n", "\r"):
            if "+" in self.text[last.start : last.start + 3]:
                self.edits.append(Edit(end, end, member + line_break))
                return
            end = len(self.text[:end].rstrip("\r\n"))
        end = self.line_end(end)
        self.edits.append(Edit(end, end, line_break + member))

    def insert_flow(self, container: Node, name: str, text: str) -> None:
        """Add a member before the closing brace, in the layout of the last one."""
        if self.text[container.start] != "{":
            raise EditRefused("no key can be added to a single pair in a list", container.start)
        if not container.children:
            if not self.text[container.start + 1 : container.end - 1].isspace() and container.end - container.start > 2:
                raise EditRefused("no key is added to an empty object with a comment inside", container.start)
            self.edits.append(Edit(container.start, container.end, f"{{{name}: {text}}}"))
            return
        key, value = container.children[-1]
        member = f"{name}{self.colon(container)}{text}"
        comma = self.comma(value.end, container.end - 1)
        after = comma + 1 if comma >= 0 else value.end
        needs_comma = self.has_commas(container) and comma < 0
        if self.owns_line(key):
            lead = self.line_break() + self.text[line_start(self.text, key.head) : key.head]
            after = self.comment_end(after)
        else:
            lead = self.gap(container)
        member = f"{lead}{member}{',' if comma >= 0 else ''}"
        if not needs_comma:
            self.edits.append(Edit(after, after, member))
        elif after == value.end:
            self.edits.append(Edit(after, after, "," + member))
        else:
            self.edits += [Edit(value.end, value.end, ","), Edit(after, after, member)]

    def delete(self, change: Change) -> None:
        container, index = self.member(change)
        key, value = container.children[index]
        self.place = key.start
        self.refuse_shared(key, [part.anchor for part in (*nodes(key), *nodes(value))])
        self.amend = lambda part: part[3].pop(index)
        if container.style == "flow" and self.text[container.start] == "{":
            self.delete_flow(container, index)
        elif len(container.children) == 1:
            raise EditRefused("without its only key the mapping would be null", key.start)
        else:
            self.delete_line(container, index)
        end = self.value_end(value)
        own_line = self.comment_end(end) if end == value.end else end
        comma = self.comma(end, len(self.text)) if container.style == "flow" else -1
        if comma >= 0:
            own_line = max(own_line, self.comment_end(comma + 1))
        self.may_lose = [span for span in self.document.comments if key.head <= span[0] and span[1] <= own_line]

    def delete_line(self, container: Node, index: int) -> None:
        key, value = container.children[index]
        start = line_start(self.text, key.head)
        end = self.value_end(value)
        if self.text[start : key.head].strip(" \t"):
            # The key is on the line of a list's dash: the next key moves up to that line.
            if index + 1 == len(container.children):
                raise EditRefused("this key is on one line with others", key.start)
            self.edits.append(Edit(key.head, container.children[index + 1][0].head, ""))
            return
        if self.text[end - 1 : end] not in ("\n", "\r"):  # the end is after the line break of a block scalar
            comma = self.comma(end, self.line_end(end))
            if not self.ends_line(self.comment_end(max(end, comma + 1))):
                raise EditRefused("this key is on one line with others", key.start)
            end = self.line_end(end)
        self.remove_lines(start, end)

    def remove_lines(self, start: int, end: int) -> None:
        """Remove from a line's start to a line's end, with one line break."""
        if self.text[end - 1 : end] in ("\n", "\r") and end > start:
            self.edits.append(Edit(start, end, ""))
            return
        following = self.after_break(end)
        if following > end or start == 0:
            self.edits.append(Edit(start, following, ""))
        else:
            self.edits.append(Edit(start - (2 if self.text[:start].endswith("\r\n") else 1), end, ""))

    def delete_flow(self, container: Node, index: int) -> None:
        """Remove a member of a flow mapping or JSON object, with the superfluous comma."""
        key, value = container.children[index]
        if len(container.children) == 1:
            self.edits.append(Edit(container.start + 1, container.end - 1, ""))
            return
        comma = self.comma(value.end, container.end - 1)
        after = comma + 1 if comma >= 0 else value.end
        end = self.comment_end(after)
        if index + 1 == len(container.children) and comma < 0:
            previous = self.comma(container.children[index - 1][1].end, key.head)
            if previous < 0:
                previous = key.head
            elif not (self.owns_line(key) and self.ends_line(end)) and not any(
                previous <= begin < key.head for begin, _ in self.document.comments
            ):
                self.edits.append(Edit(previous, value.end, ""))
                return
            else:
                self.edits.append(Edit(previous, previous + 1, ""))
        if self.owns_line(key) and self.ends_line(end):
            self.remove_lines(line_start(self.text, key.head), self.line_end(end))
        elif index + 1 < len(container.children):
            self.edits.append(Edit(key.head, self.next_on_line(after), ""))
        else:
            self.edits.append(Edit(key.head, after, ""))

    # parsing a value or key alone

    def when_partial(self, text: str) -> Shape:
        syntax = self.document.syntax
        if syntax == "yaml" and text.isascii() and text[:1].isalnum() and text.translate(SIGNS).isalnum():
            return [SCALAR, None, None, text, ""]  # unquoted in every context: letters, digits, and signs without special meaning
        key = (text, syntax)
        if key in _value_nodes:
            root = _value_nodes[key]
        else:
            parsed = parse("", text if syntax == "yaml" else f"[{text}]", syntax)
            root = parsed.root
            if syntax == "json" and root is not None and len(root.children) == 1:
                root = root.children[0]
            root = None if parsed.problems or parsed.comments else root
            if len(text) <= SHORT and len(_value_nodes) < MOST_KEPT:
                _value_nodes[key] = root
        if root is None:
            raise EditRefused(f"{text!r} is not the source of a single value", self.place)
        return shape(root)

    def key_shape(self, text: str) -> Shape:
        if self.document.syntax == "json" and text[:1] not in "\"'":
            return [SCALAR, None, None, text, ""]
        return self.when_partial(text)


_value_nodes: dict[tuple[str, Syntax], Node | None] = {}  # the fixes of a rule write the same short values in many files


def entry_value(node: Node, index: int) -> Node:
    """The value at an index of a mapping, or the item of a sequence."""
    entry = node.children[index]
    found: Node = entry[1] if node.kind == MAPPING else entry
    return found


def nodes(root: Node) -> list[Node]:
    """A node and all nodes below it, keys included; aliases are not followed."""
    found = [root]
    for node in found:
        if node.kind == MAPPING:
            found.extend(part for pair in node.children for part in pair)
        elif node.kind == SEQUENCE:
            found.extend(node.children)
    return found


def brought_in(node: Node, step: str | int) -> Node | None:
    """The value that merge keys include in a mapping under a key."""
    for key, value in node.pairs():
        if key.raw == "<<" and not key.style:
            for source in merged(value):
                for name, found in reversed(source.pairs()):
                    if name.raw == step:
                        return found
    return None


def line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def deepest(node: Node) -> Node:
    """The last leaf of a tree, or a flow collection that ends it."""
    while node.children and node.style in ("block", "bare"):
        last = node.children[-1]
        node = last[1] if node.kind == MAPPING else last
    return node


def moved_lines(text: str, node: Node, parent: Node) -> str:
    """The source of a value whose later lines are indented for the members of another mapping; on one line if that one is."""
    value = text[node.start : node.end]
    if "\n" not in value:
        return value
    first = parent.children[0][0].start if parent.children else None
    if first is None or "\n" not in text[parent.start : first]:
        return " ".join(line.strip() for line in value.splitlines())
    old, new = (text[line_start(text, place) :] for place in (node.start, first))
    before, after = (each[: len(each) - len(each.lstrip(" \t"))] for each in (old, new))
    return "\n".join(line if not index else after + line.removeprefix(before) for index, line in enumerate(value.split("\n")))
