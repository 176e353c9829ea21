"""The results of the library's functions: each has a truth value, rows, the output of the command, and HTML for a notebook."""

from __future__ import annotations

import os
from html import escape

from cfglint.api.arguments import Path
from cfglint.explanation.log_analysis import ExplainedLog
from cfglint.explanation.summary import RunSummary, outcome_with_context, table
from cfglint.findings.diagnostic import Diagnostic, Outcome
from cfglint.report import changes, fixes, html, json, plans, render, render_account, render_changes, render_log
from cfglint.report.log import banner_entry, failure_entry
from cfglint.review.compare import Comparison
from cfglint.review.left_out import NotCompared
from cfglint.rewrite.apply_fixes import AppliedFixes, Skipped, writes_of
from cfglint.rewrite.retarget import Need, Retarget
from cfglint.rewrite.value_change import ValueChange
from cfglint.run.checked import CheckedRun
from cfglint.source import writing
from cfglint.source.annotations import ConfigTable, Iterator
from cfglint.source.record import Record
from cfglint.source.sections import every_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings import entries


class CheckResult(Record):
    """The runs of some sources with their findings, in the order of the sources.

    True if something was checked and every run would start. `unrecognized` lists the named files that are not a
    config of a known kind, and so were not checked.
    """

    runs: list[Outcome]
    unrecognized: list[str]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings of all runs that no comment suppresses."""
        return [diagnostic for run in self.runs for diagnostic in run.open_findings]

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

    def to_dicts(self) -> list[entries.FindingEntry]:
        """The findings as rows of plain values, with the fields of `check --format json`."""
        return [json.entry(diagnostic) for diagnostic in self.diagnostics]

    def __str__(self) -> str:
        return render("text", self.runs)

    def __repr__(self) -> str:
        rejected = sum(run.verdict == "reject" for run in self.runs)
        skipped = f", unrecognized: {', '.join(self.unrecognized)}" if self.unrecognized else ""
        return f"<CheckResult: runs {len(self.runs)}, rejected {rejected}, findings {len(self.diagnostics)}{skipped}>"

    def _repr_html_(self) -> str:
        return html.notebook(self.runs)


class FixResult:
    """The files of a run after a fix; true if the requested result was reached.

    `texts` maps each changed file to its new content, `changes` lists the changed values, `removed_comments` are (file, comment) of
    comments that were removed with a key, `skipped` the offered fixes that were not applied. With a target, `plan` has the batch sizes
    that reach it; `feasible` is false if it cannot be reached, `alternatives` are then the nearest targets that can, and `needs` are
    the values that must be set outside these files.
    """

    def __init__(self, run: CheckedRun, fixed: AppliedFixes | None = None, found: Retarget | None = None) -> None:
        self._documents = every_document(run.documents)
        self._found = found
        self.texts: dict[str, str] = {}
        self.changes: list[ValueChange] = []
        self.titles: list[str] = []
        self.removed_comments: list[tuple[str, str]] = []
        self.skipped: list[Skipped] = []
        self.needs: list[Need] = []
        self.feasible = True
        if fixed is not None:
            self.texts, self.changes, self.skipped = fixed.texts, fixed.changed, fixed.skipped
            self.titles, self.removed_comments = [title for _, title in fixed.titles], fixed.comments
        if found is not None:
            self.texts, self.changes, self.needs, self.feasible = found.texts, found.changed, found.needs, found.feasible

    def __bool__(self) -> bool:
        return self.feasible and not self.needs

    @property
    def plan(self) -> entries.FixPlan | None:
        """The batch sizes that reach the target; None without a target."""
        return fixes.plan_entry(self._found) if self._found is not None else None

    @property
    def alternatives(self) -> entries.Alternatives | None:
        """The nearest targets that can be reached; None without a target."""
        return self._found.alternatives if self._found is not None else None

    @property
    def diff(self) -> str:
        """The changes as a unified diff."""
        return "".join(fixes.diff_lines(self._documents, self.texts))

    def write(self) -> list[str]:
        """Write the new contents, all or none, and return their paths; raises FileProblem if a file has changed since it was read."""
        writes = writes_of(self._documents, self.texts)
        writing.write_all(writes)
        return [write.path for write in writes]

    def to_dicts(self) -> list[entries.ValueChangeEntry]:
        """The changed values as rows: file, key, before, after."""
        return [fixes.change_entry(change) for change in self.changes]

    def __str__(self) -> str:
        lines = [fixes.change_line(change) for change in self.changes]
        lines += fixes.target_lines(self._found) if self._found is not None and not self.needs else []
        lines += [f"to be set elsewhere: {each.key} = {each.value}\n" for each in self.needs]
        lines += [f"{each.file}:{each.line}: {each.code} not fixed: {each.reason}\n" for each in self.skipped]
        return "".join(lines) or "nothing to fix\n"

    def __repr__(self) -> str:
        state = "" if self.feasible else ", target cannot be reached"
        if self.needs:
            state += ", to be set elsewhere: " + ", ".join(f"{need.key} = {need.value}" for need in self.needs)
        return f"<FixResult: files changed {len(self.texts)}, values changed {len(self.changes)}{state}>"

    def _repr_html_(self) -> str:
        return as_text(f"{self}{self.diff}")


class PlanResult(Record):
    """A target global batch size on several GPU counts, one entry for each; true if at least one of them works."""

    _table: entries.PlanTable

    @property
    def plans(self) -> list[entries.PlanEntry]:
        """One plan for each GPU count, with the fields of `plan --format json`."""
        return self._table["plans"]

    def __bool__(self) -> bool:
        return any(plan["feasible"] for plan in self.plans)

    def __iter__(self) -> Iterator[entries.PlanEntry]:
        return iter(self.plans)

    def to_dicts(self) -> list[ConfigTable]:
        """The plans as flat rows: GPUs, batch sizes, steps, hours."""
        rows = []
        for each in self.plans:
            plan, chosen = dict(each), dict(each["chosen"] or {})
            split = {name: chosen.get(name) for name in ("micro_batch", "accumulation", "data_parallel")}
            numbers = {name: plan[name] for name in ("steps_per_epoch", "total_steps", "tokens_per_step", "hours")}
            rows.append({**{name: plan[name] for name in ("gpus", "global_batch", "feasible")}, **split, **numbers})
        return rows

    def __str__(self) -> str:
        return plans.render("text", self._table)

    def __repr__(self) -> str:
        works = ", ".join(str(plan["gpus"]) for plan in self.plans if plan["feasible"])
        return f"<PlanResult: works on {works} GPUs>" if works else "<PlanResult: no GPU count works>"

    def _repr_html_(self) -> str:
        return html.notebook_plan(self._table)


class Explanation(Record):
    """Every resolved value of a run with its origin; true if the run would start."""

    _summary: RunSummary

    @property
    def settings(self) -> list[entries.SettingEntry]:
        """The settings as rows: key, value, origin, file, line, because."""
        return table(self._summary)["settings"]

    @property
    def resolved(self) -> dict[str, int | None]:
        """The numbers that the framework computes; None for a number that is unknown."""
        return self._summary.resolved

    @property
    def memory(self) -> entries.MemoryEntry | None:
        """The memory that the run needs on each GPU, with the fields of `explain --format json`; None if the model's shape is unknown."""
        memory = self._summary.memory
        return memory.entry() if memory is not None else None

    def to_dicts(self) -> list[entries.SettingEntry]:
        """The settings as rows."""
        return self.settings

    def __bool__(self) -> bool:
        return self._summary.run.verdict == "accept"

    def __str__(self) -> str:
        return render_account("text", self._summary)

    def __repr__(self) -> str:
        files = ", ".join(document.path for document in self._summary.run.documents)
        batch, steps = ("unknown" if self.resolved[key] is None else self.resolved[key] for key in ("global_batch", "total_steps"))
        return f"<Explanation of {files}: global batch {batch}, total steps {steps}>"

    def _repr_html_(self) -> str:
        return html.notebook([outcome_with_context(self._summary)])


