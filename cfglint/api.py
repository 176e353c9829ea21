"""The library: `check`, `fix`, `plan`, `explain`, `diff` and `new`, for paths or for the contents of files.

Nothing is printed, and only `FixResult.write` and `NewFiles.write` write files. In a notebook each result
is displayed as HTML. `sources` is a path, several paths, or a mapping from file names to file contents; a file that another
one names is looked up in the mapping first. Every error that the caller can handle is a `CfglintError`."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cfglint.explanation.summary import RunSummary, explained, table
from cfglint.frameworks.base import LaunchFacts, is_version
from cfglint.generators import RUN, generate
from cfglint.generators import kinds as generated_kinds
from cfglint.generators.job_spec import JobSpec
from cfglint.rewrite.apply_fixes import Skipped, apply_fixes
from cfglint.rewrite.plan import Pace
from cfglint.rewrite.plan import plan as plans_for
from cfglint.rewrite.plan import table as plan_table
from cfglint.rewrite.retarget import MissingFactError, Need, retarget
from cfglint.rewrite.value_change import ValueChange
from cfglint.run.discovery import Discovery, FileSource, UnknownKindError
from cfglint.source.edit import EditRefused
from cfglint.source.errors import CfglintError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeAlias

    from cfglint.findings.diagnostic import Diagnostic, Outcome
    from cfglint.findings.entries import PlanEntry, PlanTable, SettingEntry
    from cfglint.review.compare import Comparison
    from cfglint.run.checked import CheckedRun
    from cfglint.source.document import Document

    Path: TypeAlias = str | os.PathLike[str]
    Sources: TypeAlias = Path | Iterable[Path] | Mapping[str, str]
    Row: TypeAlias = dict[str, Any]

__all__ = [
    "ArgumentError",
    "CfglintError",
    "CheckResult",
    "DiffResult",
    "EditRefused",
    "Explanation",
    "FixResult",
    "MissingFactError",
    "MissingFileError",
    "NewFiles",
    "PlanResult",
    "Skipped",
    "UnknownKindError",
    "ValueChange",
    "check",
    "diff",
    "explain",
    "fix",
    "new",
    "plan",
]


class ArgumentError(CfglintError, ValueError):
    """An argument of a function has an invalid value; the message names both."""


class MissingFileError(CfglintError, FileNotFoundError):
    """A source does not exist or cannot be read."""


class CheckResult:
    """The runs of some sources with their findings, in the order of the sources.

    True if something was checked and every run would start. `unrecognized` lists the named files that are not a
    config of a known kind, and so were not checked."""

    def __init__(self, runs: list[Outcome], unrecognized: list[str]) -> None:
        self.runs = runs
        self.unrecognized = unrecognized

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings of all runs that no comment suppresses."""
        return [diagnostic for run in self.runs for diagnostic in run.diagnostics if not diagnostic.suppressed]

    @property
    def ok(self) -> bool:
        """Whether at least one file was checked, every named file was recognised, and every run would start."""
        return bool(self.runs) and not self.unrecognized and all(run.verdict == "accept" for run in self.runs)

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def to_dicts(self) -> list[Row]:
        """The findings as rows of plain values, with the fields of `check --format json`."""
        from cfglint.report.json import entry

        return [entry(diagnostic) for diagnostic in self.diagnostics]

    def __str__(self) -> str:
        from cfglint.report import render

        return render("text", self.runs)

    def __repr__(self) -> str:
        rejected = sum(run.verdict == "reject" for run in self.runs)
        skipped = f", unrecognized: {', '.join(self.unrecognized)}" if self.unrecognized else ""
        return f"<CheckResult: runs {len(self.runs)}, rejected {rejected}, findings {len(self.diagnostics)}{skipped}>"

    def _repr_html_(self) -> str:
        from cfglint.report import html

        return html.notebook(self.runs)


