"""Runs that differ only in the releases of packages, grouped: the same fact in many runs is reported once, with these runs."""

from __future__ import annotations

from cfglint.findings.diagnostic import Diagnostic, Outcome, rank
from cfglint.findings.wording import counted
from cfglint.review.compare import Comparison
from cfglint.review.consequences import VERSION
from cfglint.review.releases import ReleaseChange
from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    Groups = dict[str, "Fact"]

MOST_RUNS = 3  # that are named for one fact
STARTS = ("verdict", "fails_at", "unreadable")  # the consequences about whether a run starts


class Fact(Record):
    """A fact with the runs that it is about; `finding` is set if it is one, with the outcome that it belongs to."""

    text: str
    finding: Diagnostic | None = None
    outcome: Outcome | None = None
    runs: list[str] = []

    @property
    def line(self) -> str:
        """The text with its runs."""
        return f"{self.text} ({listed_runs(self.runs)})"


class ReleaseGroup(Record):
    """The runs that a set of release changes affects, and the facts about them; what keeps runs from starting comes first."""

    releases: list[ReleaseChange] = []
    comparisons: list[Comparison] = []

    def accepts(self, changes: list[ReleaseChange]) -> bool:
        """Whether no package changes in another way here, so that the facts have the same cause."""
        known = {release.package: release.text for release in self.releases}
        return all(known.get(change.package, change.text) == change.text for change in changes)

    def add(self, comparison: Comparison) -> None:
        """Add a run with its release changes."""
        self.comparisons.append(comparison)
        self.releases += [release for release in comparison.releases if release not in self.releases]

    @property
    def affected(self) -> list[Comparison]:
        """The runs in which something changes in effect."""
        return [comparison for comparison in self.comparisons if not comparison.empty]

    @property
    def texts(self) -> list[str]:
        """`trl 0.17.0 -> 1.16.0` for each package."""
        return list(dict.fromkeys(release.text for release in self.releases))

    @property
    def titles(self) -> list[str]:
        """`requirements.txt: trl 0.17.0 -> 1.16.0` for each package, with all files that state it."""
        found = []
        for text in self.texts:
            files = [release.file for release in self.releases if release.text == text and release.file]
            found.append(f"{named(files)}: {text}" if files else text)
        return found

    @property
    def stopped(self) -> list[Comparison]:
        """The runs that start before and not after."""
        return [comparison for comparison in self.comparisons if stops(comparison)]

    @property
    def headline(self) -> str:
        """The number of runs that no longer start, or that change."""
        total = counted(len(self.comparisons), "run")
        if self.stopped:
            return f"{len(self.stopped)} of {total} no longer {'starts' if len(self.stopped) == 1 else 'start'}"
        changed = len(self.affected)
        return f"{changed} of {total} changed in effect" if changed else f"no effective change in {total}"

    @property
    def first_line(self) -> str:
        """The headline with the runs that no longer start."""
        return f"{self.headline}: {named([comparison.name or '' for comparison in self.stopped])}" if self.stopped else self.headline

    @property
    def starts(self) -> list[Fact]:
        """The other facts about whether runs start."""
        found: Groups = {}
        for comparison in self.affected:
            texts = [consequence.text for consequence in comparison.consequences if consequence.what in STARTS and not stops(comparison)]
            for text in [*texts, *([f"still does not start: {', '.join(comparison.still)}"] if comparison.still else [])]:
                add(found.setdefault(text, Fact(text)), comparison)
        return by_runs(found.values())

    @property
    def consequences(self) -> list[Fact]:
        """The other consequences, those of most runs first."""
        found: Groups = {}
        for comparison in self.affected:
            for consequence in comparison.consequences:
                if consequence.what not in (*STARTS, VERSION):
                    add(found.setdefault(consequence.text, Fact(consequence.text)), comparison)
        return by_runs(found.values())

    @property
    def settings(self) -> list[Fact]:
        """The settings whose value changes, because a default did."""
        found: Groups = {}
        for comparison in self.affected:
            for setting in comparison.settings:
                text = f"{setting.key}: {setting.before.text} -> {setting.after.text}"
                add(found.setdefault(text, Fact(text)), comparison)
        return by_runs(found.values())

    @property
    def new(self) -> list[Fact]:
        """The new findings by text: first those of runs that no longer start, then by severity and number of runs."""
        return self._findings(self.affected, "new")

    @property
    def gone(self) -> list[Fact]:
        """The resolved findings by text, without those that only have another severity now."""
        new = [(fact.finding.code, fact.finding.message) for fact in self.new if fact.finding]
        facts = self._findings(self.affected, "gone")
        return [fact for fact in facts if fact.finding and (fact.finding.code, fact.finding.message) not in new]

    def _findings(self, comparisons: Iterable[Comparison], side: str) -> list[Fact]:
        found: dict[tuple[str, str, str], Fact] = {}
        for each in sorted(comparisons, key=lambda comparison: not stops(comparison)):
            outcome = each.after if side == "new" else each.before
            for finding in getattr(each, side):
                text = f"{finding.severity} {finding.code} {finding.name}: {finding.message}"
                key = finding.severity, finding.code, finding.message
                add(found.setdefault(key, Fact(text, finding, outcome)), each)
        return sorted(found.values(), key=lambda fact: (-rank(fact.finding.severity) if fact.finding else 0, -len(fact.runs)))

    @property
    def lines(self) -> Iterator[str]:
        """The headline and every fact on a line, with its runs."""
        yield self.first_line
        for heading, facts in (
            ("", self.starts),
            ("new ", self.new),
            ("", self.consequences),
            ("", self.settings),
            ("resolved ", self.gone),
        ):
            yield from (f"{heading}{fact.line}" for fact in facts)


def grouped_by_release(comparisons: Iterable[Comparison]) -> tuple[list[ReleaseGroup], list[Comparison]]:
    """(the groups of the runs of which only releases changed, those with stopped runs first; the other comparisons)."""
    groups: list[ReleaseGroup] = []
    others: list[Comparison] = []
    for comparison in comparisons:
        if not comparison.only_releases or not comparison.releases:
            others.append(comparison)
            continue
        group = next((group for group in groups if group.accepts(comparison.releases)), None)
        if group is None:
            group = ReleaseGroup()
            groups.append(group)
        group.add(comparison)
    return sorted(groups, key=lambda group: (-len(group.stopped), -len(group.affected))), others


def stops(comparison: Comparison) -> bool:
    """Whether a run does not start any more."""
    before, after = comparison.before, comparison.after
    return before is not None and after is not None and before.verdict == "accept" and after.verdict == "reject"


def add(fact: Fact, comparison: Comparison) -> None:
    """Note that a fact is about a run."""
    name = comparison.name or ""
    if name not in fact.runs:
        fact.runs.append(name)


def by_runs(facts: Iterable[Fact]) -> list[Fact]:
    """Facts, those of most runs first."""
    return sorted(facts, key=lambda fact: -len(fact.runs))


def listed_runs(names: list[str]) -> str:
    """`5 runs: a.sh:1, a.sh:2, b.yaml and 2 more`; a single one by its name."""
    return names[0] if len(names) == 1 else f"{len(names)} runs: {named([*dict.fromkeys(names)])}"


def named(names: list[str]) -> str:
    """`a.sh:1, a.sh:2, b.yaml and 2 more`."""
    more = len(names) - MOST_RUNS
    return f"{', '.join(names[:MOST_RUNS])}{f' and {more} more' if more > 0 else ''}"
