"""Options and positional arguments of a command line.

argparse alone takes as long as starting Python (it imports `re`, `gettext` and `shutil`), and `check` runs before
every commit. The methods are those of argparse, as far as they exist here.
"""

from __future__ import annotations

import os
import sys

from cfglint.report.escapes import shown
from cfglint.source.annotations import Any, Callable
from cfglint.source.record import Record

Act = Callable[["Namespace", str], None]

Convert = Callable[[str], Any]
Words = tuple[str, ...] | list[str]

HIDDEN = "hidden"  # the topic of options that are accepted, and not explained
SHORT = {"-o": "--output"}


class Namespace:
    """The parsed arguments, one attribute per option; an absent option has its default."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value


class Misused(Exception):
    """Arguments that the parser does not accept; the message explains which and why."""


class CommandOption:
    """An option, or without dashes a positional argument; `cfglint help TOPIC` explains the options of a `topic` once."""

    def __init__(
        self,
        name: str,
        *,
        action: str | Act = "store",
        nargs: str | None = None,
        type: Convert = str,  # noqa: A002
        choices: Words | Callable[[], Words] | None = None,
        default: Any = None,
        metavar: str | None = None,
        help: str = "",  # noqa: A002
        topic: str = "",
    ) -> None:
        self.name = name
        self.positional = not name.startswith("-")
        self.dest = name.lstrip("-").replace("-", "_")  # the attribute that holds the value
        self.topic = topic
        self.flag = action == "store_true"
        self.repeated = action == "append"
        self.act = action if callable(action) else None
        self.nargs = nargs
        self.convert = type
        self._choices = choices
        self._metavar = metavar
        self.default = False if self.flag else [] if default is None and nargs in ("+", "*") else default
        self.help = help

    @property
    def choices(self) -> Words | None:
        """The only values that it accepts; None if its type decides."""
        return self._choices() if callable(self._choices) else self._choices

    @property
    def metavar(self) -> str:
        return self._metavar or ("{" + ",".join(self.choices) + "}" if self.choices else self.dest.upper())

    def store(self, namespace: Namespace, text: str) -> None:
        """Convert a string to the option's type and store it in the namespace; raises Misused if that fails."""
        if self.act is not None:
            self.act(namespace, text)
            return
        named = f"{self.metavar if self.positional else self.name} {text or repr(text)}"
        choices = self.choices
        if choices is not None and text not in choices:
            raise Misused(f"{named}: expected one of {', '.join(choices)}")
        try:
            value = self.convert(text)
        except ValueError:
            raise Misused(f"{named}: expected {expected(self.convert)}") from None
        several = self.repeated or self.nargs in ("+", "*")
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), value] if several else value)

    def shown(self) -> str:
        """The option in a usage line: `--gpus N`, `[PATH ...]`."""
        if self.flag:
            return self.name
        name = self.metavar if self.positional else f"{self.name} {self.metavar}"
        return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(self.nargs or "", name)


def expected(convert: Convert) -> str:
    """The description of the values that a converter accepts: its docstring, for cfglint's own."""
    type_name = {int: "an integer", float: "a number"}.get(convert)  # type: ignore[call-overload]
    described = (convert.__doc__ or "A value.").partition("\n")[0].removesuffix(".")
    article = described.partition(" ")[0] in ("A", "An")
    return type_name or (described[:1].lower() + described[1:] if article else described)


class Parser(Record):
    """The arguments of one command. `parse_args` exits with status 2 for invalid arguments, 0 after `--help`."""

    prog: str
    description: str
    examples: list[tuple[str, str]] = []
    positionals: list[CommandOption] = []
    options: dict[str, CommandOption] = {}
    takes_command: bool = False  # what follows `--` is a command line, unless all of it are paths
    former: dict[str, str] = {}  # spellings of earlier releases: `--show=files`, `--model=layers=N`

    def add_argument(self, name: str, **details: Any) -> None:
        option = CommandOption(name, **details)
        if option.positional:
            self.positionals.append(option)
        else:
            self.options[name] = option

    def hide_all_but(self, *names: str) -> None:
        """Leave the other options, which are of little use to this command, out of its help; they are accepted."""
        self.hide(*(name for name in self.options if name not in names))

    def hide(self, *names: str) -> None:
        for name in names:
            self.options[name].topic = HIDDEN

    def add_example(self, command: str, what: str) -> None:
        """Show a command line below the options in the help text, with what it does."""
        self.examples.append((command, what))

    def parse_args(self, arguments: list[str]) -> Namespace:
        try:
            return self._parse(arguments)
        except Misused as error:
            print(f"usage: {self.usage()}\n{self.prog}: {shown(str(error))}", file=sys.stderr)
            raise SystemExit(2) from None

    def _parse(self, arguments: list[str]) -> Namespace:
        namespace = Namespace()
        namespace.command = []
        for option in (*self.positionals, *self.options.values()):
            setattr(namespace, option.dest, option.default)
        plain: list[str] = []
        rest = list(arguments)
        while rest:
            text = rest.pop(0)
            if text == "--":
                if self.takes_command and not all(map(os.path.lexists, rest)):
                    namespace.command = rest
                else:
                    plain += rest
                break
            if text in ("-h", "--help"):
                print(self.help())
                raise SystemExit(0)
            if text.startswith("-") and text != "-":
                self._store_option(namespace, text, rest)
            else:
                plain.append(text)
        for option in self.positionals:
            taken = len(plain) if option is self.positionals[-1] and option.nargs in ("+", "*") else min(1, len(plain))
            if not taken and option.nargs in (None, "+"):
                raise Misused(f"{option.metavar} is missing")
            for text in plain[:taken]:
                option.store(namespace, text)
            plain = plain[taken:]
        if plain:
            raise Misused(f"unexpected argument {plain[0]!r}")
        return namespace

    def _store_option(self, namespace: Namespace, text: str, rest: list[str]) -> None:
        name, equals, value = text.partition("=")
        if name in self.former:
            from cfglint.cli.synonyms import current

            name, equals, value = current(name, self.former[name], value, rest).partition("=")
        name = SHORT.get(name, name)
        option = self.options.get(name)
        if option is None:
            from cfglint.cli.synonyms import advice

            raise Misused(f"unknown option {name}; {advice(name, [*self.options])}")
        if option.flag:
            if equals:
                raise Misused(f"{name} does not accept a value")
            setattr(namespace, option.dest, True)
            return
        if equals:
            option.store(namespace, value)
            return
        if not rest or rest[0].partition("=")[0] in self.options or rest[0] == "--":
            raise Misused(f"{name} expects {option.metavar}")
        option.store(namespace, rest.pop(0))
        while option.nargs == "+" and rest and not rest[0].startswith("-"):
            option.store(namespace, rest.pop(0))

    @property
    def offered(self) -> list[CommandOption]:
        """The options that are explained and completed."""
        return [option for option in self.options.values() if option.topic != HIDDEN]

    def usage(self) -> str:
        return " ".join([self.prog, *(option.shown() for option in self.positionals), "[OPTION ...]"])

    def help(self) -> str:
        from cfglint.cli.help_text import help_text

        options = [(option.topic, option.name, option.shown(), option.help) for option in (*self.positionals, *self.offered)]
        return help_text(self.usage(), self.description, options, self.examples)
