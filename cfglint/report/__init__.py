"""Formats findings for people and programs. Every format is a pure function."""

from __future__ import annotations

from cfglint.findings.diagnostic import Outcome
from cfglint.source.annotations import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.explanation.log_analysis import ExplainedLog
    from cfglint.explanation.summary import RunSummary
    from cfglint.review.compare import Comparison
    from cfglint.review.left_out import NotCompared

FORMATS = ("text", "full", "concise", "json", "markdown", "github", "sarif", "gitlab", "junit", "html")


def render(form: str, outcomes: list[Outcome], colour: bool = False, width: int | None = None) -> str:
    """The report of runs in a format; `colour` and `width`, in columns, are for text on a terminal."""
    if form in ("text", "full"):
        if not any(outcome.open_findings for outcome in outcomes):
            return ""
        from cfglint.report import text

        return text.render(outcomes, colour, width, with_pages=form == "full")
    module = __import__(f"cfglint.report.{form}", fromlist=["render"])
    return str(module.render(outcomes))


def render_account(form: str, account: RunSummary, width: int | None = None) -> str:
    """The `explain` report of a run in a format: `text`, `json` or `html`; `width`, in columns, is for text."""
    from cfglint.report import summary

    if form == "json":
        from cfglint.explanation.summary import table
        from cfglint.report.json import dumps

        return dumps(table(account))
    if form == "html":
        from cfglint.explanation.summary import outcome_with_context
        from cfglint.report import html

        return html.explain(outcome_with_context(account))
    return summary.as_text(account, width)


def render_log(form: str, path: str, found: ExplainedLog, width: int | None = None) -> str:
    """The analysis of a training log, in a format: `text`, `json` or `html`."""
    from cfglint.report import log

    if form == "json":
        from cfglint.report.json import dumps

        return dumps({"banners": [*map(log.banner_entry, found.banners)], "failures": [*map(log.failure_entry, found.failures)]})
    if form == "html":
        from cfglint.report import html

        return html.log(path, found)
    return log.as_text(path, found, width)


def render_changes(
    form: str,
    comparisons: list[Comparison],
    colour: bool = False,
    width: int | None = None,
    unused: Sequence[NotCompared] = (),
    note: str = "",
) -> str:
    """The report of changes in a format; `unused` is what changed and no run reads, `note` a remark that text has elsewhere."""
    from cfglint.report import changes

    if form == "json":
        return changes.as_json(comparisons, unused)
    if form in ("text", "full"):
        return changes.as_text(comparisons, colour, width, unused)
    if form == "markdown":
        from cfglint.report import comment

        return comment.render(comparisons, unused, note)
    if form == "html":
        from cfglint.report import html

        return html.changes(comparisons, unused, note)
    findings = render(form, changes.only_new(comparisons))
    return findings + changes.notices(comparisons, unused) if form == "github" else findings
