"""Functions, `eval`, `source`, and scripts that a script calls."""

from __future__ import annotations

from contextlib import contextmanager, suppress

from cfglint.source.annotations import Iterator, SyntaxNode, Truth
from cfglint.source.budget import Exhausted
from cfglint.source.shell.command import is_to_be_filled_in, stands_for_more
from cfglint.source.shell.execution import DEEPEST_CALL, RETURN, Execution, ShellReturn
from cfglint.source.shell.placed_text import Text, joined, unknown
from cfglint.source.shell.reasons import PLACEHOLDER, UNCLEAR
from cfglint.source.shell.script import Script, part_of
from cfglint.source.shell.started_command import Runner, second_word
from cfglint.source.shell.state import OF_FILE, Saved, State

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
    if shell.call_depth >= DEEPEST_CALL:
        raise Exhausted
    with shell.during(runner=shell.runner or Runner(shell.script, node), call_depth=shell.call_depth + 1):
        shell.run(script)
    return UNCLEAR


def call_function(shell: Execution, name: str, arguments: list[Text]) -> Truth:
    script, body, file = shell.state.functions[name]
    if shell.call_depth > DEEPEST_CALL:
        return UNCLEAR
    shell.locals.append(Saved())
    try:
        with shell.during(script=script, refused=shell.refused), entered(shell, file, arguments):
            try:
                return shell.statement(body)
            except ShellReturn as end:
                shell.state.unclear_status = not end.status
                return end.status
    finally:
        shell.locals.pop().restore(shell.state)


@contextmanager
def entered(shell: Execution, file: str, arguments: list[Text] | None) -> Iterator[None]:
    """What is followed here is a function or a sourced file, which may end early, with its parameters; None if they stay."""
    positional, files, first = shell.state.positional, shell.state.entered, len(shell.ways_out)
    shell.state.entered = (file, *files)
    if arguments is not None:
        shell.state.positional = arguments
    try:
        with shell.during(call_depth=shell.call_depth + 1):
            yield
    finally:
        shell.join_ways(first, RETURN)
        shell.state.positional, shell.state.entered = positional, files


def sourced(shell: Execution, words: list[Text]) -> Truth:
    """Follow `source file`: its statements run here."""
    located, script = script_at(shell, words[0]) if words else ("", None)
    if script is None or shell.call_depth > DEEPEST_CALL:
        shell.state.knows_environment = False
        return UNCLEAR
    count(shell, script)
    if script.verbatim:
        shell.sourced_files.append(script.path)
    with entered(shell, located, words[1:] or None), suppress(ShellReturn):
        shell.run(script)
    return UNCLEAR


def of_file(located: str) -> str:
    return f"{OF_FILE}{located}"


def script_at(shell: Execution, path: Text) -> tuple[str, Script | None]:
    """(located path, script) of another script, None if it cannot be read: what this one has written there, or a file; one of the project
    may exist relative to another folder, which has to be decided then.
    """
    name = path.value
    located = shell.located(name) if name is not None else None
    written = shell.state.variables.get(of_file(located or ""))
    if isinstance(written, Text):
        return located or "", Script(shell.script.path, "", parts=written)
    text = shell.read(located) if located is not None else None
    if text is None and name is not None and not name.startswith(("/", "~")) and shell.exist(name) is not False:
        shell.settle_folder()
    return located or "", Script(shell.readable(located or ""), text) if text is not None else None


def count(shell: Execution, script: Script) -> None:
    """Count a script that is followed, against the budget of the one that calls it."""
    shell.budget.spend(FILE + len(script.text) // PARSED)
    shell.sources += script.verbatim


def call_script(
    shell: Execution, located: str, script: Script, arguments: list[Text], environment: dict[str, Text], node: SyntaxNode
) -> bool:
    """Follow a script that is run as a command of its own, with its exported variables; return False if that is impossible."""
    if located in shell.followed or len(shell.followed) > MOST_SCRIPTS:
        return False
    count(shell, script)
    start, place, at = len(shell.calls), shell.script.path, second_word(shell.script, node)
    line = shell.script.line(at) if shell.runner is None else shell.runner.line(shell.script.place(at, at + 1))
    parameters = [unknown(PLACEHOLDER) if is_to_be_filled_in(word) else word for word in arguments]
    # A process of its own, which gets only the exported variables, the folder and its arguments.
    refused = shell.refused if shell.refused is not None and shell.refused[1] else None  # not by a placeholder
    is_open = shell.placeholder or refused is not None or any(map(stands_for_more, arguments))
    state = State(
        shell.state.folder, located, {**environment, **shell.state.written()}, set(environment), positional=None if is_open else parameters
    )
    state.knows_environment, state.needs_caller = shell.state.knows_environment, shell.state.needs_caller
    runner = None if script.verbatim else shell.runner or Runner(shell.script, node)
    alone: dict[str, object] = {"runner": runner, "stdin": None, "placeholder": False, "locals": [], "refused": refused}
    with shell.during(**alone, followed=[*shell.followed, located], call_depth=shell.call_depth + 1):
        shell.apart(shell.run, script, state=state)
    for call in shell.calls[start:] if script.verbatim else ():
        call.called_from = (place, line)
    return True
