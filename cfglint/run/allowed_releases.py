"""What the findings of a run are worth if its releases are not known: each is looked for at the other releases that are allowed.

An error that some allowed release does not give becomes a warning, and every finding that some do not give names those that do. Nothing
is evaluated again for a run without findings, or whose releases are all stated.
"""

from __future__ import annotations

from bisect import bisect_left

from cfglint.findings.diagnostic import ERROR, INTERNAL, Diagnostic, unpinned
from cfglint.findings.rule import BY_CODE, CODE, KEY
from cfglint.frameworks import changes, import_changes, of_package
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.rules.engine import releases_of
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Run(Protocol):
        """The properties of a run that are needed here; `cfglint.run.checked.CheckedRun` has them."""

        given: LaunchFacts

        @property
        def consumer_facts(self) -> LaunchFacts:
            """The facts as the framework of the run completed them."""

        @property
        def target(self) -> dict[str, str]:
            """The package versions that the prediction is for."""

        def findings(self, only: str = "") -> list[Diagnostic]:
            """What the rules of the frameworks find at these releases, or, for `ERROR`, those that may give an error."""

        def findings_of(self, code: str) -> list[Diagnostic]:
            """What one rule finds at these releases."""

        def at(self, target: dict[str, str]) -> Run:
            """The same run with other releases of some packages."""


Target = dict[str, str]
Open = dict[str, list[str]]  # package -> its allowed releases, oldest first, up to the one that was asked

OTHER_PROBES = 2  # releases between the ends at which an error is looked for, beside those that change its field or its check


