"""Nothing is lost: whatever happens during a write, files are the old or the new ones, whole, and nothing else stays."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress

import pytest

from cfglint.cli import main
from cfglint.source import writing
from writes import write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills, modes and links as POSIX has them")

OLD = '{\n  "train_batch_size": 256, // all\n  "train_micro_batch_size_per_gpu": 4,\n  "gradient_accumulation_steps": 8\n}\n'
NEW = OLD.replace("256", "512").replace("8\n", "16\n")
OTHER = OLD.replace("256", "1024").replace("8\n", "32\n")
TRAINER = "output_dir: out\nper_device_train_batch_size: 4 # each\ngradient_accumulation_steps: 8\ndeepspeed: ds.json\n"
TO_NEW = ("--gpus", "8", "--global-batch", "512")
TO_OTHER = ("--gpus", "8", "--global-batch", "1024")
NOBODY = 65534
SIGNALS = (signal.SIGTERM, *(pytest.param(sent, marks=pytest.mark.slow) for sent in (signal.SIGINT, signal.SIGHUP)))
STEPS = ("open", "fstat", "read", "stat", "access", "chown", "chmod", "fsync", "link", "close", "replace", "unlink", "listdir")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with one config, where this process has not written yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(writing, "swept", set())
    monkeypatch.setattr(writing, "given_up", set())
    (tmp_path / "ds.json").write_text(OLD)
    return tmp_path


@pytest.fixture
def run_of_two(folder):
    """A trainer's file beside it that names it, so that it is strict JSON."""
    (folder / "train.yaml").write_text(TRAINER)
    (folder / "ds.json").write_text(strict(OLD))
    return folder


@pytest.fixture
def named(monkeypatch):
    """A system without unnamed files."""
    monkeypatch.setattr(writing, "unnamed", lambda *_: None)


@pytest.fixture
def cfglint(capfd):
    """Run a command: (exit status, standard output, standard error)."""

    def run(*arguments):
        capfd.readouterr()
        status = main(list(arguments))
        sys.stdout.flush()
        return status, *capfd.readouterr()

    return run


def strict(text):
    """A config without its comment."""
    return text.replace(" // all", "")


def in_child(work):
    """A process that does something; how it ended is what `ended` tells."""
    child = os.fork()
    if child:
        return child
    status = 99
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        status = work()
    except KeyboardInterrupt:
        status = 130
    finally:
        os._exit(status)


