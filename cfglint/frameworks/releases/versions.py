"""Versions of releases, as numbers that can be compared, and the names that fields have in them."""

from __future__ import annotations

from cfglint.frameworks.releases._modelled import RENAMED
from cfglint.source.annotations import Mapping, Sequence
from cfglint.source.limits import LONGEST_NUMBER
from cfglint.source.numbers import DIGITS

Version = tuple[int, ...]

INSTALLED = "installed"  # in the place of a target: the releases in the project's environment
LONGEST_VERSION = 80
VERSION_SIGNS = "._+!-*"
VERSION_PARTS = 3

_versions: dict[str, Version] = {}


def is_version(text: str) -> bool:
    if not text or text[0] not in DIGITS or len(text) > LONGEST_VERSION or not text.isascii():
        return False
    return all(char.isalnum() or char in VERSION_SIGNS for char in text)


def parse_version(text: str) -> Version:
    """Parse `4.42.4` or `2026-05` into at least three numbers, which compare as versions do: 5.0 is 5.0.0; suffixes are cut."""
    if text not in _versions:
        numbers: list[int] = []
        for part in text.replace("-", ".").split("."):  # up to the first part that does not begin with a number
            digits = next((part[:end] for end, char in enumerate(part) if char not in DIGITS), part)
            if not digits or len(digits) > LONGEST_NUMBER:
                break
            numbers.append(int(digits))
        _versions[text] = (*numbers, *(0,) * (VERSION_PARTS - len(numbers))) if numbers else ()
    return _versions[text]


def dotted(parts: Sequence[object]) -> str:
    """A version, or the path of a key, as a string: `4.42.4`."""
    return ".".join(map(str, parts))


def is_likely(requested: str, release: str) -> bool:
    """Whether what is requested is a modelled release that only the text of a page names: `4.42.4 in the text of README.md`."""
    return requested.startswith(f"{dotted(parse_version(release))} ")


def name_at(name: str, package: str, release: Version) -> str:
    new, since = RENAMED.get(package, {}).get(name, (name, ""))
    return name_at(new, package, release) if since and release >= parse_version(since) else name


def current_name(name: str, releases: Mapping[str, Version]) -> str:
    """The name of a field in the first of some packages that renamed it."""
    names = (name_at(name, package, release) for package, release in releases.items())
    return next((new for new in names if new != name), name)
