"""Paths that are made to hang, to break or to mislead: what is no file is told, nothing is waited for, and names stay text."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time

import pytest
from soundness import harmless, strict

from cfglint.cli import main
from cfglint.source import files, folders

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and names as POSIX has them")

ROOT = os.name == "posix" and os.geteuid() == 0
NOBODY = 65534
PROC = pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="there is no /proc here")
NAMES = {
    "new line": b"a\nb.json",
    "escape sequence": b"\x1b[2J\x1b]0;x\x07.json",
    "no UTF-8": b"\xff\xfe.json",
    "half of a pair": b"\xed\xa0\x80.json",
    "other direction": "\u202egnp.json".encode(),
    "markup": b"<script>alert(1)<!--'\"&amp;.json",
    "code": b"```\n|`a`|.json",
    "annotation": b"::error file=a,line=1::x%0A%25.json",
    "end of data": b"]]>.json",
    "address": b"javascript:alert(1).json",
    "dash": b"--output=owned.json",
    "command": b"$(touch owned);`touch owned`|.json",
    "blanks": b" \t .json",
    "long": b"x" * 250 + b".json",
}


@pytest.fixture
def check(folder, capsys):
    """Check in this process: status, standard output, standard error."""

    def run(*arguments):
        status = main(["check", "--jobs", "1", *arguments])
        told = capsys.readouterr()
        assert "INT000" not in told.out
        return status, told.out, told.err

    return run


# ---- what is no file


@PROC
def test_what_is_no_file_is_told_and_not_waited_for(folder, limited, good):
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "ring").symlink_to("ring")
    (folder / "dangling.json").symlink_to("\x1b[2Jgone.json")
    os.mkfifo(folder / "pipe.json")
    (folder / "to-a-pipe.json").symlink_to("pipe.json")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.json")
    told = {
        "loop.json": "is a link to itself",
        "ring/x.json": "too many levels of symbolic links",
        "dangling.json": "is a link to \\x1b[2Jgone.json, which does not exist",
        "pipe.json": "is a pipe",
        "to-a-pipe.json": "is a pipe",
        "socket.json": "",
        "/dev/zero": "is a device",
        "/dev/full": "is a device",
        "/dev/stdin": "is a device",
        "/proc/self/mem": "",
        "/proc/self/pagemap": "",
        "/proc/self/environ": "has a NUL byte",
        "gone/x.json": "does not exist",
        "good.json/x.json": "not a directory",
        "x" * 5000 + ".json": "file name too long",
    }
    done = limited(["check", "--format", "concise", "--kind", "deepspeed", *told, good.name], folder, seconds=5).sound(2)
    lines = done.out.splitlines()
    for path, words in told.items():
        found = [line for line in lines if line.startswith(f"{path}:1:") and " SRC001 " in line]
        assert len(found) == 1 and words in found[0], path  # noqa: PT018
    assert "good.json:2:23: BAT001" in done.out
    assert "\x1b" not in done.out + done.err


@PROC
def test_files_of_a_system_that_have_no_size(folder, limited, good):
    """They are read as far as any file is, and are none of ours."""
    paths = [f"/proc/self/{name}" for name in ("maps", "mounts", "smaps", "status", "cmdline", "auxv", "stat")]
    done = limited(["check", *paths, good.name], folder, seconds=5).sound(2)
    assert good.told in done.out
    assert done.err.count("not recognised as a training config") == len(paths)


def test_a_walk_passes_over_what_is_no_file(folder, limited, good):
    (folder / "x.yaml").mkdir()
    (folder / "x.yaml" / "y.json").write_text(good.text)
    (folder / "x.yaml" / "up").symlink_to("..")
    (folder / "x.yaml" / "self").symlink_to(".")
    (folder / "root.yaml").symlink_to("/")
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.yaml")
    done = limited(["check", ".", "--format", "concise"], folder, seconds=5).sound(1)
    assert "./good.json:2:23: BAT001" in done.out
    assert "x.yaml/y.json:2:23: BAT001" in done.out
    assert "2 files checked" in done.err
    done = limited(["check", "x.yaml/up/x.yaml/self", "x.yaml"], folder, seconds=5).sound(1)
    assert "2 files checked" in done.err


def test_files_and_folders_that_may_not_be_read(folder, limited, good):
    (folder / "closed.json").write_text(good.text)
    (folder / "closed").mkdir()
    (folder / "closed" / "x.json").write_text(good.text)
    script = """
