"""Lists the files of a folder as git sees them: without what ignore rules exclude, unless it is tracked."""

from __future__ import annotations

import os

from cfglint.source.annotations import Any, Callable, ConfigValue, Iterator
from cfglint.source.files import FileProblem, read_bytes
from cfglint.source.record import Record
from cfglint.source.root import top_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.git_index import TrackedFiles

CLEAR_STARS = 2  # maximum number of stars in a pattern that is certainly fast
CLEAR_LINES = 1000  # maximum number of patterns that are fast together
LARGEST_RULES = 1_000_000  # bytes of patterns
SECONDS = 0.5  # of processor time for one path and the patterns of one folder
ALL_SECONDS = 5.0  # of processor time for all paths that take longer than SLOW
SLOW = 0.002


def walk(folder: str) -> Iterator[str]:
    """The paths of the files below a folder."""
    return (entry.path for entry in walk_entries(folder))


def walk_entries(
    folder: str, tracked: Tracked | None = None, unreadable: list[str] | None = None, deep: bool = True
) -> Iterator[os.DirEntry[str]]:
    """The files below a folder in a fixed order, without those that `.gitignore` files exclude and without `.git`.

    Links to files are included, links to folders are not followed. Folders that cannot be read are skipped, and added to
    `unreadable`. No rule excludes what git has tracked of a kind that `tracked` asks for.
    """
    looked_at = Walk(tracked or Tracked(()), [] if unreadable is None else unreadable)
    open_folders = [looked_at.entries(folder, parent_rules(folder))]
    while open_folders:
        entry, rules = next(open_folders[-1], (None, []))
        if entry is None:
            open_folders.pop()
        elif entry.is_dir(follow_symlinks=False):
            if deep:
                open_folders.append(looked_at.entries(entry.path, rules))
        elif is_regular(entry):
            yield entry


class Tracked(Record):
    """What git tracks in the work trees of some walks: files with one of some endings, and the folders above any file."""

    endings: tuple[str, ...]
    indexes: dict[str, TrackedFiles] = {}  # by the top of the work tree

    def has(self, path: str, is_folder: bool) -> bool:
        """Whether git tracks a path; false for a file with none of the endings."""
        if not self.endings or not (is_folder or path.lower().endswith(self.endings)):
            return False
        top = top_of(os.path.dirname(os.path.abspath(path)), ".git")
        if top is None:
            return False
        if top not in self.indexes:
            from cfglint.source.git_index import TrackedFiles

            self.indexes[top] = TrackedFiles(top)
        return self.indexes[top].has(path, is_folder)


class Walk(Record):
    """The state of a walk: which paths git tracks, and the folders that cannot be read."""

    tracked: Tracked
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
            if entry.name != ".git" and (not ignored(rules, entry.path, is_folder) or self.tracked.has(entry.path, is_folder)):
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
