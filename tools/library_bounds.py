"""The newest and the oldest version of a library that a release of a package accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packaging.requirements import Requirement
from packaging.version import Version

UPPER = ("<", "<=", "==", "~=")
LOWER = (">", ">=", "==", "~=")
ALWAYS = "9999"


def newest_accepted(wanted: Sequence[Requirement], published: Mapping[str, str], day: str) -> str:
    """The newest accepted version by the requirements of a release; no newer than the day of the release if none is an upper bound.

    `published` maps the versions of the library to their days.
    """
    bounded = [each for each in wanted if any(part.operator in UPPER for part in each.specifier)]
    last = ALWAYS if bounded else day
    candidates = [Version(name) for name, of in published.items() if of <= last]
    accepted = [
        candidate
        for candidate in candidates
        if not candidate.is_prerelease and all(candidate in requirement.specifier for requirement in (bounded or wanted)[:1])
    ]
    return str(max(accepted))


def oldest_accepted(wanted: Sequence[Requirement]) -> str:
    """The lower bound of the requirements of a release; empty if there is none."""
    bounds = [part.version for each in wanted for part in each.specifier if part.operator in LOWER]
    return str(max(map(Version, bounds))) if bounds else ""
