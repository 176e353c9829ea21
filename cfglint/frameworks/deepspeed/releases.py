"""The fields of DeepSpeed's models and the keys that it looks up, through its releases."""

from __future__ import annotations

from cfglint.frameworks.deepspeed._tables import FIELDS, KEYS, SPANS
from cfglint.frameworks.releases.history import DEFAULT, History
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Operand

MODEL_HISTORY = History(FIELDS, SPANS)
KEY_HISTORY = History(KEYS)  # of the sections that are not models; "" is the top level


def looks_up(path: tuple[str, ...], release: Version) -> bool:
    """Whether a release has a key, among those that DeepSpeed looks up one by one."""
    return path[-1] in KEY_HISTORY.fields(".".join(path[:-1]), release)


def default_of_key(key: str, release: Version) -> Operand:
    return KEY_HISTORY.fields("", release)[key][DEFAULT]
