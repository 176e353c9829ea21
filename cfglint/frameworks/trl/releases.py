"""The fields of TRL's classes through its releases."""

from __future__ import annotations

from cfglint.frameworks.releases.history import History, holds
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.trl._tables import ENTRIES, FIELDS, SPANS, STABLE

HISTORY = History(FIELDS, SPANS)
ENTRY = History(ENTRIES)  # of an entry of `datasets`


def is_experimental(name: str, release: Version) -> bool:
    """Whether a release has a class in its folder `experimental` only."""
    return name in STABLE and not any(holds(since, until, release) for since, until in STABLE[name])
