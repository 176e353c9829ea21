"""Findings as text for people and programs. Every format is a pure function of what was found."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.diagnostic import Outcome

FORMATS = ("text", "json", "markdown", "github", "sarif", "gitlab", "junit", "html")


def render(form: str, outcomes: list[Outcome], colour: bool = False) -> str:
    """The report of runs in a format; `colour` is for text on a terminal."""
    if form == "text":
        if all(each.suppressed for outcome in outcomes for each in outcome.diagnostics):
            return ""
        from cfglint.report import text

        return text.render(outcomes, colour)
    module = __import__(f"cfglint.report.{form}", fromlist=["render"])
    return str(module.render(outcomes))
