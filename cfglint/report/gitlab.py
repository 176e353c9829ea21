"""GitLab's code quality report, shown in the merge request.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
"""

from __future__ import annotations

import json
import os

from cfglint.findings.diagnostic import ERROR, INFO, WARNING
from cfglint.findings.fingerprint import fingerprints
from cfglint.report.text import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.findings.diagnostic import Outcome

SEVERITIES = {ERROR: "critical", WARNING: "minor", INFO: "info"}


def render(outcomes: list[Outcome]) -> str:
    """A JSON list with an issue a finding."""
    found = [each for outcome in outcomes for each in outcome.diagnostics if not each.suppressed]
    issues = [
        {
            "description": f"{each.code}: {shown(each.message)}",
            "check_name": each.name,
            "fingerprint": fingerprint,
            "severity": SEVERITIES[each.severity],
            "location": {
                "path": shown(os.path.normpath(each.place.file).replace(os.sep, "/")),
                "lines": {"begin": each.place.line, "end": each.place.end_line},
            },
        }
        for each, fingerprint in zip(found, fingerprints(found), strict=True)
    ]
    return json.dumps(issues) + "\n"
