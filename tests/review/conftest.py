"""Two states of a run from texts, and git repositories made for a test."""

from __future__ import annotations

import os
import subprocess

import pytest

from cfglint.frameworks.base import Facts
from cfglint.gather import Gathering, Shelf
from cfglint.review.compare import Comparison

QUIET = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def run_of(files, **facts):
    """The run of texts by file name."""
    whole = facts.pop("whole", True)
    kind = facts.pop("kind", None)
    return Gathering(Facts(whole=whole, **facts), kind, shelf=Shelf(files)).one([next(iter(files))])


@pytest.fixture
def compare():
    """Compare two runs, each a text or texts by file name."""

    def compared(before, after, *, new_facts=None, **facts):
        sides = [each if each is None or isinstance(each, dict) else {"train.yaml": each} for each in (before, after)]
        given = [facts, {**facts, **(new_facts or {})}]
        return Comparison(*(run_of(each, **one) if each else None for each, one in zip(sides, given, strict=True)))

    return compared


@pytest.fixture
def told(compare):
    """The consequences of a change as a list of sentences."""

    def sentences(*sides, **facts):
        return [each.text for each in compare(*sides, **facts).consequences]

    return sentences


class Checkout:
    """A git repository in a folder of a test."""

    def __init__(self, folder, *options):
        self.folder = folder
        self.git("init", "-q", "-b", "main", *options)

    def git(self, *arguments):
        """Run git in it."""
        done = subprocess.run(["git", *arguments], cwd=self.folder, env={**os.environ, **QUIET}, check=True, capture_output=True, text=True)
        return done.stdout

    def write(self, **files):
        """Write files; `__` in a name is a dot, `_in_` a slash."""
        for name, text in files.items():
            path = self.folder / name.replace("_in_", "/").replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")

    def commit(self, message="change"):
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """An empty repository, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    for name in ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    return Checkout(tmp_path)
