"""The commands that a program starts by `subprocess`, `os.system` or `os.execvp`, as shell source: each is a script of its own.

The program has no arguments; if it then refuses to start, what it computes from them is not known.
"""

from __future__ import annotations

import os
import re
import shlex

from cfglint.launch.programs.calls import ProgramEvaluation, StartedCommand
from cfglint.launch.programs.context import Context
from cfglint.launch.programs.modules import Modules
from cfglint.launch.programs.objects import OPEN, PROJECT, Sequence, Value, text_of_path
from cfglint.source.annotations import Callable, Iterator
from cfglint.source.budget import STEPS, Budget
from cfglint.source.project_files import ROOT
from cfglint.source.python.writes import as_shell
from cfglint.source.shell.placed_text import Text, TextPart
from cfglint.source.shell.reasons import UNDECIDED
from cfglint.source.shell.script import Script

STARTS = re.compile(r"\b(?:subprocess\b|os\.(?:system|popen|exec\w+)\()").search
MOST = 24  # commands of one program


class ProgramScript(Script):
    """A command of a program, whose lines are all that of the call that starts it."""

    def __init__(self, path: str, line: int, parts: list[TextPart]) -> None:
        super().__init__(path, "", parts=Text(parts))
        self._line = line

    def line(self, offset: int) -> int:
        return self._line


def scripts(path: str, text: str, read: Callable[[str], str | None], exists: Callable[[str], bool | None]) -> Iterator[ProgramScript]:
    """The commands of a program that is started from its own folder."""
    folder = os.path.dirname(path) or "."
    modules = Modules([folder], lambda name: text if os.path.normpath(name) == os.path.normpath(path) else read(name))
    module = modules.module_of(path)
    if module is None or STARTS(text) is None:
        return
    started: list[StartedCommand] = []
    for is_open in (False, True):  # a parser that requires arguments ends the program without any
        context = Context((), is_open, read=read, folders=(folder,), exists=exists)
        evaluation = ProgramEvaluation(modules, Budget(STEPS), context)
        evaluation.run_main(module)
        started = started or evaluation.started
        if started or not evaluation.is_ended:
            break
    writes = TextPart(as_shell(module.code))
    for command in started[:MOST]:
        words = parts_of(command, path)
        if command.module is module and words:
            yield ProgramScript(path, command.node.lineno, [writes, *words])


def parts_of(command: StartedCommand, path: str) -> list[TextPart]:
    """The source of a command: its folder and variables, then its words; in a branch if the program may not come to it."""
    given = command.command
    if isinstance(given.data, Sequence):
        words = [part for item in given.data.items for part in (*word(item, path), TextPart(" "))]
        words += [TextPart(None, None, (UNDECIDED,))] if OPEN in given.data.slots else []
    elif isinstance(given.data, str) and command.is_shell:
        words = [written(given, given.data, path)]
    else:
        return []
    before: list[TextPart] = []
    for name, value in command.environment.items():
        if isinstance(name, str) and name.isidentifier() and isinstance(value, Value):
            before += [TextPart(f"export {name}="), *word(value, path), TextPart("\n")]
    if command.folder is not None:
        before += [TextPart("cd "), *word(command.folder, path), TextPart("\n")]
    around = (TextPart("if "), TextPart(None, None, (UNDECIDED,)), TextPart("; then\n")) if command.is_conditional else ()
    return [*around, *before, *words, TextPart("\n"), *([TextPart("fi\n")] if around else [])]


def word(value: Value, path: str) -> list[TextPart]:
    text = text_of_path(value)
    if isinstance(text, str) and f"{text}/".startswith(PROJECT):
        text = os.path.normpath(f"{ROOT}/{f'{text}/'.removeprefix(PROJECT)}")
    if not isinstance(text, str):
        return [TextPart('"'), TextPart(None, None, value.reasons or (UNDECIDED,)), TextPart('"')]
    quoted = shlex.quote(text)
    return [written(value, text, path) if quoted == text else TextPart(quoted)]


def written(value: Value, text: str, path: str) -> TextPart:
    """A string of the program with its place, if it is a literal of just these characters."""
    module = value.module
    if value.node is None or module is None or module.path != path:
        return TextPart(text)
    start, end = module.offsets.span(value.node)
    inside = module.text.find(text, start, end)
    return TextPart(text, (path, inside, inside + len(text))) if module.text[start:end].strip("\"'") == text else TextPart(text)
