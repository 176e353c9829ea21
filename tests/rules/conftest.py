"""The examples of rules show what the newest releases do, if they name no others."""

from __future__ import annotations

import pytest

from cfglint.run import allowed_releases


@pytest.fixture(autouse=True)
def newest_releases(monkeypatch):
    """No release but the newest is allowed; `tests/run/test_allowed_releases.py` tests the others."""
    monkeypatch.setattr(allowed_releases, "open_packages", lambda _: {})
