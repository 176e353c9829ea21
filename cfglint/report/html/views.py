"""Outcomes, plans and comparisons as the values that templates show; this module contains no markup."""

from __future__ import annotations

from dataclasses import dataclass, field

from cfglint.batch.memory.estimate import PROBABLY_FITS, PROBABLY_NOT
from cfglint.explanation.log_analysis import Difference
from cfglint.findings.diagnostic import ALONE, ERROR, INFO, WARNING, Diagnostic, Outcome, Place, ReportContext
from cfglint.findings.wording import MOMENTS
from cfglint.frameworks import framework
from cfglint.report.details import HELP, NOTE, depending, raises
from cfglint.report.grouping import grouped
from cfglint.report.html import excerpt
from cfglint.report.html.excerpt import Changed, Listed, Marked
from cfglint.report.html.figures import Numbers, numbers
from cfglint.report.links import page_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import MemoryDrawing, SettingEntry

SEVERITIES = (ERROR, WARNING, INFO)
MOST_SOURCE = 40_000  # up to this many characters of files are shown completely; of more, only lines with findings


@dataclass
class Related:
    """Another place involved in a finding."""

    words: str
    file: str
    line: int
    excerpt: list[Marked]
    anchor: str


@dataclass
class FixView:
    """A fix: its title, the command that applies it, and its changes."""

    title: str
    command: str
    diff: list[Changed]


@dataclass
class FindingView:
    """A finding with its anchor; `run` is the anchor of its run."""

    anchor: str
    run: str
    severity: str
    code: str
    name: str
    message: str
    file: str
    line: int
    column: int
    kind: str
    excerpt: list[Marked]
    related: list[Related]
    stops: str
    exception: str
    lines: list[tuple[str, str]]
    fix: FixView | None
    diagnostic: Diagnostic
    page: str = ""  # the address of the page of its rule
    has_page: bool = False  # whether the page of its rule is shown, too


@dataclass
class SourceView:
    """A file of a run, and its lines."""

    file: str
    anchor: str
    lines: list[Listed]


YES, NO, UNKNOWN = "yes", "no", "not known"
SHAPES = {YES: "yes", NO: "error", UNKNOWN: "unknown"}


@dataclass
class RunView:
    """A run with its anchor."""

    anchor: str
    files: list[str]
    framework: str
    targets: list[str]
    gpus: int | None
    answer: str  # whether it starts: a key of SHAPES
    verdict: str
    numbers: Numbers
    findings: list[FindingView]
    sources: list[SourceView] = field(default_factory=list)
    memory: MemoryDrawing | None = None

    @property
    def title(self) -> str:
        return ", ".join(self.files)

    @property
    def starts(self) -> bool:
        """Whether no known error keeps it from starting."""
        return self.answer != NO

    @property
    def shape(self) -> str:
        """The shape next to the verdict."""
        return SHAPES[self.answer]

    @property
    def cause(self) -> str:
        """The message of the first error; empty if there is none."""
        return next((finding_view.message for finding_view in self.findings if finding_view.severity == ERROR), "")

    @property
    def counts(self) -> list[tuple[str, str]]:
        """The number of findings of each severity as `1 error`, worst first."""
        return [(severity, many(number, severity)) for severity, number in severity_counts(self.findings)]

    @property
    def urgency(self) -> tuple[int, ...]:
        """The sort key of a run: those that would not start first, then by the number of findings of each severity."""
        return (self.starts, *(-sum(finding_view.severity == severity for finding_view in self.findings) for severity in SEVERITIES))


def severity_counts(findings: list[FindingView]) -> list[tuple[str, int]]:
    """(severity, number) for each severity with findings, worst first."""
    counted = [(severity, sum(finding_view.severity == severity for finding_view in findings)) for severity in SEVERITIES]
    return [(severity, number) for severity, number in counted if number]


def many(number: int, severity: str) -> str:
    """`1 error`, `2 warnings`, `3 info`."""
    return f"{number} {severity}" if number == 1 or severity == INFO else f"{number} {severity}s"


def runs(outcomes: list[Outcome]) -> list[RunView]:
    """The outcomes of a page, the worst first; anchors number them as they were given."""
    full = sum(len(text) for outcome in outcomes if outcome.context for text in outcome.context.texts.values()) <= MOST_SOURCE
    return sorted(
        (run(outcome, f"run-{place}", full=full) for place, outcome in enumerate(outcomes, 1)), key=lambda run_view: run_view.urgency
    )


