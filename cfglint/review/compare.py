"""A run before and after a change: its consequences, the changed settings, the new and the resolved findings."""

from __future__ import annotations

from cfglint.findings.diagnostic import ERROR, INFO, Diagnostic, Outcome, rank
from cfglint.findings.fingerprint import identity
from cfglint.findings.rule import COMBINATION
from cfglint.review import consequences
from cfglint.review.consequence import Consequence
from cfglint.review.consequences import VERSION
from cfglint.review.pairing import is_cut_off
from cfglint.review.releases import ReleaseChange, release_changes, with_releases_of
from cfglint.review.settings import SettingChange, setting_changes
from cfglint.review.snapshot import Side
from cfglint.rules.engine import internal_error
from cfglint.run.checked import CheckedRun
from cfglint.run.consumer import OUTSIDE

Mark = tuple[str, str, str, str]
OF_LAUNCH = ("launch", "launcher-config", "file")


class Comparison:
    """One run before and after; a side is None if the run is new or deleted.

    `settings` and `consequences` do not depend on what comments, flags or a configuration suppress; the findings
    do, because they are computed later. `only_releases`: no file of the run changed, only the release of a package.
    `code_changed`: so did code of its program that is not compared. `is_checked`: another hook prints the new findings, too.
    """

    code_changed = False
    is_checked = False

    def __init__(self, before: CheckedRun | None, after: CheckedRun | None, *, only_releases: bool = False, heading: str = "") -> None:
        self.only_releases = only_releases
        self.releases: list[ReleaseChange] = []
        if before is not None and after is not None:
            before, after = with_releases_of(before, after)
        old = Side(before, after) if before is not None else None
        new = Side(after, before) if after is not None else None
        self.before: Outcome | None = old.outcome if old else None
        self.after: Outcome | None = new.outcome if new else None
        self.settings: list[SettingChange] = []
        self.consequences: list[Consequence] = []
        # What one side alone has may only not have been reached on the other.
        self.is_cut_off = before is not None and after is not None and (is_cut_off(before) or is_cut_off(after))
        self.lacks_program = self.is_cut_off or (old is not None and new is not None and consequences.lacks_program(old, new))
        self.program_is_gone = new is not None and any(reason.why == OUTSIDE for reason in new.run.not_read)
        try:
            if old is not None and new is not None:
                self.settings = setting_changes(old, new) if old.readable and new.readable else []
                if self.lacks_program:
                    self.settings = [change for change in self.settings if change.is_rewritten]
                self.releases = release_changes(old.run, new.run)
            self.consequences = consequences.consequences_of(old, new, self.settings, heading)
            if self.is_cut_off:
                self.consequences = [each for each in self.consequences if each.known or (each.before is None) == (each.after is None)]
        except Exception as error:
            side = next(each for each in (new, old) if each is not None)
            side.outcome.diagnostics.append(internal_error("comparing the runs", error, side.run.documents[0]))

    @property
    def files(self) -> list[str]:
        side = self.after or self.before
        return side.files if side else []

    @property
    def name(self) -> str | None:
        """The name of the run: its first file, or the line that launches it: `scripts/train.sh:12`."""
        side = self.after or self.before
        launch = side.launch if side else None
        return f"{launch['file']}:{launch['line']}" if launch else self.files[0] if self.files else None

    @property
    def renamed(self) -> list[str]:
        """The earlier names of the files, if they had others."""
        return self.before.files if self.before and self.after and self.before.files != self.after.files else []

    @property
    def empty(self) -> bool:
        """Whether nothing changed in effect; a version change without consequences does not count."""
        found = [consequence for consequence in self.consequences if consequence.what != VERSION]
        return not (self.settings or found or self.new or self.gone)

    @property
    def sentences(self) -> list[Consequence]:
        """The consequences to print: for a new or deleted run all its numbers are in one sentence."""
        own = [consequence for consequence in self.consequences if consequence.what in ("run", "unreadable")]
        return own if own and own[0].what == "run" else self.consequences

    @property
    def has_effect(self) -> bool:
        """Whether more than names, ports and paths changed."""
        return bool(self.consequences or self.new or self.gone or any(setting.effect for setting in self.settings))

    @property
    def no_effect(self) -> bool:
        """Whether nothing that the framework computes changed: at most names, ports and paths did, and all of it was compared."""
        return not self.code_changed and not self.has_effect

    @property
    def in_effect(self) -> bool:
        """Whether more changed than names, ports, paths, and a release without consequences."""
        return not self.empty and self.has_effect

    @property
    def still(self) -> list[str]:
        """The codes of the errors that keep the run from starting before and after."""
        if self.before is None or self.after is None or not self.before.verdict == self.after.verdict == "reject":
            return []
        errors = [
            {diagnostic.code for diagnostic in side.diagnostics if diagnostic.severity == ERROR} for side in (self.before, self.after)
        ]
        return sorted(errors[0] & errors[1])

    @property
    def new(self) -> list[Diagnostic]:
        """Findings of the new side that the old side did not have, worst first; of a side whose program is not found it is not known which
        it lacks, but for errors and those about the launch.
        """
        found = unmatched(findings(self.after), findings(self.before))
        return [each for each in found if not self.lacks_program or each.severity == ERROR or each.about in OF_LAUNCH]

    @property
    def gone(self) -> list[Diagnostic]:
        """Findings of the old side that are resolved in the new one, worst first."""
        found = unmatched(findings(self.before), findings(self.after))
        return [each for each in found if not (self.lacks_program or self.program_is_gone) or each.about in OF_LAUNCH]

    def add_notes(self) -> None:
        """Add to every changed setting the findings there that remain, so that an insufficient change is visible."""
        new = self.new
        remaining = [
            diagnostic
            for diagnostic, _ in findings(self.after)
            if diagnostic not in new and (diagnostic.severity != INFO or diagnostic.about == COMBINATION)
        ]
        for change in self.settings:
            span = change.after.span
            if span is None:
                continue
            file, start, end = span
            name = change.key.rpartition(".")[2]  # several settings are at one place, that of a `**mapping`
            change.notes += [
                f"{diagnostic.code}: {diagnostic.message}"
                for diagnostic in remaining
                if diagnostic.place.file == file and start <= diagnostic.place.start < end and name in diagnostic.key + diagnostic.message
            ]


def findings(outcome: Outcome | None) -> list[tuple[Diagnostic, Mark]]:
    """The findings of a side that are not suppressed, each with an identity that does not depend on numbers in its message."""
    if outcome is None:
        return []
    kinds = dict(zip(outcome.files, outcome.kinds, strict=False))
    return [
        (finding, (finding.severity, finding.code, kinds.get(finding.place.file, ""), finding.key)) for finding in outcome.open_findings
    ]


def unmatched(found: list[tuple[Diagnostic, Mark]], others: list[tuple[Diagnostic, Mark]]) -> list[Diagnostic]:
    """The findings without a counterpart, worst first; one with the same message is preferred as the counterpart."""
    alike = [(mark, identity(diagnostic)[-1]) for diagnostic, mark in others]
    reworded: list[tuple[Diagnostic, Mark]] = []
    for diagnostic, mark in found:
        same = (mark, identity(diagnostic)[-1])
        if same in alike:
            alike.remove(same)
        else:
            reworded.append((diagnostic, mark))
    left = [mark for mark, _ in alike]
    alone: list[Diagnostic] = []
    for diagnostic, mark in reworded:
        if mark in left:
            left.remove(mark)
        else:
            alone.append(diagnostic)
    return sorted(alone, key=lambda diagnostic: -rank(diagnostic.severity))
