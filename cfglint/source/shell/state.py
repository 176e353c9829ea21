"""The state of a script while it runs."""

from __future__ import annotations

from itertools import chain, takewhile

from cfglint.evaluate import Reason
from cfglint.source.annotations import ConfigValue, SyntaxNode
from cfglint.source.files import CONFIG_ENDS
from cfglint.source.record import Record, changed
from cfglint.source.shell.placed_text import (
    BLANKS,
    EMPTY,
    LONGEST_SOURCE,
    OfCall,
    Text,
    any_number,
    in_call_without_arguments,
    literal,
    shortened,
    unknown,
)
from cfglint.source.shell.reasons import OF_CALL, TOO_LONG
from cfglint.source.shell.script import Script

MOST_OPTIONS = 8  # strings of which an unknown one is told to be one

Value = Text | list[Text] | dict[str, Text]

SOURCES = "BASH_SOURCE"
OF_FILE = "\0"  # begins the name of the variable that holds what a script writes into a file, so that branches merge it
MOST_PARTS = 5_000  # maximum number of parts of a string, or of members of an array
LONGEST_VALUE = 200_000  # characters
BY_SHELL = frozenset(  # names that bash sets
    "COLUMNS COMP_WORDBREAKS DIRSTACK EUID FUNCNAME GROUPS HISTCMD HOSTNAME HOSTTYPE IFS LINENO LINES MACHTYPE OLDPWD OPTARG OPTERR OPTIND "
    "OSTYPE PIPESTATUS PS4 PWD REPLY SHELL SHELLOPTS SHLVL UID".split()
)
BY_LAUNCHER = tuple("BASH SLURM_ OMPI_ PMI RANK LOCAL_ GROUP_ ROLE_ WORLD_SIZE MASTER_ TORCHELASTIC_".split())  # beginnings
SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")  # in names whose values nobody asks for


