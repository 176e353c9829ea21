"""The value that a program's own parser makes of the words of a launch line.

Source: CPython argparse.py (_get_values, _StoreTrueAction, _StoreFalseAction), transformers 5.23.0 hf_argparser.py:39-55, 143-260.
"""

from __future__ import annotations

from cfglint.evaluate import Reason, Unknown
from cfglint.launch.argparse_types import converted
from cfglint.launch.program import Field
from cfglint.source.annotations import Operand
from cfglint.source.shell.command import CommandDocument

TYPED = ("int", "float", "str", "bool")
NO_VALUE = Reason("argument", "an option without its value")
UNKNOWN_TYPE = Reason("program", "a type of the program")


def given_value(name: str, option: str, fields: dict[str, Field], command: CommandDocument) -> Operand:
    """The value that an option of a line gives to an argument: its own option, another name of it, or its negation `--no_name`."""
    field, words = fields[name], command.words[option]
    if words is None:
        return Unknown(*command.unknown.get(option, ()))
    if option == f"no_{name}":
        return False
    if field.takes == "0":
        return field.stored
    if field.kind.removeprefix("list:") not in TYPED:
        return Unknown(UNKNOWN_TYPE)
    return parsed_words(field, words)


def parsed_words(field: Field, words: list[str]) -> Operand:
    """The words after an option, converted to the type of its argument; unknown if its parser refuses one of them."""
    if not words:
        return True if field.kind == "bool" else Unknown(NO_VALUE)
    kind = field.kind.removeprefix("list:")
    values = list(words) if kind == "str" else [converted(kind, word) for word in words]
    if None in values:
        return Unknown(Reason("argument", f"a value that is not of the type {kind}"))
    return values if field.takes in ("+", "*") else values[0]


def options_of(name: str, fields: dict[str, Field]) -> set[str]:
    """The names of the options that set an argument: its own, the others of the same `add_argument`, and the negation of a flag."""
    field = fields[name]
    found = {each for each, other in fields.items() if other is field}
    return {*found, f"no_{name}"} if field.kind == "bool" and f"no_{name}" not in fields else found
