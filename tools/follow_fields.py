"""What changed in the fields of a framework between two releases: added, removed and renamed fields, defaults, choices and types."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from history_rows import Fact, Sections, literal, same

ALIKE = 0.5  # of the characters of two names, for a removed field to be an added one under another name
NEARLY_EQUAL = 0.75  # the same for fields that have another default


class Renamed(NamedTuple):
    """A guess: the added field has the type of the removed one and a similar name, and the same default or nearly the same name."""

    section: str
    old: str
    new: str


def renamed(before: Sections, after: Sections) -> list[Renamed]:
    """The removed fields that an added one seems to replace."""
    found: list[Renamed] = []
    for section in before.keys() & after.keys():
        old, new = before[section], after[section]
        for is_successor in (has_all, has_type):
            for name in sorted(old.keys() - new.keys() - {each.old for each in found if each.section == section}):
                fresh = new.keys() - old.keys() - {each.new for each in found if each.section == section}
                alike = [each for each in sorted(fresh) if is_successor(name, old[name], each, new[each])]
                if alike:
                    found.append(Renamed(section, name, max(alike, key=lambda each: likeness(name, each))))
    return sorted(found)


def has_all(name: str, old: Fact, other: str, new: Fact) -> bool:
    """Whether a field has a similar name, and all that the other one has."""
    return same(old, new) and likeness(name, other) >= ALIKE


def has_type(name: str, old: Fact, other: str, new: Fact) -> bool:
    """Whether a field has nearly the same name and the type of the other one."""
    return old[0] == new[0] and in_characters(name, other) >= NEARLY_EQUAL


def likeness(one: str, other: str) -> float:
    """How similar two names are: from 0 to 1, 1 if one has the other as one of its parts."""
    parts = set(one.split("_")), set(other.split("_"))
    if parts[0] <= parts[1] or parts[1] <= parts[0]:
        return 1
    return in_characters(one, other)


def in_characters(one: str, other: str) -> float:
    """The ratio of equal characters of two names."""
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def changes(before: Sections, after: Sections) -> Iterator[str]:
    """The changes as lines, section by section."""
    guesses = renamed(before, after)
    for section in [*after, *(name for name in before if name not in after)]:
        old, new = before.get(section, {}), after.get(section, {})
        name_of = f"{section or 'top level'}: "
        moved = {guess.old: guess.new for guess in guesses if guess.section == section}
        for name, now in moved.items():
            what = "type and default" if same(old[name], new[now]) else "type"
            yield f"{name_of}renamed `{name}` to `{now}` (a guess: same {what}, similar name)"
            yield from (f"{name_of}`{now}`: {line}" for line in of_field(old[name], new[now]))
        for name in new.keys() - old.keys() - set(moved.values()):
            yield f"{name_of}added `{name}` ({described(new[name])})"
        for name in old.keys() - new.keys() - moved.keys():
            yield f"{name_of}removed `{name}` ({described(old[name])})"
        for name in sorted(old.keys() & new.keys()):
            for line in of_field(old[name], new[name]):
                yield f"{name_of}`{name}`: {line}"


def changes_of_names(before: Mapping[str, Collection[str]], after: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The names that came and went, such as the values of a field or the classes of a kind, by what they are."""
    for kind in sorted(before.keys() & after.keys()):
        more, less = sorted(set(after[kind]) - set(before[kind])), sorted(set(before[kind]) - set(after[kind]))
        if more or less:
            words = [f"added {', '.join(map(literal, more))}"] * bool(more) + [f"removed {', '.join(map(literal, less))}"] * bool(less)
            yield f"`{kind}`: {'; '.join(words)}"


def of_field(old: Fact, new: Fact) -> Iterator[str]:
    """What changed in one field."""
    if old[0] != new[0]:
        yield f"type {literal(old[0])} -> {literal(new[0])}"
    if not same((old[1],), (new[1],)):
        yield f"default {literal(old[1])} -> {literal(new[1])}"
    if not same(old[2:], new[2:]):
        more, less = (
            [each for each in one if each not in other] for one, other in ((flat(new[2:]), flat(old[2:])), (flat(old[2:]), flat(new[2:])))
        )
        words = [f"added {', '.join(map(literal, more))}"] * bool(more) + [f"removed {', '.join(map(literal, less))}"] * bool(less)
        yield f"choices: {'; '.join(words) or 'in another order'}"


def flat(parts: tuple[Any, ...]) -> list[Any]:
    """The values in nested tuples."""
    return [value for part in parts for value in (flat(tuple(part)) if isinstance(part, (tuple, list)) else [part])]


def described(fact: Fact) -> str:
    """The type and default of a field."""
    kind = fact[0] if isinstance(fact[0], str) else literal(fact[0])
    return f"{kind}, default {literal(fact[1])}" if kind else f"default {literal(fact[1])}"
