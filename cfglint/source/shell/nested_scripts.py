"""Functions, `eval`, `source`, and scripts that a script calls."""

from __future__ import annotations

from cfglint.source.annotations import SyntaxNode, Truth
from cfglint.source.budget import Exhausted
from cfglint.source.shell.command import is_to_be_filled_in
from cfglint.source.shell.execution import DEEPEST_CALL, RETURN, Execution, ShellReturn
from cfglint.source.shell.placed_text import Text, joined
from cfglint.source.shell.reasons import UNCLEAR
from cfglint.source.shell.script import Script, part_of
from cfglint.source.shell.started_command import Runner, second_word
from cfglint.source.shell.state import Saved, State

MOST_SCRIPTS = 4  # maximum depth of scripts that call one another
FILE = 10  # steps for opening another script
PARSED = 500  # characters that are read and parsed in one step


def define(shell: Execution, node: SyntaxNode) -> Truth:
    name, body = part_of(node, "name"), part_of(node, "body")
    if name is not None and body is not None:
        shell.state.functions[shell.source(name)] = (shell.script, body, shell.state.files[0])
    return True


def evaluated(shell: Execution, words: list[Text], node: SyntaxNode) -> Truth:
    """Follow `eval`: the words are a script of their own."""
    text = joined(words)
    shell.state.knows_environment &= text.known
    if not any(part.text for part in text.parts):
        return UNCLEAR
    return run_inner(shell, Script(shell.script.path, "", parts=text), node)


def run_inner(shell: Execution, script: Script, node: SyntaxNode) -> Truth:
    """Follow a script that this one composes."""
    before, shell.runner = shell.runner, shell.runner or Runner(shell.script, node)
    shell.call_depth += 1
    try:
        if shell.call_depth > DEEPEST_CALL:
            raise Exhausted
        shell.run(script)
    finally:
        shell.runner = before
        shell.call_depth -= 1
    return UNCLEAR


def call_function(shell: Execution, name: str, arguments: list[Text]) -> Truth:
    script, body, file = shell.state.functions[name]
    if shell.call_depth > DEEPEST_CALL:
        return UNCLEAR
    positional, shell.state.positional = shell.state.positional, arguments
    before, shell.script = shell.script, script
    entered, shell.state.entered = shell.state.entered, (file, *shell.state.entered)
    shell.call_depth += 1
    shell.locals.append(Saved())
    first = len(shell.ways_out)
    try:
        return shell.statement(body)
    except ShellReturn as end:
        shell.state.unclear_status = not end.status
        return end.status
    finally:
        shell.join_ways(first, RETURN)
        shell.call_depth -= 1
        shell.script = before
        shell.state.positional, shell.state.entered = positional, entered
        shell.locals.pop().restore(shell.state)


def sourced(shell: Execution, words: list[Text]) -> Truth:
    """Follow `source file`: its statements run here."""
    located, text = script_at(shell, words[0]) if words else ("", None)
    if text is None or shell.call_depth > DEEPEST_CALL:
        shell.state.knows_environment = False
        return UNCLEAR
    count(shell, text)
    shell.sourced_files.append(shell.readable(located))
    shell.call_depth += 1
    positional, entered, first = shell.state.positional, shell.state.entered, len(shell.ways_out)
    shell.state.entered = (located, *entered)
    if len(words) > 1:
        shell.state.positional = words[1:]
    try:
        shell.run(Script(shell.readable(located), text))
    except ShellReturn:
        pass
    finally:
        shell.join_ways(first, RETURN)
        shell.call_depth -= 1
        shell.state.positional, shell.state.entered = positional, entered
    return UNCLEAR


def script_at(shell: Execution, path: Text) -> tuple[str, str | None]:
    """(located path, content) of another script, the content None if it cannot be read; one of the project may exist relative to another
    folder, which has to be decided then.
    """
    name = path.value
    located = shell.located(name) if name is not None else None
    text = shell.read(located) if located is not None else None
    if text is None and name is not None and not name.startswith(("/", "~")) and shell.exist(name) is not False:
        shell.settle_folder()
    return located or "", text


def count(shell: Execution, text: str) -> None:
    """Count a script that is followed, against the budget of the one that calls it."""
    shell.budget.spend(FILE + len(text) // PARSED)
    shell.sources += 1


def call_script(shell: Execution, path: Text, arguments: list[Text], environment: dict[str, Text], node: SyntaxNode) -> bool:
    """Follow a script that is run as a command of its own, with its exported variables; return False if that is impossible."""
    located, text = script_at(shell, path)
    if text is None or located in shell.followed or len(shell.followed) > MOST_SCRIPTS:
        return False
    count(shell, text)
    start, place, line = len(shell.calls), shell.script.path, shell.script.line(second_word(shell.script, node))
    parameters = None if shell.placeholder or shell.refused or any(map(is_to_be_filled_in, arguments)) else arguments
    outside = shell.runner, shell.stdin, shell.placeholder, shell.refused, shell.locals
    shell.runner, shell.stdin, shell.placeholder, shell.refused, shell.locals = None, None, False, False, []
    shell.followed.append(located)
    shell.call_depth += 1
    try:
        shell.apart(in_process, shell, Script(shell.readable(located), text), located, parameters, environment)
    finally:
        shell.followed.pop()
        shell.call_depth -= 1
        shell.runner, shell.stdin, shell.placeholder, shell.refused, shell.locals = outside
    for call in shell.calls[start:]:
        call.called_from = (place, line)
    return True


def in_process(shell: Execution, script: Script, located: str, arguments: list[Text] | None, environment: dict[str, Text]) -> None:
    """Run a script in a separate process, which gets only the exported variables, the folder and its arguments, None if they are
    to be filled in.
    """
    state = State(shell.state.folder, located)
    state.variables, state.exported = dict(environment), set(environment)
    state.positional, state.needs_caller = arguments, shell.state.needs_caller
    state.knows_environment = shell.state.knows_environment
    shell.state = state
    shell.run(script)
