"""A refusal: what a framework does not accept, with everything that a finding about it says."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.remedy import Remedy, any_of, remove_key
from cfglint.findings.rule import Finding
from cfglint.findings.setting import Setting
from cfglint.findings.vocabulary import Stage
from cfglint.frameworks.releases.versions import dotted
from cfglint.source.annotations import Any, Callable, ConfigValue, Iterable, Mapping, Operand, Sequence, TypeAlias
from cfglint.source.record import Record

Steps: TypeAlias = "Sequence[Remedy | str | Removal]"

FAILURE = "type"  # the kind of a refusal where Python itself fails on a value


class Refusal(Exception):
    """A refusal by a framework: its kind, the keys it is about, cfglint's message, the exception that the user sees, and the remedy.

    The first key is the place of the finding, further ones are related. Each step of `help` is an alternative. `read` are the keys that
    decide, if that is known, `note` what the finding adds, `depends_on` what is not known and decides whether it comes.
    """

    depends_on: Sequence[Reason] = ()
    read: Sequence[str] = ()
    note: str | None = None

    def __init__(
        self,
        kind: str,
        keys: Sequence[str],
        message: str,
        exception: str = "",
        help: Steps | Callable[[], Steps] = (),  # noqa: A002
        fails_at: Stage = "config",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.paths = [tuple(key.split(".")) for key in keys]
        self.message = message
        self.exception = exception
        self._help = help
        self.fails_at = fails_at

    @property
    def help(self) -> Steps:
        """The remedy; a function is called when it is asked for, as trying changes takes longer than the check itself."""
        if callable(self._help):
            self._help = self._help()
        return self._help

    @help.setter  # noqa: A003
    def help(self, steps: Steps) -> None:
        self._help = steps

    @property
    def failed(self) -> bool:
        """Whether Python fails on a value, which no check refuses."""
        return self.kind == FAILURE

    @property
    def keys(self) -> list[str]:
        return [*map(dotted, self.paths)]

    @property
    def key(self) -> str:
        return next(iter(self.keys), "")

    def finding(self, places: Iterable[Setting], values: Mapping[str, ConfigValue], **more: Any) -> Finding:
        """The finding in a file with some values; `places` are the settings of the keys, the first one that of the finding."""
        first, *others = places
        return Finding(
            first,
            self.message,
            related=[other for other in others if other.written],
            exception=self.exception,
            fails_at=self.fails_at,
            help=lambda: self.help_for(values),
            **{"depends_on": self.depends_on, **more},
        )

    def help_for(self, values: Mapping[str, ConfigValue]) -> Remedy | None:
        """The remedy for a file with these values: `set ..., or remove ...`."""
        steps = [step.within(values) if isinstance(step, Removal) else step for step in self.help]
        return any_of(*steps)


class Removal(Record):
    """The instruction to remove a key, or to use another value of it; none for a key that is not in the file, or has to stay."""

    key: str
    value: str = ""
    stays: bool = False

    def within(self, values: Mapping[str, Operand]) -> Remedy | str:
        if self.value and self.value not in ("true", "false"):
            return f"use another `{self.key}`"
        section: Operand = values
        *sections, name = self.key.split(".")
        for inner in sections:
            section = section.get(inner) if isinstance(section, dict) else None
        return remove_key(self.key) if isinstance(section, dict) and name in section and not self.stays else ""


class Words(Record):
    """What the findings of a kind say besides its rows.

    `kept` are keys that make the run what it is, which no remedy removes; `machine` has words for conditions on the machine, which no key
    sets, None where only the framework's message says it; `is_flag` is whether a key is a switch; `counted` what numbers of the machine
    count.
    """

    kept: Sequence[str]
    machine: Mapping[tuple[str, ...], str | None]
    is_flag: Callable[[str], bool]
    counted: Mapping[tuple[str, ...], str] = {}
