"""The fields of TRL's classes through its releases."""

from __future__ import annotations

from cfglint.frameworks.history import History
from cfglint.frameworks.trl._tables import FIELDS, SPANS

HISTORY = History(FIELDS, SPANS)
