"""Simple commands: their words are expanded, and a builtin, a function or a program is run; redirections, here-documents."""

from __future__ import annotations

import re

from cfglint.source.annotations import Sequence, SyntaxNode, Truth
from cfglint.source.shell.builtin_commands import BUILTINS, STATUSES
from cfglint.source.shell.execution import Execution, Stop, blanks_at_end
from cfglint.source.shell.nested_scripts import call_function, evaluated
from cfglint.source.shell.placed_text import EMPTY, Text, literal
from cfglint.source.shell.reasons import UNCLEAR
from cfglint.source.shell.script import part_of
from cfglint.source.shell.variables import prefixes, within

Span = tuple[int, int]

WORD_TYPES = frozenset(
    (
        "word", "number", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "command_substitution",
        "ansi_c_string", "translated_string", "brace_expression", "arithmetic_expansion", "process_substitution", "regex",
        "extglob_pattern", "test_operator", "subscript", "special_variable_name", "variable_name",
    )
)  # fmt: skip

PLACEHOLDER = re.compile(r"<(?![\s<>&(])[^<>\n|;&]*(?<![\s\d])>").match  # `<path>`, which the grammar takes for redirections
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
    text = shell.script.text
    prints = text.startswith(("echo ", 'echo"'), node.start_byte) and "echo" not in shell.state.functions
    if shell.captured is None and prints and CHANGES(text, node.start_byte, node.end_byte) is None:
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
            shell.placeholder = shell.placeholder or PLACEHOLDER(text, child.start_byte) is not None
            spans.extend(arguments(shell, child))
    spans.extend(extra)
    words = shell.words([*spans, *(blanks_at_end(text, spans[-1][1]) if spans else ())])
    try:
        if not words:
            for name, value in environment.items():
                shell.state.assign(name, value)
            return True
        return start(shell, words, environment, node)
    finally:
        shell.stdin, shell.placeholder = before, False


def start(shell: Execution, words: list[Text], environment: dict[str, Text], node: SyntaxNode) -> Truth:
    name = words[0].value
    if name in shell.state.functions and name is not None:
        return within(shell, environment, call_function, shell, name, words[1:])
    builtin = BUILTINS.get(name or "")
    if builtin is not None:
        return within(shell, environment, builtin, shell, words[1:])
    if name in STATUSES and name is not None:
        return STATUSES[name]
    if name == "eval":
        return within(shell, environment, evaluated, shell, words[1:], node)
    if name == "exec":
        if len(words) == 1:
            return True  # it only redirects
        start(shell, words[1:], environment, node)
        raise Stop  # the command replaces the shell
    if name is None or name in CHANGING:
        shell.state.knows_environment = False
    if shell.captured is None:
        shell.note(words, environment, node)
    else:
        shell.captured.append(shell.printed(words))
    return UNCLEAR


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
