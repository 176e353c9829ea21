"""What `fix` does to the examples: a second call changes nothing, and the report names each change and no other."""

from __future__ import annotations

import json
import shutil

import pytest

from cfglint.cli import main

pytestmark = pytest.mark.slow
OPTIONS = ([], ["--unsafe-fixes"], ["--gpus", "8", "--global-batch", "256", "--from-gpus", "8"])


def contents(folder):
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def fixed(folder, options, capsys):
    """The entries that `fix --format json` reports for each file of a folder, without those that were refused."""
    entries = []
    for name in sorted(contents(folder)):
        main(["fix", name, "--format", "json", *options])
        printed = capsys.readouterr().out
        entries += json.loads(printed)["runs"] if printed else []
    return entries


@pytest.mark.parametrize("options", OPTIONS, ids=["safe", "unsafe", "target"])
def test_a_second_fix_changes_nothing(root, tmp_path, monkeypatch, capsys, options):
    for name in ("good", "bad", "published"):
        shutil.copytree(root / "examples" / name, tmp_path / name, ignore=shutil.ignore_patterns("*.txt"))
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    changes = [change for entry in fixed(tmp_path, options, capsys) for change in entry["changed"]]
    after = contents(tmp_path)
    assert {change["file"] for change in changes} == {name for name in after if after[name] != before[name]}
    assert changes
    assert all(change["before"] != change["after"] for change in changes)
    again = fixed(tmp_path, options, capsys)
    assert [change for entry in again for change in entry["changed"]] == []
    assert contents(tmp_path) == after
