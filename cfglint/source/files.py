"""Reads files as text within limits, and lists the files of a folder."""

from __future__ import annotations

import os
import stat

from cfglint.source import CfglintError
from cfglint.source.annotations import Any, Callable, ConfigValue, Iterator
from cfglint.source.document import LIMIT
from cfglint.source.limits import MAX_SIZE
from cfglint.source.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.document import FileProblemKind, Syntax

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WIDE_MARKS = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
CLEAR_STARS = 2  # maximum number of stars in a pattern that is certainly fast
CLEAR_LINES = 1000  # maximum number of patterns that are fast together
LARGEST_RULES = 1_000_000  # bytes of patterns
SECONDS = 0.5  # of processor time for one path and the patterns of one folder
ALL_SECONDS = 5.0  # of processor time for all paths that take longer than SLOW
SLOW = 0.002
JSON_EXTENSIONS = (".json", ".jsonc", ".hjson", ".config")
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # never waits for a pipe
KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)


class FileProblem(CfglintError):
    """A file that cannot be read or written.

    `kind` is `unreadable`, `limit`, `encoding` or `control`; `offset` is the byte where the problem of the last two
    begins, `exception` the message of Python's own decoder, `text` the content that can still be read: the part
    before the problem, or all of it in another encoding. `unwritable` is the kind of a refused write.
    """

    def __init__(
        self, path: str, message: str, kind: FileProblemKind = "unreadable", offset: int = 0, exception: str | None = None, text: str = ""
    ) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message
        self.kind = kind
        self.offset = offset
        self.exception = exception
        self.text = text.removeprefix("\ufeff")


class Identity:
    """The state of a file when it was read, to detect later changes."""

    __slots__ = ("bom", "digest", "size")

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self.digest = hash(data)
        self.bom = data.startswith(BYTE_ORDER_MARK)

    def same(self, data: bytes) -> bool:
        """Whether these bytes are the ones that were read."""
        return self.size == len(data) and self.digest == hash(data)

    def encoded(self, text: str) -> bytes:
        """Encode another content for the file, with the byte order mark that it had."""
        return (BYTE_ORDER_MARK if self.bom else b"") + text.encode("utf-8")


def read(path: str) -> tuple[str, bool, Identity]:
    """Return (content without byte order mark, whether it had one, identity); raises FileProblem.

    Line breaks are not converted. Only regular files of at most 5 MB in UTF-8 are read.
    """
    data = read_bytes(path)
    return decode(path, data), data.startswith(BYTE_ORDER_MARK), Identity(data)


def read_bytes(path: str, limit: int = MAX_SIZE) -> bytes:
    """The bytes of a regular file of at most `limit`, or one more if it grows meanwhile; never waits for a pipe or device."""
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise FileProblem(path, f"has {size:,} bytes, the limit is {limit:,}", LIMIT)
        return read_all(descriptor, size, limit)
    except OSError as error:
        raise FileProblem(path, error_message(path, error)) from None
    finally:
        os.close(descriptor)


