"""Tables of names that are written as one string."""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """The words of a string, as a set."""
    return frozenset(text.split())


def listed(text: str) -> tuple[str, ...]:
    """The words of a string, in order."""
    return tuple(text.split())
