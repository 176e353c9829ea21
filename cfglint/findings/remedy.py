"""Remedies: what to do about a finding, as edits of keys where it names them."""

from __future__ import annotations

from cfglint.source.annotations import Callable, ConfigValue, Iterable
from cfglint.source.record import Record


class Step(Record):
    """A change of one key (empty: of that of the finding): it is set to a value, or to one of several, or removed.

    `reason` is said after it: " for the default".
    """

    key: str
    value: ConfigValue = None
    removes: bool = False
    reason: str = ""
    choices: tuple[str, ...] = ()


class Remedy(Record):
    """Alternatives: each is an edit, as its steps, or words where a person has to decide more than that."""

    alternatives: tuple[tuple[Step, ...] | str, ...]

    @property
    def edit(self) -> tuple[Step, ...]:
        """The steps of the one edit that it names; none if it leaves a choice."""
        first, *others = self.alternatives
        return () if others or isinstance(first, str) or any(step.choices for step in first) else first

    def __or__(self, other: Remedy | str | None) -> Remedy:
        return Remedy((*self.alternatives, *alternatives_of(other)))

    def __ror__(self, other: str | None) -> Remedy:
        return Remedy((*alternatives_of(other), *self.alternatives))

    def __and__(self, other: Remedy) -> Remedy:
        return Remedy(((*self.edit, *other.edit),))

    def text(self, spelled: Callable[[Step], str]) -> str:
        """The sentence; `spelled` is a step in the words of the file that it changes."""
        return ", or ".join(
            alternative if isinstance(alternative, str) else ", and ".join(map(spelled, alternative)) for alternative in self.alternatives
        )


def alternatives_of(remedy: Remedy | str | None) -> tuple[tuple[Step, ...] | str, ...]:
    """The alternatives of a remedy that may be words, or none."""
    if isinstance(remedy, Remedy):
        return remedy.alternatives
    return (remedy,) if remedy else ()


def set_key(key: object, value: ConfigValue, reason: str = "") -> Remedy:
    return Remedy(((Step(str(key), value, False, reason),),))


def set_one(key: str, choices: Iterable[str]) -> Remedy:
    return Remedy(((Step(key, choices=tuple(choices)),),))


def remove_key(key: object, reason: str = "") -> Remedy:
    return Remedy(((Step(str(key), None, True, reason),),))


def any_of(*remedies: Remedy | str | None) -> Remedy | None:
    """The remedy that leaves the choice between some; None if there is none."""
    alternatives = tuple(each for remedy in remedies for each in alternatives_of(remedy))
    return Remedy(alternatives) if alternatives else None
