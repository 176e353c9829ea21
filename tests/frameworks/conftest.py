"""What the tests of all frameworks share."""

from __future__ import annotations

import json

import pytest

from cfglint.cli import main
from cfglint.run.checked import CheckedRun


@pytest.fixture
def codes():
    """The codes that a run reports, with the severities asked for."""

    def of(run: CheckedRun, *severities: str) -> list[str]:
        return [each.code for each in run.diagnostics if each.severity in (severities or ("error", "warning", "info"))]

    return of


@pytest.fixture
def checked_project(tmp_path, monkeypatch, capsys):
    """The report of `check` about the files of a project, for some releases and with further options."""

    def check(files, *targets, options=(), paths=(".",)):
        (tmp_path / ".git").mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path)
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        wanted = [word for target in targets for word in ("--target", target)]
        main(["check", *paths, *wanted, *options, "--format", "json"])
        return json.loads(capsys.readouterr().out)

    return check
