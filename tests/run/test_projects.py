"""The runs of small projects: the folder `projects` holds their files and, behind `=>`, what was recorded about `cfglint check`.

`# options: ...` gives the arguments of the command (without: the folder), `# file: NAME` begins a file. Shown are the files and kinds of
each run, its verdict and numbers, its launch, and the findings with their places; then what is printed besides the report.
"""

from __future__ import annotations

import json
import shlex
from itertools import count
from pathlib import Path

import pytest

from cfglint.cli import main
from records import check_cases

FILES = sorted((Path(__file__).parent / "projects").glob("*.txt"))


def lay_out(text, folder):
    """Write the files of a project; returns the options of the command."""
    first, *parts = f"{text}\n".split("# file: ")
    (folder / ".git").mkdir()
    for part in parts:
        name, _, content = part.partition("\n")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return shlex.split(first.removeprefix("# options:")) or ["."]


def described(report):
    for run in report["runs"]:
        numbers = " ".join(f"{name}={value}" for name, value in run["resolved"].items() if value is not None)
        named = [f"{file} ({kind})" for file, kind in zip(run["files"], run["kinds"], strict=True)]
        yield f"{', '.join(named)}: {run['verdict']} {run['fails_at'] or ''} {numbers}".rstrip()
        launch = run.get("launch")
        if launch:
            yield f"  {launch['file']}:{launch['line']} {launch['launcher']} {launch['program']} x {launch['processes']}"
            yield f"  {' '.join(f'{key}={value}' for key, value in launch['arguments'].items())}".rstrip()
            yield from (f"  {each['field']}: {each['reason']}" for each in launch["unknown"])
    for each in report["diagnostics"]:
        yield f"{each['code']} {each['severity']} {each['file']}:{each['line']}:{each['column']} {each['key']}: {each['message']}"


@pytest.fixture
def checked(tmp_path, monkeypatch, capsys):
    numbers = count()

    def run(text):
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        monkeypatch.chdir(folder)
        status = main(["check", *lay_out(text, folder), "--format", "json"])
        shown = capsys.readouterr()
        return [
            *(described(json.loads(shown.out)) if shown.out else ()),
            *shown.err.replace(str(folder), "").splitlines(),
            f"status {status}",
        ]

    return run


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_projects(path, updating, checked):
    """`CFGLINT_UPDATE=1` rewrites what comes of them."""
    check_cases(path, checked, updating)
