"""Which words of a line each argument of a program's parser takes, as Python's own `argparse` assigns them."""

from __future__ import annotations

import argparse

from cfglint.launch.programs.parser_arguments import LineParser, ParserArgument
from cfglint.source.annotations import Any, NoReturn

UNKNOWN = "\0"  # stands for a word that is unknown
COMMAND = "\0command"
MOST = 100  # words of an argument that states their number
PLAIN: Any = {"add_help": False, "conflict_handler": "resolve", "argument_default": argparse.SUPPRESS}


class LineRefused(Exception):
    """`argparse` would end the program."""


class WordParser(argparse.ArgumentParser):
    """A parser that prints nothing."""

    def error(self, message: str) -> NoReturn:
        raise LineRefused(message)


class Taken(argparse.Action):
    """Notes the words of an argument: of a flag with a negation the option, of an argument that is appended those of all options."""

    argument: ParserArgument

    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option_string: str | None = None) -> None:
        words = [option_string] if self.argument.is_flag_pair else values if isinstance(values, list) else [values]
        before = getattr(namespace, self.dest, []) if self.argument.action.data == "append" else []
        setattr(namespace, self.dest, [*before, *(word for word in words if word is not None)])


def assigned(parser: LineParser, words: tuple[str | None, ...]) -> tuple[dict[str, list[str | None]], str | None, bool, list[str | None]]:
    """(the words of each argument, the subcommand, whether an unknown word may be an option, the words that are left).

    An option that the parser does not have takes the next word with it.
    """
    try:
        real = filled(WordParser(**PLAIN, allow_abbrev=parser.abbreviates), parser)
        found, rest = real.parse_known_args([UNKNOWN if word is None else word for word in words])
    except (LineRefused, argparse.ArgumentError, IndexError, ValueError):  # the last two for options that argparse cannot have
        return {}, None, True, []
    command = vars(found).pop(COMMAND, None)
    taken = {name: with_unknown(given) for name, given in vars(found).items()}
    alone = (word == UNKNOWN and ("=" in before or before[:1] != "-") for before, word in zip(["", *rest], rest, strict=False))
    positional = (argument.name for argument in parser.arguments if argument.is_positional)
    return taken, command, any(alone) or any(None in taken.get(name, ()) for name in positional), with_unknown(rest)


def with_unknown(words: list[str]) -> list[str | None]:
    return [None if word == UNKNOWN else word for word in words]


def filled(real: WordParser, parser: LineParser) -> WordParser:
    """A parser with the arguments of the program; each takes strings, none is required."""
    for argument in parser.arguments:
        options = [] if argument.is_positional else [option for option in argument.options if option.startswith("-")]
        named: Any = {"dest": argument.name} if options else {}
        if argument.is_flag_pair:
            options += [f"--no-{option[2:]}" for option in options if option.startswith("--")]
        nargs = 0 if argument.takes_none else number_of_words(argument.nargs.data)
        action: Any = real.add_argument(*(options or [argument.name]), **named, nargs=nargs, action=Taken)
        action.argument = argument
    commands: Any = real.add_subparsers(dest=COMMAND) if parser.commands else None
    for name, child in parser.commands.items():
        filled(commands.add_parser(name, **PLAIN), child)
    return real


def number_of_words(nargs: object) -> Any:
    """The number of words of an argument; any number for one that is not known."""
    return nargs if nargs in (None, "?", "*", "+") or (isinstance(nargs, int) and 0 < nargs <= MOST) else "*"
