"""A launch: a line of a script that starts a training, or its program alone, as far as they were read. Nothing is executed.

No framework is known here; `kinds` has what they register.
"""

from __future__ import annotations

from cfglint.source.annotations import Callable, Collection, ConfigValue, Mapping, Sequence
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cfglint.evaluate import Reason
    from cfglint.findings.entries import AlternativeEntry, LaunchEntry
    from cfglint.findings.releases import Release, Releases
    from cfglint.launch.line import LaunchLine
    from cfglint.launch.overrides import Override
    from cfglint.launch.program import OwnLoop, ProgramFacts
    from cfglint.source.project_files import Project
    from cfglint.source.shell.command import CommandDocument

    FieldSpan = tuple[str, ConfigValue, Release, Release]

    class LaunchedKind(Protocol):
        """A kind of config, as a launch sees it."""

        base: str
        takes_overrides: bool
        parses_command: bool

        def argument_classes(self) -> Mapping[str, str]:
            """The classes that a program creates from arguments of this kind, each with its trainer; an empty trainer means any."""
            ...

        def script_classes(self) -> Collection[str]:
            """Further classes of the framework that such a parser may be given."""
            ...

        def fields_of_class(self, name: str) -> set[str]:
            """The fields that one of these classes has in any modelled release, beyond those of its base."""
            ...

        def base_fields(self) -> Mapping[str, FieldSpan]:
            """The fields of the class that others extend: (type, default, first release, first release without it)."""
            ...

        def parsed_types(self) -> Mapping[str, str]:
            """The types that a parser derives from the annotations of these fields, where they differ."""
            ...

        def refused_words(self, name: str, text: str) -> Sequence[tuple[str, Releases]]:
            """The types of one of these fields that the parser cannot convert a word to, each with the releases that have it."""
            ...

        def has_own_key(self, name: str) -> bool:
            """Whether files of this kind have a key in any modelled release, beyond those of its base."""
            ...

        def runs(self, line: LaunchLine) -> bool:
            """Whether a line runs one of the modules of this framework that are fed by arguments alone."""
            ...


class Registered:
    """The kinds of config: their names, and what loads one when it is asked for."""

    names: Callable[[], list[str]]
    load: Callable[[str], LaunchedKind]


REGISTERED = Registered()


class Launch(Record):
    """The launch of a run, as far as its line and its program were read.

    `command` is the document of the line, whose keys are its arguments; None, as `line`, for a program alone. `parser` are the facts
    about the program that receives the arguments, `program` the same, or those about a call in it that builds the arguments of its
    trainer instead, None if its trainer is not modelled; `code` are these facts in any case. `consumer` is the kind whose parser takes
    the arguments, or the file that they name;
    `is_main`: it takes the arguments themselves. `doubts` are why the consumer is only likely: no error rests on its arguments alone.
    `is_open`: the program may get arguments that are not known. `not_known` are the arguments whose values are not known. `flags` are
    those of `accelerate launch`, by the keys of its config file. `passed` are the objects that the program passes to
    `deepspeed.initialize`, with the names of their classes; None if they are not known. `machine`: the number of GPUs is that of the
    machine. `program_path` is the file of the program, empty if the project does not contain it; `project` are the files around the
    script. `sets_rank`: the launcher gives each process its rank, a single one too. `extra_files` are named by the line and of an unknown
    kind. `entry` are the known properties for reports. `not_read` is what of the program and its arguments was not read: while there is
    any, whether the run starts is not known. `loop` is the training loop of a program that trains with an engine of DeepSpeed.
    """

    command: CommandDocument | None = None
    line: LaunchLine | None = None
    parser: ProgramFacts | None = None
    program: ProgramFacts | None = None
    code: ProgramFacts | None = None
    consumer: str = ""
    is_main: bool = False
    doubts: tuple[Reason, ...] = ()
    is_open: bool = False
    not_known: tuple[Reason, ...] = ()
    passed: Mapping[str, str] | None = None
    flags: tuple[Override, ...] = ()
    machine: bool = False
    sets_rank: bool = False
    program_path: str = ""
    project: Project | None = None
    extra_files: tuple[str, ...] = ()
    entry: LaunchEntry | None = None
    not_read: tuple[Reason, ...] = ()
    loop: OwnLoop | None = None
    alternative: AlternativeEntry | None = None

    @property
    def is_closed(self) -> bool:
        """Whether a field that is not written has its default, because all that may set it was read, or is assumed."""
        return not any(each.opens for each in self.not_read)


NO_LAUNCH = Launch()
