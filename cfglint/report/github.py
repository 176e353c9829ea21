"""GitHub workflow commands: every finding an annotation on its line of the pull request.

Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions; the escapes are those
of actions/toolkit packages/core/src/command.ts.
"""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, Outcome, rank
from cfglint.report.details import message_lines, open_findings
from cfglint.report.escapes import shown
from cfglint.report.links import page_of

COMMANDS = {ERROR: "error", WARNING: "warning", INFO: "notice"}


def render(outcomes: list[Outcome]) -> str:
    """One command for each finding, that of several runs once; errors first, because GitHub shows ten of each severity per step."""
    commands: dict[str, None] = {}
    for diagnostic, outcome in sorted(open_findings(outcomes), key=lambda pair: -rank(pair[0].severity)):
        place = diagnostic.place
        properties = {"line": str(place.line), "endLine": str(place.end_line)}
        if place.line == place.end_line:  # GitHub takes columns only then
            properties.update(col=str(place.column), endColumn=str(place.end_column))
        properties["title"] = f"{diagnostic.code} {diagnostic.name}"
        lines = [*message_lines(diagnostic, outcome), *filter(None, [page_of(diagnostic)])]
        commands[command(COMMANDS[diagnostic.severity], place.file, properties, "\n".join(lines))] = None
    return "".join(commands)


def command(name: str, file: str, properties: dict[str, str], text: str) -> str:
    properties = {"file": shown(os.path.normpath(file).replace(os.sep, "/")), **properties}
    pairs = (f"{key}={escape(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items())
    return f"::{name} {','.join(pairs)}::{escape(text)}\n"


def escape(text: str) -> str:
    """Escape the string after the second `::`."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
