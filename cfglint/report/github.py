"""GitHub workflow commands: every finding an annotation on its line of the pull request.

Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are those
of actions/toolkit packages/core/src/command.ts.
"""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, Diagnostic, Outcome, rank
from cfglint.report.details import details
from cfglint.report.escapes import shown
from cfglint.report.links import page_of

COMMANDS = {ERROR: "error", WARNING: "warning", INFO: "notice"}


def render(outcomes: list[Outcome]) -> str:
    """One command per finding, that of several runs once, for the standard output of a workflow step; errors first: GitHub shows ten
    of each severity per step.
    """
    found = [(diagnostic, outcome) for outcome in outcomes for diagnostic in outcome.open_findings]
    found.sort(key=lambda pair: -rank(pair[0].severity))
    return "".join(dict.fromkeys(command(*pair) for pair in found))


def command(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The command of a finding; columns only if it is on one line, as GitHub requires."""
    place = diagnostic.place
    file = os.path.normpath(place.file).replace(os.sep, "/")
    properties = {"file": shown(file), "line": str(place.line), "endLine": str(place.end_line)}
    if place.line == place.end_line:
        properties.update(col=str(place.column), endColumn=str(place.end_column))
    properties["title"] = f"{diagnostic.code} {diagnostic.name}"
    given = ",".join(f"{name}={escape_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[diagnostic.severity]} {given}::{escape(body(diagnostic, outcome))}\n"


def body(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The content of an annotation: the message, what the text report has below it, and the address of the rule's page, if any."""
    lines = [shown(diagnostic.message), *(f"{label}: {shown(text)}" for label, text in details(diagnostic, outcome))]
    return "\n".join([*lines, *filter(None, [page_of(diagnostic)])])


def escape(text: str) -> str:
    """Escape the string after the second `::`."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    return escape(text).replace(":", "%3A").replace(",", "%2C")
