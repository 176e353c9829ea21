"""What comes of keys together, and of values beside those of the examples; the cases are the files in `combinations`.

A case is its kind and the facts of its launch, a line for each file, and what comes of them after `=>`. The files are named by what is
found first. Errors and numbers were
compared with the framework itself where it could be asked.
"""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path

import pytest

from cfglint.explanation.summary import RunSummary, value_or_auto
from examples import check_answers, findings_of, launch_of

FOLDER = Path(__file__).parent / "combinations"
DIVISION, MODULO = "integer division or modulo by zero", "integer modulo by zero"  # Python before 3.11 says the first for both


def briefly(line):
    """A line without the numbers of a rejected run."""
    start, _, _ = line.partition("{")
    return start.rstrip() if line.startswith("reject ") else line


def account(run):
    """What `explain` says of a run: its values with the reason of those that are computed, what is assumed, and the memory."""
    summary = RunSummary(run)
    values = [(item.label, json.dumps(value_or_auto(item.setting), default=str), item.setting.because) for item in summary.items]
    lines = [", ".join(f"{label} {value}{f' ({because})' if because else ''}" for label, value, because in values)]
    lines.append(f"assumed: {'; '.join(summary.assumed) or 'nothing'}")
    return lines if summary.memory is None else [*lines, f"memory {json.dumps(summary.memory.entry())}"]


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.txt")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_comes_of_keys_together(path, tmp_path, updating):
    """`CFGLINT_UPDATE=1` rewrites it."""
    folders = count()

    def answer(kind, facts, texts):
        folder = f"{tmp_path / str(next(folders))}{os.sep}"
        run = launch_of(kind, texts, folder, facts)
        found = [briefly(line.strip()).replace(DIVISION, MODULO) for line in findings_of(run, str(tmp_path))]
        return [*found, *(line.replace(folder, "") for line in account(run))] if "explain" in facts else found

    check_answers(path, answer, updating)
