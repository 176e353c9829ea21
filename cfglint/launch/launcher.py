"""A launcher: a command that starts the processes of a training. Each module of `launch/launchers` has records, found by being there."""

from __future__ import annotations

import os
from functools import cache

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason
from cfglint.launch.line import LaunchLine, Option, Options
from cfglint.launch.machine import VISIBLE, Machine, Surroundings, counted_devices, number
from cfglint.source.annotations import Callable, Collection, Iterator, Mapping
from cfglint.source.record import Record
from cfglint.source.shell.command import is_placeholder
from cfglint.source.shell.placed_text import Text, after_mark, of_any_number
from cfglint.source.shell.wrappers import is_python

SIZE_VARIABLE = "NPROC_PER_NODE"
PROGRAM = ".py"
FILES = (".yaml", ".yml", ".json")


class SizePlace(Record):
    """A value that has to change: its name for reports, the current text, and the new one."""

    key: str
    text: Text
    after: str


class Launcher:
    """A command that starts the processes of a training: how it is recognised, how it counts processes, and what it hands on."""

    name = ""  # in reports
    commands: Mapping[str, str] = {}  # names of the command -> the word that has to follow; the name alone if empty
    modules: Collection[str] = ()  # modules that `python -m` runs
    scripts: Collection[str] = ()  # programs that `python` runs
    marks: Collection[str] = ()  # a script that uses it contains one of these strings,
    words: Collection[str] = ()  # or one of these words
    kind = ""  # the kind of the only files that it accepts
    takes_arguments = False  # whether it also accepts all arguments of that kind on the line, without a file
    always_trains = False  # whether every line that it accepts starts a training
    trains_by_default = False  # whether a line does unless the name of its program says otherwise
    starts_programs = False  # whether it starts any program, so that arguments of a training or a config file are enough
    is_one_process = False  # whether it starts one process
    runs_in_ranks = False  # whether a process of another launcher may run it, and it trains in that
    sets_rank = False  # whether it sets LOCAL_RANK, for a single process too
    lists_files = False  # whether `read` knows all config files of the line
    opens_files = False  # whether it opens the config files of the line itself, so that a missing one is an error
    refused_config = ""  # its error for such a file, if it is not that of the rule
    takes_assignments = False  # whether arguments may be written `key=value`, for OmegaConf
    own_fields: Collection[str] = ()  # arguments of the Trainer that mean something else there
    unmodelled = ""  # the name of its framework, whose programs and configs are not modelled
    refused_words = ""  # its error for words that belong to no option, if it parses the arguments
    has_own_parser = False  # whether it parses the arguments itself, and no program does
    own_options: Collection[str] = ()  # options that it needs before the program
    options: Collection[str] = ()  # all options of its parser, of which it accepts abbreviations; empty if they are not modelled
    without_value: Collection[str] = ()  # those of its options that are flags
    short: Mapping[str, str] = {}  # the short names of its options
    counts: Mapping[str, Callable[[str, str], str]] = {}  # option -> the exception for a number of processes or nodes, empty if accepted
    added_rank: tuple[str, str, str] | None = None  # (argument that it adds, option that prevents it, remedy)
    selects_devices = False  # whether each process sees just the GPUs that processes are started for, whatever the environment says
    shares_devices = False  # whether each process takes its part of all visible devices
    devices_option = ""  # the option with the list of devices
    size_variable = ""  # the variable with the processes of a node, if no option sets them
    nodes_variable = ""  # the variable with the number of nodes
    nodes_option = "--nnodes"  # the option with the number of nodes
    batch_source = ""  # the files from which it takes the batch, in words
    accumulation_option = ""  # an option that also sets the gradient accumulation

    def read(self, line: LaunchLine, words: list[Text], around: Surroundings) -> bool:
        """Parse the words after the command into sizes, program, files and arguments; return whether they may start a training."""
        raise NotImplementedError

    def parse(self, line: LaunchLine, words: list[Text]) -> Options:
        """Parse the options of a line as its parser does; what follows them is the program with its arguments."""
        options = line.options = read_options(words, self.without_value, self.short, self.has_option)
        for name in [each for each in options.given if each not in self.options]:
            full = [each for each in self.options if each.startswith(name)]
            if len(full) == 1:
                options.given[full[0]] = options.given.pop(name)
        line.starts(options.rest, module="module" in options)
        return options

    def check(self, line: LaunchLine) -> None:
        """Report what the launcher refuses or ignores on a line."""

    def starts_simply(self, line: LaunchLine) -> bool:
        """Whether the only process of a line is started as `python` starts it, so that it sees each visible GPU."""
        return self.is_one_process

    def has_option(self, name: str) -> bool:
        """Whether its parser accepts an option before the program, `--name`, in any release; true if its options are not modelled."""
        return not self.options or any(option.startswith(name) for option in self.options)

    def naming_words(self, words: list[Text]) -> list[Text]:
        """Those of the words after the command that may name files."""
        return words

    def variables(self, line: LaunchLine) -> Mapping[str, str]:
        """The variables that it sets for its processes."""
        return {}

    def flags(self, line: LaunchLine) -> list[tuple[str, Option, str | None]]:
        """(key of the launcher's config file, option, value if it differs from that of the option) for flags that override the file."""
        return []

    def size_places(self, line: LaunchLine, wanted: Size) -> Iterator[SizePlace]:
        """Further values of a line that set the number of processes."""
        return iter(())

    def for_nodes(self, line: LaunchLine, nodes: int) -> str:
        """What to add to a line that does not set its number of nodes."""
        return f"add `{self.nodes_option} {nodes}` and the address of the first node"

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        """Why a launch does not get a size by an edit of its script, and what to change by hand."""
        if line.srun:
            return f"`srun` starts the processes; set its tasks, and the GPUs of the job, to {wanted.processes}"
        return f"the number of processes of `{line.launcher}` is not set by an option that could be edited"


