"""The fields of TRL's classes through its releases, and the releases of transformers that belong to them."""

from __future__ import annotations

from cfglint.frameworks.history import History, holds
from cfglint.frameworks.trl._tables import ENTRIES, FIELDS, RELEASES, SPANS, STABLE, TRANSFORMERS_NEEDED, TRANSFORMERS_OF_THE_DAY
from cfglint.frameworks.versions import Version, dotted, parse_version

HISTORY = History(FIELDS, SPANS)
ENTRY = History(ENTRIES)  # of an entry of `datasets`


def is_experimental(name: str, release: Version) -> bool:
    """Whether a release has a class in its folder `experimental` only."""
    return name in STABLE and not any(holds(since, until, release) for since, until in STABLE[name])


def transformers_of(release: Version) -> str:
    """The newest transformers on the day of a release of TRL."""
    return [version for since, version in TRANSFORMERS_OF_THE_DAY if since <= release][-1]


def newest_for(transformers: Version) -> str:
    """The newest release of TRL that accepts a release of transformers; the oldest one if none does."""
    for release in reversed(RELEASES):
        if accepts(release, transformers):
            return dotted(release)
    return dotted(RELEASES[0])


def transformers_needed(release: Version) -> str:
    """The bound of the requirements of a release of TRL on transformers: `>=4.46.0` or `<4.47.0`."""
    return [bound for since, bound in TRANSFORMERS_NEEDED if since <= release][-1]


def accepts(release: Version, transformers: Version) -> bool:
    """Whether the requirements of a release of TRL allow a release of transformers."""
    wanted = transformers_needed(release)
    if wanted.startswith(">="):
        return transformers >= parse_version(wanted[2:])
    return transformers < parse_version(wanted[1:])
