"""Self-contained HTML pages: the numbers of runs, findings in their source, plans and changes.

The template engine is imported with this package and nowhere else.
"""

from __future__ import annotations

import os

from cfglint.explanation.log_analysis import ENDLESS, ExplainedLog, LogExplanation
from cfglint.findings.diagnostic import Outcome
from cfglint.frameworks import framework
from cfglint.report.changes import nothing, place, title, urgency
from cfglint.report.html import views
from cfglint.report.html.figures import Numbers, many
from cfglint.report.html.page import fragment, page, signs
from cfglint.report.plans import COLUMNS, format_number, row
from cfglint.report.summary import LOG_LABELS, sentence
from cfglint.review.compare import Comparison
from cfglint.review.left_out import NotCompared, lines_of
from cfglint.review.release_groups import ReleaseGroup, grouped_by_release
from cfglint.review.settings import SettingChange
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
    """The page of `check`."""
    shown = views.runs(outcomes)
    findings = [finding_view for run in shown for finding_view in run.findings]
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
        groups=views.groups(outcomes, shown) if len(shown) > 1 else [],
        folded=sum(bool(run_view.findings) for run_view in shown) > MANY,
    )


def verdict(runs: list[views.RunView]) -> str:
    """The headline about all runs."""
    if not runs:
        return "No training configs found"
    failing = [run for run in runs if not run.starts]
    if len(runs) == 1:
        return with_cause(runs[0])
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
    """The counts of findings, files and versions."""
    found = ", ".join(views.many(number, severity) for severity, number in views.severity_counts(findings))
    files = many(len({name for run in runs for name in run.files}), "file")
    targets = list(dict.fromkeys(target for run in runs for target in run.targets))
    releases = f"; for {', '.join(targets)}" if len(targets) <= MOST_TARGETS else ""
    return f"{found or 'Nothing found'} in {files}{releases}." if runs else ""


# ---- explain


def explain(outcome: Outcome) -> str:
    """The page of `explain`."""
    run = views.run(outcome, "run-1")
    context = outcome.context
    settings = views.settings(outcome, run.sources)
    return page(
        "explain.html",
        run.findings,
        [run.anchor],
        command="explain",
        headline=with_cause(run),
        status=status([run]),
        lead=missing(settings),
        run=run,
        settings=settings,
        assumed=context.assumed if context else [],
    )


def missing(settings: list[views.SummarySetting]) -> str:
    """The options that supply the unknown numbers; empty if none is unknown."""
    unknown = [summary_setting for summary_setting in settings if summary_setting.needs]
    flags = dict.fromkeys(flag for summary_setting in unknown for flag in summary_setting.needs.split(" and "))
    if not unknown:
        return ""
    return f"{many(len(unknown), 'number')} unknown: pass {' and '.join(flags)}."


def log(path: str, found: ExplainedLog) -> str:
    """The page of `log`."""
    banners = [banner(explanation, f"banner-{number}") for number, explanation in enumerate(found.banners, 1)]
    differing = any(explanation.differences for explanation in found.banners)
    several = f"{many(len(banners), 'training')}: " if len(banners) > 1 else ""
    headline = several + "; ".join(explanation.headline for explanation in found.banners[:MOST_TRAININGS])
    failure = found.failures[0] if found.failures else None
    if failure is not None:
        headline = f"{failure.summary[:1].upper()}{failure.summary[1:]}"
    said = "".join(
        f" {each[:1].upper()}{each[1:]}." for each in ([*failure.details, failure.remedy] if failure is not None else []) if each
    )
    return page(
        "log.html",
        [],
        [],
        command="log",
        headline=headline,
        status="error" if failure is not None else "warning" if differing else "",
        lead=f"{path}.{said}" if said else path,
        banners=banners,
    )


