"""A launch line as parsed: its program, sizes, files, options, arguments and problems."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.releases import Releases
from cfglint.findings.vocabulary import Severity
from cfglint.launch.slurm import Header
from cfglint.source.annotations import ConfigTable
from cfglint.source.record import Record
from cfglint.source.shell.command import SHOWN
from cfglint.source.shell.placed_text import EMPTY, Text
from cfglint.source.shell.started_command import StartedCall

NO_DEVICE = "RuntimeError: CUDA error: invalid device ordinal"  # of a process without a GPU
MACHINE = Reason("machine", "the number of GPUs of the machine")
RANKS_OF_SRUN = Reason("program", "the ranks of the program, which srun starts itself")
SIZES = Reason("derived", "see gpus_per_node / nodes")
BY_SCRIPT = "the script writes it"  # why a file is not known
LAUNCHER_CONFIGS = ("launcher:config_file", "launcher:accelerate_config")  # the roles of the config of a launcher
HOSTFILE = "launcher:hostfile"  # the role of a list of machines, which has no settings


class Option(Record):
    """An option on a line: the word that names it, its value (None for a flag); `in_file`: it comes from a file that the word names."""

    name: str
    word: Text
    value: Text | None
    in_file: bool = False


class Options(Record):
    """The options before a program.

    `rest` are the words from the program on. `open` are the reasons why there may be further options: an unknown
    word. `missing` is an option without its value, which argparse refuses. `overridden` are given again, and parsed all the same.
    """

    given: dict[str, Option] = {}
    overridden: list[Option] = []
    rest: list[Text] = []
    open: tuple[Reason, ...] = ()
    missing: Option | None = None

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def text(self, name: str) -> Text | None:
        option = self.given.get(name)
        return None if option is None else option.value or EMPTY

    def value(self, name: str) -> str | None:
        text = self.text(name)
        return None if text is None else text.value


class Argument(Record):
    """An option of the program: the word that names it, its words, and whether `=` joins them."""

    name: str
    word: Text
    texts: list[Text]


class NamedFile(Record):
    """A file that a line names: its spelling, its role, and its path if the project contains it.

    `known`: the folder that the name is relative to is known, and so is the name. `outside`: it leads out of the project.
    `absent`: it does not exist there, and no other command of the script may write it. `is_written`: another command of the script
    has written it; `content` is then what it has written, if that is known and read as a config, `former` the file that it replaces.
    """

    word: Text
    role: str
    kind: str
    path: str | None = None
    known: bool = False
    outside: bool = False
    absent: bool = False
    is_written: bool = False
    content: Text | None = None
    former: str | None = None

    @property
    def is_read(self) -> bool:
        """Whether its content is known: it is a file of the project, or the script has written it."""
        return self.path is not None or self.content is not None

    @property
    def option(self) -> str:
        return "" if self.role == "positional" else self.role.rpartition(":")[2].lstrip("-")


class LineProblem(Record):
    """A problem of the launch line itself: a code of the rules of this kind, and the words to point at.

    `of_launcher`: the launcher refuses it before the program gets its arguments. `releases` are those that have the problem, None for all.
    """

    code: str
    severity: Severity
    word: Text
    key: str
    message: str
    exception: str = ""
    remedy: str | tuple[str, int] = ""
    of_launcher: bool = False
    releases: Releases | None = None


class LaunchLine:
    """One training launch.

    An unknown size is None, and `unknown` has the reasons: (field, reason). `inner` is the launcher that the named one starts in
    turn. `values` are the settings of an accelerate launch, from its file and its flags, None elsewhere. `machine`: the GPUs are
    those of the machine, which has `machine_gpus`; `by_devices`: they are those that CUDA_VISIBLE_DEVICES shows, or those of the machine.
    `header` is what its job requests. `trains`: it is known to start a training; of another line nothing else is read.
    """

    def __init__(self, call: StartedCall, launcher: str) -> None:
        self.call, self.launcher = call, launcher
        self.script_path = call.path
        self.sourced: list[str] = []  # files that the script sources, which may set what the line uses
        self.written: frozenset[str] = frozenset()  # names of files that redirections of the script write
        self.program: Text | None = None
        self.program_path: str | None = None
        self.module = False
        self.trains = True
        self.is_submitted = False  # by a program that is named before it and may add options to it
        self.entry = ""  # the function of the module that a command of the project calls
        self.options = Options()
        self.arguments: list[Text] = []
        self.given: list[Argument] | None = None  # the arguments as options, after parsing
        self.gpus_per_node: int | None = None
        self.nodes: int | None = None
        self.processes: int | None = None
        self.unknown: list[tuple[str, Reason]] = []
        self.files: list[NamedFile] = []
        self.problems: list[LineProblem] = []
        self.deepspeed_word: NamedFile | None = None  # the value of `--deepspeed` if it is neither a config file's name nor a file
        self.machine = False
        self.machine_gpus: int | None = None
        self.by_devices = False
        self.header = Header({})
        self.lacks_gpus = ""  # that fewer GPUs are visible, or offered, than processes start
        self.inner = ""
        self.values: ConfigTable | None = None
        self.srun: list[Text] = []  # the words of the srun,
        self.mpi: list[Text] = []  # or of the mpirun, before the command
        self.folder: str | None = None

    def starts(self, words: list[Text], *, module: bool = False) -> None:
        """Take these words for the program, and its arguments behind it."""
        self.program, self.arguments, self.module = (words[0] if words else None), words[1:], module

    def copy(self) -> LaunchLine:
        other = LaunchLine(self.call, self.launcher)
        vars(other).update(vars(self), unknown=[*self.unknown], problems=[*self.problems])
        return other

    @property
    def is_sourced(self) -> bool:
        return self.call.path != self.script_path

    def writes(self, name: str) -> bool:
        """Whether a redirection of the script may write a file."""
        return name.rpartition("/")[2] in self.written

    @property
    def is_on_page(self) -> bool:
        """Whether it stands in a page or a notebook, or in a script that one calls: what it leaves out is often for the reader to add."""
        return (self.call.called_from or (self.call.path,))[0].lower().endswith(SHOWN)

    @property
    def lacks_launcher_config(self) -> bool:
        return any(file.role in LAUNCHER_CONFIGS and not file.is_read for file in self.files)

    def unsure(self, field: str, *reasons: Reason) -> None:
        for reason in reasons:
            if (field, reason) not in self.unknown:
                self.unknown.append((field, reason))

    def report(
        self, code: str, severity: Severity, word: Text, key: str, message: str, exception: str = "", *, remedy: str | tuple[str, int]
    ) -> None:
        """Add a problem; its remedy is a sentence, or an option and the value to give it."""
        self.problems.append(LineProblem(code, severity, word, key, message, exception, remedy))

    def refuse(
        self, code: str, word: Text, key: str, message: str, exception: str, *, remedy: str, releases: Releases | None = None
    ) -> None:
        """Add a problem with which the launcher ends before the program gets its arguments, in all releases or in some."""
        self.problems.append(LineProblem(code, "error", word, key, message, exception, remedy, True, releases))

    def sized(self, per_node: int | None, nodes: int | None) -> None:
        self.gpus_per_node, self.nodes = per_node, nodes
        self.processes = None if per_node is None or nodes is None else per_node * nodes
        if self.processes is None:
            self.unsure("processes", SIZES)