def judged(run: Run, found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings of a run, each an error only if every allowed release gives it."""
    packages = open_packages(run)
    if not packages:
        return found
    search = Search(run, packages)
    for diagnostic in found:
        if diagnostic.code != INTERNAL:
            since = search.since(diagnostic)
            if since:
                diagnostic.rest_on(map(unpinned, since))
                if diagnostic.fix is not None and diagnostic.fix.safe:
                    diagnostic.fix.safe, diagnostic.fix.by_release = False, True
                diagnostic.since = since
    return found


def open_packages(run: Run) -> Open:
    """The packages whose release decides about a run and is not known, with the allowed releases that are older than the one asked.

    Nobody states them, and no framework of the run requires exactly one.
    """
    from cfglint.frameworks.releases._modelled import RELEASES

    packages: Open = {}
    given, facts = run.given, run.consumer_facts
    for package, chosen in run.target.items():
        is_free = package in facts.bounds or (RELEASES.get(package) == chosen and package not in facts.target)
        if given.is_known(package) or package in given.outside or not is_free:
            continue
        from cfglint.project.allowed_releases import allowed_releases

        releases = allowed_releases(package, facts.bounds.get(package, ()))
        older = releases[: releases.index(chosen)] if chosen in releases else releases
        if older:
            packages[package] = older
    return packages


class Search:
    """Finds the releases at which a run has its findings; each release is evaluated once."""

    def __init__(self, run: Run, packages: Open) -> None:
        self.run = run
        self.packages = packages
        target = run.target
        self.asked = {package: target[package] for package in packages}
        self._evaluated: dict[tuple[tuple[str, str], ...], Evaluation] = {}

    def at(self, target: Target) -> Evaluation:
        """The findings of the run with other releases of some packages."""
        whole = {**self.asked, **target}
        key = tuple(whole.items())
        if key not in self._evaluated:
            self._evaluated[key] = Evaluation(self.run.at(whole))
        return self._evaluated[key]

    def since(self, diagnostic: Diagnostic) -> Target:
        """The first release of each package from which on a finding is given; empty if every allowed release gives it."""
        since: Target = {}
        for package, releases in self.packages.items():
            place = self.first(diagnostic, package, releases)
            if place:
                since[package] = releases[place] if place < len(releases) else self.asked[package]
        if not since and len(self.packages) > 1:
            oldest = {package: releases[0] for package, releases in self.packages.items()}
            if not self.at(oldest).gives(diagnostic):
                return dict(self.asked)
        return since

    def first(self, diagnostic: Diagnostic, package: str, releases: list[str]) -> int:
        """The place of the first release from which on a finding is given, `len(releases)` if only the asked one gives it."""
        # The places of the releases that change what it names, or the check of its rule; `len(releases)` is the asked one.
        named, asked = words(diagnostic.key), parse_version(self.asked[package])
        changes_of = changes(package, named) | ends_of_check(diagnostic.code, package)
        if diagnostic.about == CODE:
            changes_of |= import_changes(package, named)
        parsed = [*map(parse_version, releases)]
        changed = sorted({bisect_left(parsed, release) for release in changes_of if release <= asked})
        if diagnostic.about == KEY and diagnostic.severity != ERROR and not changed:
            return 0  # nothing about the name differs
        oldest_decides = diagnostic.severity != ERROR or is_of_other_files(diagnostic.code, package)
        if oldest_decides and self.at({package: releases[0]}).gives(diagnostic):
            return 0
        places = [0] if oldest_decides else places_to_ask(changed, len(releases))
        low = next((place for place in places if not self.at({package: releases[place]}).gives(diagnostic)), None)
        if low is None:
            return 0
        high = len(releases)
        while high - low > 1:
            middle = next_place(changed, low, high)
            if self.at({package: releases[middle]}).gives(diagnostic):
                high = middle
            else:
                low = middle
        return high


def places_to_ask(changed: list[int], number: int) -> list[int]:
    """The places of the releases, of this number, that may not give an error of the asked one, latest first.

    These are the last release before each change of a field that the finding names and of the check of its rule, some others, and the
    oldest: an error of all of these is taken for one of every release.
    """
    step = number // (OTHER_PROBES + 1) or 1
    return sorted({0, *range(step, number, step), *(place - 1 for place in changed if place)}, reverse=True)


def is_of_other_files(code: str, package: str) -> bool:
    """Whether a package is an engine, which parses its own file, and a rule is about the files of others."""
    engines = {framework.kind for framework in of_package(package) if framework.is_engine}
    return bool(engines) and all(rule.kinds and engines.isdisjoint(rule.kinds) for rule in BY_CODE.get(code, ()))


def words(key: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "_" else " " for char in key).split()


def next_place(changed: list[int], low: int, high: int) -> int:
    """The place between two others that is asked next: beside a change, where the answer changes most often, or in the middle."""
    beside = sorted({place for change in changed for place in (change - 1, change) if low < place < high})
    return beside[len(beside) // 2] if beside else (low + high) // 2


def ends_of_check(code: str, package: str) -> set[Version]:
    """The releases of a package from which on its check of a rule exists, or does not exist any more."""
    spans = [releases for rule in BY_CODE.get(code, ()) for own, releases in releases_of(rule) if own == package]
    return {release for span in spans for release in (span.since, span.until) if release}


class Evaluation(Record):
    """The findings of a run at one combination of releases.

    Most findings are there at every release, given by the same rule, so that this rule is asked first. Another one may give an error
    about the same key instead: then all rules that may give errors answer.
    """

    run: Run
    _of_rule: dict[str, set[tuple[object, ...]]] = {}
    _errors: set[tuple[object, ...]] | None = None

    def gives(self, diagnostic: Diagnostic) -> bool:
        """Whether there is such a finding; for an error, any error about the same key."""
        is_error, code = diagnostic.severity == ERROR, diagnostic.code
        if not is_error or self._errors is None:
            if code not in self._of_rule:
                self._of_rule[code] = identities(self.run.findings_of(code))
            if not is_error or identity(diagnostic) in self._of_rule[code]:
                return identity(diagnostic) in self._of_rule[code]
            self._errors = identities(self.run.findings(ERROR))
        return identity(diagnostic) in self._errors


def identity(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What identifies a finding at another release: of an error only its key."""
    place = diagnostic.place
    return (place.file, diagnostic.key) if diagnostic.severity == ERROR else (diagnostic.code, place.file, place.start, diagnostic.key)


def identities(diagnostics: list[Diagnostic]) -> set[tuple[object, ...]]:
    """What identifies findings; an error is there whatever its severity is at another release."""
    others = {(diagnostic.code, diagnostic.place.file, diagnostic.place.start, diagnostic.key) for diagnostic in diagnostics}
    return others | {*map(identity, diagnostics)}
