"""Self-contained HTML pages: the numbers of runs, findings in their source, plans and changes.

The template engine is imported with this package and nowhere else.
"""

from __future__ import annotations

import os

from cfglint.explanation.log_analysis import ENDLESS, ExplainedLog, LogExplanation
from cfglint.findings.diagnostic import Outcome, severity_counts
from cfglint.findings.wording import amount
from cfglint.frameworks import framework
from cfglint.report.changes import nothing, place, title, urgency
from cfglint.report.grouping import grouped
from cfglint.report.html import views
from cfglint.report.html.page import fragment, page, signs
from cfglint.report.html.views import Numbers
from cfglint.report.log import LOG_LABELS
from cfglint.report.plans import COLUMNS, format_number, row
from cfglint.report.summary import sentence
from cfglint.review.compare import Comparison
from cfglint.review.left_out import NotCompared, lines_of
from cfglint.review.release_groups import grouped_by_release
from cfglint.source.annotations import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.entries import PlanEntry, PlanTable

MOST_TRAININGS = 2  # of a log, in the headline
LESS = ("data-parallel", "steps/epoch", "tokens/step")  # columns that a narrow page leaves out
MOST_TARGETS = 3  # releases that the line below the headline names; each run names its own
MANY = 20  # of more runs with findings the page has what they have in common, and the runs folded below it
FEW = 5  # up to this many runs are shown; of more, those without findings are folded


# ---- check


def render(outcomes: list[Outcome]) -> str:
    shown = views.runs(outcomes)
    findings = [finding_view for run in shown for finding_view in run.findings]
    by_diagnostic = {id(finding_view.diagnostic): finding_view for finding_view in findings}
    groups = [[by_diagnostic[id(diagnostic)] for diagnostic in group.found] for group in grouped(outcomes)] if len(shown) > 1 else []
    return page(
        "check.html",
        findings,
        [run_view.anchor for run_view in shown],
        command="check",
        headline=verdict(shown),
        status=status(shown),
        lead=summary(shown, findings),
        runs=[run_view for run_view in shown if run_view.findings or len(shown) <= FEW],
        clean=[run_view for run_view in shown if not run_view.findings] if len(shown) > FEW else [],
        groups=groups if any(len(group) > 1 for group in groups) else [],
        folded=sum(bool(run_view.findings) for run_view in shown) > MANY,
    )


def verdict(runs: list[views.RunView]) -> str:
    if not runs:
        return "No training configs found"
    if len(runs) == 1:
        return with_cause(runs[0])
    failing = [run for run in runs if not run.starts]
    if len(failing) == 1 and failing[0].cause:
        return f"1 of {len(runs)} runs would not start, {failing[0].files[0]}: {failing[0].cause}"
    if failing:
        return f"{len(failing)} of {len(runs)} runs would not start"
    unknown = sum(run.answer == views.UNKNOWN for run in runs)
    if unknown == len(runs):
        return f"Whether the {unknown} runs would start is not known"
    if unknown:
        return f"{len(runs) - unknown} of {len(runs)} runs should start; not known of {unknown}"
    return f"All {len(runs)} runs should start"


def with_cause(run: views.RunView) -> str:
    """The verdict on a run, with the message of the first error if it would not start."""
    return run.verdict if run.starts or not run.cause else f"Would not start: {run.cause}"


def status(runs: list[views.RunView]) -> str:
    """The shape next to the headline."""
    answers = [run.answer for run in runs]
    worst = next((answer for answer in (views.NO, views.UNKNOWN) if answer in answers), views.YES)
    return views.SHAPES[worst]


def summary(runs: list[views.RunView], findings: list[views.FindingView]) -> str:
    found = ", ".join(severity_counts(finding.diagnostic.severity for finding in findings).values())
    files = amount(len({name for run in runs for name in run.files}), "file")
    targets = list(dict.fromkeys(target for run in runs for target in run.targets))
    releases = f"; for {', '.join(targets)}" if len(targets) <= MOST_TARGETS else ""
    return f"{found or 'Nothing found'} in {files}{releases}." if runs else ""


# ---- explain and log


def explain(outcome: Outcome) -> str:
    run = views.run(outcome, "run-1")
    settings = views.settings(outcome, run.sources)
    needs = [setting.needs for setting in settings if setting.needs]
    flags = dict.fromkeys(flag for options in needs for flag in options.split(" and "))
    return page(
        "explain.html",
        run.findings,
        [run.anchor],
        command="explain",
        headline=with_cause(run),
        status=status([run]),
        lead=f"{amount(len(needs), 'number')} unknown: pass {' and '.join(flags)}." if needs else "",
        run=run,
        settings=settings,
        assumed=outcome.context.assumed if outcome.context else [],
    )


