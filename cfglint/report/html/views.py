"""Outcomes, plans and comparisons as the values that templates show; this module contains no markup."""

from __future__ import annotations

from math import prod

from cfglint.batch.memory.estimate import PROBABLY_FITS, PROBABLY_NOT
from cfglint.findings.diagnostic import ALONE, ERROR, Diagnostic, Outcome, ReportContext, rank, severity_counts
from cfglint.findings.setting import DERIVED, NOT_KNOWN
from cfglint.findings.wording import MOMENTS, amount
from cfglint.frameworks import framework
from cfglint.frameworks.summary import GPUS
from cfglint.report.details import HELP, NOTE, depending, raises
from cfglint.report.html import excerpt
from cfglint.report.html.excerpt import Changed, Listed, Marked
from cfglint.report.links import page_of
from cfglint.report.markdown import counts
from cfglint.report.summary import spelled
from cfglint.source.annotations import Any
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import MemoryDrawing, SettingEntry

AXES = (
    ("tensor parallel", "tensor_parallel"),
    ("context parallel", "context_parallel"),
    ("sequence parallel", "sequence_parallel"),
    ("pipeline", "pipeline_parallel"),
)
MOST_SOURCE = 40_000  # up to this many characters of files are shown completely; of more, only lines with findings


class Number(Record):
    """A number with its name; None with the option that supplies it, if there is one. `was`: the value before a change."""

    label: str
    value: int | None
    needs: str = ""
    was: str = ""


