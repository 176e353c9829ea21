"""Lists the files of a folder as git sees them: without what ignore rules exclude, unless it is tracked."""

from __future__ import annotations

import os

from cfglint.source.annotations import Callable, Iterator, Result
from cfglint.source.files import bytes_in_project
from cfglint.source.record import Record
from cfglint.source.root import top_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from cfglint.source.git_index import TrackedFiles

CLEAR_STARS = 2  # maximum number of stars in a pattern that is certainly fast
CLEAR_LINES = 1000  # maximum number of patterns that are fast together
LARGEST_RULES = 1_000_000  # bytes of patterns
SECONDS = 0.5  # of processor time for one path and the patterns of one folder
ALL_SECONDS = 5.0  # of processor time for all paths that take longer than SLOW
SLOW = 0.002


def walk_entries(
    folder: str, tracked: Tracked | None = None, unreadable: list[str] | None = None, deep: bool = True
) -> Iterator[os.DirEntry[str]]:
    """The files below a folder in a fixed order, without those that `.gitignore` files exclude and without `.git`.

    Links to files are included, links to folders are not followed. Folders that cannot be read are skipped, and added to
    `unreadable`. With `tracked`, no rule excludes what git has tracked.
    """
    looked_at = Walk(tracked, [] if unreadable is None else unreadable)
    parents: list[IgnoreFile] = []  # of the folders around it up to the repository's, those that do not exclude the folder itself
    below, above = "", os.path.abspath(folder)
    while above != below:
        rules_file = os.path.join(above, ".gitignore")
        if below and os.path.isfile(rules_file) and not os.path.islink(rules_file):  # git follows no link to ignore rules
            rule = IgnoreFile(above)
            if not rule.decides(rule.relative(folder).rstrip("/"), is_folder=True):
                parents.append(rule)
        if os.path.exists(os.path.join(above, ".git")):
            break
        below, above = above, os.path.dirname(above)
    else:
        parents = []  # not in a repository
    open_folders = [looked_at.entries(folder, parents)]
    while open_folders:
        entry, rules = next(open_folders[-1], (None, []))
        if entry is None:
            open_folders.pop()
        elif entry.is_dir(follow_symlinks=False):
            if deep:
                open_folders.append(looked_at.entries(entry.path, rules))
        else:
            try:
                is_file = entry.is_file()
            except OSError:
                continue
            if is_file:
                yield entry


class Tracked(Record):
    """What git tracks in the work trees of some walks: files, and the folders above any file."""

    indexes: dict[str, TrackedFiles] = {}  # by the top of the work tree
    places: dict[str, tuple[TrackedFiles, str]] = {}  # the index of each folder, and the beginning of the paths in it

    def within(self, folder: str) -> Callable[[str, bool], bool] | None:
        """What tells of a name in a folder whether git tracks it, given whether that is a folder; None outside of a work tree."""
        above, _, name = folder.rpartition(os.sep)
        if above in self.places and not os.path.lexists(os.path.join(folder, ".git")):
            index, begin = self.places[above]
            begin += f"{name}/"
        else:
            top = top_of(os.path.abspath(folder), ".git")
            if top is None:
                return None
            if top not in self.indexes:
                from cfglint.source.git_index import TrackedFiles

                self.indexes[top] = TrackedFiles(top)
            index = self.indexes[top]
            begin = index.relative(folder)
        self.places[folder] = index, begin
        return lambda name, is_folder: begin + name in (index.folders if is_folder else index.paths)


class Walk(Record):
    """The state of a walk: which paths git tracks, and the folders that cannot be read."""

    tracked: Tracked | None
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
        here = [(rule, rule.relative(folder)) for rule in rules]
        is_tracked = self.tracked.within(folder) if rules and self.tracked is not None else None
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git":
                continue
            if is_tracked is None or not is_tracked(entry.name, is_folder):
                # Python itself writes bytecode, and the packages of a virtual environment.
                if is_folder and (entry.name == "__pycache__" or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))):
                    continue
                decisions = (rule.decides(inside + entry.name, is_folder) for rule, inside in here)
                if next((decision for decision in decisions if decision is not None), False):  # the nearest file with a pattern for it
                    continue
            yield entry, rules


class IgnoreFile:
    """The rules of one `.gitignore`: dropped if malicious patterns take too long, not looked at where git tracks everything."""

    __slots__ = ("doubtful", "folder", "lines", "spec")
    left = ALL_SECONDS  # seconds of processor time left for the rules of all folders

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        path = os.path.join(folder, ".gitignore")
        self.lines = bytes_in_project(path, LARGEST_RULES).decode("utf-8", "surrogateescape").splitlines()
        self.doubtful = len(self.lines) > CLEAR_LINES or any(line.count("*") > CLEAR_STARS for line in self.lines)
        self.spec: GitIgnoreSpec | None = None

    def relative(self, folder: str) -> str:
        """A folder in or below that of the rules, as the beginning of the paths in it: empty or with a slash at its end."""
        path = os.path.relpath(os.path.abspath(folder), self.folder).replace(os.sep, "/")
        return "" if path == os.curdir else f"{path}/"

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True to ignore a path relative to the folder of the rules, False to keep it, None if no pattern matches."""
        if self.spec is None:
            self.spec = self.carefully(lambda: spec_of(self.lines)) or spec_of([])
        spec = self.spec
        included = self.carefully(lambda: spec.check_file(f"{path}/" if is_folder else path).include)
        return None if included is None else bool(included)

    def carefully(self, work: Callable[[], Result]) -> Result | None:
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


def spec_of(lines: list[str]) -> GitIgnoreSpec:
    """The pathspec of patterns; invalid ones are skipped, as git does."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        valid = []
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except ValueError:
                continue
            valid.append(line)
        return GitIgnoreSpec.from_lines(valid)