class LogResult(Record):
    """What a training log says; true if it has a banner of a training or a failure, and no number differs from the files of the run."""

    _path: str
    _found: ExplainedLog

    @property
    def failures(self) -> list[entries.FailureEntry]:
        """Why the training failed, with the fields of `log --format json`."""
        return [failure_entry(failure) for failure in self._found.failures]

    @property
    def banners(self) -> list[entries.BannerEntry]:
        """The numbers of each training that the log announces, with the fields of `log --format json`."""
        return [banner_entry(banner) for banner in self._found.banners]

    def to_dicts(self) -> list[entries.FailureEntry]:
        """The failures as rows."""
        return self.failures

    def __bool__(self) -> bool:
        log = self._found
        return bool(log.banners or log.failures) and not any(banner.differences for banner in log.banners)

    def __str__(self) -> str:
        return render_log("text", self._path, self._found)

    def __repr__(self) -> str:
        return f"<LogResult of {self._path}: banners {len(self._found.banners)}, failures {len(self._found.failures)}>"

    def _repr_html_(self) -> str:
        return as_text(str(self))


class DiffResult(Record):
    """A run before and after a change of its config; true if the change has an effect."""

    _comparison: Comparison

    def __bool__(self) -> bool:
        return not self._comparison.empty

    @property
    def consequences(self) -> list[entries.ConsequenceEntry]:
        """The consequences of the change, with the fields of `diff --format json`."""
        return [changes.consequence_entry(consequence) for consequence in self._comparison.consequences]

    @property
    def settings(self) -> list[entries.SettingChangeEntry]:
        """The changed settings, with the fields of `diff --format json`."""
        return [changes.setting_entry(setting) for setting in self._comparison.settings]

    def to_dicts(self) -> list[entries.ConsequenceEntry]:
        """The consequences as rows."""
        return self.consequences

    def __str__(self) -> str:
        return render_changes("text", [self._comparison])

    def __repr__(self) -> str:
        return f"<DiffResult: consequences {len(self._comparison.consequences)}, settings changed {len(self._comparison.settings)}>"

    def _repr_html_(self) -> str:
        return html.notebook_changes([self._comparison])


