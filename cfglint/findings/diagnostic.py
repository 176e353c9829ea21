"""Findings as plain values for the reports: a diagnostic, its place, its fix, and the outcome of a run."""

from __future__ import annotations

from cfglint.evaluate import Reason
from cfglint.findings.vocabulary import Severity, Stage, Subject, Verdict
from cfglint.source.annotations import Iterable
from cfglint.source.document import Document
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings import entries
    from cfglint.source.change import Change, Edit

FoundKey = tuple[str, int, str, str, str, str]

ERROR: Severity = "error"
WARNING: Severity = "warning"
INFO: Severity = "info"
ALONE = ("No errors found in this file", "No errors found in these files")  # said of accepted files that nothing starts
SEVERITIES: tuple[Severity, ...] = (INFO, WARNING, ERROR)
STAGES: tuple[Stage, ...] = ("load", "config", "init", "first-step")

# Codes that the exit status, baselines and ignore comments treat specially.
INTERNAL = "INT000"
UNUSED_IGNORE = "SUP001"

# The causes of suppression.
COMMENT = "comment"
BASELINE = "baseline"
CONFIGURATION = "configuration"

OF_CALLER = "only when {} starts the script, not when it is started alone"


LONGEST = 1000  # maximum number of characters of a message that quotes values


def clipped(text: str) -> str:
    """The string, shortened in the middle if it is longer than a screen."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 4 :]}"


def rank(severity: Severity) -> int:
    """0 for info, 1 for warning, 2 for error."""
    return SEVERITIES.index(severity)


def severity_counts(severities: Iterable[Severity]) -> dict[Severity, str]:
    """`1 error`, `2 warnings`, `3 info`, by their severity, worst first."""
    found = [*severities]
    numbers = [(severity, found.count(severity)) for severity in reversed(SEVERITIES)]
    return {severity: f"{number} {severity}{'s' if number > 1 and severity != INFO else ''}" for severity, number in numbers if number}


OTHER = "other"  # the kind of a file of a run that is not modelled


class Place(Record):
    """A span in a file: `line`/`column` from 1 in characters, `start`/`end` offsets; `source` is its first line, for reports."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int
    source: str

    def __repr__(self) -> str:
        return f"<Place {self.file}:{self.line}:{self.column}>"


class FileEdit(Record):
    """Replace `start`..`end` of a file's decoded content by `text`."""

    file: str
    start: int
    end: int
    text: str

    def __repr__(self) -> str:
        return f"<FileEdit of {self.file}, {self.start} to {self.end}: {self.text!r}>"


class Fix(Record):
    """A fix of a finding: edits of the files, and the changes of values that they make.

    Safe: the batch, schedule, precision and data of the run stay the same, or the run could not have started.
    `by_release`: it is not safe only because the release of the framework is not specified. `of` is what the edits change
    that may be no document of the run: another call of its program, a variable before its launch line.
    """

    title: str
    edits: list[FileEdit]
    safe: bool
    changes: list[tuple[str, Change]]
    by_release: bool = False
    of: list[tuple[Document, Change | Edit]] = []

    def __repr__(self) -> str:
        return f"<{'Safe' if self.safe else 'Unsafe'} fix: {self.title}>"


IN_BRANCH = Reason("branch", "a condition or `try` of the program")


def unpinned(package: str) -> Reason:
    """The release of a package that the project does not state."""
    return Reason("release", f"the release of {package}", "it is not pinned")


class Diagnostic(Record):
    """One finding at its place, with everything that a report may show.

    `message` says in one line what is wrong with which key. `note` is a consequence that is not an exception, `help`
    the remedy, with the value to write. `since`: only releases from these on give the finding, and the project does not state which it
    uses. `depends_on` is what is not known and keeps it from being an error (`rest_on`). `about` is the subject of its rule; None
    for a bug in cfglint.
    """

    code: str
    name: str
    severity: Severity
    place: Place
    key: str
    message: str
    fails_at: Stage | None = None
    exception: str | None = None
    related: tuple[tuple[Place, str], ...] = ()
    fix: Fix | None = None
    note: str | None = None
    help: str | None = None
    about: Subject | None = None
    since: dict[str, str] = {}
    depends_on: tuple[Reason, ...] = ()
    suppressed: str | None = None  # COMMENT, BASELINE or CONFIGURATION
    page: str = ""  # the address of its rule's page, where a configuration or the installation has one

    def rest_on(self, reasons: Iterable[Reason]) -> None:
        """Name what the finding rests on and is not known: an error is a warning then. Nothing else lowers a severity."""
        if self.severity == ERROR:
            self.depends_on = tuple({(reason.kind, reason.what): reason for reason in reasons}.values())
            if self.depends_on:
                self.severity, self.fails_at = WARNING, None

    @property
    def undecided_releases(self) -> list[str]:
        """The packages whose release decides whether it is an error, and is not stated."""
        return [package for package in self.since if unpinned(package) in self.depends_on]

    @property
    def identity(self) -> tuple[str, str, str]:
        """What identifies a finding in two states of a file: code, file and key."""
        return self.code, self.place.file, self.key

    @property
    def file(self) -> str:
        return self.place.file

    @property
    def line(self) -> int:
        """The line of its place, from 1."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column of its place in characters, from 1."""
        return self.place.column

    def __repr__(self) -> str:
        return f"<{self.file}:{self.line}:{self.column}: {self.severity} {self.code}: {self.message}>"


class Ignore(Record):
    """A code or family of codes, empty for none, that a comment suppresses on some lines; `start`/`end` is the span of the comment."""

    document: Document
    code: str
    start: int
    end: int
    lines: frozenset[int]
    used: bool = False