class FixResult:
    """The files of a run after a fix; true if the requested result was reached.

    `texts` maps each changed file to its new content, `changes` lists the changed values, `skipped` the offered fixes that
    were not applied, `needs` the values that must be set outside these files to reach a target. `feasible` is false if the
    target cannot be reached."""

    def __init__(self, documents: list[Document], texts: dict[str, str], changes: list[ValueChange]) -> None:
        self._documents = documents
        self.texts = texts
        self.changes = changes
        self.titles: list[str] = []
        self.skipped: list[Skipped] = []
        self.needs: list[Need] = []
        self.feasible = True

    def __bool__(self) -> bool:
        return self.feasible and not self.needs

    def write(self) -> list[str]:
        """Write the new contents, all or none, and return their paths; raises FileProblem if a file has changed since it was read."""
        from cfglint.rewrite.write_texts import write_texts

        return write_texts(self._documents, self.texts)

    def to_dicts(self) -> list[Row]:
        """The changed values as rows: file, key, before, after."""
        return [{"file": each.file, "key": each.key, "before": each.before, "after": each.after} for each in self.changes]

    def __repr__(self) -> str:
        state = "" if self.feasible else ", target cannot be reached"
        if self.needs:
            state += ", to be set elsewhere: " + ", ".join(f"{need.key} = {need.value}" for need in self.needs)
        return f"<FixResult: files changed {len(self.texts)}, values changed {len(self.changes)}{state}>"


class PlanResult:
    """A target global batch size on several GPU counts, one entry for each; true if at least one of them works."""

    def __init__(self, table: PlanTable) -> None:
        self._table = table

    @property
    def plans(self) -> list[PlanEntry]:
        """One plan for each GPU count, with the fields of `plan --format json`."""
        return self._table["plans"]

    def __bool__(self) -> bool:
        return any(plan["feasible"] for plan in self.plans)

    def __iter__(self) -> Iterator[PlanEntry]:
        return iter(self.plans)

    def to_dicts(self) -> list[Row]:
        """The plans as flat rows: GPUs, batch sizes, steps, hours."""
        rows = []
        for each in self.plans:
            plan, chosen = dict(each), dict(each["chosen"] or {})
            split = {name: chosen.get(name) for name in ("micro_batch", "accumulation", "data_parallel")}
            numbers = {name: plan[name] for name in ("steps_per_epoch", "total_steps", "tokens_per_step", "hours")}
            rows.append({**{name: plan[name] for name in ("gpus", "global_batch", "feasible")}, **split, **numbers})
        return rows

    def __str__(self) -> str:
        from cfglint.report.plans import render

        return render("text", self._table)

    def __repr__(self) -> str:
        works = ", ".join(str(plan["gpus"]) for plan in self.plans if plan["feasible"])
        return f"<PlanResult: works on {works} GPUs>" if works else "<PlanResult: no GPU count works>"

    def _repr_html_(self) -> str:
        from cfglint.report import html

        return html.notebook_plan(self._table)


class Explanation:
    """Every resolved value of a run with its origin; true if the run would start."""

    def __init__(self, summary: RunSummary) -> None:
        self._summary = summary

    @property
    def settings(self) -> list[SettingEntry]:
        """The settings as rows: key, value, origin, file, line, because."""
        return table(self._summary)["settings"]

    @property
    def resolved(self) -> dict[str, int | None]:
        """The numbers that the framework computes; None for a number that is unknown."""
        return self._summary.resolved

    def to_dicts(self) -> list[SettingEntry]:
        """The settings as rows."""
        return self.settings

    def __bool__(self) -> bool:
        return self._summary.run.verdict == "accept"

    def __str__(self) -> str:
        from cfglint.report import render_account

        return render_account("text", self._summary)

    def __repr__(self) -> str:
        files = ", ".join(document.path for document in self._summary.run.documents)
        batch, steps = ("unknown" if self.resolved[key] is None else self.resolved[key] for key in ("global_batch", "total_steps"))
        return f"<Explanation of {files}: global batch {batch}, total steps {steps}>"

    def _repr_html_(self) -> str:
        from cfglint.explanation.summary import pictured
        from cfglint.report import html

        return html.notebook([pictured(self._summary)])


