"""What a launch sees of the kinds of config, such as the classes of their arguments, and the lines that they take: `cfglint.frameworks`
registers them, and nothing below it names their folders but here.
"""

from __future__ import annotations

from cfglint.source.annotations import Any, Callable, Collection, Final, Iterator, Mapping, Sequence

# The kinds that have a part of their own in a launch.
LAUNCH: Final = "launch"  # its config is the line itself
TRAINER: Final = "huggingface"  # its class is the one that the arguments of all trainers extend
ENGINE: Final = "deepspeed"  # a program may make it itself, and give it a file
LAUNCHER: Final = "accelerate"  # the program reads the launcher's file, too

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from cfglint.findings.releases import Release, Releases
    from cfglint.launch.line import LaunchLine

    FieldSpan = tuple[str, Any, Release, Release]

    class LaunchedKind(Protocol):
        """A kind of config, as a launch sees it."""

        base: str
        takes_overrides: bool
        parses_command: bool

        def argument_classes(self) -> Mapping[str, str]:
            """The classes that a program creates from arguments of this kind, each with its trainer; an empty trainer means any."""

        def script_classes(self) -> Collection[str]:
            """Further classes of the framework that such a parser may be given."""

        def fields_of_class(self, name: str) -> set[str]:
            """The fields that one of these classes has in any modelled release, beyond those of its base."""

        def base_fields(self) -> Mapping[str, FieldSpan]:
            """The fields of the class that others extend: (type, default, first release, first release without it)."""

        def base_numbers(self) -> Mapping[str, float]:
            """The numbers of this class that are the same by default in all releases, and that it leaves as they are."""

        def parsed_types(self) -> Mapping[str, str]:
            """The types that a parser derives from the annotations of these fields, where they differ."""

        def refused_words(self, name: str, text: str) -> Sequence[tuple[str, Releases]]:
            """The types of one of these fields that the parser cannot convert a word to, each with the releases that have it."""

        def has_own_key(self, name: str) -> bool:
            """Whether files of this kind have a key in any modelled release, beyond those of its base."""

        def runs(self, line: LaunchLine) -> bool:
            """Whether a line runs one of the modules of this framework that are fed by arguments alone."""


class Registered:
    """The kinds of config: their names, and what loads one when it is asked for."""

    names: Callable[[], list[str]]
    load: Callable[[str], LaunchedKind]


REGISTERED = Registered()


def kind_named(name: str) -> LaunchedKind:
    launched_kind: LaunchedKind = REGISTERED.load(name)
    return launched_kind


def every_kind() -> Iterator[tuple[str, LaunchedKind]]:
    return ((name, kind_named(name)) for name in REGISTERED.names())


def is_trainer(kind: str) -> bool:
    return bool(kind) and TRAINER in (kind, kind_named(kind).base)


def argument_classes() -> set[str]:
    return {name for _, kind in every_kind() for name in kind.argument_classes()}


def kind_of_class(name: str) -> str:
    return next((found for found, kind in every_kind() if name in kind.argument_classes()), "")


def trainer_of_class(name: str) -> str | None:
    kind = kind_of_class(name)
    return kind_named(kind).argument_classes()[name] or None if kind else None


def fields_of_class(name: str) -> set[str]:
    """The fields that a framework's class has in any modelled release, beyond those of its base."""
    return set().union(*(kind.fields_of_class(name) for _, kind in every_kind()))


def base_fields() -> Mapping[str, FieldSpan]:
    return kind_named(TRAINER).base_fields()


def base_number(name: str, field: str) -> float | None:
    """The default of a field of the class that others extend, or of a direct subclass, if it is a number in all releases."""
    return kind_named(TRAINER).base_numbers().get(field) if kind_of_class(name) == TRAINER else None


def parsed_type(name: str) -> str:
    """The type by which a parser converts the words of such a field; empty for another name."""
    trainer = kind_named(TRAINER)
    fields = trainer.base_fields()
    return trainer.parsed_types().get(name) or fields[name][0] if name in fields else ""
