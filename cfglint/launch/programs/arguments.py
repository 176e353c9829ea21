"""The arguments of a line against those that its program has: names that are written short, and what the parser refuses."""

from __future__ import annotations

from cfglint.frameworks import fields_of_class
from cfglint.frameworks.huggingface.fields import FIELDS, PARSED
from cfglint.frameworks.program import HF_PARSERS, TRL_PARSER, ProgramFacts
from cfglint.launch.arguments import read_arguments
from cfglint.launch.programs.checks import Known, problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.line import LaunchLine
    from cfglint.source.shell.command import CommandDocument


def know(line: LaunchLine, command: CommandDocument) -> None:
    """Give the arguments of a command their full names, and note on the line what its program would refuse."""
    program: ProgramFacts = command.program
    if not program.parser or line.launcher in ("megatron", "swift"):
        return
    known = Known(program, framework_fields(program))
    for name in [*command.words]:
        full = known.expanded(name)
        if full != name and full not in command.words:
            command.rename(name, full)
    arguments, before = read_arguments(line.arguments)
    for argument in arguments:
        argument.name = known.expanded(argument.name)
    line.problems.extend(problems(line, arguments, before, known))


def framework_fields(program: ProgramFacts) -> dict[str, str]:
    """The fields of the framework's classes that a parser fills, with the words that each takes; of any release."""
    found: dict[str, str] = {"config": "1"} if program.parser == TRL_PARSER else {}
    if program.parser in HF_PARSERS and program.arguments:
        found.update((name, words_of(PARSED.get(name) or kind)) for name, (kind, *_) in FIELDS.items())
    for name in (program.arguments, *program.classes):
        for field in fields_of_class(name):
            found.setdefault(field, "")
    return found


def words_of(kind: str) -> str:
    """The words that an option takes whose field is of a type."""
    return "+" if kind.startswith("list") and kind != "list|str" else "?" if kind == "bool" else "1"
