"""Which releases of packages can be installed together, by what each release requires of others."""

from __future__ import annotations

import operator

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases._requirements import REQUIREMENTS
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.source.annotations import Iterable, Mapping

COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne}
OTHERS = {package: tuple(others) for package, others in REQUIREMENTS.items()}  # package -> those that its releases require


def required(package: str, release: Version, other: str) -> str:
    """The specifier of another package that a release requires; empty if it accepts every version, or if that is not known."""
    steps = REQUIREMENTS.get(package, {}).get(other, ())
    return next((spec for since, spec in reversed(steps) if since <= release), "")


def meets(version: Version, spec: str) -> bool:
    """Whether a version meets all clauses of a specifier: `>=4.46,!=4.47.*`."""
    for clause in filter(None, spec.split(",")):
        sign = clause[: len(clause) - len(clause.lstrip("<>=!"))]
        named = clause.removeprefix(sign)
        bound = parse_version(named)
        if named.endswith(".*"):
            prefix = bound[: named.count(".")]
            is_met = (version[: len(prefix)] == prefix) == (sign == "==")
        else:
            is_met = COMPARED.get(sign, operator.eq)(version, bound)
        if not is_met:
            return False
    return True


def accepts(package: str, release: str, others: Mapping[str, str]) -> bool:
    """Whether a release of a package can be installed with these releases of others."""
    version = parse_version(release)
    return all(meets(parse_version(stated), required(package, version, other)) for other, stated in others.items())


def known_others(facts: LaunchFacts, package: str) -> dict[str, str]:
    """The releases of the packages that one requires, as far as they are stated."""
    stated = {other: facts.target.get(other) or facts.pinned.get(other, ("", ""))[0] for other in OTHERS.get(package, ())}
    return {other: release for other, release in stated.items() if release}


def newest_with(package: str, releases: Iterable[str], others: Mapping[str, str]) -> str:
    """The last of some releases of a package, oldest first, that can be installed with these of others; empty if none can."""
    return next((release for release in reversed([*releases]) if accepts(package, release, others)), "")
