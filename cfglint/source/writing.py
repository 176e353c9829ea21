"""Atomic writes: a file is written completely or not at all, however the process ends.

New content is written to an unnamed file, gets a temporary name in the folder of its target, and is renamed to it:
other processes see the old file or the new one. A temporary file of a process that was killed between the last two
steps is removed by the next write in that folder. Each writer holds a lock on the folder, and the system releases
the locks of killed processes, so such a file is known to be unused. Process ids would not be enough: in containers
many processes have the same ones.

Without unnamed files (O_TMPFILE, Linux only) the new file has a name while it is written. Without locks (Windows,
some network file systems) temporary files of killed processes remain. The target is safe in both cases.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, contextmanager, suppress

from cfglint.source.annotations import Callable, Iterable, Iterator, Sequence
from cfglint.source.files import FileProblem, Identity, read_bytes
from cfglint.source.root import is_inside, root_of

PREFIX, SUFFIX = ".cfglint-", ".tmp"
OPEN_FILES = "/proc/self/fd"
LOCK_TIMEOUT = 10.0  # seconds to wait for the lock of a folder: cfglint holds it only briefly, unless it was stopped
PAUSE = 0.005  # seconds between two tries
BARRED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
NOT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
GROUP_BITS, OTHER_BITS = 0o070, 0o007

swept: set[str] = set()  # folders that were searched for leftover files: once per process is enough
given_up: set[str] = set()  # folders that could not be locked: waited for only once, too


def write_report(path: str, data: bytes) -> None:
    """Write a report, replacing an existing file; raises FileProblem, and then the existing file does not change.

    A path that is not a regular file, such as /dev/stdout or a pipe that is read, is written to; so is a file that cannot be
    replaced because its folder is not writable or it is a mount point. A link out of the project is not followed.
    """
    is_device = path.startswith("/dev/")
    if not is_device:
        refuse_outside(path)
    report = Write(path, data)
    try:
        if not is_device and not path.endswith(os.sep) and report.is_regular():
            try:
                write_all([report])
                return
            except FileProblem as error:  # one that cannot be replaced may still be written into
                barred = isinstance(error.__cause__, OSError) and error.__cause__.errno in BARRED
                if report.status is None or not barred:
                    raise
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NOT_WAITING, 0o666)  # refuses a pipe that nobody reads
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
        with open(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise FileProblem(path, reason(error), "unwritable") from error


def refuse_outside(path: str) -> None:
    """Raise FileProblem for a path that a link, which may be of the project, leads out of the project."""
    if not is_inside(path, root_of(path)):
        raise FileProblem(path, "leads out of the project, or into its `.git`; nothing is written there", "unwritable")


def write_all(writes: Sequence[Write]) -> None:
    """Do several writes, all or none; raises FileProblem.

    All steps that may fail are done before the first file replaces its target. Only a process that is killed between
    two renamings, which follow each other immediately, can leave some of them done.
    """
    with ExitStack() as stack:
        folders = stack.enter_context(locked({each.folder for each in writes}))
        stack.enter_context(uninterrupted())
        wanted = [each for each in writes if each.attempt(each.wanted)]
        for each in wanted:
            stack.callback(each.discard)
            each.attempt(each.stage)
        for each in wanted:
            each.attempt(each.name)
        done: list[Write] = []
        try:
            for each in wanted:
                each.attempt(each.commit)
                done.append(each)
        except FileProblem as error:
            try:
                while done:
                    done[-1].attempt(done[-1].undo)
                    done.pop().written = False
            except FileProblem as again:
                stay = ", ".join(each.path for each in done)
                raise FileProblem(error.path, f"{error.message}; already written: {stay} ({again.message})", "unwritable") from again
            raise
        for folder in folders:
            with suppress(OSError):  # not every file system supports it
                os.fsync(folder)


class Write:
    """The write of one file, in place of an existing one or not: staged under a temporary name or none, then committed.

    `target` is the path after links, `status` its stat result (None if nothing exists), `note` a
    message for the user, `written` whether the target is the new file.
    """

    note: str | None = None
    status: os.stat_result | None = None
    descriptor: int | None = None  # of the staged file, while it is open
    temporary: str | None = None  # the temporary name of the staged file, if it has one
    written = False

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.target = os.path.realpath(path)
        self.folder = os.path.dirname(self.target)

    def attempt(self, step: Callable[[], bool | None]) -> bool | None:
        """The result of a step; raises FileProblem if the system refuses it."""
        try:
            return step()
        except OSError as error:
            what = f"permission denied in {self.folder}" if isinstance(error, PermissionError) else reason(error)
            raise FileProblem(self.path, f"cannot be written: {what}", "unwritable") from error

    def is_regular(self) -> bool:
        """Whether the target is a regular file, or does not exist yet."""
        with suppress(FileNotFoundError):
            self.status = os.stat(self.target)
        return self.status is None or stat.S_ISREG(self.status.st_mode)

    def wanted(self) -> bool:
        """Whether there is something to write; raises FileProblem if the existing file must stay."""
        if self.is_regular() and self.status and not (self.status.st_mode & 0o222 and os.access(self.target, os.W_OK)):
            raise FileProblem(self.path, "is read-only", "unwritable")  # also for root, who could write it
        return True

    def stage(self) -> None:
        """Write the data to disk, with all attributes of the old file except its name."""
        mode = 0o600 if self.status else 0o666
        self.descriptor = unnamed(self.folder, mode)
        if self.descriptor is None:
            name = free_name(self.folder)
            self.descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
            self.temporary = name
        with open(self.descriptor, "wb", closefd=False) as file:
            file.write(self.data)
        if self.status:
            copy_ownership(self.temporary or self.descriptor, self.target, self.status)
        os.fsync(self.descriptor)

    def name(self) -> None:
        """Give the staged file a temporary name, if it has none."""
        if self.temporary is None:
            name = free_name(self.folder)
            within = os.open(self.folder, os.O_PATH)
            try:  # only with a folder's descriptor does Python follow the link to the open file
                os.link(f"{OPEN_FILES}/{self.descriptor}", os.path.basename(name), dst_dir_fd=within, follow_symlinks=True)
            finally:
                os.close(within)
            self.temporary = name
        self.close()

    def commit(self) -> None:
        """Replace the target by the staged file, after a last check of the target."""
        self.verify()
        os.replace(str(self.temporary), self.target)
        self.temporary = None
        self.written = True

    def verify(self) -> None:
        """Raise FileProblem if the current file is not the one to be replaced."""

    def undo(self) -> None:
        """Restore the state before the commit; nothing for a report, which is written alone."""

    def discard(self) -> None:
        """Remove the staged file."""
        self.close()
        if self.temporary:
            with suppress(OSError):
                os.unlink(self.temporary)

    def close(self) -> None:
        """Close the staged file: Windows cannot rename an open one."""
        if self.descriptor is not None:
            os.close(self.descriptor)
        self.descriptor = None


class Edited(Write):
    """A file that was read, with other bytes; refused if it changed since, or is read-only.

    Links are followed to their target. Mode and, as far as the system permits, owner, group, access list and extended attributes stay.
    """

    def __init__(self, path: str, identity: Identity, data: bytes) -> None:
        super().__init__(path, data)
        self.identity = identity
        self.before = b""

    def wanted(self) -> bool:
        """Whether the new bytes differ; raises FileProblem if the current ones are not those that were read."""
        if self.identity.same(self.data):
            return False
        self.before = self.present()
        if self.before == self.data:  # another cfglint process wrote it
            return False
        self.verify()
        super().wanted()
        if self.status and self.status.st_nlink > 1:
            self.note = f"{self.path} had {self.status.st_nlink} names; the others keep the old content"
        return True

    def verify(self) -> None:
        """Refuse a file that another process changed since it was read."""
        if not self.identity.same(self.present()):
            raise FileProblem(self.path, "changed since it was read", "unwritable")

    def present(self) -> bytes:
        """The current content of the file."""
        try:
            return read_bytes(self.target)
        except FileProblem as error:
            raise FileProblem(self.path, error.message, "unwritable") from None

    def undo(self) -> None:
        """Write the bytes that were read."""
        old = Edited(self.path, Identity(self.data), self.before)
        try:
            old.wanted()
            old.stage()
            old.name()
            old.commit()
        finally:
            old.discard()


class New(Write):
    """A file that must not exist yet."""

    def wanted(self) -> bool:
        """Return true; raises FileProblem if the file exists."""
        self.verify()
        return True

    def verify(self) -> None:
        """Raise FileProblem if the name is taken."""
        if os.path.lexists(self.path):
            raise FileProblem(self.path, "exists already", "unwritable")

    def undo(self) -> None:
        os.unlink(self.target)


def reason(error: OSError) -> str:
    if error.errno == errno.ENXIO:
        return "is a pipe that no process reads"
    return (error.strerror or str(error)).lower()


def free_name(folder: str) -> str:
    return os.path.join(folder, f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")


def unnamed(folder: str, mode: int) -> int | None:
    """The descriptor of a new file without a name, if the system supports it."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(OPEN_FILES):
        return None
    try:
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE, mode)
    except OSError:
        return None


