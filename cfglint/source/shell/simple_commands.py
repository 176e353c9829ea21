"""Simple commands: their words are expanded, and a builtin, a function or a program is run."""

from __future__ import annotations

import re

from cfglint.source.annotations import Sequence, SyntaxNode, Truth
from cfglint.source.shell.builtin_commands import BUILTINS
from cfglint.source.shell.execution import Execution
from cfglint.source.shell.nested_scripts import call_function, evaluated
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.reasons import UNCLEAR
from cfglint.source.shell.redirections import (
    PLACEHOLDER,
    WORD_TYPES,
    Span,
    arguments,
    here_document,
    here_string,
    lacks_target,
    redirect,
    targets,
)
from cfglint.source.shell.script import part_of
from cfglint.source.shell.variables import prefixes, within
from cfglint.source.shell.word_spans import blanks_at_end

CHANGING = ("module", "ml", "conda", "mamba", "micromamba", "spack", "workon", "deactivate", "pyenv", "nvm")  # shell functions
COMMAND_TYPES = WORD_TYPES | {"command_name", "variable_assignment"}
CHANGES = re.compile(r"\$\{\w+:?[=?]|\(\(").search  # expansions that change the state


def redirected(shell: Execution, node: SyntaxNode) -> Truth:
    """Follow a statement with redirections; a here-document or here-string is its input."""
    body = part_of(node, "body")
    extra: list[Span] = []
    before, shell.placeholder = shell.stdin, False
    for child in node.children:
        shell.refused = shell.refused or lacks_target(shell, child)
        if child.type == "heredoc_redirect":
            shell.stdin = here_document(shell, child)
            for each in (inner for inner in child.children if inner.type == "file_redirect"):
                redirect(shell, each)
            extra.extend(targets(child))
        elif child.type == "herestring_redirect":
            shell.stdin = here_string(shell, child)
        elif child.type == "file_redirect":
            shell.placeholder = shell.placeholder or PLACEHOLDER(shell.script.text, child.start_byte) is not None
            redirect(shell, child)
            extra.extend(arguments(shell, child))
            if shell.refused:  # the rest is on the lines below
                break
    try:
        if body is None:
            return True
        if extra and body.type == "command":
            return command(shell, body, extra)
        return shell.statement(body)
    finally:
        shell.stdin, shell.placeholder = before, False


def command(shell: Execution, node: SyntaxNode, extra: Sequence[Span] = ()) -> Truth:
    """Follow a simple command: its assignments, then its words, the `extra` ones of which stand behind redirections."""
    if shell.captured is None and only_prints(shell, node):
        return True
    spans: list[tuple[int, int]] = []
    environment = prefixes(shell, node) if node.children and node.children[0].type == "variable_assignment" else {}
    before = shell.stdin
    for child in node.children:
        kind = child.type
        if kind in COMMAND_TYPES and (spans or kind != "variable_assignment"):
            spans.append((child.start_byte, child.end_byte))
        elif kind == "herestring_redirect":
            shell.stdin = here_string(shell, child)
        elif kind == "file_redirect":
            shell.placeholder = shell.placeholder or PLACEHOLDER(shell.script.text, child.start_byte) is not None
            spans.extend(arguments(shell, child))
    spans.extend(extra)
    words = shell.words([*spans, *(blanks_at_end(shell.script.text, spans[-1][1]) if spans else ())])
    try:
        if not words:
            for name, value in environment.items():
                shell.state.assign(name, value)
            return True
        return start(shell, words, environment, node)
    finally:
        shell.stdin, shell.placeholder = before, False


def only_prints(shell: Execution, node: SyntaxNode) -> bool:
    """Whether a command is an `echo` whose words have no side effect."""
    text = shell.script.text
    prints = text.startswith(("echo ", 'echo"'), node.start_byte) and "echo" not in shell.state.functions
    return prints and CHANGES(text, node.start_byte, node.end_byte) is None


def start(shell: Execution, words: list[Text], environment: dict[str, Text], node: SyntaxNode) -> Truth:
    """Run a builtin or function, or record a command."""
    name = words[0].value
    if name in shell.state.functions and name is not None:
        return within(shell, environment, call_function, shell, name, words[1:])
    builtin = BUILTINS.get(name or "")
    if builtin is not None:
        return within(shell, environment, builtin, shell, words[1:])
    if name == "eval":
        return within(shell, environment, evaluated, shell, words[1:], node)
    if name == "exec":
        return start(shell, words[1:], environment, node) if len(words) > 1 else True  # without a command it only redirects
    if name is None or name in CHANGING:
        shell.state.knows_environment = False
    if shell.captured is None:
        shell.note(words, environment, node)
    else:
        shell.captured.append(shell.printed(words))
    return UNCLEAR
