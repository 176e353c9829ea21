"""The arguments of a line compared with those of its program: abbreviated names, and arguments that the parser refuses."""

from __future__ import annotations

from cfglint.launch.arguments import read_arguments
from cfglint.launch.kinds import base_fields, fields_of_class, parsed_type
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.launch.program import HF_PARSERS, TRL_PARSER, ProgramFacts
from cfglint.launch.programs.checks import Known, problems
from cfglint.source.shell.command import CommandDocument


def match_arguments(line: LaunchLine, command: CommandDocument, program: ProgramFacts) -> None:
    """Expand the names of a command's arguments, and record on the line what its program would refuse."""
    if not program.parser or launcher_of(line).has_own_parser:
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
    """The fields of the framework's classes that a parser fills, in any release, with the number of words of each."""
    found: dict[str, str] = {"config": "1"} if program.parser == TRL_PARSER else {}
    if program.parser in HF_PARSERS and program.arguments:
        found.update((name, words_of(parsed_type(name))) for name in base_fields())
    for name in (program.arguments, *program.classes):
        for field in fields_of_class(name):
            found.setdefault(field, "")
    return found


def words_of(kind: str) -> str:
    """The number of words of an option for a field of the type."""
    return "+" if kind.startswith("list") and kind != "list|str" else "?" if kind == "bool" else "1"