def banner(found: LogExplanation, anchor: str) -> views.BannerView:
    """The template values of one banner."""
    log = found.banner
    resolved = {name: log[name] for name in ("accumulation", "global_batch", "total_steps")}
    resolved |= {"micro_batch": found.micro_batch, "data_parallel": found.data_parallel, "steps_per_epoch": found.steps_per_epoch}
    numbers = Numbers(resolved, None)
    rows = [(label, "endless" if log[key] == ENDLESS else f"{log[key]:,}", "the log") for label, key in LOG_LABELS if log[key] is not None]
    if found.data_parallel is not None:
        rows.append(("data parallel", f"{found.data_parallel:,}", "global batch / (micro batch x accumulation)"))
    rows += found.details
    if found.consistent_with:
        rows.append(
            ("transformers", "any" if len(found.consistent_with) > 1 else found.consistent_with[0], "the arithmetic of its releases")
        )
    title = f"Line {log.line}: {found.headline} ({framework(log.framework).title})"
    return views.BannerView(anchor, title, sentence(found.note), numbers, found.differences, rows)


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
        advice=[{**each, "advised": format_number(each["advised"])} for each in plan_table["advice"]],
        current=current,
    )


def cells_of(plans: list[PlanEntry]) -> list[list[str]]:
    """The titles of the columns that have something, and the cells of each plan."""
    cells = [row(each) for each in plans]
    columns = [place for place in range(len(COLUMNS)) if any(line[place] for line in cells)]
    return [[COLUMNS[place] for place in columns], *([grouped(line[place]) for place in columns] for line in cells)]


def grouped(cell: str) -> str:
    """A cell with its thousands separated."""
    return f"{int(cell):,}" if cell.isdecimal() else cell


def plan_headline(plans: list[PlanEntry]) -> str:
    """The headline about what can be reached."""
    batches = ", ".join(f"{batch:,}" for batch in dict.fromkeys(each["global_batch"] for each in plans))
    able = [f"{each['gpus']:,}" for each in plans if each["feasible"]]
    if not able:
        return f"A global batch of {batches} cannot be reached on any of these GPU counts"
    on = " and ".join(filter(None, [", ".join(able[:-1]), able[-1]]))
    return f"A global batch of {batches} works on {on} GPUs"


# ---- diff and review


def changes(comparisons: list[Comparison], unused: Sequence[NotCompared] = (), note: str = "") -> str:
    """The page of `review`; the facts about runs that only depend on a changed release are listed once."""
    groups, others = grouped_by_release(comparisons)
    worst_first = sorted((other for other in others if not other.empty), key=urgency)
    altered = [change(alike, f"run-{number}") for number, alike in enumerate(equal_ones(worst_first), 1)]
    findings = [finding_view for view in altered for finding_view in (*view.new, *view.gone)]
    return page(
        "changes.html",
        findings,
        [view.anchor for view in altered],
        command="review",
        headline=release_headline(groups) or changes_headline(comparisons, altered, bool(unused)),
        status=changes_status(altered, groups, unused),
        lead=f"{many(len(comparisons), 'run')} compared{f', {note}' if note else ''}.",
        changes=altered,
        compared=bool(comparisons),
        releases=[views.ReleaseView(signs(", ".join(group.titles)), list(group.lines)) for group in groups],
        unused=lines_of(unused),
    )


def equal_ones(comparisons: list[Comparison]) -> list[list[Comparison]]:
    """The comparisons with the same consequences, settings and findings together."""
    found: dict[object, list[Comparison]] = {}
    for comparison in comparisons:
        settings = tuple((setting.key, setting.before.text, setting.after.text) for setting in comparison.settings)
        findings = tuple((side, found.code, found.message) for side in ("new", "gone") for found in getattr(comparison, side))
        sides = tuple((side.verdict, side.fails_at, side.gpus) if side else None for side in (comparison.before, comparison.after))
        found.setdefault((sides, tuple(sentence.text for sentence in comparison.sentences), settings, findings), []).append(comparison)
    return [*found.values()]


def changes_status(altered: list[views.ChangeView], groups: list[ReleaseGroup], unused: Sequence[NotCompared]) -> str:
    """The shape next to the headline of a comparison; none for a change that is neither good nor bad."""
    if any(view.after and not view.after.starts for view in altered) or any(group.stopped for group in groups):
        return "error"
    return "" if altered or groups or unused else "yes"


