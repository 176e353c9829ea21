"""The keys, distributed types and backends of accelerate's launcher, through its releases."""

from __future__ import annotations

from cfglint.frameworks.accelerate._tables import FIELDS, SPANS, SPAWNING, TYPES
from cfglint.frameworks.releases.history import History, holds
from cfglint.frameworks.releases.versions import Version
from cfglint.source.annotations import Callable, Folder, Mapping

HISTORY = History(FIELDS, SPANS)  # "" is the top level of a file for this machine
REQUIRED = 5  # column of a row: whether the file must have the key
KEYS_COMPARED = (0, 23)  # with those that the launcher knows; before, the class cannot be created with an unknown one
SAGEMAKER = "AMAZON_SAGEMAKER"
SAGEMAKER_FILE = "sagemaker"  # the section of the top level of a file for SageMaker
_learned: dict[Version, list[str]] = {}  # release whose source was read -> its distributed types


def learn(release: Version, folder: Folder, opens: Callable[[str], bool]) -> bool:
    from cfglint.frameworks.accelerate.source_fields import learned

    found, _learned[release] = learned(folder, opens)
    HISTORY.learn(release, found)
    return True


def types(release: Version) -> list[str]:
    return _learned[release] if release in _learned else _names(TYPES, release)


def spawning(release: Version) -> list[str]:
    """The types for which the launcher of a release starts a process on each device."""
    return _names(SPAWNING, release)


def _names(spans: Mapping[str, tuple[tuple[Version, Version], ...]], release: Version) -> list[str]:
    return [name for name, each in spans.items() if any(holds(since, until, release) for since, until in each)]