def log(path: str, found: ExplainedLog) -> str:
    banners = found.banners
    several = f"{amount(len(banners), 'training')}: " if len(banners) > 1 else ""
    headline = several + "; ".join(explanation.headline for explanation in banners[:MOST_TRAININGS])
    status = "warning" if any(explanation.differences for explanation in banners) else ""
    said: list[str] = []
    if found.failures:
        failure = found.failures[0]
        headline, status = f"{failure.summary[:1].upper()}{failure.summary[1:]}", "error"
        said = [f"{text[:1].upper()}{text[1:]}." for text in (*failure.details, failure.remedy) if text]
    return page(
        "log.html",
        [],
        [],
        command="log",
        headline=headline,
        status=status,
        lead=" ".join([f"{path}.", *said]) if said else path,
        banners=[banner(explanation, f"banner-{number}") for number, explanation in enumerate(banners, 1)],
    )


def banner(found: LogExplanation, anchor: str) -> dict[str, object]:
    log = found.banner
    resolved = {name: log[name] for name in ("accumulation", "global_batch", "total_steps")}
    resolved |= {"micro_batch": found.micro_batch, "data_parallel": found.data_parallel, "steps_per_epoch": found.steps_per_epoch}
    rows = [(label, "endless" if log[key] == ENDLESS else f"{log[key]:,}", "the log") for label, key in LOG_LABELS if log[key] is not None]
    if found.data_parallel is not None:
        rows.append(("data parallel", f"{found.data_parallel:,}", "global batch / (micro batch x accumulation)"))
    rows += found.details
    if found.consistent_with:
        releases = "any" if len(found.consistent_with) > 1 else found.consistent_with[0]
        rows.append(("transformers", releases, "the arithmetic of its releases"))
    return {
        "anchor": anchor,
        "title": f"Line {log.line}: {found.headline} ({framework(log.framework).title})",
        "note": sentence(found.note),
        "numbers": Numbers(resolved, None),
        "differences": found.differences,
        "rows": rows,
    }


# ---- plan


def plan(plan_table: PlanTable, outcome: Outcome | None = None) -> str:
    """The page of `plan`: `plan_table` is `cfglint.rewrite.plan.table`, the outcome that of the current run."""
    plans = plan_table["plans"]
    current = views.run(outcome, "current-run", [], listed=False) if outcome else None
    return page(
        "plan.html",
        [],
        [],
        command="plan",
        headline=plan_headline(plans),
        status="yes" if any(each["feasible"] for each in plans) else "error",
        lead=current.title if current else "",
        table=cells_of(plans),
        less=LESS,
        pace=plan_table["pace"],
        before=plan_table["before"],
        advice=[{**advice, "advised": format_number(advice["advised"])} for advice in plan_table["advice"]],
        current=current,
    )


def cells_of(plans: list[PlanEntry]) -> list[list[str]]:
    """The titles of the columns that have something, and the cells of each plan, with thousands separated."""
    cells = [[f"{int(cell):,}" if cell.isdecimal() else cell for cell in row(each)] for each in plans]
    columns = [place for place in range(len(COLUMNS)) if any(line[place] for line in cells)]
    return [[line[place] for place in columns] for line in (COLUMNS, *cells)]


def plan_headline(plans: list[PlanEntry]) -> str:
    batches = ", ".join(f"{batch:,}" for batch in dict.fromkeys(each["global_batch"] for each in plans))
    able = [f"{each['gpus']:,}" for each in plans if each["feasible"]]
    if not able:
        return f"A global batch of {batches} cannot be reached on any of these GPU counts"
    on = " and ".join(filter(None, [", ".join(able[:-1]), able[-1]]))
    return f"A global batch of {batches} works on {on} GPUs"


# ---- diff and review


