"""The contents of a git repository, read without running any of its own programs.

Only plumbing commands that print objects, trees and the index are run. Hooks and file system monitors of the
repository's configuration are disabled, these commands use no filters or external diffs, and nothing
is fetched, not even by a partial clone.
"""

from __future__ import annotations

import os
import subprocess

from cfglint.source import CfglintError, files
from cfglint.source.annotations import Container, Iterator
from cfglint.source.file_source import DiskFolders, FileSource
from cfglint.source.record import Record
from cfglint.source.root import is_inside, resolved

GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # for releases before 2.45, which fetch missing objects despite the line above
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "0",  # `:/` is the entire repository
    "LC_ALL": "C",
}
LINK = "120000"
REGULAR = ("100644", "100755")
MOST_CONTENT = 50_000_000  # bytes of one file
TIMEOUT = 120  # seconds for one command
SILENT = f"git {{}} did not answer for {TIMEOUT} seconds; is one of the files a named pipe?"
MOST_LINKS = 10  # links that are followed from one file
NOT_CHECKED_OUT = "S"


class GitProblem(CfglintError):
    """The repository cannot be used; the message names the remedy."""


class MissingObject(GitProblem):
    """A content that the repository does not contain, as in a partial clone."""


class TreeEntry(Record):
    """A file of a tree or of the index: its mode and the id of its content. `sparse`: it is not checked out."""

    mode: str
    id: str
    sparse: bool = False


