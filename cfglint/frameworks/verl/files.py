"""The config files of a release of verl, from the generated tables, as Hydra finds them in the installed package."""

from __future__ import annotations

import functools
import posixpath

from cfglint.frameworks.releases.history import DEFAULT, History
from cfglint.frameworks.releases.versions import Version
from cfglint.frameworks.verl._tables import FIELDS, SPANS
from cfglint.source.annotations import ConfigMapping, ConfigValue, Operand
from cfglint.source.hydra.defaults_list import Source
from cfglint.source.record import Record

HISTORY = History(FIELDS, SPANS)
DEFAULTS, HEADER, CLASS = "@defaults", "@package", "class "


class ReleaseFiles(Record):
    """The repository of a composition: the files below `verl/trainer/config` of a release."""

    release: Version

    def load(self, path: str) -> Source | None:
        name = posixpath.normpath(path.removesuffix(".yaml"))
        return source(name, self.release) if self._has(name) else None

    def is_group(self, path: str) -> bool:
        return any(name.startswith(f"{path}/") and self._has(name) for name in FIELDS)

    def options(self, group: str) -> list[str]:
        return sorted(posixpath.basename(name) for name in FIELDS if posixpath.dirname(name) == group and self._has(name))

    def _has(self, name: str) -> bool:
        return not name.startswith(CLASS) and HISTORY.has_section(name, self.release)


@functools.cache
def source(name: str, release: Version) -> Source:
    values: ConfigMapping = {}
    defaults: list[ConfigValue] = []
    package: str | None = None
    for key, row in HISTORY.fields(name, release).items():
        if key == DEFAULTS:
            defaults = [{item[0]: item[1]} if isinstance(item, (list, tuple)) else item for item in row[DEFAULT]]
        elif key == HEADER:
            package = row[DEFAULT]
        else:
            section = values
            *sections, last = key.split(".")
            for step in sections:
                section = section.setdefault(step, {})
            section[last] = as_lists(row[DEFAULT])
    return Source(name, values, defaults, package)


def as_lists(value: object) -> Operand:
    return [as_lists(item) for item in value] if isinstance(value, (list, tuple)) else value
