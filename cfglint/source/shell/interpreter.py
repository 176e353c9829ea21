"""Follows the statements of a script without running anything: which commands it would start, with which words.

Branches whose condition is not known are both followed, and what they start is marked `conditional`. Loops over known words
are unrolled.
"""

from __future__ import annotations

from cfglint.evaluate.operations import negated
from cfglint.source.shell.branches import (
    and_or,
    case,
    counting_loop,
    for_loop,
    if_statement,
    is_arithmetic,
    pipeline,
    test,
    while_loop,
)
from cfglint.source.shell.execution import Execution
from cfglint.source.shell.nested_scripts import define
from cfglint.source.shell.simple_commands import command, redirected
from cfglint.source.shell.variables import assignment, declaration, unset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.shell.execution import Handler

HANDLERS: dict[str, Handler] = {
    "subshell": lambda shell, node: shell.apart(shell.block, node),
    "pipeline": pipeline,
    "list": and_or,
    "negated_command": lambda shell, node: negated(shell.statement(node.children[-1])),
    "test_command": test,
    "compound_statement": lambda shell, node: test(shell, node) if is_arithmetic(node) else shell.block(node),
    "if_statement": if_statement,
    "case_statement": case,
    "for_statement": for_loop,
    "c_style_for_statement": counting_loop,
    "while_statement": while_loop,
    "function_definition": define,
    "variable_assignment": assignment,
    "variable_assignments": assignment,
    "declaration_command": declaration,
    "unset_command": unset,
    "redirected_statement": redirected,
    "command": command,
}


class ShellInterpreter(Execution):
    """Follows a script, each type of statement as bash does."""

    handlers = HANDLERS
