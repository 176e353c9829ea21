"""Literal expressions as nodes with their places in the source."""

from __future__ import annotations

import ast
import json

from cfglint.source.document import MAPPING, SCALAR, SEQUENCE, Node, line_starts
from cfglint.source.python.notebook import Notebook


class Offsets:
    """Converts the lines and UTF-8 columns of a syntax tree to character offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = line_starts(text)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line, from 1, and a column in bytes, from 0."""
        start = self.starts[min(line, len(self.starts)) - 1]
        piece = self.text[start : start + column]
        if piece.isascii():
            return start + column
        return start + len(piece.encode()[:column].decode("utf-8", "ignore"))

    def span(self, node: ast.expr | ast.keyword | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def source(self, start: int, end: int) -> str:
        return self.text[start:end]


class NotebookOffsets(Offsets):
    """The offsets in the file of a notebook, whose code is in JSON strings."""

    def __init__(self, notebook: Notebook) -> None:
        self.text = notebook.text
        self.notebook = notebook

    def offset(self, line: int, column: int) -> int:
        """The offset in the file of a line of the code, from 1, and a column in bytes, from 0."""
        return self.notebook.offset(line, column)

    def source(self, start: int, end: int) -> str:
        return unescaped(self.text[start:end])


def unescaped(text: str) -> str:
    """The code that a part of a JSON string has; the text itself if it is not one."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def node_of(expression: ast.expr, offsets: Offsets) -> Node:
    """The tree of a literal; a computed part is a scalar with its source."""
    start, end = offsets.span(expression)
    if isinstance(expression, ast.Dict):
        node = Node(MAPPING, start, end, style="flow")
        for key, value in zip(expression.keys, expression.values, strict=True):
            if key is not None:
                node.children.append((node_of(key, offsets), node_of(value, offsets)))
        return node
    if isinstance(expression, (ast.List, ast.Tuple)):
        node = Node(SEQUENCE, start, end, style="flow")
        node.children = [node_of(element, offsets) for element in expression.elts]
        return node
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        return Node(SCALAR, start, end, expression.value, offsets.source(start, end)[:1])
    return Node(SCALAR, start, end, offsets.source(start, end))
