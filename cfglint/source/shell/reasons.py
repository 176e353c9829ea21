"""Why a value of a script is unknown: words for people, with the cause for the code that asks."""

from __future__ import annotations

UNSET = "unset"  # a variable that nobody sets
PARAMETER = "parameter"  # one of the call of the script
CALL = "call"  # arguments of the script decide a branch that sets it
MACHINE = "machine"  # a number of the machine that the script runs on
DERIVED = "derived"  # it is computed from another unknown value


class Reason(str):
    """The words, the kind of cause, and the name of the variable or parameter."""

    __slots__ = ("kind", "name")

    kind: str
    name: str

    def __new__(cls, words: str, kind: str = "", name: str = "") -> Reason:
        """Make the reason of some words."""
        made = super().__new__(cls, words)
        made.kind = kind
        made.name = name
        return made


OF_CALL = Reason("depends on the arguments of the script", CALL)  # a branch sets it that these decide


def unset(name: str) -> Reason:
    """A variable that neither the script nor `--env` sets."""
    return Reason(f"unset environment: {name}", UNSET, name)


def parameter(name: str) -> Reason:
    """A parameter of the call of the script: `$1`, `$@`."""
    return Reason(f"positional parameter: {name}", PARAMETER, name)


ALL_OF_CALLER = parameter("$@")


def derived(names: str) -> Reason:
    """Other unknown values that say why."""
    return Reason(f"see {names}", DERIVED, names)


def kind_of(reason: str) -> str:
    """The kind of cause; empty if no code asks for it."""
    return reason.kind if isinstance(reason, Reason) else ""


def is_of_caller(reason: str) -> bool:
    """Whether only the caller of the script decides the value."""
    return kind_of(reason) in (UNSET, PARAMETER, CALL)


def from_caller(reason: str) -> bool:
    """Whether only the caller of the script could set the value."""
    return kind_of(reason) in (UNSET, PARAMETER)
