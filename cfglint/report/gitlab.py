"""GitLab's code quality report, shown in the merge request.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
"""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, Diagnostic, Outcome
from cfglint.findings.fingerprint import fingerprints
from cfglint.report.details import details
from cfglint.report.escapes import shown
from cfglint.report.json import encoded

SEVERITIES = {ERROR: "critical", WARNING: "minor", INFO: "info"}


def render(outcomes: list[Outcome]) -> str:
    """A JSON list with an issue for each finding."""
    found = [(diagnostic, outcome) for outcome in outcomes for diagnostic in outcome.open_findings]
    issues = [
        {
            "description": description(each, outcome),
            "check_name": each.name,
            "fingerprint": fingerprint,
            "severity": SEVERITIES[each.severity],
            "location": {
                "path": shown(os.path.normpath(each.place.file).replace(os.sep, "/")),
                "lines": {"begin": each.place.line, "end": each.place.end_line},
            },
        }
        for (each, outcome), fingerprint in zip(found, fingerprints(diagnostic for diagnostic, _ in found), strict=True)
    ]
    return encoded(issues) + "\n"


def description(diagnostic: Diagnostic, outcome: Outcome) -> str:
    """The message, and the lines below it in the text report."""
    lines = [f"{diagnostic.code}: {shown(diagnostic.message)}"]
    return "\n".join([*lines, *(f"{label}: {shown(text)}" for label, text in details(diagnostic, outcome))])