def ended(child):
    """Its exit status, or the negative number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def send_at(step, sent):
    """Send this process a signal before the `step`th call of the system in a write."""
    calls = 0

    def counting(real):
        def call(*arguments, **named):
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), sent)
            return real(*arguments, **named)

        return call

    for name in STEPS:
        setattr(os, name, counting(getattr(os, name)))


def write_and_send(path, step, sent):
    """Write the new text, and get a signal meanwhile, which does what it does by default, not what the caller of pytest ignores."""
    if sent != signal.SIGKILL:
        signal.signal(sent, signal.default_int_handler if sent == signal.SIGINT else signal.SIG_DFL)
    identity = writing.Identity(OLD.encode())
    send_at(step, sent)
    write(path, identity, NEW)
    return 0


def others(folder, *expected):
    """Files of a folder that nobody expects there."""
    return sorted(set(os.listdir(folder)) - set(expected))


class TestKilled:
    def at_each_step(self, folder, sent):
        """Kill at each step until there are no more: ((text, litter) of each)."""
        path = folder / "ds.json"
        for step in range(1, 200):
            path.write_text(OLD)
            path.chmod(0o640)
            status = ended(in_child(lambda step=step: write_and_send(str(path), step, sent)))
            assert stat.S_IMODE(path.stat().st_mode) == 0o640
            yield path.read_text(), others(folder, "ds.json")
            writing.swept.clear()
            write(str(path), writing.Identity(path.read_bytes()), OLD + "\n")
            assert others(folder, "ds.json") == []
            if status == 0:
                assert step > 20
                return

    def test_the_file_is_the_old_or_the_new_one_and_litter_goes_with_the_next_write(self, folder):
        found = list(self.at_each_step(folder, signal.SIGKILL))
        assert {text for text, _ in found} == {OLD, NEW}
        if hasattr(os, "O_TMPFILE") and writing.unnamed(str(folder), 0o600) is not None:
            assert sum(bool(litter) for _, litter in found) < 10  # from the naming to the renaming

    @pytest.mark.slow
    def test_without_unnamed_files(self, folder, named):
        assert {text for text, _ in self.at_each_step(folder, signal.SIGKILL)} == {OLD, NEW}

    @pytest.mark.parametrize("sent", SIGNALS)
    def test_other_signals_wait_for_the_end_of_the_write(self, folder, named, sent):
        found = list(self.at_each_step(folder, sent))
        assert {text for text, _ in found} == {OLD, NEW}  # the old one: before there was anything to lose
        assert all(not litter for _, litter in found)

    def test_what_is_not_ours_stays(self, folder):
        (folder / ".cfglint-notes").write_text("mine")
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        assert others(folder, "ds.json") == [".cfglint-notes"]

    def test_the_file_of_a_living_process_stays(self, folder, monkeypatch):
        fcntl = pytest.importorskip("fcntl", reason="no locks here")
        monkeypatch.setattr(writing, "LOCK_TIMEOUT", 0.02)
        busy = folder / f"{writing.PREFIX}0123456789abcdef{writing.SUFFIX}"
        busy.write_text("half a te")
        holder = os.open(folder, os.O_RDONLY)
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        assert busy.exists()
        os.close(holder)
        assert main(["fix", "ds.json", *TO_OTHER]) == 0
        assert not busy.exists()


class TestAtOnce:
    def both(self, path, *targets):
        """Start `fix` for each target at the same time: their exit statuses."""
        gate, opens = os.pipe()

        def work(target):
            os.close(opens)
            os.read(gate, 1)
            return main(["fix", path, "--run", "--from-gpus", "8", *target])

        children = [in_child(lambda target=target: work(target)) for target in targets]
        os.close(opens)
        os.close(gate)
        return [ended(child) for child in children]

    def test_the_same_change_twice(self, folder):
        assert self.both("ds.json", TO_NEW, TO_NEW, TO_NEW) == [0, 0, 0]
        assert (folder / "ds.json").read_text() == NEW
        assert others(folder, "ds.json") == []

    def test_two_changes_of_one_run(self, run_of_two):
        statuses = self.both("train.yaml", TO_NEW, TO_OTHER)
        assert 0 in statuses
        assert set(statuses) <= {0, 2}
        texts = [(run_of_two / name).read_text() for name in ("ds.json", "train.yaml")]
        assert texts in [[strict(text), TRAINER.replace(": 8", f": {steps}")] for text, steps in ((NEW, 16), (OTHER, 32))]
        assert others(run_of_two, "ds.json", "train.yaml") == []


class TestEditor:
    def saves(self, monkeypatch, path, text):
        """Somebody saves a file after it was read and before it is written."""
        real = writing.write_all

        def later(writes):
            path.write_text(text)
            real(writes)

        monkeypatch.setattr(writing, "write_all", later)

    def test_the_editor_wins(self, folder, cfglint, monkeypatch):
        self.saves(monkeypatch, folder / "ds.json", "{}")
        status, out, err = cfglint("fix", "ds.json", *TO_NEW)
        assert (status, out) == (2, "")
        assert "cfglint: ds.json: changed since it was read\n" in err
        assert "0 files changed" in err
        assert (folder / "ds.json").read_text() == "{}"

    def test_the_other_files_of_the_run_wait(self, run_of_two, cfglint, monkeypatch):
        self.saves(monkeypatch, run_of_two / "ds.json", "{}")
        status, _, err = cfglint("fix", "train.yaml", "--run", "--from-gpus", "8", *TO_NEW)
        assert status == 2
        assert "ds.json: changed since it was read (of the same run, and not written either: train.yaml)" in err
        assert (run_of_two / "train.yaml").read_text() == TRAINER

    def test_told_in_json(self, folder, cfglint, monkeypatch):
        self.saves(monkeypatch, folder / "ds.json", "{}")
        status, out, _ = cfglint("fix", "ds.json", *TO_NEW, "--format", "json")
        (entry,) = json.loads(out)["runs"]
        assert (status, entry["changed"], entry["problem"]) == (2, [], "ds.json: changed since it was read")


class TestRunOfSeveralFiles:
    FIX = ("fix", "train.yaml", "--run", "--from-gpus", "8", *TO_NEW)

    def failing(self, monkeypatch, name):
        """No file can be renamed to a name."""
        real = os.replace

        def replace(source, target):
            if os.path.basename(target) == name:
                raise OSError(5, "Input/output error")
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)

    def test_all_are_written(self, run_of_two, cfglint):
        assert cfglint(*self.FIX)[0] == 0
        assert (run_of_two / "ds.json").read_text() == strict(NEW)
        assert (run_of_two / "train.yaml").read_text() == TRAINER.replace(": 8", ": 16")

    def test_the_second_cannot_be_written(self, run_of_two, cfglint, monkeypatch):
        self.failing(monkeypatch, "ds.json")
        status, _, err = cfglint(*self.FIX)
        assert status == 2
        assert "ds.json: cannot be written: input/output error (of the same run, and not written either: train.yaml)" in err
        assert (run_of_two / "ds.json").read_text() == strict(OLD)
        assert (run_of_two / "train.yaml").read_text() == TRAINER
        assert others(run_of_two, "ds.json", "train.yaml") == []

    def test_nor_the_first_be_put_back(self, run_of_two, cfglint, monkeypatch):
        real = os.replace

        def once(source, target):
            monkeypatch.setattr(os, "replace", fail)
            real(source, target)

        def fail(*_):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "replace", once)
        status, _, err = cfglint(*self.FIX)
        assert status == 2
        assert (
            "ds.json: cannot be written: input/output error; already written: train.yaml (cannot be written: input/output error)\n" in err
        )
        assert "1 file changed" in err
        assert (run_of_two / "ds.json").read_text() == strict(OLD)
        assert (run_of_two / "train.yaml").read_text() == TRAINER.replace(": 8", ": 16")

    def test_new_files(self, folder, cfglint, monkeypatch):
        real = os.replace
        calls = []

        def second_fails(source, target):
            calls.append(target)
            if len(calls) == 2:
                raise OSError(5, "Input/output error")
            real(source, target)

        monkeypatch.setattr(os, "replace", second_fails)
        status, _, err = cfglint(
            "new", "run", "--framework", "huggingface", "--gpus", "8", "--global-batch", "64", "--max-micro-batch", "4", "-o", "out"
        )
        assert status == 2
        assert "cannot be written: input/output error" in err
        assert len(calls) == 2
        assert os.listdir(folder / "out") == []


class TestDisk:
    @pytest.fixture
    def full(self, folder):
        """A small disk with the config and a report on it, and no room for more."""
        disk = folder / "disk"
        disk.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        try:
            (disk / "ds.json").write_text(OLD)
            (disk / "report.json").write_text("before")
            while shutil.disk_usage(disk).free:
                with suppress(OSError), open(disk / "filler", "ab") as filler:
                    filler.write(b"x" * 4096)
            yield disk
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_no_room_for_the_new_file(self, full, cfglint):
        status, _, err = cfglint("fix", "disk/ds.json", *TO_NEW)
        assert status == 2
        assert "disk/ds.json: cannot be written: no space left on device" in err
        assert (full / "ds.json").read_text() == OLD
        assert others(full, "ds.json", "report.json", "filler") == []

    def test_no_room_for_the_report(self, full, cfglint):
        status, _, err = cfglint("check", "ds.json", "--format", "json", "--output", "disk/report.json")
        assert status == 2
        assert "--output disk/report.json: cannot be written: no space left on device" in err
        assert (full / "report.json").read_text() == "before"
        assert others(full, "ds.json", "report.json", "filler") == []

    def test_no_room_for_standard_output(self, folder, environment):
        if not os.path.exists("/dev/full"):
            pytest.skip("no /dev/full here")
        done = subprocess.run("cfglint schema deepspeed > /dev/full", shell=True, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (2, "cfglint: standard output: No space left on device\n")

    @pytest.mark.parametrize("way", ["unnamed", "named"])
    def test_larger_than_files_may_be(self, folder, way, request):
        resource = pytest.importorskip("resource", reason="no limits here")
        if way == "named":
            request.getfixturevalue("named")

        def work():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
            try:
                write("ds.json", writing.Identity(OLD.encode()), NEW)
            except writing.FileProblem as problem:
                return 7 if problem.message == "cannot be written: file too large" else 8

        assert ended(in_child(work)) == 7
        assert (folder / "ds.json").read_text() == OLD
        assert others(folder, "ds.json") == []


class TestPermissions:
    def test_a_read_only_file_stays(self, folder, cfglint):
        (folder / "ds.json").chmod(0o444)
        status, _, err = cfglint("fix", "ds.json", *TO_NEW)
        assert status == 2
        assert "ds.json: is read-only" in err
        assert (folder / "ds.json").read_text() == OLD

    def test_a_read_only_folder(self):
        with tempfile.TemporaryDirectory() as place:  # where another user can go, too
            path = os.path.join(place, "ds.json")
            with open(path, "w") as config:
                config.write(OLD)
            if os.geteuid() == 0:
                os.chown(path, NOBODY, NOBODY)
            os.chmod(place, 0o555)

            def work():
                if os.geteuid() == 0:
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                try:
                    write(path, writing.Identity(OLD.encode()), NEW)
                except writing.FileProblem as problem:
                    return 7 if problem.message == f"cannot be written: permission denied in {os.path.realpath(place)}" else 8

            assert ended(in_child(work)) == 7
            with open(path) as config:
                assert config.read() == OLD
            assert os.listdir(place) == ["ds.json"]
            os.chmod(place, 0o755)

    def test_a_group_that_cannot_be_kept_gives_no_other_group_its_rights(self, folder, monkeypatch):
        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "chown", refuse)
        (folder / "ds.json").chmod(0o664)
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        assert stat.S_IMODE((folder / "ds.json").stat().st_mode) == 0o644

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files to others")
    def test_the_owner_stays(self, folder):
        os.chown(folder / "ds.json", NOBODY, NOBODY)
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        status = (folder / "ds.json").stat()
        assert (status.st_uid, status.st_gid) == (NOBODY, NOBODY)

    def test_attributes_stay(self, folder):
        try:
            os.setxattr("ds.json", "user.origin", b"sweep 12")
        except (AttributeError, OSError) as wrong:
            pytest.skip(f"no extended attributes here: {wrong}")
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        assert os.getxattr("ds.json", "user.origin") == b"sweep 12"
        assert (folder / "ds.json").read_text() == NEW


class TestLinks:
    def test_a_link_to_elsewhere(self, folder, tmp_path_factory):
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (folder / "ds.json").rename(elsewhere / "real.json")
        (folder / "ds.json").symlink_to(elsewhere / "real.json")
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        assert os.readlink(folder / "ds.json") == str(elsewhere / "real.json")
        assert (elsewhere / "real.json").read_text() == NEW
        assert others(elsewhere, "real.json") == []

    def test_another_name_of_the_file_is_told(self, folder, cfglint):
        os.link("ds.json", "same.json")
        status, _, err = cfglint("fix", "ds.json", *TO_NEW)
        assert status == 0
        assert "ds.json had 2 names; the others keep the old content" in err
        assert (folder / "same.json").read_text() == OLD

    def test_a_file_that_is_right_is_not_touched(self, folder):
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        before = (folder / "ds.json").stat()
        assert main(["fix", "ds.json", *TO_NEW]) == 0
        after = (folder / "ds.json").stat()
        assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


class TestReports:
    def report(self, cfglint, path):
        """Ask for a report in a file: (exit status, standard output, standard error)."""
        return cfglint("check", "ds.json", "--gpus", "8", "--format", "json", "--output", str(path))

    def test_in_the_place_of_one_that_is_there(self, folder, cfglint):
        (folder / "report.json").write_text("before")
        (folder / "report.json").chmod(0o604)
        (folder / "latest").symlink_to("report.json")
        assert self.report(cfglint, "latest")[0] == 0
        assert json.loads((folder / "report.json").read_text())["runs"]
        assert stat.S_IMODE((folder / "report.json").stat().st_mode) == 0o604
        assert (folder / "latest").is_symlink()

    def test_a_new_one_has_the_mode_that_new_files_have(self, folder, cfglint):
        before = os.umask(0o026)
        try:
            assert self.report(cfglint, "report.json")[0] == 0
        finally:
            os.umask(before)
        assert stat.S_IMODE((folder / "report.json").stat().st_mode) == 0o640

    def test_a_read_only_one_stays(self, folder, cfglint):
        (folder / "report.json").write_text("before")
        (folder / "report.json").chmod(0o444)
        status, _, err = self.report(cfglint, "report.json")
        assert (status, (folder / "report.json").read_text()) == (2, "before")
        assert "--output report.json: is read-only" in err

    @pytest.mark.parametrize("error", [1, 13, 16, 30])
    def test_a_file_that_cannot_be_replaced_is_written_into(self, folder, cfglint, monkeypatch, error):
        (folder / "report.json").write_text("before")
        inode = (folder / "report.json").stat().st_ino

        def refuse(*_):
            raise OSError(error, "no")

        monkeypatch.setattr(os, "replace", refuse)
        assert self.report(cfglint, "report.json")[0] == 0
        assert json.loads((folder / "report.json").read_text())["runs"]
        assert (folder / "report.json").stat().st_ino == inode
        assert others(folder, "ds.json", "report.json") == []

    def test_standard_output_by_its_path(self, folder, cfglint):
        status, out, _ = self.report(cfglint, "/dev/stdout")
        assert status == 0
        assert json.loads(out)["runs"]

    def test_a_pipe(self, folder, cfglint):
        os.mkfifo("pipe")
        loader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
        assert self.report(cfglint, "pipe")[0] == 0
        assert json.loads(os.read(loader, 100_000))["runs"]
        os.close(loader)
        assert stat.S_ISFIFO(os.stat("pipe").st_mode)

    @pytest.mark.parametrize("path", [".", "new/", "no/such/folder"])
    def test_no_place_for_a_file(self, folder, cfglint, path):
        status, _, err = self.report(cfglint, path)
        assert status == 2
        assert f"--output {path}: " in err
        assert others(folder, "ds.json") == []

    def test_a_baseline_that_cannot_be_written_stays(self, folder, cfglint, monkeypatch):
        before = '{"cfglint-baseline": 1, "findings": []}'
        (folder / "base.json").write_text(before)

        def refuse(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", refuse)
        status, _, err = cfglint("check", "ds.json", "--baseline", "base.json", "--write-baseline")
        assert (status, (folder / "base.json").read_text()) == (2, before)
        assert "baseline base.json: cannot be written: no space left on device" in err


@pytest.mark.parametrize(
    "command",
    [
        "check . --format json",
        *(pytest.param(command, marks=pytest.mark.slow) for command in ("fix . --diff --gpus 4", "schema deepspeed", "rule")),
    ],
)
def test_a_reader_that_goes_away_is_no_traceback(folder, environment, command):
    for number in range(60):
        shutil.copy("ds.json", f"{number}-ds.json")
    done = subprocess.run(["bash", "-c", f"cfglint {command} | head -n 1"], env=environment, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(("closed", "printed"), [(">&-", ""), ("2>&-", "ds.json: gradient_accumulation_steps 8 -> 16\n")])
def test_closed_standard_streams(folder, environment, closed, printed):
    command = f"cfglint fix ds.json {' '.join(TO_NEW)} {closed}"
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith(printed)
    assert "looked at" not in done.stdout
    assert "Traceback" not in done.stderr
    assert (folder / "ds.json").read_text() == NEW