class State(Record):
    """Variables, functions and the working folder at one moment.

    `positional` is None if the caller supplies the parameters. `folder` is the working folder as a path, None if it is
    unknown. `entered` are the files of the sourced scripts and functions that run, the innermost one first (BASH_SOURCE, without
    the script). `unset` are the names that the script itself has unset; `knows_environment`: so is what neither it nor the known
    environment sets. `nounset`: using an unset variable ends the script (`set -u`). `unclear_status`: the last command failed, or it
    is unknown whether it did. `needs_caller`: a call without arguments would have ended by now, because parameters, variables or
    files are missing.
    """

    folder: str | None
    script_name: str
    variables: dict[str, Value] = {}
    exported: set[str] = set()
    unset: set[str] = set()
    knows_environment: bool = False
    positional: list[Text] | None = None
    functions: dict[str, tuple[Script, SyntaxNode, str]] = {}  # source, body, and the file that defines it
    entered: tuple[str, ...] = ()
    nounset: bool = False
    needs_caller: bool = False
    unclear_status: bool = False

    def copy(self) -> State:
        return changed(
            self,
            variables=dict(self.variables),
            exported=set(self.exported),
            unset=set(self.unset),
            positional=None if self.positional is None else list(self.positional),
            functions=dict(self.functions),
        )

    def take(self, other: State) -> None:
        for name in State.__fields__:
            setattr(self, name, getattr(other, name))

    def value(self, name: str) -> Value | None:
        """The value of a variable that the script sets; None without one. BASH_SOURCE is an array that bash sets."""
        variable = self.variables.get(name)
        return [literal(file) for file in self.files] if variable is None and name == SOURCES else variable

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the functions and scripts that run, the innermost one first."""
        return *self.entered, self.script_name

    @property
    def separators(self) -> str:
        """The characters at which an unquoted expansion is split: those of IFS."""
        value = self.variables.get("IFS")
        return value.string if isinstance(value, Text) and value.known else BLANKS

    def is_unset(self, name: str) -> bool:
        """Whether a variable is known not to be set."""
        if name in self.unset or not self.knows_environment:
            return name in self.unset
        upper = name.upper()  # only the environment sets it, and its value is asked for
        return name.isidentifier() and not (name in BY_SHELL or name.startswith(BY_LAUNCHER) or any(word in upper for word in SECRET))

    def assign(self, name: str, value: Value) -> None:
        """Set a variable, or the first element of an array; a value that has grown too long is unknown."""
        if isinstance(value, Text) and (len(value.parts) > MOST_PARTS or len(value) > LONGEST_VALUE):
            value = unknown(TOO_LONG)
        elif isinstance(value, list) and len(value) > MOST_PARTS:
            value = value[:MOST_PARTS]
        current = self.variables.get(name)
        if isinstance(value, Text) and isinstance(current, list):
            value = [value, *current[1:]]
        elif isinstance(value, Text) and isinstance(current, dict):
            value = {**current, "0": value}
        self.variables[name] = value
        self.unset.discard(name)

    def remove(self, name: str) -> None:
        self.variables.pop(name, None)
        self.exported.discard(name)
        self.unset.add(name)

    @property
    def configs(self) -> dict[str, Text]:
        """What the script has written so far into configs, by their paths."""
        written = self.written().items()
        return {name[len(OF_FILE) :]: value for name, value in written if isinstance(value, Text) and name.endswith(CONFIG_ENDS)}

    def written(self) -> dict[str, Value]:
        """The variables of what the script has written into files, which the scripts that it calls find there."""
        return {name: value for name, value in self.variables.items() if name.startswith(OF_FILE)}

    def environment(self) -> dict[str, Text]:
        exported = self.exported
        if not exported:
            return {}
        return {name: value for name, value in self.variables.items() if name in exported and isinstance(value, Text)}

    def merge(self, other: State, reason: Reason) -> None:
        """Keep the values that are equal in both states; the others become unknown. This one is that of a call without arguments."""
        for name in {**self.variables, **other.variables}:
            here, there = self.variables.get(name), other.variables.get(name)
            if spelled(here) != spelled(there):
                self.variables[name] = either(here, there, reason)
        self.exported |= other.exported
        self.unset &= other.unset
        self.knows_environment = self.knows_environment and other.knows_environment
        self.needs_caller = self.needs_caller or other.needs_caller
        self.unclear_status = self.unclear_status or other.unclear_status
        self.functions = {**other.functions, **self.functions}
        if self.folder != other.folder:
            self.folder = None
        if spelled(self.positional) != spelled(other.positional):
            self.positional = [any_number(reason)]


class Saved(Record):
    """The values of variables before they were set for one command or function only."""

    values: dict[str, Value | None] = {}  # None: not set
    exported: set[str] = set()
    unset: set[str] = set()

    def add(self, state: State, name: str) -> None:
        """Save the value of a variable; a value saved earlier is kept."""
        if name not in self.values:
            self.values[name] = state.variables.get(name)
            self.exported |= state.exported & {name}
            self.unset |= state.unset & {name}

    def restore(self, state: State) -> None:
        for name, value in self.values.items():
            if value is None:
                state.variables.pop(name, None)
            else:
                state.variables[name] = value
        state.exported = (state.exported - self.values.keys()) | self.exported
        state.unset = (state.unset - self.values.keys()) | self.unset


def spelled(value: Value | None) -> ConfigValue:
    if isinstance(value, Text):
        return value.string
    if isinstance(value, list):
        return [text.string for text in value]
    return {key: text.string for key, text in value.items()} if isinstance(value, dict) else None


def either(here: Value | None, there: Value | None, reason: Reason) -> Value:
    """A value that is one of two; of an array the first members that both have are known, but not the number of the others."""
    sources = (each.source if isinstance(each, Text) else str(spelled(each)) for each in (here, there))
    source = " or ".join(dict.fromkeys(chain(*(each.split(" or ") for each in sources))))  # of each way once, however many lead there
    if isinstance(here, list) or isinstance(there, list):
        pairs = zip(here, there, strict=False) if isinstance(here, list) and isinstance(there, list) else ()
        return [*(one for one, _ in takewhile(lambda pair: pair[0].string == pair[1].string, pairs)), any_number(reason, source)]
    known = [value.options if isinstance(value, Text) else () for value in (here, there)]
    options = tuple(dict.fromkeys(chain(*known))) if all(known) else ()
    options = options if len(options) <= MOST_OPTIONS and sum(map(len, options)) <= LONGEST_SOURCE else ()
    if reason == OF_CALL and not isinstance(here, dict):
        return Text([OfCall(None, None, (reason,), shortened(source), options, in_call_without_arguments(here or EMPTY))])
    return unknown(reason, source=source, options=options)