def release_headline(groups: list[ReleaseGroup]) -> str:
    """The headline about runs that a changed release affects; empty if there are none."""
    affected = next((group for group in groups if group.affected), None)
    if affected is None:
        return ""
    return f"{', '.join(affected.texts)}: {affected.headline}"


def changes_headline(comparisons: list[Comparison], altered: list[views.ChangeView], left_out: bool) -> str:
    """The headline with the most important change; `left_out`: something changed that is not compared."""
    if not altered:
        return sentence(nothing(comparisons, left_out)).rstrip(".")
    stopping = broken(altered)
    stopped = sum(view.runs for view in stopping)
    only = altered[0].after if len(comparisons) == 1 else None
    if only and not only.starts:
        return with_cause(only).replace("Would not start", "Would not start after this change" if stopped else "Would still not start", 1)
    if stopped:
        worst = stopping[0].after
        assert worst is not None
        who = os.path.basename(worst.files[0]) if stopped == 1 else many(stopped, "run")
        return f"{who} would not start after this change" + (f": {worst.cause}" if len(stopping) == 1 and worst.cause else "")
    if len(comparisons) > 1:
        failing = sum(view.runs for view in altered if view.after and not view.after.starts)
        if failing:
            return f"{failing} of {len(comparisons)} runs would still not start"
        first = altered[0].sentences[0][0] if altered[0].sentences else "other settings"
        return f"{sum(view.runs for view in altered)} of {len(comparisons)} runs changed in effect: {first}"
    sentences = altered[0].sentences
    return sentence(sentences[0][0] if sentences else "other settings, the same numbers").rstrip(".")


def broken(altered: list[views.ChangeView]) -> list[views.ChangeView]:
    """The changes of runs that start before, or are new, and do not start after it."""
    return [view for view in altered if view.after and not view.after.starts and (view.before is None or view.before.starts)]


def change(alike: list[Comparison], anchor: str) -> views.ChangeView:
    """The template values of one run before and after; the others of its list changed in the same way."""
    comparison, *others = alike
    before, after = (
        views.run(side, f"{anchor}-{name}", diagnostics, home=anchor, listed=False) if side else None
        for name, side, diagnostics in (("before", comparison.before, comparison.gone), ("after", comparison.after, comparison.new))
    )
    if before and after:
        after.numbers.before = before.numbers.resolved
    return views.ChangeView(
        anchor,
        signs(title(comparison)),
        [(consequence.headline, consequence.text.removeprefix(consequence.headline)) for consequence in comparison.sentences],
        before,
        after,
        [setting(setting_change, comparison) for setting_change in comparison.settings],
        after.findings if after else [],
        before.findings if before else [],
        [signs(other.name or other.files[0]) for other in others],
    )


def setting(each: SettingChange, comparison: Comparison) -> views.SettingView:
    """The template values of a changed setting."""
    return views.SettingView(each.key, each.before.text, each.after.text, signs(place(each, comparison)), each.notes)


# ---- notebooks


def notebook(outcomes: list[Outcome]) -> str:
    """The numbers and findings of runs as a fragment for another page."""
    shown = [views.run(outcome, f"run-{number}", listed=False) for number, outcome in enumerate(outcomes, 1)]
    findings = [finding_view for run in shown for finding_view in run.findings]
    return fragment(headline=verdict(shown), lead=summary(shown, findings), runs=shown)


def notebook_plan(plan_table: PlanTable) -> str:
    """The table of plans as a fragment for another page."""
    plans = plan_table["plans"]
    return fragment(headline=plan_headline(plans), lead="", runs=[], table=cells_of(plans), less=LESS)


def notebook_changes(comparisons: list[Comparison]) -> str:
    """The changes, with the run before and after, as a fragment for another page."""
    altered = [change([comparison], f"run-{number}") for number, comparison in enumerate(comparisons, 1)]
    sentences = [f"{head}{rest}" for view in altered for head, rest in view.sentences]
    sides = [side for view in altered for side in (view.before, view.after) if side]
    return fragment(headline=changes_headline(comparisons, altered, False), lead="; ".join(sentences), runs=sides)
