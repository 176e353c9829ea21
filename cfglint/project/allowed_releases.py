"""The releases of a package that a project allows, if it does not state one."""

from __future__ import annotations

from cfglint.frameworks import modelled_releases, released_since
from cfglint.frameworks.releases._dates import RELEASES
from cfglint.frameworks.releases.bounds import allowed, has_lower_bound
from cfglint.frameworks.releases.versions import parse_version
from cfglint.source import cached
from cfglint.source.annotations import Iterable

MONTHS = 18  # without a lower bound, releases that are older than this when the newest allowed one comes out are not expected


def newest_allowed(package: str, specs: Iterable[str]) -> str:
    """The newest modelled release that one of the specifiers allows, else the newest release of the index; empty if there is none."""
    every = [each.partition("@")[0] for each in RELEASES.get(package, "").split()]
    for releases in (modelled_releases(package), every):
        found = {each for spec in specs for each in allowed(spec, releases)}
        if found:
            return max(found, key=parse_version)
    # The lowest version that a specifier names, for bounds that no release satisfies.
    named = [clause.lstrip("=~<>! ").removesuffix(".*") for spec in specs for clause in spec.split(",")]
    return min(filter(parse_version, named), key=parse_version, default="")


@cached
def allowed_releases(package: str, specs: tuple[str, ...]) -> list[str]:
    """The modelled releases that one of the specifiers allows, oldest first; without a lower bound those of the last eighteen months."""
    modelled = modelled_releases(package)
    kept = {*(released_since(package, modelled, MONTHS) if not specs else ())}
    for spec in specs:
        releases = allowed(spec, modelled)
        kept.update(releases if has_lower_bound(spec) else released_since(package, releases, MONTHS))
    return [release for release in modelled if release in kept]
