"""axolotl's fields and validators through its releases, and the libraries that each release accepts."""

from __future__ import annotations

import functools

from cfglint.findings.releases import Releases
from cfglint.frameworks.axolotl._tables import FIELDS, LIBRARIES, RELEASES, SPANS, VALIDATORS
from cfglint.frameworks.releases.history import UNTIL, History, holds
from cfglint.frameworks.releases.versions import Version, dotted, parse_version
from cfglint.source.annotations import Callable, Folder

TOP = ""
PLUGIN = "plugin "
LIMITS, REQUIRED = UNTIL + 1, UNTIL + 2

HISTORY = History(FIELDS, SPANS)

# What several checks depend on.
FSDP2_ONLY = Releases((0, 20, 0))  # FSDP1 was removed
NEW_FSDP = Releases((0, 12, 0))  # `fsdp_version` at the top level
OWN_STEPS = Releases((0, 10, 0))  # axolotl passes its own count of steps as `max_steps`
BUILT_IN_PLUGINS = Releases((0, 20, 0))
REQUIRED_PLUGINS = Releases((0, 21, 0))  # a plugin that cannot be imported ends the run; it was ignored before


def learn(release: Version, folder: Folder, opens: Callable[[str], bool]) -> bool:
    from cfglint.frameworks.axolotl.source_fields import find, sections

    HISTORY.learn(release, sections(find(folder, lenient=True, opens=opens))[0])
    return True


PLUGIN_SECTIONS = [section for section in FIELDS if section.startswith(PLUGIN)]


def ever(name: str) -> bool:
    """Whether the top level of any release has a field, its own or that of a plugin."""
    return any(name in HISTORY.names(section) for section in (TOP, *PLUGIN_SECTIONS))


def library(package: str, release: Version) -> str:
    return next(version for since, version in reversed(LIBRARIES[package]) if since <= release)


def newest_with_transformers(version: Version) -> str:
    """The newest release that accepts a minor release of transformers; empty if none does."""
    found = [index for index, (_, pinned) in enumerate(LIBRARIES["transformers"]) if parse_version(pinned)[:2] == version[:2]]
    if not found:
        return ""
    following = [since for since, _ in LIBRARIES["transformers"][found[-1] + 1 :]]
    return dotted(max(each for each in RELEASES if not following or each < following[0]))


@functools.cache
def has_validator(name: str, release: Version) -> bool:
    return any(holds(since, until, release) for since, until in VALIDATORS[name])
