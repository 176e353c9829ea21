"""What is not known, and why."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal, TypeAlias

    ReasonKind: TypeAlias = Literal["release", "argument", "branch", "program", "environment", "file", "budget", "machine", "derived"]

VERBS = {
    **dict.fromkeys(("branch", "release"), "depends on"),
    **dict.fromkeys(("environment", "file"), "reads"),
    "budget": "exceeds",
    "program": "computes",
}


class Reason:
    """Something that is not known, and why; it is met at a `line` of a `file`, 0 for the whole file, empty for outside of the project.

    `opens`: it may set any field that is not written, so that no default is known. `name` is that of the variable or parameter. Two that
    differ in the place alone are the same reason.
    """

    __slots__ = ("file", "kind", "line", "name", "opens", "what", "why")

    def __init__(
        self, kind: ReasonKind, what: str, why: str = "", file: str = "", line: int = 0, opens: bool = False, name: str = ""
    ) -> None:
        self.kind = kind
        self.what = what
        self.why = why
        self.file = file
        self.line = line
        self.opens = opens
        self.name = name

    def at(self, file: str, line: int) -> Reason:
        """The reason at its place; one that has a place keeps it."""
        return self if self.line else Reason(self.kind, self.what, self.why, file, line, self.opens, self.name)

    @property
    def text(self) -> str:
        """It in words: `the arguments of `train.py` (own parser in `pkg/rm.py`)`."""
        return f"{self.what} ({self.why})" if self.why else self.what

    @property
    def cause(self) -> str:
        """It in words with its place: `train.py:31 reads the variable `BATCH``."""
        return f"{self.file}:{self.line} {VERBS.get(self.kind, 'takes')} {self.text}" if self.file and self.line else self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.kind, self.what, self.why) == (other.kind, other.what, other.why)

    def __hash__(self) -> int:
        return hash((self.kind, self.what, self.why))

    def __repr__(self) -> str:
        return f"<Reason {self.kind}: {self.cause}>"


class Unknown:
    """A value that is not known; numbers computed from it are null, and no finding may depend on it."""

    __slots__ = ("reasons",)

    def __init__(self, *reasons: Reason) -> None:
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


class Choice(Unknown):
    """One of several values: the reasons decide which."""

    __slots__ = ("options",)

    def __init__(self, options: Sequence[Any], *reasons: Reason) -> None:
        super().__init__(*reasons)
        self.options = options


class Perhaps(Unknown):
    """The value of a key that may not be set at all: the reasons decide whether it is, and to what."""

    __slots__ = ()


def distinct(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Reasons without those that are the same at another place."""
    return tuple(dict.fromkeys(reasons))


def because(reasons: Sequence[Reason]) -> str:
    """Why a value is not known, in the words of every command."""
    causes = [*dict.fromkeys(each.cause for each in sorted(reasons, key=lambda reason: not reason.line))]
    link = ", because" if any(reason.line for reason in reasons) else ":"
    return f"not known{link} {' and '.join(causes)}" if causes else "not known"
