"""Tables of names that are written as text."""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """Words between blanks, as a set."""
    return frozenset(text.split())


def listed(text: str) -> tuple[str, ...]:
    """Words between blanks, in their order."""
    return tuple(text.split())