class GitRepository:
    """The repository around a folder. Paths in it are relative to `top`, with forward slashes. Raises GitProblem if there is none."""

    def __init__(self, folder: str = ".") -> None:
        self.folder = folder
        self._batch: subprocess.Popen[bytes] | None = None
        asked = self._try("rev-parse", "--show-toplevel", "--show-object-format", "--is-shallow-repository")
        if asked.returncode:
            said = complaint(asked.stderr)
            if "not a git repository" in said:
                raise GitProblem("not in a git repository; `cfglint review OLD NEW` compares files without one")
            raise GitProblem(f"git: {said}")
        *top, algorithm, shallow = ["", "", *os.fsdecode(asked.stdout).removesuffix("\n").split("\n")]
        if algorithm not in ("sha1", "sha256") or not any(top):
            raise GitProblem("unexpected output of git; check with `git --version` that it is git")
        self.algorithm = algorithm
        self.top = os.path.abspath("\n".join(top[2:]))  # the name of a folder may contain line breaks
        own = resolved(folder)  # the nearest folder upwards with a repository, which git takes for its work tree without another setting
        while not (os.path.isfile(os.path.join(own, ".git")) or os.path.exists(os.path.join(own, ".git", "HEAD"))):
            if os.path.dirname(own) == own:
                own = ""
                break
            own = os.path.dirname(own)
        expected = [own, *([resolved(folder)] if "GIT_DIR" in os.environ else [])]
        if "GIT_WORK_TREE" not in os.environ and resolved(self.top) not in expected:
            raise GitProblem(f"`core.worktree` in the repository's configuration names another folder, {self.top}; it is not read")
        self.shallow = shallow == "true"
        self.is_at_top = self.top == os.getcwd()  # paths are the same for git and for the user

    def __enter__(self) -> GitRepository:
        return self

    def __exit__(self, *_: object) -> None:
        if self._batch is not None:
            self._batch.kill()
            self._batch.communicate()

    # ---- commits

    def commit(self, name: str) -> str | None:
        """The commit id of a name; None if there is none. Raises GitProblem for a name that looks like an option."""
        if name.startswith("-"):
            raise GitProblem(f"{name}: a revision must not start with a dash")
        asked = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return hexadecimal(asked.stdout) if asked.returncode == 0 else None

    def merge_base(self, one: str, other: str) -> str | None:
        """The newest common ancestor of two commits; None if none is known."""
        asked = self._try("merge-base", "--end-of-options", one, other)
        return hexadecimal(asked.stdout) if asked.returncode == 0 else None

    # ---- trees

    def tree(self, commit: str) -> dict[str, TreeEntry]:
        found: dict[str, TreeEntry] = {}
        for record in self._records("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit):
            head, _, path = record.partition("\t")
            mode, _, content_id = head.split(" ")
            if not path.startswith("/") and ".." not in path.split("/"):  # git itself never writes a path that leads out
                found[path] = TreeEntry(mode, content_id)
        return found

    def index(self) -> dict[str, TreeEntry]:
        """The files of the index by path; in a conflict those of our side."""
        found: dict[str, TreeEntry] = {}
        for record in self._records("ls-files", "-s", "-t", "-z", "--full-name", ":/"):
            head, _, path = record.partition("\t")
            tag, mode, content_id, stage = head.split(" ")
            if stage in ("0", "2"):
                found[path] = TreeEntry(mode, content_id, tag == NOT_CHECKED_OUT)
        return found

    def untracked(self) -> list[str]:
        """The files of the working tree that are neither tracked nor ignored."""
        return [path for path in self._records("ls-files", "-o", "-z", "--exclude-standard", "--full-name", ":/") if not path.endswith("/")]

    # ---- contents

    def content(self, content_id: str) -> bytes:
        """The bytes of a file's content, up to 50 MB and one byte. Raises GitProblem if the repository does not contain them."""
        if self._batch is None:
            self._batch = subprocess.Popen(
                (*GIT, "cat-file", "--batch"),
                cwd=self.folder,
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        ask, answer = self._batch.stdin, self._batch.stdout
        assert ask is not None
        assert answer is not None
        try:
            ask.write(f"{content_id}\n".encode("ascii"))
            ask.flush()
        except BrokenPipeError:
            raise GitProblem("git cat-file exited unexpectedly") from None
        import select

        if hasattr(select, "poll"):  # on Windows it waits without a timeout
            ready = select.poll()
            ready.register(answer, select.POLLIN)
            if not ready.poll(TIMEOUT * 1000):
                raise GitProblem(SILENT.format("cat-file"))
        head = answer.readline().split()
        if len(head) != 3:
            raise MissingObject(f"the repository does not contain object {content_id}; in a partial clone, run git fetch --refetch first")
        size = int(head[2])
        content = answer.read(min(size, MOST_CONTENT + 1))
        left = size + 1 - len(content)
        while left > 0:
            left -= len(answer.read(min(left, MOST_CONTENT))) or left
        return content

    def id_of(self, content: bytes) -> str:
        """The id under which the repository would store a content."""
        import hashlib

        return hashlib.new(self.algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()

    def name(self, path: str) -> str:
        """The path of a repository file relative to the working directory."""
        if self.is_at_top:
            return path.replace("/", os.sep)
        return os.path.relpath(os.path.join(self.top, path))

    def path(self, name: str) -> str | None:
        path = os.path.relpath(os.path.abspath(name), self.top).replace(os.sep, "/")
        return None if path == ".." or path.startswith("../") else path

    # ---- git

    def _try(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                (*GIT, *arguments),
                cwd=self.folder,
                env={**os.environ, **ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=TIMEOUT,
            )
        except FileNotFoundError:
            raise GitProblem("git was not found on the PATH") from None
        except OSError as error:
            raise GitProblem(f"git cannot be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise GitProblem(SILENT.format(arguments[0])) from None

    def _records(self, *arguments: str) -> Iterator[str]:
        """The zero-terminated records that a command prints."""
        asked = self._try(*arguments)
        if asked.returncode:
            raise GitProblem(f"git {arguments[0]}: {complaint(asked.stderr)}")
        return (os.fsdecode(record) for record in asked.stdout.split(b"\0") if record)


def complaint(stderr: bytes) -> str:
    """The error message of git, after any traces and warnings."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or ["no answer"]
    said = next((line for line in lines if line.startswith("fatal:")), lines[0])
    return f"{said}; `git config --global --add safe.directory FOLDER` trusts its owner" if "dubious ownership" in said else said


def hexadecimal(answer: bytes) -> str | None:
    text = answer.strip().decode("ascii", "replace")
    return text if text and not text.strip("0123456789abcdef") else None


class Snapshot(FileSource):
    """The files of a commit or of the index, under the names that they have in the working tree.

    Files that git does not store (ignored files, files outside of the repository) are read from disk, as they have
    no other state; `known` are the paths that git stores or would store.
    """

    def __init__(self, repository: GitRepository, entries: dict[str, TreeEntry], known: set[str]) -> None:
        super().__init__()
        self.repository = repository
        self.entries = entries
        self.known = known
        self.disk = Past(self)
        self.absent: set[str] = set()  # files whose content was asked for and is not in the repository
        self._targets: dict[str, str] = {}  # of links

    def is_file(self, path: str) -> bool:
        return self._entry(path) is not None or (super().is_file(path) and self._unkept(path))

    def is_given(self, path: str) -> bool:
        return self._entry(path) is not None

    def identity(self, path: str) -> str:
        return os.path.abspath(path)

    def read_bytes(self, path: str) -> bytes:
        entry = self._entry(path)
        if entry is not None:
            try:
                return self.repository.content(entry.id)
            except MissingObject as error:
                self.absent.add(path)
                raise files.FileProblem(path, str(error)) from None
        if self._unkept(path):
            return files.read_bytes(path)
        raise files.FileProblem(path, "does not exist")

    def leads_out(self, path: str, origin: str, named: Container[str] = ()) -> bool:
        """Whether a file is outside the project of the one that names it; a file that git stores is inside, after its own links."""
        return not self.is_given(path) and super().leads_out(path, origin, named)

    def _unkept(self, path: str) -> bool:
        """Whether a file is read from disk: git does not store it, and no link on disk leads from the repository to it."""
        inside = self.repository.path(path)
        return inside is None or (inside not in self.known and is_inside(path, resolved(self.repository.top)))

    def _entry(self, path: str) -> TreeEntry | None:
        """The regular file that a name refers to after the links of this state, to files and to folders; None if they lead elsewhere."""
        inside = self.repository.path(path)
        entry = self.entries.get(inside) if inside is not None else None
        if inside is not None and (entry is None or entry.mode == LINK):
            entry = self.entries.get(self._followed(inside) or "")
        return entry if entry is not None and entry.mode in REGULAR else None

    def _followed(self, path: str) -> str | None:
        """A path after the links of this state; None if they lead out of the repository."""
        left, links = path.split("/"), 0
        found: list[str] = []
        while left:
            step = left.pop(0)
            place = "/".join([*found, step])
            entry = self.entries.get(place)
            target = None
            if entry is not None and entry.mode == LINK:
                if place not in self._targets:
                    self._targets[place] = os.fsdecode(self.repository.content(entry.id))
                target = self._targets[place]
            if target is not None:
                links += 1
                if links > MOST_LINKS or os.path.isabs(target):
                    return None
                left[:0] = target.split("/")
            elif step == os.pardir:
                if not found:
                    return None
                found.pop()
            elif step not in ("", os.curdir):
                found.append(step)
        return "/".join(found)


class Past(DiskFolders):
    """The folders of a snapshot, for the versions that its files specify."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._names: dict[str, list[str]] | None = None

    def names(self, folder: str) -> list[str]:
        inside = self._snapshot.repository.path(folder)
        if inside is None:
            return super().names(folder)
        if self._names is None:
            names: dict[str, dict[str, None]] = {".": {}}
            for path in self._snapshot.entries:
                above = "."
                for name in path.split("/"):
                    names.setdefault(above, {})[name] = None
                    above = name if above == "." else f"{above}/{name}"
            self._names = {above: list(inner) for above, inner in names.items()}
        return self._names.get(inside, [])

    def is_folder(self, path: str) -> bool:
        inside = self._snapshot.repository.path(path)
        return super().is_folder(path) if inside is None else bool(self.names(path))

    def text(self, path: str) -> str:
        try:
            return files.decoded(self._snapshot.read_bytes(path))
        except files.FileProblem:
            return ""