def changes(comparisons: list[Comparison], unused: Sequence[NotCompared] = (), note: str = "") -> str:
    """The page of `review`; runs that changed in the same way, or by the same releases, are shown once."""
    groups, others = grouped_by_release(comparisons)
    alike: dict[object, list[Comparison]] = {}
    for comparison in sorted((other for other in others if not other.empty), key=urgency):
        settings = tuple((setting.key, setting.before.text, setting.after.text) for setting in comparison.settings)
        found = tuple((side, finding.code, finding.message) for side in ("new", "gone") for finding in getattr(comparison, side))
        sides = tuple((side.verdict, side.fails_at, side.gpus) if side else None for side in (comparison.before, comparison.after))
        alike.setdefault((sides, tuple(sentence.text for sentence in comparison.sentences), settings, found), []).append(comparison)
    altered = [change(equal, f"run-{number}") for number, equal in enumerate(alike.values(), 1)]
    headline = next((f"{', '.join(group.texts)}: {group.headline}" for group in groups if group.affected), "")
    stops = any(view.after and not view.after.starts for view in altered) or any(group.stopped for group in groups)
    return page(
        "changes.html",
        [finding_view for view in altered for finding_view in (*view.new, *view.gone)],
        [view.anchor for view in altered],
        command="review",
        headline=headline or changes_headline(comparisons, altered, bool(unused)),
        status="error" if stops else "" if altered or groups or unused else "yes",  # none for what is neither good nor bad
        lead=f"{amount(len(comparisons), 'run')} compared{f', {note}' if note else ''}.",
        changes=altered,
        compared=bool(comparisons),
        releases=[{"title": signs(", ".join(group.titles)), "lines": list(group.lines)} for group in groups],
        unused=lines_of(unused),
    )


def changes_headline(comparisons: list[Comparison], altered: list[views.ChangeView], left_out: bool) -> str:
    """The headline with the most important change; `left_out`: something changed that is not compared."""
    if not altered:
        return sentence(nothing(comparisons, left_out)).rstrip(".")
    # Of runs that start before, or are new, and do not start after it.
    stopping = [view for view in altered if view.after and not view.after.starts and (view.before is None or view.before.starts)]
    stopped = sum(view.runs for view in stopping)
    only = altered[0].after if len(comparisons) == 1 else None
    if only and not only.starts:
        return with_cause(only).replace("Would not start", "Would not start after this change" if stopped else "Would still not start", 1)
    if stopped:
        worst = stopping[0].after
        assert worst is not None
        who = os.path.basename(worst.files[0]) if stopped == 1 else amount(stopped, "run")
        return f"{who} would not start after this change" + (f": {worst.cause}" if len(stopping) == 1 and worst.cause else "")
    sentences = altered[0].sentences
    if len(comparisons) == 1:
        return sentence(sentences[0][0] if sentences else "other settings, the same numbers").rstrip(".")
    failing = sum(view.runs for view in altered if view.after and not view.after.starts)
    if failing:
        return f"{failing} of {len(comparisons)} runs would still not start"
    first = sentences[0][0] if sentences else "other settings"
    return f"{sum(view.runs for view in altered)} of {len(comparisons)} runs changed in effect: {first}"


def change(alike: list[Comparison], anchor: str) -> views.ChangeView:
    """The template values of one run before and after; the others of its list changed in the same way."""
    comparison, *others = alike
    before, after = (
        views.run(side, f"{anchor}-{name}", diagnostics, home=anchor, listed=False) if side else None
        for name, side, diagnostics in (("before", comparison.before, comparison.gone), ("after", comparison.after, comparison.new))
    )
    if before and after:
        after.numbers.before = before.numbers.resolved
    settings: list[dict[str, object]] = []
    for setting in comparison.settings:
        values = {"key": setting.key, "before": setting.before.text, "after": setting.after.text}
        settings.append({**values, "place": signs(place(setting, comparison)), "notes": setting.notes})
    return views.ChangeView(
        anchor,
        signs(title(comparison)),
        [(consequence.headline, consequence.text.removeprefix(consequence.headline)) for consequence in comparison.sentences],
        before,
        after,
        settings,
        after.findings if after else [],
        before.findings if before else [],
        [signs(other.name or other.files[0]) for other in others],
    )


# ---- notebooks


def notebook(outcomes: list[Outcome]) -> str:
    """The numbers and findings of runs as a fragment for another page."""
    shown = [views.run(outcome, f"run-{number}", listed=False) for number, outcome in enumerate(outcomes, 1)]
    findings = [finding_view for run in shown for finding_view in run.findings]
    return fragment(headline=verdict(shown), lead=summary(shown, findings), runs=shown)


def notebook_plan(plan_table: PlanTable) -> str:
    plans = plan_table["plans"]
    return fragment(headline=plan_headline(plans), lead="", runs=[], table=cells_of(plans), less=LESS)


def notebook_changes(comparisons: list[Comparison]) -> str:
    """The changes, with the run before and after, as a fragment for another page."""
    altered = [change([comparison], f"run-{number}") for number, comparison in enumerate(comparisons, 1)]
    sentences = [f"{head}{rest}" for view in altered for head, rest in view.sentences]
    sides = [side for view in altered for side in (view.before, view.after) if side]
    return fragment(headline=changes_headline(comparisons, altered, False), lead="; ".join(sentences), runs=sides)
