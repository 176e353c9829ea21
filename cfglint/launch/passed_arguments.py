"""The arguments of a launch line: as overrides of the file that it names, and as the values that the program's own parser makes of them.

Source: CPython argparse.py (_get_values, _StoreTrueAction, _StoreFalseAction), transformers 5.23.0 hf_argparser.py:39-55, 143-260.
"""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.launch import Launch
from cfglint.launch.argparse_types import converted
from cfglint.launch.overrides import ARGS, Override
from cfglint.launch.program import Field
from cfglint.source.annotations import ConfigValue, Operand
from cfglint.source.document import Node, Written
from cfglint.source.python.call import CallDocument
from cfglint.source.shell.command import CommandDocument

TYPED = ("int", "float", "str", "bool")
NO_VALUE = Reason("argument", "an option without its value")
UNKNOWN_TYPE = Reason("program", "a type of the program")


def given_value(name: str, option: str, fields: dict[str, Field], command: CommandDocument) -> Operand:
    """The value that an option of a line gives to an argument: its own option, another name of it, or its negation `--no_name`."""
    field, words = fields[name], command.words[option]
    if words is None:
        return command.unknown.get(option, Unknown())
    if option == f"no_{name}":
        return False
    if field.takes == "0":
        return field.stored
    if field.kind.removeprefix("list:") not in TYPED:
        return Unknown(UNKNOWN_TYPE)
    if not words:
        return True if field.kind == "bool" else Unknown(NO_VALUE)
    kind = field.kind.removeprefix("list:")
    values = list(words) if kind == "str" else [converted(kind, word) for word in words]
    if None in values:  # its parser refuses one of them
        return Unknown(Reason("argument", f"a value that is not of the type {kind}"))
    return values if field.takes in ("+", "*") else values[0]


def options_of(name: str, fields: dict[str, Field]) -> set[str]:
    field = fields[name]
    found = {each for each, other in fields.items() if other is field}
    return {*found, f"no_{name}"} if field.kind == "bool" and f"no_{name}" not in fields else found


def overrides(launch: Launch) -> list[Override]:
    line, command = launch.line, launch.command
    assert line is not None
    assert command is not None
    found: list[Override] = []
    named = {file.role.lstrip("-") for file in line.files}
    for key, value in command.roots[0].pairs():
        if key.raw in named or key.raw == command.size_key:  # the size is the launcher's, no argument of the program
            continue
        words = command.words[key.raw]
        override = Override(key.raw, words or [], ARGS)
        override.place = (command, value)
        override.unknown = command.unknown.get(key.raw)
        found.append(override)
    return found


def borrowed(launch: Launch, built: CallDocument) -> list[Override]:
    """The arguments of a line that a program passes on to the constructor of its trainer's arguments, each with its place.

    The program's own parser has converted them before.
    """
    found: list[Override] = []
    for key, argument in built.borrowed.items():
        value, pair, words = passed(launch, argument)
        if pair is None and not isinstance(value, Unknown):
            continue
        override = Override(key, words, ARGS)
        override.values = (value,)
        if pair is not None and launch.command is not None:
            override.place = (launch.command, pair[1])
            override.argument = Written(launch.command, (pair[0].raw,))
        override.unknown = value if isinstance(value, Unknown) else None
        found.append(override)
    return found


def passed(launch: Launch, argument: str) -> tuple[ConfigValue, tuple[Node, Node] | None, list[str]]:
    """(value, option and value in the line, words) that a line gives to an argument of its program; without a place if the line does not
    give it.
    """
    line, command, program = launch.line, launch.command, launch.parser
    assert line is not None
    assert command is not None
    assert program is not None
    fields = program.fields
    options = options_of(argument, fields)
    last = next((pair for pair in reversed(command.roots[0].pairs()) if pair[0].raw in options), None)
    if last is not None:
        return given_value(argument, last[0].raw, fields, command), last, command.words[last[0].raw] or []
    words = [word.string for word in line.arguments]
    if any(word.startswith(short) for short in fields[argument].short for word in words):
        return Unknown(Reason("argument", "a short option")), None, []
    return None, None, []