class ReportContext(Record):
    """The data that a report with diagrams shows in addition to the findings, as plain values.

    `texts` are the decoded files by their paths; `settings` and `assumed` are those of `cfglint.explanation.summary.table`;
    `marks` are the steps at which a run evaluates and saves, by the name of the setting that counts them;
    `complete`: the files are the whole run. `memory` is that of `explain`, with the moments and their terms in GiB. `left_open`: what is
    said of a run without errors instead of the claim that it starts.
    """

    texts: dict[str, str]
    settings: list[entries.SettingEntry]
    marks: dict[str, list[int]]
    assumed: list[str]
    complete: bool
    memory: entries.MemoryDrawing | None = None
    left_open: str = ""


class Outcome(Record):
    """The result of a run as plain values: the entry of `runs` in the JSON output. `context` is set only on request.

    `consumer` is the kind whose framework executes the run: that of the first file, except for a launch line. `machine`: the number of
    GPUs is that of the machine, because the launch does not specify it. `unknown` are the unknown fields of its launch, `not_read` is
    what decides about the run and was not read, `assumed` what its numbers and findings rest on in its place. `memory` is said of the
    memory of a given card where no finding speaks of it.
    """

    files: list[str]
    kinds: list[str]
    target: dict[str, str]
    gpus: int | None
    verdict: Verdict | None
    fails_at: Stage | None
    resolved: dict[str, int | None]
    diagnostics: list[Diagnostic]
    target_from: dict[str, str] = {}
    own_consumer: str = ""  # if it is not the kind of the first file
    launch: entries.LaunchEntry | None = None  # the facts of the launch line, for a run that a script starts
    alternative: entries.AlternativeEntry | None = None
    machine: bool = True
    not_read: list[entries.NotReadEntry] = []
    assumed: list[str] = []
    nodes: int | None = None
    resume: entries.ResumeEntry | None = None
    samples: entries.SamplesEntry | None = None
    context: ReportContext | None = None
    unknown: list[tuple[str, Reason]] = []
    memory: str = ""

    @property
    def consumer(self) -> str:
        """The kind whose framework executes the run."""
        return self.own_consumer or self.kinds[0]

    def kind_of(self, file: str) -> str:
        """The kind of a file; that of the run's framework for one that is not modelled, or not of the run."""
        kind = self.kinds[self.files.index(file)] if file in self.files else OTHER
        return self.consumer if kind == OTHER else kind

    def __repr__(self) -> str:
        return f"<Outcome of {', '.join(self.files)}: {self.verdict or 'undecided'}, findings: {len(self.diagnostics)}>"

    @property
    def open_findings(self) -> list[Diagnostic]:
        return [diagnostic for diagnostic in self.diagnostics if not diagnostic.suppressed]

    @property
    def is_further_alternative(self) -> bool:
        """Whether another outcome is of the same run, whose program builds its arguments in another branch of a condition."""
        return self.alternative is not None and self.alternative["number"] > 1

    def entry(self) -> entries.RunEntry:
        """The entry of `runs`, without the findings."""
        nodes = self.nodes
        if nodes is None and self.launch is None and self.gpus is not None and self.gpus > 0:
            from cfglint.batch.nodes import GPUS_OF_NODE, fewest_nodes

            size = fewest_nodes(self.gpus, GPUS_OF_NODE)  # None if the GPUs fill no whole nodes
            nodes = size.nodes if size is not None else None
        entry: entries.RunEntry = {
            "files": self.files,
            "kinds": self.kinds,
            "target": self.target,
            "target_from": self.target_from,
            "gpus": self.gpus,
            "nodes": nodes,
            "verdict": self.verdict,
            "fails_at": self.fails_at,
            "resolved": self.resolved,
            "read": not self.not_read,
            "not_read": self.not_read,
            "assumed": self.assumed,
        }
        if self.launch is not None:
            entry["launch"] = self.launch
        if self.resume is not None:
            entry["resume"] = self.resume
        if self.samples is not None:
            entry["num_examples_from"] = self.samples
        return entry


def drop_repeated_findings(found: list[Outcome]) -> None:
    """Leave out findings that another run of the file has; one that a line has only with a caller's variables names the caller."""
    runs: dict[FoundKey, list[Outcome]] = {}
    for outcome in found:
        kept: list[Diagnostic] = []
        for diagnostic in outcome.diagnostics:
            same = runs.setdefault(repeated_key(diagnostic), [])
            if diagnostic.code == INTERNAL or not same:
                kept.append(diagnostic)
            same.append(outcome)
        outcome.diagnostics[:] = kept
    alone = {place_of_launch(each) for each in found if caller_of(each) is None}
    for outcome in found:
        caller = caller_of(outcome)
        for each in outcome.diagnostics if caller is not None and place_of_launch(outcome) in alone else ():
            if all(map(caller_of, runs[repeated_key(each)])):
                each.note = f"{each.note}; {OF_CALLER.format(caller)}" if each.note else OF_CALLER.format(caller)


def repeated_key(found: Diagnostic) -> FoundKey:
    """What the same finding has in every run."""
    return found.place.file, found.place.start, found.code, found.key, found.severity, found.message


def place_of_launch(outcome: Outcome) -> tuple[str, int] | None:
    """The line that starts a run; None for a run that no line starts."""
    return (outcome.launch["file"], outcome.launch["line"]) if outcome.launch is not None else None


def caller_of(outcome: Outcome) -> str | None:
    """The place of the line that calls the script of a launch; None if none does."""
    return outcome.launch["called_from"] if outcome.launch is not None else None
