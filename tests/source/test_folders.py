"""Folders: which files a walk finds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from cfglint.source.folders import Tracked, walk_entries

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, modes and pipes as POSIX has them")


def make(folder, *names, **texts):
    """Files with their folders; keyword names have two underscores for a slash and a dot before."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("a: 1\n")
    for name, text in texts.items():
        path = folder / name.replace("__", "/.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(folder, start=""):
    """Paths that a walk gives, from the folder."""
    return [os.path.relpath(path, folder).replace(os.sep, "/") for path in (entry.path for entry in walk_entries(str(folder / start)))]


def test_walk_is_sorted_and_skips_git(tmp_path):
    make(tmp_path, "b/c.yaml", "b/a.yaml", "a.json", ".git/config", "c/.git", ".hidden/x.yml")
    assert found(tmp_path) == [".hidden/x.yml", "a.json", "b/a.yaml", "b/c.yaml"]


def test_walk_follows_gitignore_files(tmp_path):
    make(tmp_path, "out/a.yaml", "b.local.yaml", "keep.local.yaml", "sub/c.yaml", "sub/d.yaml", "sub/keep.local.yaml", "sub/out.yaml")
    (tmp_path / ".gitignore").write_text("out/\n*.local.yaml\n!keep.local.yaml\n!\n\n# c\n")
    (tmp_path / "sub" / ".gitignore").write_text("/d.yaml\nkeep*\n")
    assert found(tmp_path) == [".gitignore", "keep.local.yaml", "sub/.gitignore", "sub/c.yaml", "sub/out.yaml"]


def test_walk_knows_the_rules_of_the_repository_above(tmp_path):
    make(tmp_path, ".git/HEAD", "configs/a.yaml", "configs/b.tmp.yaml", "build/c.yaml")
    (tmp_path / ".gitignore").write_text("*.tmp.yaml\nbuild/\n")
    assert found(tmp_path, "configs") == ["configs/a.yaml"]
    assert found(tmp_path, "build") == ["build/c.yaml"]


@POSIX
def test_walk_gives_linked_files_and_enters_no_linked_folder(tmp_path):
    make(tmp_path, "a/b.yaml")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "link.yaml").symlink_to("a/b.yaml")
    (tmp_path / "dangling.yaml").symlink_to("nothing")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert found(tmp_path) == ["a/b.yaml", "link.yaml"]


def test_pathspec_is_imported_for_a_gitignore_only(tmp_path):
    make(tmp_path, "a.yaml")
    script = f"""
import sys
sys.path[:] = {sys.path!r}
from cfglint.source.folders import walk_entries
list(walk_entries({str(tmp_path)!r}))
print("pathspec" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_walk_finds_what_git_tracks_in_spite_of_its_rules(tmp_path):
    make(tmp_path, "a.local.yaml", "b.local.yaml", "out/c.yaml", "out/d.yaml", "out/e.txt", "other/f.yaml")
    (tmp_path / ".gitignore").write_text("*.local.yaml\nout/\nother/\n")
    for command in (("init", "-q"), ("add", "-f", "a.local.yaml", "out/c.yaml", "out/e.txt")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    walked = [walk_entries(str(tmp_path), asked) for asked in (Tracked(), None)]
    paths = [[os.path.relpath(each.path, tmp_path).replace(os.sep, "/") for each in found] for found in walked]
    assert paths == [[".gitignore", "a.local.yaml", "out/c.yaml", "out/e.txt"], [".gitignore"]]


def test_pathspec_is_not_imported_where_git_tracks_everything(tmp_path):
    make(tmp_path, "a.yaml", "b/c.txt")
    (tmp_path / ".gitignore").write_text("*.local.yaml\n")
    for command in (("init", "-q"), ("add", ".")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    script = f"""
import sys
sys.path[:] = {sys.path!r}
from cfglint.source.folders import Tracked, walk_entries
print(len([*walk_entries({str(tmp_path)!r}, Tracked())]), "pathspec" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "3 False\n"


def test_walk_enters_no_folder_that_python_writes_but_what_git_tracks(tmp_path):
    make(tmp_path, "a.yaml", "env/pyvenv.cfg", "env/lib/b.yaml", "__pycache__/c.yaml", "kept/pyvenv.cfg", "kept/d.yaml")
    assert found(tmp_path) == ["a.yaml"]
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "kept"], check=True)
    (tmp_path / ".gitignore").write_text("x\n")
    walked = [entry.name for entry in walk_entries(str(tmp_path), Tracked())]
    assert walked == [".gitignore", "a.yaml", "d.yaml", "pyvenv.cfg"]