class DiffResult:
    """A run before and after a change of its config; true if the change has an effect."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def __bool__(self) -> bool:
        return not self._comparison.empty

    def to_dicts(self) -> list[Row]:
        """The consequences as rows, with the fields of `diff --format json`."""
        from cfglint.report.changes import entry

        consequences: list[Row] = entry(self._comparison)["consequences"]
        return consequences

    def __str__(self) -> str:
        from cfglint.report import render_changes

        return render_changes("text", [self._comparison])

    def __repr__(self) -> str:
        return f"<DiffResult: consequences {len(self._comparison.consequences)}, settings changed {len(self._comparison.settings)}>"

    def _repr_html_(self) -> str:
        from cfglint.report import html

        return html.notebook_changes([self._comparison])


class NewFiles:
    """Generated config files: `texts` maps file names to contents, with the trainer's file first; `notes` are remarks that no file can
    contain."""

    def __init__(self, texts: dict[str, str], notes: tuple[str, ...]) -> None:
        self.texts = texts
        self.notes = notes

    def write(self, folder: Path = ".") -> list[str]:
        """Write the files into a folder and return their paths; raises FileProblem if one of them exists."""
        from cfglint.source import writing

        paths = [os.path.join(os.fspath(folder), name) for name in self.texts]
        writing.write_all([writing.New(path, text.encode("utf-8")) for path, text in zip(paths, self.texts.values(), strict=True)])
        return paths

    def __str__(self) -> str:
        return "\n".join(f"# {name}\n{text}" for name, text in self.texts.items())

    def __repr__(self) -> str:
        return f"<NewFiles: {', '.join(self.texts)}>"


class Texts(FileSource):
    """Files whose content was passed by the caller, which take precedence over files on disk."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__()
        self.given = given

    def is_file(self, path: str) -> bool:
        """Whether the content was passed, or the file exists on disk."""
        return path in self.given or super().is_file(path)

    def is_given(self, path: str) -> bool:
        """Whether the content of this file was passed."""
        return path in self.given

    def identity(self, path: str) -> str:
        """The identity of a file: its path, if its content was passed."""
        return path if path in self.given else super().identity(path)

    def read(self, path: str) -> tuple[str, bool]:
        """Return (content, whether it began with a byte order mark); raises FileProblem."""
        return (self.given[path], False) if path in self.given else super().read(path)


def check(
    sources: Sources,
    *,
    run: bool = False,
    kind: str | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
) -> CheckResult:
    """Check the sources: every finding, and the numbers that each run resolves to.

    `run`: the sources are the complete configuration of one run. `gpus`: number of processes that the launch starts, one GPU each.
    `num_examples`: number of training samples. `target` maps packages to versions. `overrides` are values passed on the launch line,
    by dotted key. `strict_keys`: the script defines no keys of its own, so unknown keys are reported as the framework treats them.
    Raises MissingFileError for a path that does not exist, UnknownKindError if `run` is set and no kind can be detected,
    ArgumentError for an invalid value."""
    from cfglint.project.suppression import merge_unused

    facts = facts_from(kind, gpus, num_examples, target, overrides, strict_keys, run)
    runs = discovered(sources, facts, kind)
    outcomes = [explained(each) for each in runs]
    merge_unused(outcomes)
    checked = {document.path for each in runs for document in each.documents}
    return CheckResult(outcomes, [path for path in named(sources)[0] if path not in checked and not os.path.isdir(path)])


