"""Groups equal findings for people: a mistake that is copied into fifty files is reported once, and in a large report so is one that
only has other values there.
"""

from __future__ import annotations

from cfglint.findings.diagnostic import Diagnostic, Outcome, rank
from cfglint.findings.wording import first_names
from cfglint.report.details import NOTE, consequences, open_findings, remedies
from cfglint.source.annotations import Iterable
from cfglint.source.record import Record

Key = tuple[object, ...]

MOST_PLACES = 3  # maximum number of other places that are named
MANY = 20  # groups of a report from which on those of one cause are put together
ALIKE = 3  # groups of one cause that are put together


class Group(Record):
    """Findings with the same content, and the run of each; `varied`: with the same cause, and other values."""

    found: list[Diagnostic] = []
    outcomes: list[Outcome] = []
    varied: bool = False

    @property
    def first(self) -> Diagnostic:
        return self.found[0]

    @property
    def across(self) -> bool:
        return any(outcome is not self.outcomes[0] for outcome in self.outcomes)

    def elsewhere(self) -> list[tuple[str, str]]:
        """A note with the other places, the first ones named; empty for a single finding."""
        others = [f"{diagnostic.place.file}:{diagnostic.place.line}" for diagnostic in self.found[1:]]
        if not others:
            return []
        all_listed = " (`--format concise` lists all)" if len(others) > MOST_PLACES else ""
        count = f"{len(others)} other places" if others[1:] else "1 other place"
        same = "the same rule and key, with other values," if self.varied else "the same"
        return [(NOTE, f"{same} in {count}: {first_names(others, MOST_PLACES)}{all_listed}")]


def grouped(outcomes: Iterable[Outcome], *, causes: bool = False) -> list[Group]:
    """The findings that are not suppressed, as groups: errors first, then by number of places; `causes`: in a large report by cause."""
    found: dict[Key, Group] = {}
    for finding, outcome in open_findings(outcomes):
        words = tuple(text for _, text in finding.related)
        sameness = finding.code, finding.severity, finding.message, words, *consequences(finding, outcome), *remedies(finding)
        group = found.setdefault(sameness, Group())
        group.found.append(finding)
        group.outcomes.append(outcome)
    groups = [*found.values()]
    if causes and len(groups) > MANY:
        of_cause: dict[Key, list[Group]] = {}
        for group in groups:
            of_cause.setdefault(cause(group.first), []).append(group)
        joined = [
            Group([finding for group in alike for finding in group.found], [outcome for group in alike for outcome in group.outcomes], True)
            for alike in of_cause.values()
            if len(alike) >= ALIKE
        ]
        groups = [*joined, *(group for group in groups if len(of_cause[cause(group.first)]) < ALIKE)]
    return sorted(groups, key=lambda group: (-rank(group.first.severity), -len(group.found)))


def cause(diagnostic: Diagnostic) -> Key:
    """The key of findings that have one cause: rule, severity, and the name of the key; the whole finding if it is about no key."""
    name = diagnostic.key.rpartition("/")[2]
    return diagnostic.code, diagnostic.severity, name or id(diagnostic)
