"""A value that is set but unknown: a shell variable that is set nowhere, the output of a command."""

from __future__ import annotations


class Unknown:
    """A value about which nothing is known; numbers computed from it are null, and no finding may depend on it."""

    __slots__ = ("reasons",)

    def __init__(self, reasons: tuple[str, ...] = ()) -> None:
        self.reasons = reasons

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "<?>"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return 0
