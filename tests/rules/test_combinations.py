"""What comes of keys together, and of values beside those of the examples; the cases are the files in `combinations`.

A case is its kind and the facts of its launch, a line for each file, and what comes of them after `=>`. The files are named by what is
found first. Errors and numbers were
compared with the framework itself where it could be asked.
"""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from cfglint.explanation.summary import RunSummary
from examples import check_answers, findings_of, launch_of

FOLDER = Path(__file__).parent / "combinations"
DIVISION, MODULO = "integer division or modulo by zero", "integer modulo by zero"  # Python before 3.11 says the first for both


def briefly(line):
    """A line without the numbers of a rejected run."""
    start, _, _ = line.partition("{")
    return start.rstrip() if line.startswith("reject ") else line


def account(run):
    """What `explain` says of a run, in a line."""
    summary = RunSummary(run)
    values = [f"{item.label} {json.dumps(item.setting.value, default=str)}" for item in summary.items]
    if summary.memory is not None:
        values.append(f"memory {json.dumps(summary.memory.entry())}")
    return ", ".join(values)


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.txt")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_comes_of_keys_together(path, tmp_path, updating):
    """`CFGLINT_UPDATE=1` rewrites it."""
    folders = count()

    def answer(kind, facts, texts):
        run = launch_of(kind, texts, str(tmp_path / str(next(folders))), facts)
        found = [briefly(line.strip()).replace(DIVISION, MODULO) for line in findings_of(run, str(tmp_path))]
        return [*found, account(run)] if "explain" in facts else found

    check_answers(path, answer, updating)
