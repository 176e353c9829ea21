"""Groups equal findings for people: a mistake that is copied into fifty files is reported once."""

from __future__ import annotations

from cfglint.findings.diagnostic import Diagnostic, Outcome, rank
from cfglint.report.details import NOTE, consequences, remedies
from cfglint.source.annotations import Iterable
from cfglint.source.record import Record

Key = tuple[object, ...]

MOST_PLACES = 3  # maximum number of other places that are named


class Group(Record):
    """Findings with the same content, and the run of each."""

    found: list[Diagnostic] = []
    outcomes: list[Outcome] = []

    @property
    def first(self) -> Diagnostic:
        """The finding that is shown."""
        return self.found[0]

    @property
    def across(self) -> bool:
        """Whether the findings are in several runs."""
        return any(each is not self.outcomes[0] for each in self.outcomes)

    def elsewhere(self) -> list[tuple[str, str]]:
        """A note with the other places, the first ones named; empty for a single finding."""
        others = [each.place for each in self.found[1:]]
        if not others:
            return []
        named = ", ".join(f"{place.file}:{place.line}" for place in others[:MOST_PLACES])
        more = len(others) - MOST_PLACES
        count = f"{len(others)} other places" if others[1:] else "1 other place"
        return [(NOTE, f"the same in {count}: {named}{f' and {more} more (`--format concise` lists all)' if more > 0 else ''}")]


def grouped(outcomes: Iterable[Outcome]) -> list[Group]:
    """The findings that are not suppressed, as groups: errors first, then by number of places."""
    found: dict[Key, Group] = {}
    for outcome in outcomes:
        for each in outcome.open_findings:
            group = found.setdefault(sameness(each, outcome), Group())
            group.found.append(each)
            group.outcomes.append(outcome)
    return sorted(found.values(), key=lambda group: (-rank(group.first.severity), -len(group.found)))


def sameness(diagnostic: Diagnostic, outcome: Outcome) -> Key:
    """The key by which findings are grouped: their strings, but not their place."""
    words = tuple(text for _, text in diagnostic.related)
    return diagnostic.code, diagnostic.severity, diagnostic.message, words, *consequences(diagnostic, outcome), *remedies(diagnostic)