class Numbers(Record):
    """The numbers of a run, and the lines of its summary by name; `before` are those of the run before a change."""

    resolved: dict[str, int | None]
    gpus: int | None
    settings: dict[str, SettingEntry] = {}
    marks: dict[str, list[int]] = {}
    before: dict[str, int | None] = {}

    def number(self, label: str, key: str) -> Number:
        value = self.gpus if key == "gpus" else self.resolved.get(key)
        needs = self.needs(label)
        if value is None and not needs and self.gpus is None and key in ("gpus", "data_parallel", "global_batch"):
            needs = GPUS
        before = self.before.get(key)
        was = f"{before:,}" if before is not None and before != value else ""
        return Number(label, value, "" if value is not None else needs, was)

    def needs(self, label: str) -> str:
        return self.settings[label]["needs"] or "" if label in self.settings else ""

    def value(self, label: str) -> Any:
        return self.settings[label]["value"] if label in self.settings else None

    @property
    def split(self) -> str:
        """How the GPUs are split among replicas of the model; empty where each GPU holds one."""
        axes = [(label, size) for label, key in AXES if (size := self.resolved.get(key) or 1) > 1]
        if not axes:
            return ""
        size = prod(size for _, size in axes)
        product = " \u00d7 ".join(f"{label} {number}" for label, number in axes)
        replica = f"{amount(size, 'GPU')} ({product})"
        if self.gpus is None:
            return f"One replica of the model takes {replica}."
        if self.gpus % size:
            return f"{amount(self.gpus, 'GPU')} cannot be split into replicas of {replica}."
        return f"{amount(self.gpus, 'GPU')}: {amount(self.gpus // size, 'replica')} of the model, each on {replica}."

    @property
    def steps(self) -> int | None:
        """The optimizer steps; of a refused file they may be 0 or less."""
        total = self.resolved.get("total_steps")
        return total if total is not None and total > 0 else None

    @property
    def course(self) -> list[tuple[str, str]]:
        """The run from its first step to its last, in words; empty if its length is unknown."""
        total, length = self.steps, self.resolved.get("steps_per_epoch")
        if total is None:
            return []
        counts = (self.value("schedule's warm-up"), self.resolved.get("warmup_steps"))  # DeepSpeed's own one takes precedence
        warmup = next((count for count in counts if type(count) is int), None)
        schedule, peak = self.value("schedule"), self.value("learning rate")
        rate = "warm-up unknown" if warmup is None else f"{amount(warmup, 'step')} of warm-up" if warmup > 0 else "no warm-up"
        rate += f", then {schedule}" if schedule is not None else ""
        rate += f"; highest {spelled(peak).replace('e-0', 'e-')}" if peak is not None else ""
        rows = [("learning rate", rate)]
        if length is not None and length > 0:
            epochs = "1" if total == length else spelled(round(total / length, 1)).removesuffix(".0") if total < length * 10**9 else "many"
            rows.append(("epochs", f"{epochs}, {amount(length, 'step')} each"))
        for label in ("evaluations", "checkpoints"):
            count, steps = self.value(label), self.marks.get(label)
            if isinstance(count, int):
                between = f", every {steps[0]:,} steps" if steps and len(steps) > 1 and steps[1] == 2 * steps[0] else ""
                rows.append((label, f"{count:,}{between}" if count else "none"))
        return rows

    @property
    def terms(self) -> list[Number]:
        return [self.number(label, label.replace(" ", "_")) for label in ("micro batch", "accumulation", "data parallel")]

    @property
    def total(self) -> Number:
        """The global batch that the framework computes, or that a file specifies."""
        return self.number("global batch", "global_batch")

    @property
    def product(self) -> int | None:
        values = [term.value for term in self.terms]
        return None if None in values else prod(value for value in values if value is not None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing about the batch is known, and no option supplies it."""
        return all(number.value is None and not number.needs for number in (*self.terms, self.total))

    @property
    def at_odds(self) -> bool:
        """Whether the known global batch differs from the product of the factors."""
        return self.product is not None and self.total.value not in (None, self.product)

    @property
    def consumed(self) -> int | None:
        """The samples per optimizer step, if they differ from the global batch."""
        consumed = self.resolved.get("consumed_batch")
        return consumed if consumed != self.total.value else None


def numbers(outcome: Outcome) -> Numbers:
    """The numbers of an outcome, with what its context adds."""
    context: ReportContext | None = outcome.context
    if context is None:
        return Numbers(outcome.resolved, outcome.gpus)
    settings: dict[str, SettingEntry] = {}
    for setting in context.settings:
        settings.setdefault(setting["name"], setting)
    launched = settings["GPUs"]["value"] if "GPUs" in settings else None
    return Numbers(outcome.resolved, launched if isinstance(launched, int) else outcome.gpus, settings, context.marks)


class Related(Record):
    words: str
    file: str
    line: int
    excerpt: list[Marked]
    anchor: str


class FixView(Record):
    title: str
    command: str
    diff: list[Changed]


class FindingView(Record):
    """A finding with its anchor; `run` is the anchor of its run."""

    anchor: str
    run: str
    diagnostic: Diagnostic
    kind: str
    excerpt: list[Marked]
    related: list[Related]
    stops: str
    lines: list[tuple[str, str]]
    fix: FixView | None
    page: str = ""  # the address of the page of its rule
    has_page: bool = False  # whether the page of its rule is shown, too


class SourceView(Record):
    file: str
    anchor: str
    lines: list[Listed]


YES, NO, UNKNOWN = "yes", "no", "not known"
SHAPES = {YES: "yes", NO: "error", UNKNOWN: "unknown"}


class RunView(Record):
    anchor: str
    files: list[str]
    framework: str
    targets: list[str]
    answer: str  # whether it starts: a key of SHAPES
    verdict: str
    numbers: Numbers
    findings: list[FindingView]
    sources: list[SourceView] = []
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
        return SHAPES[self.answer]

    @property
    def cause(self) -> str:
        """The message of the first error; empty if there is none."""
        return next((view.diagnostic.message for view in self.findings if view.diagnostic.severity == ERROR), "")

    @property
    def counts(self) -> list[tuple[str, str]]:
        """The number of findings of each severity as `1 error`, worst first."""
        return [*severity_counts(finding_view.diagnostic.severity for finding_view in self.findings).items()]


def runs(outcomes: list[Outcome]) -> list[RunView]:
    """The outcomes of a page, those that would not start first, then by findings; anchors number them as they were given."""
    full = sum(len(text) for outcome in outcomes if outcome.context for text in outcome.context.texts.values()) <= MOST_SOURCE

    def urgency(view: RunView) -> tuple[int, ...]:
        return (view.starts, *(-number for number in counts([finding_view.diagnostic for finding_view in view.findings])))

    return sorted((run(outcome, f"run-{place}", full=full) for place, outcome in enumerate(outcomes, 1)), key=urgency)


def run(
    outcome: Outcome, anchor: str, only: list[Diagnostic] | None = None, *, home: str = "", full: bool = True, listed: bool = True
) -> RunView:
    """The view of one outcome; `only` are the findings to show if not all, `home` is the anchor of the element around them."""
    shown = only if only is not None else outcome.open_findings
    shown = sorted(shown, key=lambda diagnostic: -rank(diagnostic.severity))
    source = sources(outcome, anchor, shown, full) if listed else []
    anchors = {source_view.file: source_view.anchor for source_view in source}
    return RunView(
        anchor,
        outcome.files,
        framework(outcome.kinds[0]).title,
        [f"{package} {version}" for package, version in outcome.target.items()],
        *judgement(outcome),
        numbers(outcome),
        [finding(diagnostic, outcome, f"{anchor}-{place}", home or anchor, anchors) for place, diagnostic in enumerate(shown, 1)],
        source,
        outcome.context.memory if outcome.context is not None else None,
    )


def judgement(outcome: Outcome) -> tuple[str, str]:
    """(whether the run would start: a key of SHAPES, a sentence about it); unknown where it probably does not fit into memory."""
    if outcome.verdict is None:
        return UNKNOWN, "Not known whether it would start"
    if outcome.verdict == "reject":
        moment = MOMENTS.get(outcome.fails_at or "", "")
        return NO, f"Would not start: it fails {moment}" if moment else "Would not start"
    context = outcome.context
    memory = context.memory if context is not None else None
    if memory is not None and memory["verdict"] == "does-not-fit":
        return NO, "Would run out of GPU memory"
    left_open = context.left_open if context is not None else ""  # what is said instead of the claim that it starts
    fits = memory["judgement"] if memory is not None and memory["verdict"] == "close" else ""
    probably_not = fits.startswith(PROBABLY_NOT)
    answer = UNKNOWN if probably_not or left_open not in ("", *ALONE) else YES
    for words in (PROBABLY_FITS, PROBABLY_NOT):
        fits = fits.replace(words, f"{words} into GPU memory")
    return answer, (left_open or "Should start") + (f", {'but' if probably_not else 'and'} {fits}" if fits else "")


def finding(diagnostic: Diagnostic, outcome: Outcome, anchor: str, home: str, anchors: dict[str, str]) -> FindingView:
    """One finding with all its details; `anchors` are those of the files that the page lists."""
    place = diagnostic.place
    texts = outcome.context.texts if outcome.context else {}
    lines = excerpt.lines_of(texts[place.file]) if place.file in texts else None
    others = [other for other, _ in diagnostic.related]
    fix = None
    if diagnostic.fix:
        command = "cfglint fix" if diagnostic.fix.safe else "cfglint fix --unsafe-fixes"
        fix = FixView(diagnostic.fix.title, command, excerpt.diff(diagnostic.fix, texts, place, others))
    seen = [] if fix is not None and fix.diff else excerpt.around(place, others, lines)
    numbers_seen = {(place.file, line.number) for line in seen} | {(line.file, line.number) for line in (fix.diff if fix else ())}
    related = []
    for other, words in diagnostic.related:
        line = None if (other.file, other.line) in numbers_seen else excerpt.marked(other)
        link = f"{anchors[other.file]}-{other.line}" if other.file in anchors else ""
        related.append(Related(words, other.file, other.line, [line] if line else [], link))
    remarks = [(NOTE, diagnostic.note), (NOTE, depending(diagnostic))]
    remarks.append((HELP, "" if fix and fix.title == diagnostic.help else diagnostic.help))
    return FindingView(
        anchor,
        home,
        diagnostic,
        framework(outcome.kind_of(place.file)).title,
        seen,
        related,
        raises(diagnostic, outcome),
        [(label, text) for label, text in remarks if text],
        fix,
        page_of(diagnostic),
    )


def sources(outcome: Outcome, anchor: str, shown: list[Diagnostic], full: bool) -> list[SourceView]:
    """The files of a run with marked lines of findings and anchors; unless `full`, the linked lines and those around them."""
    context: ReportContext | None = outcome.context
    if context is None:
        return []
    source_views: list[SourceView] = []
    for place, file in enumerate(outcome.files, 1):
        linked = [other.line for diagnostic in shown for other, _ in diagnostic.related if other.file == file]
        linked += [entry["line"] for entry in context.settings if full and entry["file"] == file and entry["line"]]
        # `shown` begins with the worst, which is the one that a line is marked with.
        worst = {diagnostic.place.line: diagnostic.severity for diagnostic in reversed(shown) if diagnostic.place.file == file}
        if full or linked:
            source_views.append(SourceView(file, f"{anchor}-f{place}", excerpt.listing(context.texts.get(file, ""), worst, linked, full)))
    return [source_view for source_view in source_views if source_view.lines]


class SummarySetting(Record):
    """A line in the summary of a run; an unknown number names the option that supplies it."""

    label: str
    value: str
    needs: str
    because: str
    file: str
    line: int | None
    anchor: str


def settings(outcome: Outcome, listed: list[SourceView]) -> list[SummarySetting]:
    anchors = {source_view.file: source_view.anchor for source_view in listed}
    found: list[SummarySetting] = []
    for entry in outcome.context.settings if outcome.context else ():
        if entry["needs"]:
            found.append(SummarySetting(entry["name"], "?", entry["needs"], "", "", None, ""))
            continue
        file, line = entry["file"] or "", entry["line"]
        is_unknown = entry["value"] is None and (entry["origin"] == DERIVED or entry["because"].startswith(NOT_KNOWN))
        value, anchor = "?" if is_unknown else spelled(entry["value"]), f"{anchors[file]}-{line}" if file in anchors else ""
        found.append(SummarySetting(entry["name"], value, "", entry["because"], file, line, anchor))
    return found


class ChangeView(Record):
    """One run before and after; a side is None if the run is new or deleted."""

    anchor: str
    title: str
    sentences: list[tuple[str, str]]
    before: RunView | None
    after: RunView | None
    settings: list[dict[str, object]]
    new: list[FindingView]
    gone: list[FindingView]
    others: list[str] = []  # the titles of runs with the same change

    @property
    def runs(self) -> int:
        return 1 + len(self.others)
