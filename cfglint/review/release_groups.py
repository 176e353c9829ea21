"""Runs that differ only in the releases of packages, grouped: the same fact in many runs is reported once, with these runs."""

from __future__ import annotations

from cfglint.findings.diagnostic import Diagnostic, Outcome, rank
from cfglint.findings.wording import counted, first_names
from cfglint.review.compare import Comparison
from cfglint.review.consequences import VERSION
from cfglint.review.releases import ReleaseChange
from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.record import Record

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
        return f"{self.text} ({listed_runs(self.runs)})"

    def add(self, comparison: Comparison) -> None:
        """Note that it is about a run."""
        name = comparison.name or ""
        if name not in self.runs:
            self.runs.append(name)


class ReleaseGroup(Record):
    """The runs that a set of release changes affects, and the facts about them; what keeps runs from starting comes first."""

    releases: list[ReleaseChange] = []
    comparisons: list[Comparison] = []

    def accepts(self, changes: list[ReleaseChange]) -> bool:
        """Whether no package changes in another way here, so that the facts have the same cause."""
        known = {release.package: release.text for release in self.releases}
        return all(known.get(change.package, change.text) == change.text for change in changes)

    @property
    def affected(self) -> list[Comparison]:
        return [comparison for comparison in self.comparisons if not comparison.empty]

    @property
    def texts(self) -> list[str]:
        """`trl 0.17.0 -> 1.16.0` for each package."""
        return list(dict.fromkeys(release.text for release in self.releases))

    @property
    def titles(self) -> list[str]:
        """`requirements.txt: trl 0.17.0 -> 1.16.0` for each package, with all files that state it."""
        files = {text: [release.file for release in self.releases if release.text == text and release.file] for text in self.texts}
        return [f"{first_names(names, MOST_RUNS)}: {text}" if names else text for text, names in files.items()]

    @property
    def stopped(self) -> list[Comparison]:
        """The runs that start before and not after."""
        return list(filter(stops, self.comparisons))

    @property
    def headline(self) -> str:
        """The number of runs that no longer start, or that change."""
        total, stopped, changed = counted(len(self.comparisons), "run"), len(self.stopped), len(self.affected)
        if stopped:
            return f"{stopped} of {total} no longer {'starts' if stopped == 1 else 'start'}"
        nothing = "no change in what is compared" if any(each.code_changed for each in self.comparisons) else "no effective change"
        return f"{changed} of {total} changed in effect" if changed else f"{nothing} in {total}"

    @property
    def first_line(self) -> str:
        """The headline with the runs that no longer start."""
        names = [comparison.name or "" for comparison in self.stopped]
        return f"{self.headline}: {first_names(names, MOST_RUNS)}" if names else self.headline

    @property
    def starts(self) -> list[Fact]:
        told: list[tuple[str, Comparison]] = []
        for comparison in self.affected:
            if not stops(comparison):
                told += [(consequence.text, comparison) for consequence in comparison.consequences if consequence.what in STARTS]
            if comparison.still:
                told.append((f"still does not start: {', '.join(comparison.still)}", comparison))
        return facts_of(told)

    @property
    def consequences(self) -> list[Fact]:
        """The other consequences, those of most runs first."""
        told = ((consequence, comparison) for comparison in self.affected for consequence in comparison.consequences)
        return facts_of((consequence.text, run) for consequence, run in told if consequence.what not in (*STARTS, VERSION))

    @property
    def settings(self) -> list[Fact]:
        """The settings whose value changes, because a default did."""
        return facts_of(
            (f"{setting.key}: {setting.before.text} -> {setting.after.text}", comparison)
            for comparison in self.affected
            for setting in comparison.settings
        )

    @property
    def new(self) -> list[Fact]:
        """The new findings by text: first those of runs that no longer start, then by severity and number of runs."""
        return self._findings("new")

    @property
    def gone(self) -> list[Fact]:
        """The resolved findings by text, without those that only have another severity now."""
        new = [(fact.finding.code, fact.finding.message) for fact in self.new if fact.finding]
        return [fact for fact in self._findings("gone") if fact.finding and (fact.finding.code, fact.finding.message) not in new]

    def _findings(self, side: str) -> list[Fact]:
        facts: dict[tuple[str, str, str], Fact] = {}
        for comparison in sorted(self.affected, key=lambda comparison: not stops(comparison)):
            outcome = comparison.after if side == "new" else comparison.before
            for finding in getattr(comparison, side):
                text = f"{finding.severity} {finding.code} {finding.name}: {finding.message}"
                key = finding.severity, finding.code, finding.message
                facts.setdefault(key, Fact(text, finding, outcome)).add(comparison)
        return sorted(facts.values(), key=lambda fact: (-rank(fact.finding.severity) if fact.finding else 0, -len(fact.runs)))

    @property
    def lines(self) -> Iterator[str]:
        """The headline and every fact on a line, with its runs."""
        yield self.first_line
        for facts, heading in (
            (self.starts, ""),
            (self.new, "new "),
            (self.consequences, ""),
            (self.settings, ""),
            (self.gone, "resolved "),
        ):
            yield from (f"{heading}{fact.line}" for fact in facts)


def grouped_by_release(comparisons: Iterable[Comparison]) -> tuple[list[ReleaseGroup], list[Comparison]]:
    """(the groups of the runs of which only releases changed in effect, those with stopped runs first; the other comparisons)."""
    groups: list[ReleaseGroup] = []
    others: list[Comparison] = []
    for comparison in comparisons:
        if not comparison.releases or not (comparison.only_releases or comparison.empty):
            others.append(comparison)
            continue
        group = next((group for group in groups if group.accepts(comparison.releases)), None)
        if group is None:
            group = ReleaseGroup()
            groups.append(group)
        group.comparisons.append(comparison)
        group.releases += [release for release in comparison.releases if release not in group.releases]
    return sorted(groups, key=lambda group: (-len(group.stopped), -len(group.affected))), others


def stops(comparison: Comparison) -> bool:
    """Whether a run does not start any more."""
    before, after = comparison.before, comparison.after
    return before is not None and after is not None and before.verdict == "accept" and after.verdict == "reject"


def facts_of(told: Iterable[tuple[str, Comparison]]) -> list[Fact]:
    """The facts with these texts, those of most runs first."""
    facts: dict[str, Fact] = {}
    for text, comparison in told:
        facts.setdefault(text, Fact(text)).add(comparison)
    return sorted(facts.values(), key=lambda fact: -len(fact.runs))


def listed_runs(names: list[str]) -> str:
    """`5 runs: a.sh:1, a.sh:2, b.yaml and 2 more`; a single one by its name. Those of one place are counted once."""
    names = [*dict.fromkeys(names)]
    return names[0] if len(names) == 1 else f"{len(names)} runs: {first_names(names, MOST_RUNS)}"
