"""What the tests of all frameworks share."""

from __future__ import annotations

import pytest

from cfglint.run.checked import CheckedRun


@pytest.fixture
def codes():
    """The codes that a run reports, with the severities asked for."""

    def of(run: CheckedRun, *severities: str) -> list[str]:
        return [each.code for each in run.diagnostics if each.severity in (severities or ("error", "warning", "info"))]

    return of
