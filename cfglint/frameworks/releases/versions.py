"""Versions of releases, as numbers that can be compared."""

from __future__ import annotations

from cfglint.source.annotations import Sequence
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
