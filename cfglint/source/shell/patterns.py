"""Patterns of the shell: `*`, `?`, `[...]`; an unclear or expensive match is unknown."""

from __future__ import annotations

from cfglint.evaluate import Unknown
from cfglint.source.annotations import Callable, Truth
from cfglint.source.budget import Budget, Exhausted
from cfglint.source.shell import matching
from cfglint.source.shell.placed_text import Text
from cfglint.source.shell.reasons import UNCLEAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Result = TypeVar("Result")

STEPS_OF_MATCH = 2_000  # of a single match: a longer one is unknown, and the evaluation continues
GLOB_MARKS = "*?[\\(]-!^"  # characters that may have a meaning in a pattern of the shell
PLAIN = frozenset("*?[\\(").isdisjoint


def limited(budget: Budget, match: Callable[[Budget], Result]) -> Result | None:
    """The result of a match; None if it takes too many steps, or if its meaning is not certain."""
    part = Budget(STEPS_OF_MATCH, budget)
    try:
        return match(part)
    except matching.UnclearPattern:
        return None
    except Exhausted:
        if budget.is_spent:
            raise
        return None


def trimmed(value: str, pattern: str, operator: str, budget: Budget) -> tuple[int, int] | None:
    """(start, end) of the part that remains after a pattern is removed at one side; None if that is unknown."""
    at_end = operator[0] == "%"
    automaton = matching.glob(pattern, at_end)
    if automaton is None:
        return None
    ends = limited(budget, lambda part: automaton.ends(value[::-1] if at_end else value, 0, part))
    if ends is None:
        return None
    cut = 0 if not ends else ends[-1] if len(operator) > 1 else ends[0]
    return (0, len(value) - cut) if at_end else (cut, len(value))


def replaced(value: str, pattern: str, replacement: str, operator: str, budget: Budget) -> str | None:
    """A string with the first match of a pattern replaced, or with `//` every match; None if that is unknown."""
    if not pattern:
        return replacement + value if operator == "/#" else value + replacement if operator == "/%" else value
    at_end = operator == "/%"
    automaton = matching.glob(pattern, at_end)
    if automaton is None or (pattern.startswith("*") and pattern.endswith("\\*")):  # bash 5.2 does not find an asterisk at the end
        return None
    if at_end or operator == "/#" or not value:
        ends = limited(budget, lambda part: automaton.ends(value[::-1] if at_end else value, 0, part))
        if ends is None:
            return None
        cut = ends[-1] if ends else 0
        return value if not ends else value[: len(value) - cut] + replacement if at_end else replacement + value[cut:]

    def substituted(budget: Budget) -> str:
        found: list[str] = []
        at = kept = 0
        while at < len(value):
            ends = automaton.ends(value, at, budget)  # the longest match counts
            if not ends or ends[-1] == at:
                at += 1
                continue
            found += [value[kept:at], replacement]
            at = kept = ends[-1]
            if operator != "//":
                break
        return "".join([*found, value[kept:]])

    return limited(budget, substituted)


def fits(pattern: Text, value: str, budget: Budget) -> Truth:
    known = pattern.value
    if known is None:
        return Unknown(*pattern.reasons)
    if PLAIN(known):
        return known == value
    automaton = matching.glob(known)
    if automaton is None:
        return UNCLEAR
    ends = limited(budget, lambda part: automaton.ends(value, 0, part))
    return UNCLEAR if ends is None else bool(ends) and ends[-1] == len(value)


def contains(pattern: str, value: str, budget: Budget) -> Truth:
    """Whether a part of a string matches an extended regular expression."""
    automaton = matching.expression(pattern)
    holds = limited(budget, lambda part: automaton.is_in(value, part)) if automaton is not None else None
    return UNCLEAR if holds is None else holds


def escaped(text: str, marks: str = GLOB_MARKS) -> str:
    """A string as a pattern that matches nothing else."""
    return "".join(f"\\{char}" if char in marks else char for char in text)
