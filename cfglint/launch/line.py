"""A launch line: its program, sizes, files and arguments."""

from __future__ import annotations

from cfglint.launch.slurm import NO_HEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.findings.vocabulary import Severity
    from cfglint.launch.arguments import Argument
    from cfglint.launch.options import Options
    from cfglint.source.shell.placed_text import Text
    from cfglint.source.shell.started_command import Call

MACHINE = "the number of GPUs of the machine"


class NamedFile:
    """A file that a line names: its spelling, its role, and its path if the project contains it.

    `known`: the folder that the name is relative to is known, and so is the name. `outside`: it leads out of the project.
    """

    __slots__ = ("kind", "known", "outside", "path", "role", "word")

    def __init__(self, word: Text, role: str, kind: str, path: str | None = None, known: bool = False) -> None:
        self.word = word
        self.role = role
        self.kind = kind
        self.path = path
        self.known = known
        self.outside = False


class Problem:
    """A problem of the launch line itself: a code of the rules of this kind, and the words to point at.

    `of_launcher`: the launcher refuses it before the program gets its arguments.
    """

    __slots__ = ("code", "exception", "key", "message", "of_launcher", "remedy", "severity", "word")

    def __init__(
        self,
        code: str,
        severity: Severity,
        word: Text,
        key: str,
        message: str,
        exception: str = "",
        *,
        remedy: str = "",
        of_launcher: bool = False,
    ) -> None:
        self.code = code
        self.severity = severity
        self.word = word
        self.key = key
        self.message = message
        self.exception = exception
        self.remedy = remedy
        self.of_launcher = of_launcher


class LaunchLine:
    """One training launch.

    An unknown size is None, and `unknown` has the reasons: (field, reason). `inner` is the launcher that the named one starts in
    turn. `values` are the settings of an accelerate launch, from its file and its flags, None elsewhere. `machine`: the GPUs are
    those of the machine; `by_devices`: they are those that CUDA_VISIBLE_DEVICES shows, or those of the machine. `header` are the
    #SBATCH lines of its script.
    """

    __slots__ = (
        "arguments",
        "block",
        "by_devices",
        "call",
        "deepspeed_word",
        "files",
        "folder",
        "given",
        "gpus_per_node",
        "header",
        "inner",
        "launcher",
        "machine",
        "module",
        "nodes",
        "options",
        "path",
        "problems",
        "processes",
        "program",
        "program_path",
        "script_path",
        "sourced",
        "srun",
        "unknown",
        "values",
    )

    def __init__(self, call: Call, launcher: str) -> None:
        self.call = call
        self.launcher = launcher
        self.path = call.path
        self.script_path = call.path
        self.sourced: list[str] = []  # files that the script sources, which may set what the line uses
        self.program: Text | None = None
        self.program_path: str | None = None
        self.module = False
        self.options: Options | None = None
        self.arguments: list[Text] = []
        self.given: list[Argument] | None = None  # the arguments as options, after parsing
        self.gpus_per_node: int | None = None
        self.nodes: int | None = None
        self.processes: int | None = None
        self.unknown: list[tuple[str, str]] = []
        self.files: list[NamedFile] = []
        self.problems: list[Problem] = []
        self.deepspeed_word: NamedFile | None = None  # the value of `--deepspeed` if it is neither a config file's name nor a file
        self.machine = False
        self.by_devices = False
        self.header = NO_HEADER
        self.inner = ""
        self.values: dict[str, Any] | None = None
        self.srun: list[Text] = []
        self.folder: str | None = None
        self.block = ""

    def copy(self) -> LaunchLine:
        """A copy to which reasons and problems can be added."""
        other = LaunchLine(self.call, self.launcher)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other.unknown, other.problems = [*self.unknown], [*self.problems]
        return other

    @property
    def is_sourced(self) -> bool:
        """Whether it is written in another file that the script sources."""
        return self.call.path != self.script_path

    def unsure(self, field: str, reasons: tuple[str, ...] | str) -> None:
        """Record why a field is unknown."""
        for reason in (reasons,) if isinstance(reasons, str) else reasons:
            if (field, reason) not in self.unknown:
                self.unknown.append((field, reason))

    def sized(self, per_node: int | None, nodes: int | None) -> None:
        """Set the sizes; the processes are their product."""
        self.gpus_per_node, self.nodes = per_node, nodes
        self.processes = None if per_node is None or nodes is None else per_node * nodes
        if self.processes is None:
            self.unsure("processes", "see gpus_per_node / nodes")
