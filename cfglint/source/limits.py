"""Limits of a file, beyond which cfglint reports SRC004 and stops reading. A config of a run is a few kilobytes."""

from __future__ import annotations

from cfglint.source.document import LIMIT, Problem

MAX_SIZE = 5_000_000  # bytes
MAX_DEPTH = 200  # levels of nesting
MOST_PARTS = 1_000_000  # keys, values, ends of collections and comments, which take a hundred times the memory of their source
MOST_EXPANDED = 10_000  # entries that aliases and merge keys may add
MOST_DIGITS = 500  # of an integer: more than a float has, and few enough for products of several to be printed
LONGEST_NUMBER = 30  # digits of a part of a version, of a number in a log or in a launch file: the largest have fifteen
MOST_FOR_PYTHON = 250_000  # characters of YAML, three seconds of PyYAML's parser in Python; for a larger file libyaml decides


def too_many() -> Problem:
    return Problem(0, 0, f"more than {MOST_PARTS:,} keys, values and comments are too many", LIMIT)


def too_deep(place: int) -> Problem:
    return Problem(place, place + 1, f"nested deeper than {MAX_DEPTH} levels", LIMIT)


class TooDeep(Exception):
    """More nested collections than any config has."""
