"""Redirections: the files that they create, here-documents and here-strings."""

from __future__ import annotations

import re

from cfglint.source.annotations import SyntaxNode
from cfglint.source.shell.execution import Execution
from cfglint.source.shell.placed_text import EMPTY, Text, literal

Span = tuple[int, int]

WORD_TYPES = frozenset(
    (
        "word", "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "command_substitution",
        "ansi_c_string", "translated_string", "brace_expression", "arithmetic_expansion", "process_substitution", "regex",
        "extglob_pattern", "test_operator", "subscript", "special_variable_name", "variable_name",
    )
)  # fmt: skip

PLACEHOLDER = re.compile(r"<(?![\s<>&(])[^<>\n|;&]*(?<![\s\d])>").match  # `<path>`, which the grammar takes for redirections


def targets(node: SyntaxNode) -> list[Span]:
    """The words after the operator of a redirection; the grammar includes words after the file in its targets, and splits
    `$folder/$name.log` before `name`.
    """
    spans: list[Span] = []
    for child in node.children:
        if child.type in WORD_TYPES:
            start = spans.pop()[0] if spans and spans[-1][1] == child.start_byte else child.start_byte
            spans.append((start, child.end_byte))
    return spans


def arguments(shell: Execution, node: SyntaxNode) -> list[Span]:
    """The words behind the target of a redirection, which are arguments of its command.

    The lines after a redirection without target are no arguments; the placeholder that it ends, as in `--config <path>`, is one.
    """
    if not lacks_target(shell, node):
        return targets(node)[1:]
    text = shell.script.text
    start = text.rfind("<", text.rfind("\n", 0, node.start_byte) + 1, node.start_byte)
    return [(start, node.start_byte + 1)] if start >= 0 and PLACEHOLDER(text, start) is not None else []


def lacks_target(shell: Execution, node: SyntaxNode) -> bool:
    """Whether a redirection has no target on its line, as in `PATH=<your path>`: bash stops reading the script there."""
    if node.type != "file_redirect":
        return False
    words = targets(node)
    first = words[0][0] if words else node.end_byte
    return "\n" in shell.script.text[node.start_byte : first].replace("\\\n", "") or not words


def redirect(shell: Execution, node: SyntaxNode) -> None:
    """Record a file that a redirection creates."""
    words = targets(node)
    if ">" in shell.source(node)[:3] and words:
        shell.written.add(shell.expander().string(*words[0]).string)


def here_string(shell: Execution, node: SyntaxNode) -> Text | None:
    named = [child for child in node.children if child.is_named]
    return shell.expander().string(named[0].start_byte, named[0].end_byte) + literal("\n") if named else None


def here_document(shell: Execution, node: SyntaxNode) -> Text:
    """The lines of a here-document, expanded unless its mark is quoted."""
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    mark = next((child for child in node.children if child.type == "heredoc_start"), None)
    if body is None:
        return EMPTY
    if mark is not None and shell.source(mark)[:1] in "\"'\\":
        return shell.script.literal(body.start_byte, body.end_byte)
    expander = shell.expander()
    expander.in_document = True
    return expander.string(body.start_byte, body.end_byte, True)
