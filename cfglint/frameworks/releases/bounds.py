"""Which releases a version specifier allows; the only module that imports `packaging`."""

from __future__ import annotations

from contextlib import suppress

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from cfglint.source import cached
from cfglint.source.annotations import Iterable

MOST_CLAUSES = 100  # of a specifier
MOST_CHARACTERS = 100  # of a clause; a longer one names no release, and its numbers may be too long to convert


def allowed(spec: str, releases: Iterable[str]) -> list[str]:
    """The releases that a specifier allows, in their order; all of them if it is none."""
    return [release for release in releases if includes(spec, release)]


@cached
def includes(spec: str, release: str) -> bool:
    """Whether a specifier allows a release of ours; each run of a repository asks the same."""
    return specifiers(spec).contains(release, prereleases=True)


def allows(spec: str, version: str) -> bool:
    """Whether a specifier allows a version; any that is not one is not refused."""
    if len(version) > MOST_CHARACTERS:
        return True
    try:
        return specifiers(spec).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return True


def has_lower_bound(spec: str) -> bool:
    """Whether a specifier excludes old releases."""
    return any(specifier.operator in (">=", ">", "~=", "==", "===") for specifier in specifiers(spec))


@cached
def specifiers(spec: str) -> SpecifierSet:
    """A specifier as `packaging` understands it; clauses that it does not understand are left out, as are very long or many ones."""
    if spec.count(",") > MOST_CLAUSES:
        return SpecifierSet()
    if len(spec) > MOST_CHARACTERS:
        spec = ",".join(clause for clause in spec.split(",") if len(clause) <= MOST_CHARACTERS)
    try:
        return SpecifierSet(spec)
    except InvalidSpecifier:
        valid = []
        for clause in spec.split(","):
            with suppress(InvalidSpecifier):
                SpecifierSet(clause)
                valid.append(clause)
        return SpecifierSet(",".join(valid))
