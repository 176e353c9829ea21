"""One line per finding, for terminals, editors and grep: `file:line:column: code severity: message`."""

from __future__ import annotations

from cfglint.findings.diagnostic import Outcome
from cfglint.report.details import open_findings
from cfglint.report.escapes import shown


def render(outcomes: list[Outcome]) -> str:
    text = ""
    for finding, _ in open_findings(outcomes):
        place = finding.place
        text += f"{shown(place.file)}:{place.line}:{place.column}: {finding.code} {finding.severity}: {shown(finding.message)}\n"
    return text
