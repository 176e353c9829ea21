"""Edits of launch lines in scripts, and of calls in programs: one change at a time, whose lines are shown, or why it is refused.

A case of the folder `code_edits` is a script or a program, below lines `# change:` with `delete`, `rename`, `replace` or `insert`, the path
of the argument, and its new name or value.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.discovery import Discovery
from cfglint.source.change import INSERT, RENAME, REPLACE, Change, EditRefused
from cfglint.source.edit import apply
from records import check_cases

HERE = Path(__file__).parent
CHANGE = "# change: "
SHEBANG = "#!/bin/bash"


def change_of(is_script, kind, path, new=""):
    steps = (path,) if is_script else tuple(path.split("."))
    if kind == INSERT:
        return Change(INSERT, steps[:-1], steps[-1], new)
    return Change(kind, steps, new if kind == RENAME else "", new if kind == REPLACE else "")


def changed_lines(before, after):
    yield from (each for each in difflib.ndiff(before.splitlines(), after.splitlines()) if each[0] in "+-")


def test_code_edits(tmp_path, monkeypatch, updating):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def outcome(case):
        lines = case.split("\n")
        text = "\n".join(each for each in lines if not each.startswith(CHANGE)) + "\n"
        name = "run.sh" if text.startswith(SHEBANG) else "train.py"
        (tmp_path / "train.py").write_text("", encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
        document = next(iter(Discovery(LaunchFacts(), None).runs([name]))).documents[0]
        for each in lines:
            if not each.startswith(CHANGE):
                continue
            asked = each.removeprefix(CHANGE)
            yield asked
            try:
                yield from (
                    f"  {line}" for line in changed_lines(text, apply(document, [change_of(name == "run.sh", *asked.split(" ", 2))]))
                )
            except EditRefused as refused:
                yield f"  refused at line {document.position(refused.place)[0]}: {refused.message}"

    check_cases(HERE / "code_edits", outcome, updating)