class OfVariables(Launcher):
    """A command that takes the processes of a node from `NPROC_PER_NODE`, and the nodes from `NNODES`."""

    always_trains = True
    size_variable = SIZE_VARIABLE
    nodes_variable = "NNODES"

    def sizes(self, line: LaunchLine, machine: Machine) -> tuple[int | None, int | None]:
        """The processes of a node and the nodes that the variables say, one without them."""
        environment = line.call.environment
        each = number(environment.get(SIZE_VARIABLE), 1, machine, line, "gpus_per_node")
        return each, number(environment.get(self.nodes_variable), 1, machine.with_nodes(each), line, "nodes")

    def for_nodes(self, line: LaunchLine, nodes: int) -> str:
        return f"put `{self.nodes_variable}={nodes}` and the address of the first node before the command"

    def why_fixed(self, line: LaunchLine, wanted: Size) -> str:
        per_node = wanted.per_node
        return f"the number of processes is not a number that could be edited; put `{SIZE_VARIABLE}={per_node}` before the command"


UNKNOWN = Launcher()


@cache
def launchers() -> dict[str, Launcher]:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launchers")
    found: dict[str, Launcher] = {}
    for name in sorted(name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_")):
        module = __import__(f"cfglint.launch.launchers.{name}", fromlist=["LAUNCHERS"])
        found.update((each.name, each) for each in module.LAUNCHERS)
    return found


@cache
def launchers_by(of: str) -> dict[str, Launcher]:
    return {name: launcher for launcher in launchers().values() for name in getattr(launcher, of)}


@cache
def marks(least: int = 0) -> tuple[str, ...]:
    return tuple(mark for launcher in launchers().values() for mark in (*launcher.marks, *launcher.words) if len(mark) >= least)


def devices_of(line: LaunchLine, machine: Machine) -> int | None:
    """The number of GPUs that each process of a line sees; None if it is not known."""
    text = line.call.environment.get(VISIBLE)
    if text is not None and not launcher_of(line).selects_devices:
        return counted_devices(text.value, machine) if text.value is not None else None
    return line.gpus_per_node if line.gpus_per_node is not None else machine.gpus_per_node


def launcher_of(line: LaunchLine) -> Launcher:
    return launchers().get(line.launcher, UNKNOWN)


def names_config(word: Text) -> bool:
    """Whether the first argument of a command is the name of a config, or may be one."""
    return word.string.endswith(FILES) or (word.string[:1] not in ("", "-") and (not word.known or is_placeholder(word.string)))


def is_command(name: str) -> bool:
    return is_python(name) or name in launchers_by("commands")


def integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def not_an_integer(name: str, text: str) -> str:
    return "" if integer(text) is not None else f"error: argument --{name}: invalid int value: {text!r}"


def device_list(numbers: list[int], count: int) -> str:
    chosen = [*dict.fromkeys(numbers)][:count]
    free = (number for number in range(count) if number not in chosen)
    if len(chosen) < count:
        chosen = sorted([*chosen, *(number for number, _ in zip(free, range(count - len(chosen)), strict=False))])
    return ",".join(map(str, chosen))


def read_options(words: list[Text], flags: Collection[str], short: Mapping[str, str], has_option: Callable[[str], bool]) -> Options:
    """The options of a launcher; a word that is not known is its program if an option of others follows."""
    options = Options()
    index = 0
    before: tuple[int, dict[str, Option], tuple[Reason, ...]] | None = None  # the last word that is not known, with what was read before
    while index < len(words):
        word = words[index]
        text = word.string
        index += 1
        if text == "--":
            options.rest.extend(words[index:])
            return options
        if not text.startswith("-") or len(text) < 2:
            if not any(part.text for part in word.parts) and not word.known:
                before = index - 1, {**options.given}, options.open
                options.open = (*options.open, *word.reasons)
                continue
            options.rest.extend((word, *words[index:]))
            return options
        name, mark, _ = text.partition("=")
        key = short.get(name, name.lstrip("-").replace("-", "_"))
        if before is not None and name not in short and not has_option(name.lstrip("-")):
            place, options.given, reasons = before
            options.open = options.open if of_any_number(words[place]) else reasons
            options.rest.extend(words[place:])
            return options
        if key in flags:
            options.given[key] = Option(key, word, None)
            continue
        if key in options.given:
            options.overridden.append(options.given[key])
        if mark:
            options.given[key] = Option(key, word, word[len(name) + 1 :] if word.known else after_mark(word))
            continue
        program = words[index] if index < len(words) and words[index].string.endswith(PROGRAM) else None
        if program is not None or index >= len(words) or (is_option(words[index]) and words[index].known):
            options.missing = options.missing or Option(key, word, program)
            continue
        options.given[key] = Option(key, word, words[index])
        index += 1
    return options


def is_option(word: Text) -> bool:
    """Whether argparse treats a word as an option: it begins with a dash and is not a negative number."""
    text = word.string
    if not text.startswith("-") or text == "-" or " " in text.partition("=")[0]:
        return False
    return not text[1:2].isdigit() and text[1:2] != "."
