"""GitLab's code quality report, shown in the merge request.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
"""

from __future__ import annotations

import os

from cfglint.findings.diagnostic import ERROR, INFO, WARNING, Outcome
from cfglint.findings.fingerprint import fingerprints
from cfglint.report.details import message_lines, open_findings
from cfglint.report.escapes import shown
from cfglint.report.json import encoded

SEVERITIES = {ERROR: "critical", WARNING: "minor", INFO: "info"}


def render(outcomes: list[Outcome]) -> str:
    """A JSON list with an issue for each finding."""
    found = open_findings(outcomes)
    issues = [
        {
            "description": f"{diagnostic.code}: " + "\n".join(message_lines(diagnostic, outcome)),
            "check_name": diagnostic.name,
            "fingerprint": fingerprint,
            "severity": SEVERITIES[diagnostic.severity],
            "location": {
                "path": shown(os.path.normpath(diagnostic.place.file).replace(os.sep, "/")),
                "lines": {"begin": diagnostic.place.line, "end": diagnostic.place.end_line},
            },
        }
        for (diagnostic, outcome), fingerprint in zip(found, fingerprints(diagnostic for diagnostic, _ in found), strict=True)
    ]
    return encoded(issues) + "\n"
