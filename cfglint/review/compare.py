"""A run before and after a change: what that means, which settings differ, which findings came and went."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, rank
from cfglint.findings.fingerprint import identity
from cfglint.review import consequences
from cfglint.review.consequences import VERSION
from cfglint.review.settings import setting_changes
from cfglint.review.snapshot import Side

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Diagnostic, Outcome
    from cfglint.review.consequences import Consequence
    from cfglint.review.settings import SettingChange
    from cfglint.run.checked import CheckedRun

    Mark = tuple[str, str, str, str]


class Comparison:
    """One run before and after; a side is None when the run is new or gone.

    `settings` and `consequences` do not know what comments, flags or a configuration silence; the findings
    do, as they are asked for after that is known.
    """

    def __init__(self, before: CheckedRun | None, after: CheckedRun | None) -> None:
        sides = [Side(run) if run is not None else None for run in (before, after)]
        self.before: Outcome | None = sides[0].outcome if sides[0] else None
        self.after: Outcome | None = sides[1].outcome if sides[1] else None
        self.settings: list[SettingChange] = []
        if all(side is not None and side.readable for side in sides) and before is not None and after is not None:
            self.settings = setting_changes(before, after)
        self.consequences: list[Consequence] = consequences.of(sides[0], sides[1], self.settings)

    @property
    def files(self) -> list[str]:
        """The files of the run as they are now."""
        side = self.after or self.before
        return side.files if side else []

    @property
    def renamed(self) -> list[str]:
        """The files before, where they had other names."""
        return self.before.files if self.before and self.after and self.before.files != self.after.files else []

    @property
    def empty(self) -> bool:
        """Whether nothing changed in effect; another version that changes nothing for the run does not count."""
        found = [each for each in self.consequences if each.what != VERSION]
        return not (self.settings or found or self.new or self.gone)

    @property
    def sentences(self) -> list[Consequence]:
        """The consequences to print: that of a new or deleted run has all its numbers in one sentence."""
        whole = [each for each in self.consequences if each.what in ("run", "unreadable")]
        return whole if whole and whole[0].what == "run" else self.consequences

    @property
    def no_effect(self) -> bool:
        """Whether nothing that the framework computes changed: at most names, ports and paths did."""
        return not (self.consequences or self.new or self.gone or any(each.effect for each in self.settings))

    @property
    def still(self) -> list[str]:
        """The codes of the errors that keep the run from starting before and after."""
        if self.before is None or self.after is None or not self.before.verdict == self.after.verdict == "reject":
            return []
        errors = [{each.code for each in side.diagnostics if each.severity == ERROR} for side in (self.before, self.after)]
        return sorted(errors[0] & errors[1])

    @property
    def new(self) -> list[Diagnostic]:
        """Findings of the new side that the old one did not have, worst first."""
        return self._only(self.after, self.before)

    @property
    def gone(self) -> list[Diagnostic]:
        """Findings of the old side that the new one does not have any more, worst first."""
        return self._only(self.before, self.after)

    @staticmethod
    def _only(side: Outcome | None, other: Outcome | None) -> list[Diagnostic]:
        return sorted(unmatched(findings(side), findings(other)), key=lambda each: -rank(each.severity))

    def add_notes(self) -> None:
        """Say of every changed setting what was found there before and still is, so that nobody changes it in vain."""
        new = self.new
        standing = [each for each, _ in findings(self.after) if each not in new and each.severity != INFO]
        for change in self.settings:
            span = change.after.span
            if span is None:
                continue
            file, start, end = span
            change.notes += [
                f"{each.code}: {each.message}" for each in standing if each.place.file == file and start <= each.place.start < end
            ]


def findings(outcome: Outcome | None) -> list[tuple[Diagnostic, Mark]]:
    """The findings of a side that nobody silenced, each with what tells it from others when numbers in its message change."""
    if outcome is None:
        return []
    kinds = dict(zip(outcome.files, outcome.kinds, strict=False))
    shown = [each for each in outcome.diagnostics if not each.suppressed]
    return [(each, (each.severity, each.code, kinds.get(each.place.file, ""), each.key)) for each in shown]


def unmatched(found: list[tuple[Diagnostic, Mark]], others: list[tuple[Diagnostic, Mark]]) -> list[Diagnostic]:
    """The findings that have no counterpart; one with the same words is a counterpart before any other."""
    alike = [(mark, identity(each)[-1]) for each, mark in others]
    changed: list[tuple[Diagnostic, Mark]] = []
    for each, mark in found:
        same = (mark, identity(each)[-1])
        if same in alike:
            alike.remove(same)
        else:
            changed.append((each, mark))
    left = [mark for mark, _ in alike]
    alone: list[Diagnostic] = []
    for each, mark in changed:
        if mark in left:
            left.remove(mark)
        else:
            alone.append(each)
    return alone
