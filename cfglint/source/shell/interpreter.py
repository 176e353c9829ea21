"""Follows the statements of a script without running anything: which commands it would start, with which words.

Branches whose condition is not known are both followed, and what they start is marked `conditional`. Loops over known words
are unrolled. What srun and similar commands start is followed, and the scripts that a script starts, too.
"""

from __future__ import annotations

from cfglint.evaluate.operations import negated
from cfglint.source.annotations import SyntaxNode
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
from cfglint.source.shell.execution import Execution, Handler
from cfglint.source.shell.nested_scripts import call_script, define, run_inner, script_at
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.script import Script
from cfglint.source.shell.simple_commands import command, redirected
from cfglint.source.shell.variables import assignment, declaration, unset
from cfglint.source.shell.wrappers import (
    REMOTE,
    called_script,
    command_name,
    exported_to_job,
    keeps_environment,
    passed_on,
    script_of,
    submitted,
    unwrapped,
)

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
    """Follows a script, each type of statement as bash does; also `bash -c` and called scripts."""

    handlers = HANDLERS

    def note(self, words: list[Text], environment: dict[str, Text], node: SyntaxNode) -> None:
        """Record a command, or follow the script that is passed to it."""
        wrappers, given, inner = unwrapped(words)
        stdin = self.stdin if self.stdin is not None and any(part.text for part in self.stdin.parts) else None
        job = submitted(inner, stdin)
        text, called = (job.script, job.called) if job is not None else (script_of(inner, stdin), called_script(inner))
        composed = Script(self.script.path, "", parts=text) if text is not None else None
        start, known, header = len(self.calls), self.state.knows_environment, None
        exported = {**passed_on([*wrappers, *inner[:1]], {**self.state.environment(), **environment}), **given}
        self.state.knows_environment = known and job is None and keeps_environment(words)
        located, script = ("", composed) if composed is not None or not called else script_at(self, called[0])
        if job is not None and script is not None and self.submits is not None:
            header, variables = self.submits(script, job.options, self.state.folder)
            exported = {**exported_to_job(job.options, exported), **variables}
        if composed is not None:
            state = self.copied()
            state.variables, state.exported = {**exported, **state.written()}, set(exported)
            if command_name(inner[0]) in REMOTE:
                state.folder = "~"
            self.apart(run_inner, self, composed, node, state=state)
        elif script is None or not call_script(self, located, script, called[1:], exported, node):
            self.state.knows_environment = known
            super().note(words, environment, node)
            for call in self.calls[start:]:
                call.environment = passed_on(wrappers, call.environment)
            return
        self.state.knows_environment = known
        for call in self.calls[start:]:
            call.words = [*wrappers, *call.words]
            call.job = header or call.job