def fix(
    sources: Sources,
    *,
    gpus: int | None = None,
    global_batch: int | None = None,
    max_micro_batch: int | None = None,
    from_gpus: int | None = None,
    unsafe: bool = False,
    kind: str | None = None,
    num_examples: int | None = None,
    target: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
) -> FixResult:
    """Apply the safe fixes to one run, or the smallest change that reaches a target global batch size.

    The target is `global_batch` samples per optimizer step (default: the current value) on `gpus` GPUs (default: the current count;
    `from_gpus` gives it if the files do not). `max_micro_batch`: upper bound on the samples per GPU and forward pass. `unsafe` also
    applies fixes that change what the run computes. Raises MissingFactError if the target cannot be computed, EditRefused if
    a file cannot be edited."""
    for name, value in (("global_batch", global_batch), ("max_micro_batch", max_micro_batch)):
        positive(name, value)
    one = single(
        sources, facts_from(kind, None, num_examples, target, overrides, strict_keys, True, positive("from_gpus", from_gpus)), kind
    )
    if positive("gpus", gpus) is None and global_batch is None:
        done = apply_fixes(one, unsafe)
        result = FixResult(one.documents, done.texts, done.changed)
        result.titles, result.skipped = [title for _, title in done.titles], done.skipped
        return result
    found = retarget(one, one.facts, gpus, global_batch, max_micro_batch)
    result = FixResult(one.documents, found.texts, found.changed)
    result.feasible, result.needs = found.feasible, found.needs
    return result


def plan(
    sources: Sources,
    *,
    gpus: int | Iterable[int],
    global_batch: int | None = None,
    max_micro_batch: int | None = None,
    from_gpus: int | None = None,
    seconds_per_step: float | None = None,
    tokens_per_second: float | None = None,
    kind: str | None = None,
    num_examples: int | None = None,
    target: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
) -> PlanResult:
    """Plan a global batch size (default: the current one) on one or several GPU counts.

    `seconds_per_step` or `tokens_per_second` (all GPUs together) give the hours of each plan. Raises MissingFactError if the
    current batch size is needed and cannot be computed."""
    counts = [positive("gpus", count) for count in counted(gpus)]
    for name, value in (("global_batch", global_batch), ("max_micro_batch", max_micro_batch)):
        positive(name, value)
    facts = facts_from(kind, None, num_examples, target, overrides, strict_keys, True, positive("from_gpus", from_gpus))
    pace = Pace(seconds_per_step, tokens_per_second)
    return PlanResult(plan_table(plans_for(single(sources, facts, kind), counts, global_batch, max_micro_batch, pace), pace))


def explain(
    sources: Sources,
    *,
    kind: str | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
) -> Explanation:
    """Explain a run: every value that it resolves to, and its origin. Raises the errors of `check`."""
    return Explanation(RunSummary(single(sources, facts_from(kind, gpus, num_examples, target, overrides, strict_keys, True), kind)))


def diff(
    old: Sources,
    new: Sources,
    *,
    kind: str | None = None,
    gpus: int | None = None,
    num_examples: int | None = None,
    target: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    strict_keys: bool = False,
) -> DiffResult:
    """Compare a run before and after a change of its config. Raises the errors of `check`."""
    from cfglint.review.compare import Comparison

    facts = facts_from(kind, gpus, num_examples, target, overrides, strict_keys, True)
    comparison = Comparison(single(old, facts, kind), single(new, facts, kind))
    comparison.add_notes()
    return DiffResult(comparison)


def new(kind: str, *, framework: str = "huggingface", **job: Any) -> NewFiles:
    """Generate config files for a job; the keyword arguments are the options of `cfglint new`: `gpus`, `global_batch`, `micro_batch`,
    ...

    The kind `run` generates all files of a run with `framework`. Raises CfglintError if values contradict each other, are missing or
    cannot be expressed in such a file, or if the global batch size cannot be reached."""
    if kind not in (*generated_kinds(), RUN):
        raise ArgumentError(f"kind must be one of {', '.join((*generated_kinds(), RUN))}, not {kind!r}")
    try:
        spec = JobSpec(**job)
    except TypeError as error:
        raise ArgumentError(str(error)) from error
    try:
        made = generate(kind, spec, framework)
    except CfglintError as error:
        raise in_keywords(error) from None
    return NewFiles({file.name: file.text for file in made.files}, made.notes)


