"""The lines, commas and white space around the nodes of a document, for edits."""

from __future__ import annotations

from cfglint.source.document import MAPPING, Document, Node


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
