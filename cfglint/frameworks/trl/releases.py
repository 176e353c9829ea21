"""The fields of TRL's classes through its releases."""

from __future__ import annotations

from cfglint.frameworks.history import History, holds
from cfglint.frameworks.trl._tables import FIELDS, SPANS, STABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.frameworks.versions import Version

HISTORY = History(FIELDS, SPANS)


def is_experimental(name: str, release: Version) -> bool:
    """Whether a release has a class in its folder `experimental` only."""
    return name in STABLE and not any(holds(since, until, release) for since, until in STABLE[name])
