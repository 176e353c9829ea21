"""A launch: a line of a script that starts a training, or its program alone, as far as they were read. Nothing is executed."""

from __future__ import annotations

from cfglint.launch.kinds import ENGINE
from cfglint.source.annotations import Mapping
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.evaluate import Reason
    from cfglint.findings.entries import AlternativeEntry, LaunchEntry
    from cfglint.launch.line import LaunchLine
    from cfglint.launch.overrides import Override
    from cfglint.launch.program import OwnLoop, ProgramFacts
    from cfglint.source.project_files import Project
    from cfglint.source.shell.command import CommandDocument


CONFIG_OF_ENGINE = "the arguments of `deepspeed.initialize`"


class Launch(Record):
    """The launch of a run, as far as its line and its program were read.

    `command` is the document of the line, whose keys are its arguments; None, as `line`, for a program alone. `parser` are the facts about
    the program that receives the arguments, `program` the same, or those about a call that builds its trainer's arguments, None if that
    trainer is not modelled; `code` are these facts in any case. `consumer` is the kind whose parser takes the arguments, or the file that
    they name; `is_main`: it takes the arguments themselves. `doubts` are why the consumer is only likely: no error rests on its arguments
    alone. `further` is what gives the program arguments that are not known. `not_known` are those without a known value. `flags` are those
    of `accelerate launch`, by the keys of its config file. `passed` are the objects that the program passes to `deepspeed.initialize`, with
    the names of their classes; None if they are not known. `machine`: the number of GPUs is that of the machine. `program_path` is the file
    of the program, empty if the project has none; `project` are the files around the script. `sets_rank`: the launcher gives each process
    its rank, a single one too; False if it starts one process without a rank. `extra_files` are named by the line and of an unknown kind.
    `entry` are the known properties for reports. `not_read` is what was not read of the program and its arguments, so that the start is not
    known. `loop` is the training loop of a program that trains with an engine of DeepSpeed. `spreads` is the `device_map` by which its one
    process has the model on all GPUs.
    `lacks_line`: the line of a program that takes arguments is not known.
    """

    command: CommandDocument | None = None
    line: LaunchLine | None = None
    parser: ProgramFacts | None = None
    program: ProgramFacts | None = None
    code: ProgramFacts | None = None
    consumer: str = ""
    is_main: bool = False
    doubts: tuple[Reason, ...] = ()
    further: tuple[Reason, ...] = ()
    not_known: tuple[Reason, ...] = ()
    passed: Mapping[str, str] | None = None
    flags: tuple[Override, ...] = ()
    machine: bool = False
    sets_rank: bool | None = None
    program_path: str = ""
    project: Project | None = None
    extra_files: tuple[str, ...] = ()
    entry: LaunchEntry | None = None
    not_read: tuple[Reason, ...] = ()
    loop: OwnLoop | None = None
    spreads: str = ""
    alternative: AlternativeEntry | None = None
    lacks_line: bool = False

    @property
    def flags_alone(self) -> tuple[Override, ...]:
        """The flags of a launcher; none where a config file, which was not read, has the other settings."""
        return () if self.line is not None and self.line.lacks_launcher_config else self.flags

    @property
    def is_closed(self) -> bool:
        """Whether a field that is not written has its default, because all that may set it was read, or is assumed."""
        return not any(reason.opens for reason in self.not_read)

    @property
    def engine_unread(self) -> tuple[Reason, ...]:
        """Why what the program makes of the file of its engine, which it opens itself, is not known."""
        return tuple(reason for reason in self.not_read if reason.opens and reason.what == CONFIG_OF_ENGINE)

    @property
    def lacks_engine(self) -> bool:
        """Whether a program was read that gets a config of DeepSpeed, and the code that makes the engine was not found."""
        return self.consumer == ENGINE and self.parser is not None and self.parser.evaluations is not None and self.loop is None


NO_LAUNCH = Launch()
