"""The repository itself: what git tracks works on every machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STANDARD = ("bin", "data", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "srv", "sys", "tmp", "usr", "var", "Users")
LINK = "120000"
HOMES = rb"(?<![\w.$}~])/(?:home|Users)/\w+/"

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="not a git checkout")


@pytest.fixture(scope="module")
def tracked():
    """(path, mode) of what git tracks."""
    listed = subprocess.run(["git", "ls-files", "-s", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    records = (os.fsdecode(record).partition("\t") for record in listed.split(b"\0") if record)
    return [(path, head.split(" ")[0]) for head, _, path in records]


def test_no_link_leaves_the_repository(tracked):
    links = [path for path, mode in tracked if mode == LINK]
    targets = {path: os.path.join(ROOT, os.path.dirname(path), os.readlink(ROOT / path)) for path in links}
    assert [path for path, target in targets.items() if not Path(os.path.normpath(target)).is_relative_to(ROOT)] == []
    assert [path for path, target in targets.items() if not os.path.exists(target)] == []


def test_no_file_names_a_folder_of_one_machine(tracked):
    own = {str(Path.home()), str(ROOT)} - {"/"}
    own |= {f"/{ROOT.parts[1]}"} if ROOT.parts[1] not in STANDARD else set()
    pattern = re.compile(b"|".join([HOMES, *(rb"(?<![\w.$}~*])" + re.escape(os.fsencode(each)) + b"/" for each in sorted(own))]))
    marks = (b"/home/", b"/Users/", *(os.fsencode(each) for each in own))
    found = {}
    for path, data in ((path, (ROOT / path).read_bytes()) for path, mode in tracked if mode != LINK and (ROOT / path).is_file()):
        match = pattern.search(data) if any(mark in data for mark in marks) else None
        if match:
            found[path] = match[0]
    assert found == {}