class ReviewResult:
    """What a git branch changes: `runs` are the changed runs, `not_compared` (file, reason) what else changed; true if a run changed in
    effect.
    """

    def __init__(self, comparisons: list[Comparison], unused: list[NotCompared]) -> None:
        self._comparisons, self._unused = comparisons, unused
        self.runs = [DiffResult(comparison) for comparison in comparisons]
        self.not_compared = [(each.file, each.reason) for each in unused]

    def __bool__(self) -> bool:
        return any(self.runs)

    def __iter__(self) -> Iterator[DiffResult]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def new(self) -> list[Diagnostic]:
        """The findings that the branch adds, and that nothing suppresses."""
        return [diagnostic for comparison in self._comparisons for diagnostic in comparison.new]

    def to_dicts(self) -> list[entries.ChangeEntry]:
        """The runs as rows, with the fields of `review --format json`."""
        return [changes.entry(comparison) for comparison in self._comparisons]

    def __str__(self) -> str:
        return render_changes("text", self._comparisons, unused=self._unused)

    def __repr__(self) -> str:
        changed = sum(map(bool, self.runs))
        return (
            f"<ReviewResult: runs {len(self.runs)}, changed {changed}, findings new {len(self.new)}, not compared {len(self.not_compared)}>"
        )

    def _repr_html_(self) -> str:
        return html.notebook_changes(self._comparisons)


class NewFiles(Record):
    """Generated config files: `texts` maps file names to contents, with the trainer's file first; `notes` are remarks that no file can
    contain.
    """

    texts: dict[str, str]
    notes: tuple[str, ...]

    def write(self, folder: Path = ".") -> list[str]:
        """Write the files into a folder and return their paths; raises FileProblem if one of them exists."""
        paths = [os.path.join(os.fspath(folder), name) for name in self.texts]
        writing.write_all([writing.New(path, text.encode("utf-8")) for path, text in zip(paths, self.texts.values(), strict=True)])
        return paths

    def to_dicts(self) -> list[dict[str, str]]:
        """The files as rows: file, content."""
        return [{"file": name, "text": text} for name, text in self.texts.items()]

    def __str__(self) -> str:
        return "\n".join(f"# {name}\n{text}" for name, text in self.texts.items())

    def __repr__(self) -> str:
        return f"<NewFiles: {', '.join(self.texts)}>"

    def _repr_html_(self) -> str:
        return as_text("\n".join([str(self), *self.notes]))


def as_text(text: str) -> str:
    """HTML that shows a string unchanged in a notebook."""
    return f"<pre>{escape(text)}</pre>"
