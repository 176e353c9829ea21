"""What a launch has to know of the kinds of config: the classes of their arguments, and the lines that they take.

`cfglint.frameworks` registers the kinds; nothing below it names their folders.
"""

from __future__ import annotations

from cfglint.launch.registered import REGISTERED, TRAINER
from cfglint.source.annotations import Iterator, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.launch.registered import FieldSpan, LaunchedKind


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
    """The trainer that a class of arguments belongs to; None if the class does not determine it."""
    kind = kind_of_class(name)
    return kind_named(kind).argument_classes()[name] or None if kind else None


def fields_of_class(name: str) -> set[str]:
    """The fields that a framework's class has in any modelled release, beyond those of its base."""
    return set().union(*(kind.fields_of_class(name) for _, kind in every_kind()))


def base_fields() -> Mapping[str, FieldSpan]:
    """The fields that the arguments of every trainer have."""
    return kind_named(TRAINER).base_fields()


def parsed_type(name: str) -> str:
    """The type by which a parser converts the words of such a field; empty for another name."""
    trainer = kind_named(TRAINER)
    fields = trainer.base_fields()
    return trainer.parsed_types().get(name) or fields[name][0] if name in fields else ""
