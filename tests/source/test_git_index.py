"""What the index of a work tree tells of the contents of its files."""

from __future__ import annotations

import os
import shutil

import pytest

from cfglint.source.git_index import KnownContents

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
LATER, EARLIER = 4_000_000_000, 1_000_000_000  # seconds since 1970


@pytest.fixture
def tracked(checkout):
    """The id that the index tells of a file, after the index was written at some time."""
    checkout.write(a__yaml="one: 1\n", sub_in_b__yaml="two: 2\n")
    checkout.git("add", "-A")

    def told(path, written=LATER, version="2"):
        checkout.git("update-index", "--index-version", version)
        os.utime(".git/index", (written, written))
        return KnownContents(".").id_of(path, os.lstat(path))

    return told


@pytest.mark.parametrize("version", ["2", "4"])
def test_an_untouched_file(tracked, checkout, version):
    for path in ("a.yaml", "sub/b.yaml"):
        assert tracked(path, version=version) == checkout.git("hash-object", path).strip()


def test_a_file_that_may_have_changed(tracked, checkout):
    assert tracked("a.yaml", written=EARLIER) is None, "written after the index, perhaps in the same moment"
    status = os.stat("a.yaml")
    checkout.write(a__yaml="two: 2\n", new__yaml="one: 1\n")
    os.utime("a.yaml", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert tracked("a.yaml") is None, "the size and the time of the content are the old ones, that of the inode is not"
    assert tracked("new.yaml") is None


def test_no_index_that_can_be_read(tracked):
    with open(".git/index", "r+b") as index:
        index.truncate(40)
    assert KnownContents(".").id_of("a.yaml", os.lstat("a.yaml")) is None
    os.remove(".git/index")
    assert KnownContents(".").id_of("a.yaml", os.lstat("a.yaml")) is None
