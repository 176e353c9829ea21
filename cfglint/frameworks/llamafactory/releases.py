"""LLaMA-Factory's own fields and templates through its releases, and the libraries that each release accepts."""

from __future__ import annotations

from cfglint.frameworks.llamafactory._tables import FIELDS, LIBRARIES, RELEASES
from cfglint.frameworks.releases.history import TYPE, UNTIL, Fields, History
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Any, Callable, Folder, Operand

ARGUMENTS, TEMPLATES = "arguments", "templates"
CHOICES, REQUIRED = UNTIL + 1, UNTIL + 2

HISTORY = History(FIELDS)


def learn(release: Version, folder: Folder, opens: Callable[[str], bool]) -> bool:
    from cfglint.frameworks.llamafactory import source_fields

    tree = source_fields.find(folder, lenient=True, opens=opens)
    found = {ARGUMENTS: source_fields.arguments(tree, {}), TEMPLATES: source_fields.templates(tree)}
    known = HISTORY.fields(ARGUMENTS, RELEASES[-1])
    for name, fact in found[ARGUMENTS].items():
        wider = known.get(name)  # a class may take more than its annotation says, which only the tables know
        if wider is not None and set(fact[0].split("|")) < set(wider[TYPE].split("|")):
            found[ARGUMENTS][name] = (wider[TYPE], *fact[1:])
    HISTORY.learn(release, found)
    return True


def arguments(release: Version) -> Fields:
    """The fields of the dataclasses of a release, without those of the Trainer."""
    return HISTORY.fields(ARGUMENTS, release)


def templates(release: Version) -> Fields:
    """The templates that a release registers; the default of a row is whether `efficient_eos` is set."""
    return HISTORY.fields(TEMPLATES, release)


def choices(name: str, release: Version) -> tuple[Any, ...]:
    """The values that the annotation of a field lists in a release; empty if it lists none. The parser compares none of them."""
    row = arguments(release).get(name, ())
    return row[CHOICES] if len(row) > CHOICES else ()


def is_required(name: str, release: Version) -> bool:
    return len(arguments(release).get(name, ())) > REQUIRED


def types(name: Operand, release: Version) -> tuple[str, ...]:
    row = arguments(release).get(name)
    return tuple(row[TYPE].split("|")) if row is not None else ()


def ever(name: object) -> bool:
    return isinstance(name, str) and name in HISTORY.names(ARGUMENTS)


def removed_in(name: Operand, release: Version) -> Version:
    """The first release without a field that an older release than the given one had; () for another name."""
    spans = HISTORY.releases(ARGUMENTS, name) if ever(name) else []
    return next((until for _, until in reversed(spans) if until and until <= release), ())


def library(package: str, release: Version) -> str:
    return next(version for since, version in reversed(LIBRARIES[package]) if since <= release)