def groups(outcomes: list[Outcome], shown: list[RunView]) -> list[list[FindingView]]:
    """Groups of equal findings in several runs, errors first; empty if no two are equal."""
    by_diagnostic = {id(finding_view.diagnostic): finding_view for run in shown for finding_view in run.findings}
    found = [[by_diagnostic[id(diagnostic)] for diagnostic in group.found] for group in grouped(outcomes)]
    return found if any(len(finding_views) > 1 for finding_views in found) else []


def run(
    outcome: Outcome, anchor: str, only: list[Diagnostic] | None = None, *, home: str = "", full: bool = True, listed: bool = True
) -> RunView:
    """The view of one outcome; `only` are the findings to show if not all, `home` is the anchor of the element around them."""
    shown = only if only is not None else outcome.open_findings
    shown = sorted(shown, key=lambda diagnostic: SEVERITIES.index(diagnostic.severity))
    source = sources(outcome, anchor, shown, full) if listed else []
    anchors = {source_view.file: source_view.anchor for source_view in source}
    found = numbers(outcome)
    used = outcome.context.memory if outcome.context is not None else None
    return RunView(
        anchor,
        outcome.files,
        framework(outcome.kinds[0]).title,
        [f"{package} {version}" for package, version in outcome.target.items()],
        found.gpus,
        answer(outcome),
        verdict(outcome),
        found,
        [finding(diagnostic, outcome, f"{anchor}-{place}", home or anchor, anchors) for place, diagnostic in enumerate(shown, 1)],
        source,
        used,
    )


def answer(outcome: Outcome) -> str:
    """Whether the run would start; unknown where it probably does not fit into memory."""
    if outcome.verdict != "accept":
        return NO if outcome.verdict == "reject" else UNKNOWN
    if exceeds_memory(outcome):
        return NO
    is_open = likely_fit(outcome).startswith(PROBABLY_NOT) or left_open(outcome) not in ("", *ALONE)
    return UNKNOWN if is_open else YES


def verdict(outcome: Outcome) -> str:
    """A sentence about whether the framework would start."""
    if outcome.verdict is None:
        return "Not known whether it would start"
    if outcome.verdict != "accept":
        moment = MOMENTS.get(outcome.fails_at or "", "")
        return f"Would not start: it fails {moment}" if moment else "Would not start"
    if exceeds_memory(outcome):
        return "Would run out of GPU memory"
    starts, fits = left_open(outcome) or "Should start", likely_fit(outcome)
    for words in (PROBABLY_FITS, PROBABLY_NOT):
        fits = fits.replace(words, f"{words} into GPU memory")
    return f"{starts}, {'but' if fits.startswith(PROBABLY_NOT) else 'and'} {fits}" if fits else starts


def left_open(outcome: Outcome) -> str:
    """What is said of a run without errors instead of the claim that it starts; empty if nothing is."""
    return outcome.context.left_open if outcome.context is not None else ""


def likely_fit(outcome: Outcome) -> str:
    """Whether the run probably fits into the memory of its GPUs, in words; empty where that is sure, or nothing is known about it."""
    used = outcome.context.memory if outcome.context is not None else None
    return used["judgement"] if used is not None and used["verdict"] == "close" else ""


def exceeds_memory(outcome: Outcome) -> bool:
    """Whether a run that the framework would start does not fit into the memory of its GPUs."""
    used = outcome.context.memory if outcome.context is not None else None
    return outcome.verdict == "accept" and used is not None and used["verdict"] == "does-not-fit"


def finding(diagnostic: Diagnostic, outcome: Outcome, anchor: str, home: str, anchors: dict[str, str]) -> FindingView:
    """One finding with all its details."""
    place = diagnostic.place
    texts = outcome.context.texts if outcome.context else {}
    lines = excerpt.lines_of(texts[place.file]) if place.file in texts else None
    others = [other for other, _ in diagnostic.related]
    fix = None
    if diagnostic.fix:
        command = "cfglint fix" if diagnostic.fix.safe else "cfglint fix --unsafe-fixes"
        fix = FixView(diagnostic.fix.title, command, excerpt.diff(diagnostic.fix, texts, place, others))
    seen = [] if fix is not None and fix.diff else excerpt.around(place, others, lines)
    numbers_seen = {(place.file, each.number) for each in seen} | {(each.file, each.number) for each in (fix.diff if fix else ())}
    return FindingView(
        anchor,
        home,
        diagnostic.severity,
        diagnostic.code,
        diagnostic.name,
        diagnostic.message,
        place.file,
        place.line,
        place.column,
        kind_of(place, outcome),
        seen,
        [related(other, words, anchors, (other.file, other.line) in numbers_seen) for other, words in diagnostic.related],
        raises(diagnostic, outcome),
        diagnostic.exception or "",
        [
            (label, text)
            for label, text in (
                (NOTE, diagnostic.note),
                (NOTE, depending(diagnostic)),
                (HELP, "" if fix and fix.title == diagnostic.help else diagnostic.help),
            )
            if text
        ],
        fix,
        diagnostic,
        page_of(diagnostic),
    )


