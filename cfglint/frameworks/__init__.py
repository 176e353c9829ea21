"""The supported kinds of config file: each folder here is one, but for those of what several kinds use."""

from __future__ import annotations

import os

from cfglint.frameworks.base import CERTAIN, MAYBE, NO_MATCH, Framework
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.launch import Launch
from cfglint.launch.kinds import REGISTERED
from cfglint.source import cached
from cfglint.source.annotations import Callable, Collection, Iterable
from cfglint.source.document import Document

OTHER_PACKAGES = ("torch", "peft", "bitsandbytes")
SHARED = ("arguments", "memory", "peft", "releases", "rows", "training_data", "validation")  # folders of what several kinds use
WITHOUT_FILES = ("megatron", "megatron_swift", "openrlhf")  # kinds that only a launch line has, or a file that it names
LINE_KINDS = ("launch", "megatron", "openrlhf")  # kinds whose config is a launch line: no file is recognised as one of these
# Distributions that replace a package under another name -> this package; empty for one that installs others.
FORKS = {"accelerate-kt": "accelerate", "transformers-kt": "transformers", "ktransformers": ""}
# A key that such distributions add (accelerate-kt 1.14.0.post1 commands/config/config_args.py, transformers-kt 5.6.0 training_args.py),
# and what asks for them in a config: LLaMA-Factory 0.9.5 requires both with `use_kt` (hparams/parser.py:210).
ADDED = {"kt_config": tuple(FORKS)}
ASKED_BY = {"use_kt": "ktransformers"}
_loaded: dict[str, Framework] = {}


@cached
def kinds() -> list[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    folders = (name for name in os.listdir(here) if name not in SHARED)
    return sorted(name for name in folders if os.path.exists(os.path.join(here, name, "__init__.py")))


def file_kinds() -> list[str]:
    return [kind for kind in kinds() if kind not in WITHOUT_FILES]


def recognisable_kinds() -> list[str]:
    """The names of the kinds that the content of a file may show, sorted; the others are not loaded for a file."""
    return [kind for kind in kinds() if kind not in (*LINE_KINDS, *WITHOUT_FILES)]


def forks_named_in(text: str) -> list[str]:
    """The distributions that replace packages and that a config asks for, or a program imports."""
    asked = [distribution for mark, distribution in ASKED_BY.items() if mark in text]
    return asked + [each for each in FORKS if f"import {each.replace('-', '_')}" in text or f"from {each.replace('-', '_')}" in text]


def is_added(key: object, stated: Collection[str]) -> bool:
    """Whether one of the distributions that a project states adds a key to the package that it replaces."""
    return isinstance(key, str) and not set(ADDED.get(key, ())).isdisjoint(stated)


def fed_by(launch: Launch) -> str:
    """The kind whose config the arguments of a launch are, without a file; empty if there is none."""
    return next((kind for kind in kinds() if framework(kind).takes(launch)), "")


def known_packages() -> set[str]:
    """The packages whose version can be a target: those of all kinds, and others that rules ask for."""
    return {package for kind in kinds() for package in framework(kind).packages()} | {*OTHER_PACKAGES}


def framework(kind: str) -> Framework:
    if kind not in _loaded:
        if kind not in kinds():
            raise KeyError(kind)
        module = __import__(f"cfglint.frameworks.{kind}", fromlist=["FRAMEWORK"])
        _loaded[kind] = module.FRAMEWORK
    return _loaded[kind]


def trainers() -> tuple[str, ...]:
    """The trainers that a program can build from files of any kind: the values of `--trainer`."""
    return tuple(name for kind in kinds() for name in framework(kind).trainers)


def takes_arguments(kind: str) -> bool:
    """Whether files of this kind can take the arguments of a launch line: not those of a launcher or an engine."""
    own = framework(kind)
    return bool(own.package) and not (own.is_launcher or own.can_be_referenced)


def of_package(package: str) -> list[Framework]:
    return [framework(kind) for kind in kinds() if framework(kind).package == package]


def changes(package: str, names: Iterable[str]) -> set[Version]:
    """The releases of a package that change a field of one of these names."""
    histories = [history for own in of_package(package) for history in own.histories()]
    return {release for history in histories for name in names for release in history.changes(name)}


def import_changes(package: str, names: Iterable[str]) -> set[Version]:
    """The releases of a package that add or remove a public name, one of these, of a module."""
    return {release for own in of_package(package) for name in names for release in own.import_changes(name)}


def repository_owners(package: str) -> tuple[str, ...]:
    return tuple(owner for own in of_package(package) for owner in own.repository_owners)


@cached
def modelled_releases(package: str) -> list[str]:
    from cfglint.frameworks.releases._dates import RELEASES

    own = next(iter(of_package(package)), None)
    if own is None or package not in RELEASES:
        return [own.newest] if own is not None else []
    oldest, newest = parse_version(own.oldest or own.newest), parse_version(own.newest)
    every = [each.partition("@")[0] for each in RELEASES[package].split()]
    return [each for each in every if oldest <= parse_version(each) <= newest]


def released_since(package: str, releases: list[str], months: int) -> list[str]:
    """Those of some releases, oldest first, that came out in the months before the last of them."""
    from cfglint.frameworks.releases._dates import RELEASES

    dates = dict(each.split("@") for each in RELEASES.get(package, "").split())
    if not releases or releases[-1] not in dates:
        return releases
    newest = dates[releases[-1]]
    month = int(newest[:2]) * 12 + int(newest[2:4]) - 1 - months
    first = f"{month // 12:02}{month % 12 + 1:02}{newest[4:]}"
    return [release for release in releases if dates[release] >= first]


@cached
def nearest_modelled(package: str, version: str) -> str | None:
    """The modelled release nearest to a version of a package; None if the version itself is modelled, or the package is not."""
    own = next((own for own in map(framework, kinds()) if own.oldest and package in own.modelled), None)
    if own is None:
        return None
    (oldest, newest), release, parts = own.modelled[package], parse_version(version), own.release_parts
    is_old, is_new = release[:parts] < parse_version(oldest)[:parts], release[:parts] > parse_version(newest)[:parts]
    return oldest if is_old else newest if is_new else None


def learn(package: str, version: str, folder: str, opens: Callable[[str], bool]) -> bool:
    """Take the fields of an unmodelled release from its source in a folder; false if no framework understands it."""
    return any(own.learn(parse_version(version), folder, opens) for own in of_package(package))


def detect(document: Document) -> tuple[str | None, int]:
    """(kind, certainty) of a document; (None, MAYBE) if several kinds match or the match is uncertain."""
    best: list[str] = []
    clearest = NO_MATCH
    for kind in recognisable_kinds():
        clarity = framework(kind).detect(document)
        if clarity > clearest:
            best, clearest = [kind], clarity
        elif clarity and clarity == clearest:
            best.append(kind)
    bases = {framework(kind).base for kind in best}
    best = [kind for kind in best if kind not in bases]  # a kind that extends another one takes precedence
    if clearest == CERTAIN and len(best) == 1:
        return best[0], CERTAIN
    return None, MAYBE if clearest else NO_MATCH


def related_tool(document: Document) -> str | None:
    """The name of a tool that the file belongs to and that is not supported yet."""
    names = (framework(kind).related_tool(document) for kind in recognisable_kinds())
    return next((name for name in names if name), None)


REGISTERED.names, REGISTERED.load = kinds, framework
