"""The documentation as a site: it builds without a warning, with the README as its first page."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("mkdocs", reason="mkdocs (the extra `site`) is not installed")


def test_the_site_builds(root, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", tmp_path], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "on this many GPUs?" in first
    assert 'href="tutorial/"' in first
    assert 'href="BAT001/"' in (tmp_path / "rules" / "index.html").read_text(encoding="utf-8")
    assert "Source: " in (tmp_path / "rules" / "BAT001" / "index.html").read_text(encoding="utf-8")
    assert 'id="suppressing-findings"' in (tmp_path / "reference" / "index.html").read_text(encoding="utf-8")
