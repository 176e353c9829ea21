"""Files: what is read, and what is refused and why."""

from __future__ import annotations

import os

import pytest

from cases import each_case
from cfglint.source import files
from cfglint.source.document import LIMIT
from cfglint.source.files import FileProblem, read
from cfglint.source.folders import walk_entries
from writes import write

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, modes and pipes as POSIX has them")
ROOT = os.name == "posix" and os.geteuid() == 0


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\r\nb: \xc3\xa9")
    return path


def refused(path):
    """The problem of a read that must not work."""
    with pytest.raises(FileProblem) as problem:
        read(str(path))
    return problem.value


def test_read_keeps_line_breaks_and_tells_the_byte_order_mark(config):
    assert read(str(config))[:2] == ("a: 1\r\nb: é", False)
    config.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(str(config))[:2] == ("a: 1\n", True)


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"a: 1\nb: \xff\n", "encoding", "is not UTF-8: byte 0xff at offset 8 (line 2)"),
        ("a: 1\n".encode("utf-16"), "encoding", "is encoded in UTF-16, not UTF-8"),
        (b"a: \0\n", "control", "has a NUL byte at offset 3"),
        (b"a" * (files.MAX_SIZE + 1), LIMIT, "has 5,000,001 bytes, the limit is 5,000,000"),
    ],
    ids=["invalid", "utf-16", "nul", "large"],
)
def test_bytes_that_are_no_config(config, data, kind, message):
    config.write_bytes(data)
    problem = refused(config)
    assert (problem.kind, problem.message) == (kind, message)


def test_the_decoder_s_own_words_are_kept(config):
    config.write_bytes(b"\xff")
    assert refused(config).exception == "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"


def test_no_file_and_no_regular_file(tmp_path):
    assert refused(tmp_path / "no.yaml").message == "does not exist"
    assert refused(tmp_path).message == "is a folder"
    assert refused("a\0b").kind == "unreadable"
    assert refused("x" * 300).message == "file name too long"


@each_case(
    ("error", "message"),
    [
        (FileNotFoundError(2, "No such file or directory"), "does not exist"),
        (PermissionError(13, "Permission denied"), "is not readable (permission denied)"),
        (IsADirectoryError(21, "Is a directory"), "is a folder"),
        (NotADirectoryError(20, "Not a directory"), "not a directory"),
        (OSError(5, "Input/output error"), "input/output error"),
        (OSError("Stale handle"), "stale handle"),
    ],
)
def test_the_message_for_an_error_of_the_system(error, message):
    assert files.error_message("a.yaml", error) == message


@POSIX
def test_links_pipes_and_devices(tmp_path, config):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("gone.yaml")
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "loop").message == "is a link to itself"
    assert refused(tmp_path / "dangling").message == "is a link to gone.yaml, which does not exist"
    assert refused(tmp_path / "pipe").message == "is a pipe"
    assert refused("/dev/null").message == "is a device"
    (tmp_path / "good").symlink_to(config)
    assert read(str(tmp_path / "good"))[0] == read(str(config))[0]


@POSIX
@pytest.mark.skipif(ROOT, reason="nothing is unreadable to root")
def test_a_file_that_may_not_be_read(config):
    config.chmod(0)
    assert refused(config).message == "is not readable (permission denied)"


@POSIX
@pytest.mark.parametrize("name", [b"new\nline.yaml", b"not-utf8-\xff.yaml", b" blank .yaml", "é😀.yaml".encode(), b"x" * 250 + b".yml"])
def test_any_file_name_survives(tmp_path, name):
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))
    with open(path, "w") as file:
        file.write("a: 1\n")
    assert [entry.path for entry in walk_entries(str(tmp_path))] == [path]
    _, _, identity = read(path)
    write(path, identity, "a: 2\n")
    assert read(path)[0] == "a: 2\n"
    assert os.listdir(os.fsencode(tmp_path)) == [name]


@each_case(
    ("size", "limit", "expected"),
    [(10, 100, b"0123456789"), (2, 100, b"0123456789"), (0, 100, b"0123456789"), (20, 100, b"0123456789"), (2, 4, b"0123456")],
)
def test_a_file_that_grew_is_read_to_its_end_or_past_the_limit(tmp_path, size, limit, expected):
    """The reported size may be smaller than the content."""
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert files.read_all(descriptor, size, limit) == expected
    finally:
        os.close(descriptor)
