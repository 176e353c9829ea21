"""Reads files as text within limits, and lists the files of a folder."""

from __future__ import annotations

import os

from cfglint.source import CfglintError
from cfglint.source.annotations import Any, FileProblemKind, Iterable, Syntax
from cfglint.source.document import LIMIT
from cfglint.source.limits import MAX_SIZE
from cfglint.source.root import never_opened, root_of

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WIDE_MARKS = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
JSON_EXTENSIONS = (".json", ".jsonc", ".hjson", ".config")
NOTEBOOK = ".ipynb"
EXTENSIONS = (".yaml", ".yml", *JSON_EXTENSIONS)  # of files that may be configurations
CONFIG_ENDS = (*EXTENSIONS, ".toml")  # of those that a launch line may name
TYPED = "<command>"  # the name, in place of that of a file, of a command line that was typed
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # never waits for a pipe


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

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self.digest = hash(data)
        self.bom = data.startswith(BYTE_ORDER_MARK)

    def same(self, data: bytes) -> bool:
        return self.size == len(data) and self.digest == hash(data)

    def encoded(self, text: str) -> bytes:
        """Encode another content for the file, with the byte order mark that it had."""
        return (BYTE_ORDER_MARK if self.bom else b"") + text.encode("utf-8")


def read(path: str, root: str | None = None) -> tuple[str, bool, Identity]:
    """Return (content without byte order mark, whether it had one, identity); raises FileProblem.

    Line breaks are not converted. Only regular files of at most 5 MB in UTF-8 are read. `root` as in `open_regular`.
    """
    data = read_bytes(path, root=root)
    return decode(path, data), data.startswith(BYTE_ORDER_MARK), Identity(data)


def read_bytes(path: str, limit: int = MAX_SIZE, root: str | None = None) -> bytes:
    """The bytes of a regular file of at most `limit`, or one more if it grows meanwhile; never waits for a pipe or device.

    `root` as in `open_regular`.
    """
    descriptor = open_regular(path, root)
    try:
        size = os.fstat(descriptor).st_size
        if size > limit:
            raise FileProblem(path, f"has {size:,} bytes, the limit is {limit:,}", LIMIT)
        return read_all(descriptor, size, limit)
    except OSError as error:
        raise FileProblem(path, error_message(path, error)) from None
    finally:
        os.close(descriptor)


def mapping_in(path: str, root: str | None, limit: int = MAX_SIZE) -> dict[str, Any]:
    """The object of a JSON file; empty if the file cannot be read, or has another value."""
    import json

    try:
        found = json.loads(read_bytes(path, limit, root))
    except (FileProblem, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def bytes_in_project(path: str, limit: int = MAX_SIZE) -> bytes:
    """The bytes of a file; empty if it cannot be read, or is a link out of its project."""
    try:
        return read_bytes(path, limit, root_of(path))
    except FileProblem:
        return b""


def states(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The time of the last change in ns and the size of some files; zeros for one that does not exist."""
    return {path: state_of(path) for path in paths}


def state_of(path: str) -> tuple[int, int]:
    """The time of the last change in ns and the size of a file; zeros if it does not exist."""
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def open_regular(path: str, root: str | None = None) -> int:
    """Open a regular file for reading; raises FileProblem for what is never opened, immediately also for a pipe or device.

    `root`: that of the project whose content names the file, or in which it lies beside another one.
    """
    refusal = never_opened(path, root)
    if refusal:
        raise FileProblem(path, refusal)
    try:
        descriptor = os.open(path, READING)
    except OSError as error:
        raise FileProblem(path, error_message(path, error)) from None
    except ValueError as error:
        raise FileProblem(path, str(error)) from None
    refusal = never_opened(path, mode=os.fstat(descriptor).st_mode)
    if not refusal:
        return descriptor
    os.close(descriptor)
    raise FileProblem(path, refusal)


def read_all(descriptor: int, size: int, limit: int) -> bytes:
    """The bytes of an open file, at most one byte more than the limit; `size` is its reported size."""
    parts = [os.read(descriptor, size + 1)]
    while parts[-1] and len(parts[0]) != size and sum(map(len, parts)) <= limit:
        parts.append(os.read(descriptor, limit))
    return b"".join(parts)


def error_message(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        try:
            return f"is a link to {os.readlink(path)}, which does not exist"
        except OSError:  # no link, or removed meanwhile
            return "does not exist"
    if isinstance(error, PermissionError):
        return "is not readable (permission denied)"
    if isinstance(error, IsADirectoryError):
        return "is a folder"
    if os.path.islink(path) and error.strerror and "symbolic" in error.strerror:
        return "is a link to itself"
    return (error.strerror or str(error)).lower()


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


def spelled_like(origin: str, path: str) -> str:
    """A path in a file, with the leading `./` that the path of the file itself has."""
    return f"./{path}" if origin.startswith("./") and not path.startswith((".", "/")) else path


def syntax_by_name(path: str) -> Syntax:
    """`json` or `yaml`, by the extension of a file."""
    return "json" if path.lower().endswith(JSON_EXTENSIONS) else "yaml"
