"""The fields of TRL's classes through its releases, and the transformers of the day of each."""

from __future__ import annotations

from cfglint.frameworks.releases.history import History, holds
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl._tables import ENTRIES, FIELDS, SPANS, STABLE, TRANSFORMERS_OF_THE_DAY

HISTORY = History(FIELDS, SPANS)
ENTRY = History(ENTRIES)  # of an entry of `datasets`


def is_experimental(name: str, release: Version) -> bool:
    """Whether a release has a class in its folder `experimental` only."""
    return name in STABLE and not any(holds(since, until, release) for since, until in STABLE[name])


def transformers_of(release: Version) -> str:
    """The newest transformers on the day of a release of TRL."""
    return [version for since, version in TRANSFORMERS_OF_THE_DAY if since <= release][-1]