def positive(name: str, value: int | None) -> int | None:
    """Return a count; raises ArgumentError if it is not a positive integer."""
    if value is not None and (type(value) is not int or value < 1):
        raise ArgumentError(f"{name} must be a positive integer, not {value!r}")
    return value


def counted(gpus: object) -> list[int]:
    """Return GPU counts as a list; raises ArgumentError for anything but a positive integer or several of them."""
    if isinstance(gpus, int):
        return [gpus]
    if isinstance(gpus, str) or not isinstance(gpus, Iterable):
        raise ArgumentError(f"gpus must be a positive integer or several, not {gpus!r}")
    counts = list(gpus)
    if not counts:
        raise ArgumentError("gpus must have at least one count")
    return counts


def facts_from(
    kind: str | None,
    gpus: int | None,
    num_examples: int | None,
    target: Mapping[str, str] | None,
    overrides: Mapping[str, object] | None,
    strict_keys: bool,
    run: bool,
    from_gpus: int | None = None,
) -> LaunchFacts:
    """Validate the arguments and return them as the facts of a launch."""
    from cfglint.frameworks import kinds, known_packages

    if kind is not None and kind not in kinds():
        raise ArgumentError(f"kind must be one of {', '.join(kinds())}, not {kind!r}")
    for package, version in (target or {}).items():
        if package not in known_packages():
            raise ArgumentError(f"target: unknown package {package!r}; known are {', '.join(sorted(known_packages()))}")
        if not isinstance(version, str) or not is_version(version):
            raise ArgumentError(f"target: {version!r} is not a version of {package}, such as '4.57.1'")
    given = []
    if overrides:
        from json import dumps

        from cfglint.frameworks.overrides import Override

        given = [Override(key, [value if isinstance(value, str) else dumps(value)]) for key, value in overrides.items()]
    return LaunchFacts(
        gpus=positive("gpus", gpus),
        gpus_source="gpus",
        num_examples=positive("num_examples", num_examples),
        examples_source="num_examples",
        target=dict(target or {}),
        target_from=dict.fromkeys(target or {}, "target"),
        complete=run,
        kind_given=kind is not None,
        strict_keys=strict_keys,
        overrides=tuple(given),
        from_gpus=from_gpus,
    )


def single(sources: Sources, facts: LaunchFacts, kind: str | None) -> CheckedRun:
    """Load the sources as the complete configuration of one run."""
    [found] = discovered(sources, facts, kind)
    return found


def discovered(sources: Sources, facts: LaunchFacts, kind: str | None) -> list[CheckedRun]:
    """Find and load the runs of the sources."""
    paths, texts = named(sources)
    discovery = Discovery(facts, kind, source=Texts(texts))
    try:
        found = [discovery.one(paths)] if facts.complete else [run for _, run in sorted(discovery.each(paths), key=lambda pair: pair[0])]
    except CfglintError as error:
        raise in_keywords(error) from None
    if discovery.stats.unreadable:
        raise MissingFileError(f"does not exist or cannot be read: {', '.join(discovery.stats.unreadable)}")
    return found


def named(sources: Sources) -> tuple[list[str], dict[str, str]]:
    """Split the sources into paths and the contents that were passed for some of them."""
    from collections.abc import Mapping

    if isinstance(sources, (str, os.PathLike)):
        return [os.fspath(sources)], {}
    texts = {name: sources[name] for name in sources} if isinstance(sources, Mapping) else {}
    if not isinstance(sources, Iterable):
        raise ArgumentError(f"sources must be a path, several paths or a mapping from names to contents, not {sources!r}")
    return [os.fspath(source) for source in sources], texts


def in_keywords(error: CfglintError) -> CfglintError:
    """Return the error with command-line options in its message replaced by keyword arguments: `kind`, not `--kind`."""
    import re

    error.args = tuple(re.sub(r"--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), str(each)) for each in error.args)
    return error
