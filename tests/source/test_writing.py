"""Writes that cannot lose anything: a file is the old or the new one, whatever goes wrong."""

from __future__ import annotations

import os
import stat

import pytest

from cfglint.source import writing
from cfglint.source.files import FileProblem, read
from writes import write

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, modes and pipes as POSIX has them")


@pytest.fixture(params=["unnamed", "named", "unlocked"])
def way(request, monkeypatch):
    """The ways to write: with unnamed files where the system has them, without, and without locks, either."""
    if request.param != "unnamed":
        monkeypatch.setattr(writing, "unnamed", lambda *_: None)
    if request.param == "unlocked":
        monkeypatch.setattr(writing, "lock", lambda *_: False)
    return request.param


@pytest.fixture
def config(tmp_path, way):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\r\nb: \xc3\xa9")
    return path


def refused(path, *arguments):
    """The problem of a write that must not work."""
    with pytest.raises(FileProblem) as problem:
        write(str(path), *arguments)
    return problem.value


def test_write_keeps_byte_order_mark_and_line_breaks(config):
    config.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    text, _, identity = read(str(config))
    assert write(str(config), identity, text.replace("1", "é")) is None
    assert config.read_bytes() == "\ufeffa: é\r\n".encode()
    assert os.listdir(config.parent) == ["a.yaml"]


def test_writing_the_same_text_touches_nothing(config):
    text, _, identity = read(str(config))
    before = config.stat()
    write(str(config), identity, text)
    assert config.stat().st_mtime_ns == before.st_mtime_ns
    assert config.stat().st_ino == before.st_ino


def test_a_file_that_changed_since_is_left_alone(config):
    _, _, identity = read(str(config))
    config.write_text("a: 3\n")
    problem = refused(config, identity, "a: 2\n")
    assert problem.message == "changed since it was read"
    assert config.read_text() == "a: 3\n"
    assert os.listdir(config.parent) == ["a.yaml"]


def test_a_change_while_writing_is_noticed(config, monkeypatch):
    _, _, identity = read(str(config))
    real = writing.copy_ownership

    def meanwhile(*arguments):
        config.write_text("a: 3\n")
        return real(*arguments)

    monkeypatch.setattr(writing, "copy_ownership", meanwhile)
    assert refused(config, identity, "a: 2\n").message == "changed since it was read"
    assert config.read_text() == "a: 3\n"
    assert os.listdir(config.parent) == ["a.yaml"]


def test_a_file_that_is_gone_is_not_made_again(config):
    _, _, identity = read(str(config))
    config.unlink()
    assert refused(config, identity, "a: 2\n").message == "does not exist"
    assert not config.exists()


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_failed_write_leaves_the_old_text_and_no_litter(config, monkeypatch, step):
    before = config.read_bytes()
    _, _, identity = read(str(config))

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, step, fail)
    assert refused(config, identity, "a: 2\n").message == "cannot be written: no space left on device"
    assert config.read_bytes() == before
    assert os.listdir(config.parent) == ["a.yaml"]


@POSIX
def test_write_keeps_the_mode_and_follows_a_link(tmp_path, config):
    config.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to("a.yaml")
    _, _, identity = read(str(link))
    write(str(link), identity, "a: 2\n")
    assert link.is_symlink()
    assert config.read_text() == "a: 2\n"
    assert stat.S_IMODE(config.stat().st_mode) == 0o640


@POSIX
def test_a_read_only_file_is_left_alone(config):
    _, _, identity = read(str(config))
    config.chmod(0o444)
    assert refused(config, identity, "a: 2\n").message == "is read-only"


@POSIX
def test_other_names_of_a_file_are_mentioned(tmp_path, config):
    os.link(config, tmp_path / "b.yaml")
    _, _, identity = read(str(config))
    assert write(str(config), identity, "a: 2\n") == f"{config} had 2 names; the others keep the old content"


@POSIX
def test_a_report_takes_the_place_of_another_at_once(tmp_path):
    """Whoever has the old report open keeps reading it."""
    path = tmp_path / "report.html"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        writing.write_report(str(path), b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_report_leaves_the_old_one(tmp_path, monkeypatch, step):
    path = tmp_path / "report.html"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, step, fail)
    with pytest.raises(FileProblem, match="no space left on device"):
        writing.write_report(str(path), b"new")
    assert path.read_bytes() == b"old"


@POSIX
def test_a_report_goes_into_a_pipe_and_to_no_folder(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writing.write_report(str(pipe), b"new")
    assert os.read(reader, 10) == b"new"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)
    for path in (tmp_path, f"{tmp_path}/no/report.html", f"{tmp_path}/report/"):
        with pytest.raises(FileProblem) as problem:
            writing.write_report(str(path), b"new")
        assert problem.value.kind == "unwritable"
