"""The names of renamed fields: code that knows a field by one name finds it under the name that the targeted release has."""

from __future__ import annotations

from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.source.annotations import Mapping


def name_at(name: str, package: str, release: Version) -> str:
    new, since = RENAMED.get(package, {}).get(name, (name, ""))
    return name_at(new, package, release) if since and release >= parse_version(since) else name


def names_at(path: tuple[str | int, ...], releases: Mapping[str, Version]) -> tuple[str | int, ...]:
    """A path with the names that its keys have in the releases of some packages."""
    return tuple(current_name(step, releases) if isinstance(step, str) else step for step in path)


def current_name(name: str, releases: Mapping[str, Version]) -> str:
    """The name of a field in the first of some packages that renamed it."""
    names = (name_at(name, package, release) for package, release in releases.items())
    return next((new for new in names if new != name), name)
