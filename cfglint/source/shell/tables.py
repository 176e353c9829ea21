"""Tables of names that are written as one string."""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())