def copy_ownership(file: int | str, old: str, status: os.stat_result) -> None:
    """Give a new file the owner, group, access list, extended attributes (Linux) and mode of an old one, as far as permitted."""
    mode = stat.S_IMODE(status.st_mode)
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(file, status.st_uid, -1)
        try:
            os.chown(file, -1, status.st_gid)
        except OSError:  # the permissions of the old group must not apply to another group
            mode = mode & ~GROUP_BITS | (mode & OTHER_BITS) << 3
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            kept = os.listxattr(old)
            for attribute in os.listxattr(file):
                if attribute not in kept:  # inherited from the folder
                    with suppress(OSError):
                        os.removexattr(file, attribute)
            for attribute in kept:
                with suppress(OSError):
                    os.setxattr(file, attribute, os.getxattr(old, attribute))
    os.chmod(file, mode)


@contextmanager
def locked(folders: Iterable[str]) -> Iterator[list[int]]:
    """Lock folders against other processes of cfglint, if they can be locked; yield the descriptors of the folders."""
    with ExitStack() as stack:
        descriptors = []
        for folder in sorted(folders):  # always in the same order, so that two processes do not wait for each other
            try:
                descriptor = os.open(folder, os.O_RDONLY)
            except OSError:
                continue
            stack.callback(os.close, descriptor)
            descriptors.append(descriptor)
            if not lock(descriptor, 0 if folder in given_up else LOCK_TIMEOUT):
                given_up.add(folder)
            elif folder not in swept:
                swept.add(folder)
                with suppress(OSError):
                    for name in os.listdir(folder):
                        if name.startswith(PREFIX) and name.endswith(SUFFIX):
                            with suppress(OSError):
                                os.unlink(os.path.join(folder, name))
        yield descriptors


def lock(descriptor: int, timeout: float) -> bool:
    try:
        import fcntl
    except ImportError:
        return False
    import time

    until = time.monotonic() + timeout
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            if time.monotonic() > until:
                return False
            time.sleep(PAUSE)
    except OSError:  # a file system without locks
        return False


@contextmanager
def uninterrupted() -> Iterator[None]:
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
