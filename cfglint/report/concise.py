"""One line per finding, for terminals, editors and grep: `file:line:column: code severity: message`."""

from __future__ import annotations

from cfglint.findings.diagnostic import Outcome
from cfglint.report.escapes import shown


def render(outcomes: list[Outcome]) -> str:
    """The findings that are not suppressed, one line each."""
    lines = []
    for outcome in outcomes:
        for finding in outcome.open_findings:
            place = finding.place
            lines.append(f"{shown(place.file)}:{place.line}:{place.column}: {finding.code} {finding.severity}: {shown(finding.message)}\n")
    return "".join(lines)