import os, sys
from cfglint.cli import main
main(["check", "--kind", "deepspeed", "good.json", "gone.json"])  # everything is imported while it may be read
sys.stdout.write("now\\n")
os.chmod("closed.json", 0), os.chmod("closed", 0)
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)
os.access("closed.json", os.R_OK) and sys.exit("it can be read all the same")
status = main(["check", "--kind", "deepspeed", "closed.json", "closed", "closed/x.json", "good.json"])
sys.stdout.flush()
sys.exit(status)
"""
    os.chmod(folder, 0o755)
    done = limited([], folder, program=("-c", script.replace("NOBODY", str(NOBODY)))).sound(2)
    os.chmod(folder / "closed", 0o700)
    told = done.out.partition("now\n")[2]
    assert "closed.json:1:1: error SRC001 unreadable-file: closed.json: is not readable (permission denied)" in told
    assert "closed/x.json: is not readable (permission denied)" in told
    assert good.told in told
    assert "no such file" not in done.err.splitlines()[-1]
    assert "3 paths could not be opened: closed, closed.json, closed/x.json" in done.err.splitlines()[-1]


# ---- files that change while they are looked at


def test_a_file_that_vanishes_after_the_walk(folder, check, monkeypatch, good):
    (folder / "a.json").write_text(good.text)
    real = folders.walk_entries
    monkeypatch.setattr(folders, "walk_entries", lambda *given: [*real(*given), (folder / "a.json").unlink()][:-1])
    status, out, err = check(".")
    assert status == 2
    assert "no such file or folder: ./a.json" in err
    assert good.told in out


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda data: data * 2, "SRC002"),
        (lambda data: data + b" " * 6_000_000, "SRC004"),
        (lambda data: data[:20], "SRC002"),
        (lambda data: b"", ""),
    ],
    ids=["grown", "grown beyond the limit", "cut", "emptied"],
)
def test_a_file_that_changes_once_it_is_open(folder, check, monkeypatch, good, changed, told):
    (folder / "a.json").write_text(good.text)

    def read_all(descriptor, size, limit, usual=files.read_all):
        if os.path.samestat(os.fstat(descriptor), os.stat("a.json")):
            (folder / "a.json").write_bytes(changed(good.text.encode()))
        return usual(descriptor, size, limit)

    monkeypatch.setattr(files, "read_all", read_all)
    status, out, _ = check("--kind", "deepspeed", "a.json", "good.json")
    assert status == (2 if told == "SRC004" else 1)
    assert [line for line in out.splitlines() if line.startswith("a.json:") and told in line] or not told
    assert good.told in out


def test_a_folder_that_vanishes_during_the_walk(folder, check, monkeypatch, good):
    (folder / "a").mkdir()
    (folder / "a" / "x.json").write_text(good.text)

    def entries(self, path, rules, usual=folders.Walk.entries):
        if path.endswith("/a"):
            shutil.rmtree(path)
        return usual(self, path, rules)

    monkeypatch.setattr(folders.Walk, "entries", entries)
    status, out, _ = check(".")
    assert (status, out.count(good.code)) == (1, 1)


def test_a_link_that_vanishes_while_it_is_told(folder, monkeypatch):
    (folder / "a.json").symlink_to("gone")
    monkeypatch.setattr(files.os, "readlink", lambda path: (_ for _ in ()).throw(FileNotFoundError(path)))
    assert files.error_message("a.json", FileNotFoundError()) == "does not exist"


# ---- names


def test_every_report_with_every_name_can_be_read(folder, limited, good, formats, reports):
    for name in NAMES.values():
        with open(os.path.join(os.fsencode(folder), name), "w") as file:
            file.write(good.text)
    before = sorted(os.listdir(os.fsencode(folder)))
    limited(["check", ".", *formats], folder).sound(1)
    texts = reports(folder)
    told = {os.fsencode(found["file"]) for found in strict(texts["json"])["diagnostics"]}
    assert told == {b"./good.json", *(b"./" + name for name in NAMES.values())}
    assert len(texts["github"].splitlines()) == len(NAMES) + 1
    assert texts["text"].count("error BAT001") == 1
    assert f"the same in {len(NAMES)} other places" in texts["text"]
    concise = limited(["check", ".", "--format", "concise"], folder).sound(1).out
    assert harmless(concise)
    assert concise.count(".json:2:23: BAT001") == len(concise.splitlines()) == len(NAMES) + 1
    assert "<script>alert" not in texts["html"]
    left = {name for name in os.listdir(os.fsencode(folder)) if not name.startswith(b"report.")}
    assert sorted(left) == before


def test_every_command_takes_every_name(folder, limited, good):
    names = [os.fsdecode(name) for name in NAMES.values()]
    for name in names:
        (folder / name).write_text(good.text)
    done = limited(["check", "--format", "json", "--", *names], folder).sound(1)
    assert [run["files"] for run in strict(done.out)["runs"]] == [[name] for name in names]
    done = limited(["fix", "--gpus", "8", "--global-batch", "256", "--", *names], folder).sound(0)
    assert harmless(done.out + done.err)
    assert {(folder / name).read_text() for name in names} == {good.text.replace("7", "256")}
    for arguments in (["explain"], ["plan", "--gpus", "8", "--global-batch", "256"]):
        done = limited([*arguments, "--run", "--", *names[:3]], folder).sound()
        assert harmless(done.out + done.err)
    assert not (folder / "owned").exists()
    assert not (folder / "owned.json").exists()


def test_folders_deeper_than_a_path_can_name(folder, limited, good):
    """Sixty names of two hundred letters each: no system call takes the path of the innermost."""
    held = os.open(folder, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("d" * 200, dir_fd=held)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = below
        with open(os.open("x.json", os.O_WRONLY | os.O_CREAT, dir_fd=held), "w") as file:
            file.write(good.text)
    os.close(held)
    done = limited(["check", ".", "--format", "concise"], folder, seconds=5).sound(2)
    assert "./good.json:2:23: BAT001" in done.out
    assert done.out.count("x.json:2:23: BAT001") >= 15
    assert "1 path could not be opened: ./ddd" in done.err


# ---- patterns


def test_ignore_files_that_are_none_or_take_for_ever(folder, limited, good):
    path = "a" * 60 + "/" + "a" * 60 + ".json"
    kinds = {
        "pipe": os.mkfifo,
        "folder": lambda at: at.mkdir(),
        "loop": lambda at: at.symlink_to(".gitignore"),
        "device": lambda at: at.symlink_to("/dev/zero"),
        "large": lambda at: at.write_text("?x\n" * 2_000_000),
        "many": lambda at: at.write_text("".join(f"x{number}*y*z*\n" for number in range(50_000))),
        "explodes": lambda at: at.write_text("*a" * 40 + "b\n"),
        "again": lambda at: at.write_text("**/" * 40 + "*a" * 30 + "b\n"),
        "bytes": lambda at: at.write_bytes(b"\0\xff\n[\n!\n\\\n"),
        "ignores": lambda at: at.write_text("aaa*\n"),
    }
    for name, make in kinds.items():
        (folder / name / path).parent.mkdir(parents=True)
        (folder / name / path).write_text(good.text)
        make(folder / name / ".gitignore")
    done = limited(["check", ".", "--format", "concise"], folder, seconds=8).sound(1)
    assert "./good.json:2:23: BAT001" in done.out
    told = {name for name in kinds if f"{name}/{path}:2:23: BAT001" in done.out}
    assert told == {*kinds} - {"ignores"}


def test_the_time_of_patterns_is_limited_over_all_folders(folder, check, monkeypatch, good):
    monkeypatch.setattr(folders.IgnoreFile, "left", 0.3)
    monkeypatch.setattr(folders, "SECONDS", 0.1)
    for number in range(40):
        (folder / f"{number}").mkdir()
        (folder / f"{number}" / ("a" * 200 + ".json")).touch()
        (folder / f"{number}" / ".gitignore").write_text("*a" * 40 + "b\n")
    began = time.process_time()
    assert good.told in check(".")[1]
    assert time.process_time() - began < 2


def test_a_folder_of_strangers(folder, limited, good):
    for number in range(7500):
        os.mknod(folder / f"{number}.txt")
    for number in range(500):
        os.mknod(folder / f"{number}.yaml")
    done = limited(["check", "."], folder, memory=100, seconds=5).sound(1)
    assert good.told in done.out
    assert "500 files skipped, empty or not valid" in done.err


# ---- streams


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("check good.json >&-", 1),
        ("check good.json 2>&-", 1),
        ("check good.json >&- 2>&- <&-", 1),
        ("check good.json >/dev/full", 2),
        ("check good.json 2>/dev/full", 1),
        ("check good.json >/dev/full 2>/dev/full", 2),
        ("check --bogus 2>/dev/full", 2),
        ("check gone.json 2>/dev/full", 2),
        ("check --format json good.json | head -c 1", 0),
        ("check - --stdin-filename a.json <&-", 2),
        ("check - --stdin-filename a.json 0>written", 2),
        ("check - --stdin-filename a.json <pipe", 1),
        ("check - --stdin-filename a.json </dev/null", 2),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_streams_that_are_closed_full_or_pipes(folder, environment, good, command, status):
    os.mkfifo(folder / "pipe")
    given = subprocess.Popen(["sh", "-c", "cat good.json >pipe"], cwd=folder) if "<pipe" in command else None
    line = f'"{sys.executable}" -m cfglint {command}'
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    if given:
        given.wait(60)
    assert done.returncode == status, done.stderr
    assert not [bug for bug in ("Traceback", "internal error", "INT000", "Exception ignored") if bug in done.stderr + done.stdout]


def test_standard_input_without_an_end(folder, environment, good):
    """As much is read as shows that it is too much."""
    line = f'yes | "{sys.executable}" -m cfglint check - good.json --stdin-filename a.json --kind deepspeed'
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "warning SRC004" in done.stdout
    assert "a.json: has more than 5,000,000 bytes" in done.stdout
    assert good.told in done.stdout