def open_regular(path: str) -> int:
    """Open a regular file for reading; raises FileProblem, immediately also for a pipe or device."""
    try:
        descriptor = os.open(path, READING)
    except OSError as error:
        raise FileProblem(path, error_message(path, error)) from None
    except ValueError as error:
        raise FileProblem(path, str(error)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise FileProblem(path, next((what for is_kind, what in KINDS if is_kind(mode)), "is not a regular file"))


def read_all(descriptor: int, size: int, limit: int) -> bytes:
    """The bytes of an open file, at most one byte more than the limit; `size` is its reported size."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while data and sum(map(len, parts)) <= limit:
        data = os.read(descriptor, limit)
        parts.append(data)
    return b"".join(parts)


def error_message(path: str, error: OSError) -> str:
    """The message for a system error."""
    if isinstance(error, FileNotFoundError):
        target = link_target(path)
        return "does not exist" if target is None else f"is a link to {target}, which does not exist"
    if isinstance(error, PermissionError):
        return "is not readable (permission denied)"
    if isinstance(error, IsADirectoryError):
        return "is a folder"
    if os.path.islink(path) and error.strerror and "symbolic" in error.strerror:
        return "is a link to itself"
    return (error.strerror or str(error)).lower()


def link_target(path: str) -> str | None:
    """The target of a link; None for a path that is not a link, or was removed meanwhile."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def decoded(content: bytes) -> str:
    """The text of a dependency file; PowerShell writes the output of `pip freeze` in UTF-16."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def decode(path: str, data: bytes) -> str:
    """Decode UTF-8, without the byte order mark; raises FileProblem."""
    if len(data) > MAX_SIZE:
        raise FileProblem(path, f"has more than {MAX_SIZE:,} bytes", LIMIT)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        exception = f"UnicodeDecodeError: {error}"
        wide = next((name for mark, name in WIDE_MARKS if data.startswith(mark)), None)
        if wide:
            raise FileProblem(path, f"is encoded in {wide}, not UTF-8", "encoding", 0, exception, data.decode(wide, "replace")) from None
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8: byte {data[error.start]:#04x} at offset {error.start} (line {line})"
        before = data[: error.start].decode("utf-8")
        raise FileProblem(path, message, "encoding", error.start, exception, before) from None
    if "\0" in text:
        offset = data.index(b"\0")
        raise FileProblem(path, f"has a NUL byte at offset {offset}", "control", offset, text=text[: text.index("\0")])
    return text.removeprefix("\ufeff")


def walk(folder: str) -> Iterator[str]:
    """The paths of the files below a folder."""
    return (entry.path for entry in walk_entries(folder))


def spelled_like(origin: str, path: str) -> str:
    """A path in a file, with the leading `./` that the path of the file itself has."""
    return f"./{path}" if origin.startswith("./") and not path.startswith((".", "/")) else path


def walk_entries(
    folder: str, tracked: Callable[[str, bool], bool] | None = None, unreadable: list[str] | None = None
) -> Iterator[os.DirEntry[str]]:
    """The files below a folder in a fixed order, without those that `.gitignore` files exclude and without `.git`.

    Links to files are included, links to folders are not followed. Folders that cannot be read are skipped, and added to
    `unreadable`. `tracked(path, is_folder)` tells whether git tracks a path: then no rule excludes it.
    """
    looked_at = Walk(tracked or (lambda path, is_folder: False), [] if unreadable is None else unreadable)
    open_folders = [looked_at.entries(folder, parent_rules(folder))]
    while open_folders:
        entry, rules = next(open_folders[-1], (None, []))
        if entry is None:
            open_folders.pop()
        elif entry.is_dir(follow_symlinks=False):
            open_folders.append(looked_at.entries(entry.path, rules))
        elif is_regular(entry):
            yield entry


class Walk(Record):
    """The state of a walk: which paths git tracks, and the folders that cannot be read."""

    tracked: Callable[[str, bool], bool]
    unreadable: list[str]

    def entries(self, folder: str, rules: list[IgnoreFile]) -> Iterator[tuple[os.DirEntry[str], list[IgnoreFile]]]:
        """The entries of a folder that are not excluded by ignore rules of it or of its parents, with these rules."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except FileNotFoundError:  # removed since its parent was listed
            return
        except OSError:
            self.unreadable.append(folder)
            return
        if any(entry.name == ".gitignore" and entry.is_file(follow_symlinks=False) for entry in entries):
            rules = [IgnoreFile(folder), *rules]
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name != ".git" and (not ignored(rules, entry.path, is_folder) or self.tracked(entry.path, is_folder)):
                yield entry, rules


def is_regular(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file or a link to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


class IgnoreFile:
    """The rules of one `.gitignore`; they are dropped if they take too long, which malicious patterns can cause."""

    __slots__ = ("doubtful", "folder", "spec")
    left = ALL_SECONDS  # seconds of processor time left for the rules of all folders

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        lines = read_rules(os.path.join(folder, ".gitignore"))
        self.doubtful = len(lines) > CLEAR_LINES or any(line.count("*") > CLEAR_STARS for line in lines)
        self.spec = spec_of([])
        self.spec = self.carefully(lambda: spec_of(lines)) or self.spec

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True to ignore a path, False to keep it, None if no pattern matches."""
        relative = os.path.relpath(os.path.abspath(path), self.folder).replace(os.sep, "/") + ("/" if is_folder else "")
        included = self.carefully(lambda: self.spec.check_file(relative).include)
        return None if included is None else bool(included)

    def carefully(self, work: Callable[[], Any]) -> ConfigValue:
        """The result of some work; None if it exceeds the time limit."""
        if not self.doubtful:
            return work()
        from time import process_time

        from cfglint.source.time_limit import TimeLimit, TimeLimitExceeded

        began = process_time()
        try:
            with TimeLimit(min(SECONDS, IgnoreFile.left)):
                return work()
        except TimeLimitExceeded:
            self.doubtful, self.spec = False, spec_of([])
            return None
        finally:
            took = process_time() - began
            if took > SLOW:
                IgnoreFile.left = max(IgnoreFile.left - took, SLOW)


def spec_of(lines: list[str]) -> ConfigValue:
    """The pathspec of patterns; invalid ones are skipped, as git does."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines(line for line in lines if is_pattern(line))


def is_pattern(line: str) -> bool:
    """Whether a line is a valid pattern for pathspec."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def read_rules(path: str) -> list[str]:
    """The lines of a `.gitignore`; empty if it cannot be read."""
    try:
        return read_bytes(path, LARGEST_RULES).decode("utf-8", "surrogateescape").splitlines()
    except FileProblem:
        return []


def ignored(rules: list[IgnoreFile], path: str, is_folder: bool) -> bool:
    """Whether a path is ignored; the nearest file with a matching pattern decides."""
    for rule in rules:
        decision = rule.decides(path, is_folder)
        if decision is not None:
            return decision
    return False


def parent_rules(folder: str) -> list[IgnoreFile]:
    """The rules of the parent folders, up to the repository's, that do not exclude the folder itself."""
    rules: list[IgnoreFile] = []
    below, above = "", os.path.abspath(folder)
    while above != below:
        rules_file = os.path.join(above, ".gitignore")
        if below and os.path.isfile(rules_file) and not os.path.islink(rules_file):  # git follows no link to ignore rules
            rule = IgnoreFile(above)
            if not rule.decides(folder, is_folder=True):
                rules.append(rule)
        if os.path.exists(os.path.join(above, ".git")):
            return rules
        below, above = above, os.path.dirname(above)
    return []


def syntax_by_name(path: str) -> Syntax:
    """`json` or `yaml`, by the extension of a file."""
    return "json" if path.lower().endswith(JSON_EXTENSIONS) else "yaml"