def kind_of(place: Place, outcome: Outcome) -> str:
    """The framework whose file a place is in."""
    return framework(outcome.kind_of(place.file)).title


def related(place: Place, words: str, anchors: dict[str, str], seen: bool) -> Related:
    """Another place, with the anchor of its line if the page lists its file; with its line, unless that is in `seen`."""
    line = None if seen else excerpt.marked(place)
    anchor = f"{anchors[place.file]}-{place.line}" if place.file in anchors else ""
    return Related(words, place.file, place.line, [line] if line else [], anchor)


def sources(outcome: Outcome, anchor: str, shown: list[Diagnostic], full: bool) -> list[SourceView]:
    """The files of a run; lines of findings are marked, and linked lines have anchors.

    Unless `full`: only the linked lines and the lines around them.
    """
    context: ReportContext | None = outcome.context
    if context is None:
        return []
    source_views: list[SourceView] = []
    for place, file in enumerate(outcome.files, 1):
        linked = [other.line for diagnostic in shown for other, _ in diagnostic.related if other.file == file]
        linked += [each["line"] for each in context.settings if full and each["file"] == file and each["line"]]
        if full or linked:
            lines = excerpt.listing(context.texts.get(file, ""), worst(shown, file), linked, full)
            source_views.append(SourceView(file, f"{anchor}-f{place}", lines))
    return [source_view for source_view in source_views if source_view.lines]


def worst(shown: list[Diagnostic], file: str) -> dict[int, str]:
    """The worst severity for each line of a file."""
    found: dict[int, str] = {}
    for severity in reversed(SEVERITIES):
        found.update(
            (diagnostic.place.line, severity) for diagnostic in shown if diagnostic.place.file == file and diagnostic.severity == severity
        )
    return found


# ---- settings of a summary


@dataclass
class SummarySetting:
    """A line in the summary of a run."""

    label: str
    value: str
    needs: str
    because: str
    file: str
    line: int | None
    anchor: str


def settings(outcome: Outcome, listed: list[SourceView]) -> list[SummarySetting]:
    """The summary of a run, each value with its origin."""
    anchors = {source_view.file: source_view.anchor for source_view in listed}
    return [setting(each, anchors) for each in (outcome.context.settings if outcome.context else [])]


def setting(entry: SettingEntry, anchors: dict[str, str]) -> SummarySetting:
    """One line; an unknown number names the option that supplies it."""
    from cfglint.findings.setting import DERIVED, NOT_KNOWN
    from cfglint.report.summary import spelled

    file, line = entry["file"] or "", entry["line"]
    anchor = f"{anchors[file]}-{line}" if file in anchors else ""
    if entry["needs"]:
        return SummarySetting(entry["name"], "?", entry["needs"], "", "", None, "")
    is_unknown = entry["value"] is None and (entry["origin"] == DERIVED or entry["because"].startswith(NOT_KNOWN))
    return SummarySetting(entry["name"], "?" if is_unknown else spelled(entry["value"]), "", entry["because"], file, line, anchor)


@dataclass
class BannerView:
    """One banner of a training log."""

    anchor: str
    title: str
    note: str
    numbers: Numbers
    differences: list[Difference]
    rows: list[tuple[str, str, str]]


@dataclass
class SettingView:
    """A changed setting."""

    key: str
    before: str
    after: str
    place: str
    notes: list[str]


@dataclass
class ReleaseView:
    """The facts about the runs that depend on changed releases."""

    title: str
    lines: list[str]


@dataclass
class ChangeView:
    """One run before and after; a side is None if the run is new or deleted."""

    anchor: str
    title: str
    sentences: list[tuple[str, str]]
    before: RunView | None
    after: RunView | None
    settings: list[SettingView]
    new: list[FindingView]
    gone: list[FindingView]
    others: list[str] = field(default_factory=list)  # the titles of runs with the same change

    @property
    def runs(self) -> int:
        """The number of runs that changed in this way."""
        return 1 + len(self.others)
