"""The files that a branch changes, the runs they belong to, and the earlier state of these runs."""

from __future__ import annotations

import ast
import os
import stat
from itertools import chain

from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.launch.kinds import is_trainer
from cfglint.launch.scripts import MOST as MOST_CHECKED
from cfglint.project import settings_file
from cfglint.project.pinned_versions import may_name_versions
from cfglint.project.settings_file import Configuration, ConfigurationError, DeclaredRun
from cfglint.project.statements.statement import Statement
from cfglint.review.compare import Comparison
from cfglint.review.consequence import Consequence
from cfglint.review.effects import has_effect, is_of_training
from cfglint.review.literals import changed_values, first_values
from cfglint.review.pairing import Pair, may_be_there, paired, program_of, renamed
from cfglint.review.releases import ReleaseChange, changed_releases, stated_changes
from cfglint.review.script_lines import ENDINGS, HERE, other_lines
from cfglint.run.checked import CheckedRun
from cfglint.run.discovery import Discovery
from cfglint.run.paths import LaunchChoiceError, ScanStats, UnknownKindError, is_program, is_script, line_of
from cfglint.run.quick_scan import has_marks, may_train
from cfglint.run.readers import Readers
from cfglint.source import files
from cfglint.source.annotations import Iterable, Iterator
from cfglint.source.dataclass_fields import parsed, syntax_problem
from cfglint.source.file_source import FileSource
from cfglint.source.files import EXTENSIONS
from cfglint.source.git import GitProblem, GitRepository, Snapshot, TreeEntry
from cfglint.source.git_index import KnownContents
from cfglint.source.limits import MAX_SIZE
from cfglint.source.record import Record, changed
from cfglint.source.root import root_of
from cfglint.source.shell import is_markdown

Folders = dict[str, dict[str, list[Statement]]]

WORKING = "working"
STAGED = "staged"
COMMITTED = "committed"
UNSUPPORTED = (".toml", ".ini", ".cfg", ".conf", ".gin", ".jsonnet")  # endings of files that may configure a training, too
STATES = (WORKING, STAGED, COMMITTED)
OLD, NEW = 0, 1  # sides
MOST_PARSED = 100  # changed programs whose syntax trees are compared
GITHUB = "GITHUB_BASE_REF"  # the branch that a pull request goes to
GITLAB = "CI_MERGE_REQUEST_DIFF_BASE_SHA"  # the commit at which a merge request branched off its target
USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
DEEPER = "git fetch --unshallow; on GitHub `fetch-depth: 0` of actions/checkout, on GitLab `GIT_DEPTH: 0`"


class Branch:
    """The changes to the configs of a repository since a commit.

    `old` and `new` give the files of both sides. After `compare`, `altered` are the names of new and changed
    files, `gone` those of deleted ones, `same` those that did not change, and `renamed` maps a new name to the old name of
    the file.
    """

    def __init__(self, repository: GitRepository, base: str, state: str) -> None:
        self.repository = repository
        self.base = base
        self.state = state
        self._index = repository.index()
        self._before = repository.tree(base)
        self._after = repository.tree("HEAD") if state == COMMITTED else self._index
        self._known = {*self._before, *self._after, *self._index, *repository.untracked()}
        self.old = Snapshot(repository, self._before, self._known)
        self.new = FileSource() if state == WORKING else Snapshot(repository, self._after, self._known)
        self._contents = KnownContents(repository.top) if state == WORKING and repository.algorithm == "sha1" else None
        self.altered: set[str] = set()
        self.gone: set[str] = set()
        self.unsupported: list[str] = []  # the changed files in a syntax that is not parsed
        self.same: list[str] = []
        self.renamed: dict[str, str] = {}
        self.compared: set[str] = set()  # the files of the runs that were compared
        self.listed: set[str] = set()  # the names and places of the settings that the comparisons list
        self.in_code: set[str] = set()  # the names of values in the code of programs that they tell
        self.named_folders: dict[str, str] = {}  # that a compared run names, by a key: `dataset_dir` of run.yaml
        self.named_programs: dict[str, str] = {}  # the changed programs that the arguments of a line name: `--plugin x.py`, with its script
        self.launches: tuple[dict[str, set[int]], dict[str, set[int]]] = {}, {}  # the first lines of the launches of scripts, of each side
        self.unread: dict[str, str] = {}  # the reason why a script of a compared run is not compared in full
        self.packages: set[str] = set()  # those of the frameworks of the runs of the new side
        self.has_trainers = False  # whether a run of the new side is one of the Trainer
        self.dependencies: list[str] = []  # the changed files that may specify versions
        self.settings: tuple[Configuration, Configuration] | None = None  # of each side: excluded files, and kinds by patterns
        self._folders: tuple[Folders, Folders] = ({}, {})  # the versions in the folders of each side

    def compare(self, declared: Iterable[str] = ()) -> None:
        """Compare both sides; `declared` are files that count as configs whatever their names."""
        wanted = {self.repository.path(name) for name in declared}
        old, new = self._ids(
            [
                path
                for path in sorted(self._known)
                if (path.lower().endswith(EXTENSIONS) or is_script(path) or is_program(path)) or path in wanted
            ]
        )
        others = self._ids([path for path in self._known if path.lower().endswith(UNSUPPORTED) and not is_for_a_tool(path)])
        versions = self._ids([path for path in self._known if may_name_versions(path)])
        name = self.repository.name
        self.dependencies = [name(path) for path in {**versions[0], **versions[1]} if versions[0].get(path) != versions[1].get(path)]
        self.unsupported = sorted(name(path) for path in {*others[0], *others[1]} if others[0].get(path) != others[1].get(path))
        programs = [path for path in new if path in old and new[path] != old[path] and path.endswith(".py")]
        reworded = {*filter(self._says_the_same, programs[:MOST_PARSED])}
        self.altered = {name(path) for path in new if new[path] != old.get(path) and path not in reworded}
        self.gone = {name(path) for path in old if path not in new}
        self.same = [name(path) for path in new if name(path) not in self.altered]
        come = {name(path) for path in new if path not in old}
        self.renamed = renamed(texts(self.old, with_runs(self.gone, self.old)), texts(self.new, with_runs(come, self.new)))

    def _says_the_same(self, path: str) -> bool:
        """Whether the versions of a program differ in layout and comments alone, of which none is for cfglint."""
        texts = [text_of(side, self.repository.name(path)) for side in (self.old, self.new)]
        trees = [ast.dump(tree) for tree in map(parsed, texts) if tree is not None and tree.body]
        return len(trees) == len(texts) and trees[0] == trees[1] and "cfglint:" not in "".join(texts)

    def _ids(self, paths: list[str]) -> tuple[dict[str, str], dict[str, str]]:
        """The ids of the contents of files on both sides."""
        old = {path: self._before[path].id for path in paths if path in self._before}
        if self.state == WORKING:
            return old, self._on_disk(paths, self._before)
        return old, {path: self._after[path].id for path in paths if path in self._after}

    def _on_disk(self, paths: list[str], committed: dict[str, TreeEntry]) -> dict[str, str]:
        """The ids of the files in the working tree; line endings that git converts are not a change of the committed files."""
        ids: dict[str, str] = {}
        for path in paths:
            place = os.path.join(self.repository.top, path)
            try:  # whether the index shows that the file was not written since git read it
                untouched = self._contents.id_of(path, os.lstat(place)) if self._contents is not None else None
            except OSError:
                untouched = None
            if untouched is not None:
                ids[path] = untouched
                continue
            data = content(place)
            if data is None:
                if path in self._index and self._index[path].sparse:
                    ids[path] = self._index[path].id
                continue
            ids[path] = self.repository.id_of(data)
            before = committed.get(path)
            if before is not None and ids[path] != before.id and b"\r\n" in data:
                unix = self.repository.id_of(data.replace(b"\r\n", b"\n"))
                ids[path] = unix if unix == before.id else ids[path]
        return ids

    def uncommitted(self) -> list[str]:
        """The compared files whose changes are not committed; empty if the base is the last commit, so that all changes are."""
        head = self.repository.commit("HEAD") or ""
        if self.state != WORKING or head == self.base:
            return []
        names = sorted({*self.compared, *self.dependencies})
        paths = {path: name for name in names if (path := self.repository.path(name)) is not None}
        committed = self.repository.tree(head)
        now = self._on_disk([*paths], committed)
        return [name for path, name in paths.items() if now.get(path) != (committed[path].id if path in committed else None)]

    def old_name(self, name: str) -> str:
        return self.renamed.get(name, name)

    def touches(self, before: CheckedRun | None, after: CheckedRun | None) -> bool:
        """Whether any file of a run changed, or its target version."""
        has_other_release = before is not None and after is not None and bool(changed_releases(before, after))
        return has_other_release or self.changes_files(before, after)

    def changes_files(self, before: CheckedRun | None, after: CheckedRun | None) -> bool:
        return bool(names_of(after) & self.altered or names_of(before) & (self.gone | self.altered))

    def compare_run(self, before: CheckedRun | None, after: CheckedRun | None, differs: bool = False) -> Comparison:
        """Compare a run, and record its files as compared, and whether code of its program changed, which is not; `differs`: its launch is
        another one, whatever its files have.
        """
        only_releases = not self.changes_files(before, after) and not differs
        names = names_of(before) | names_of(after)
        self.compared |= names
        heading = self._unparsed(before) if after is None else self._unparsed(after) if before is None else ""
        comparison = Comparison(before, after, only_releases=only_releases, heading=heading)
        self.listed |= {text for setting in comparison.settings for text in (setting.key.rpartition(".")[2], setting.after.place) if text}
        touched = sorted(names & (self.altered | self.gone))
        comparison.code_changed = any(is_program(name) or name in self.unread for name in touched)
        if before is not None and after is not None:
            if not only_releases:
                documents = compared_documents(before) | compared_documents(after)
                own = [name for name in touched if is_program(name) or not (name in documents or is_script(name))]
                comparison.consequences += [consequence for name in own for consequence in self._values_in_code(name, after)]
            if unread_arguments(before) != unread_arguments(after):
                comparison.code_changed = True
                framework, former = after.unmodelled or before.unmodelled, [f"before: {each.text}" for each in before.launch.not_read]
                not_read = [*(each.text for each in after.launch.not_read), *former]
                path = os.path.relpath(after.documents[0].path)
                self.unread[path] = f"arguments of {framework}, which is not modelled" if framework else not_read[0]
            self._note_unread_text(comparison, after)
        if after is not None:
            self.named_folders.update(self._folders_named_by(after))
        comparison.releases = self.located(comparison.releases, os.path.relpath(comparison.files[0]))
        return comparison

    def _unparsed(self, run: CheckedRun | None) -> str:
        """The heading of a run whose program does not parse on the other side; empty for one that is new or deleted."""
        name = os.path.relpath(run.documents[0].path) if run is not None else ""
        sides = (self.old, self.old_name(name)), (self.new, name)
        was, now = (syntax_problem(text_of(*side)) if is_program(name) else "" for side in sides)
        return f"{name} {now}; before" if now else f"{name} can be parsed now, and could not before" if was else ""

    def _note_unread_text(self, comparison: Comparison, run: CheckedRun) -> None:
        """Record that a script may start its runs under other conditions, that it writes another config that the run reads and that is
        not known, or which of its other lines have changed.
        """
        path = os.path.relpath(run.documents[0].path)
        if path not in self.altered or not is_script(path):
            return
        old, new = (text_of(*side) for side in ((self.old, self.old_name(path)), (self.new, path)))
        launches = self.launches[OLD].get(self.old_name(path), set()), self.launches[NEW].get(path, set())
        others = [*other_lines(old, new, launches)] if path.endswith(ENDINGS) else []
        if others:
            comparison.code_changed = True
            why, told = self.unread.get(path, "only its launches are compared"), ", ".join(first_values(others))
            self.unread[path] = why if told in why else f"{why}; {told}"
        if comparison.in_effect or path in self.unread:
            return
        reason = next((each for each in run.launch.not_read if each.kind == "file" and each.opens), None)
        if reason is not None and here_documents(old) != here_documents(new):
            comparison.code_changed = True
            self.unread[path] = reason.text
        elif not is_markdown(path) and ways(old) != ways(new):
            comparison.code_changed = True
            self.unread[path] = "whether it starts its launches is not compared"

    def _folders_named_by(self, run: CheckedRun) -> Iterator[tuple[str, str]]:
        """The folders of changed files that a run names, each with the key and the run."""
        folders = {os.path.dirname(name) or os.curdir for name in self.altered | self.gone}
        for config in run.configs:
            for key, value in config.values.items():
                folder = os.path.normpath(value) if value and isinstance(value, str) else None
                if folder in folders and has_effect(key):
                    yield folder, f"`{key}` of {os.path.relpath(run.documents[0].path)}"

    def _programs_named_by(self, run: CheckedRun) -> Iterator[str]:
        """The changed programs that the arguments of a line name."""
        words = run.launch.line.arguments if run.launch.line is not None else ()
        named = [os.path.normpath(word.value.rpartition("=")[2]) for word in words if word.value and is_program(word.value)]
        yield from (name for name in self.altered | self.gone for word in named if f"{os.sep}{name}".endswith(f"{os.sep}{word}"))

    def _values_in_code(self, name: str, run: CheckedRun) -> Iterator[Consequence]:
        """What a changed program says by its literals of how it trains, or a changed file that it reads, where no setting shows it and no
        option replaces it.
        """
        words = run.launch.command.words if run.launch.command is not None else ()
        before, after = text_of(self.old, self.old_name(name)), text_of(self.new, name)
        values = changed_values(name, before, after, self.listed, is_of_training if is_program(name) else None)
        self.in_code |= {*values}
        told = [text for key, text in values.items() if key.lstrip("-").replace("-", "_") not in words]
        if told:
            yield Consequence("code", f"in {name}: {', '.join(first_values(told))}", known=False)

    def lacks_content(self, old: CheckedRun | None, new: CheckedRun | None) -> bool:
        """Whether one side has no run because the content of its file is not in the repository: the run is neither new nor deleted."""
        run = old if new is None else new if old is None else None
        return run is not None and not self.absent.isdisjoint(os.path.relpath(document.path) for document in run.documents)

    @property
    def absent(self) -> set[str]:
        """The files whose content the repository does not contain, as in a partial clone."""
        return {os.path.relpath(path) for side in (self.old, self.new) if isinstance(side, Snapshot) for path in side.absent}

    def located(self, changes: list[ReleaseChange], run: str) -> list[ReleaseChange]:
        """Release changes of a run with the paths of their files: those of the nearest folder above its first file, else of any other."""
        placed = []
        for change in changes:
            paths = [path for path in self.dependencies if path == change.file or path.endswith(f"{os.sep}{change.file}")]
            above = [path for path in paths if run.startswith(os.path.join(os.path.dirname(path), ""))]
            path = max(above, key=len) if above else paths[0] if len(paths) == 1 else change.file
            placed.append(changed(change, file=path) if change.file else change)
        return placed

    # ---- runs

    def undeclared(self, before: LaunchFacts, after: LaunchFacts, taken: set[str], stats: ScanStats) -> Iterator[Pair]:
        """(before, after) for every changed file that is a separate run; `taken` are files of declared runs."""
        if self.dependencies:  # the unchanged files that may have runs
            programs = list(filter(is_program, self.same))
            building = [name for name in programs if has_marks(bytes_of(self.new, name))]
            others = [*(name for name in self.same if not is_program(name)), *building, *Readers(self.new).of(building, programs)]
        else:  # those that may read a changed one, as `check` finds those that may read a named file
            around = [name for name in self.same if not self.new.leads_out(name, name)]
            others = Readers(self.new).of(self.altered | self.gone, around)
        touched = sorted(with_runs({*self.altered, *others} - taken, self.new))
        discovery = self._discovery(NEW, after)
        discovery.request.stats = stats
        new = by_file(discovery, touched)
        self.named_programs = {name: path for path, runs in new.items() for run in runs for name in self._programs_named_by(run)}
        inside = set().union(*(names_of(run) for runs in new.values() for run in runs))
        self.packages = {config.package for runs in new.values() for run in runs for config in run.configs}
        self.has_trainers = any(is_trainer(kind) for runs in new.values() for run in runs for kind in run.kinds)
        looked_at = [name for name in touched if name in self.altered or name in inside]
        was = with_runs({*map(self.old_name, looked_at), *self.gone, *(self.altered - set(touched))} - taken, self.old)
        old = by_file(self._discovery(OLD, before), self._there(sorted(was)))
        self.launches = lines_of_launches(old), lines_of_launches(new)
        were_started, are_started = (started_by(chain.from_iterable(side.values())) for side in (old, new))
        for name, runs in new.items():
            earlier = old.pop(self.old_name(name), [])
            if is_script(name) and max(len(earlier), len(runs)) >= MOST_CHECKED:
                self.unread[name] = f"only its first {MOST_CHECKED} launches are compared"
            if is_script(name) or is_program(name):
                for pair in paired(earlier, runs):
                    alone, opposite = (pair[0], runs) if pair[1] is None else (pair[1], earlier)
                    if alone is not None and None in pair and may_be_there(alone, opposite):
                        continue
                    # A program that a line started, or starts now, is neither new nor deleted: the run of the line says so.
                    one_side = (
                        {name, *program_of(pair[0])} & are_started if pair[1] is None else {name, *program_of(pair[1])} & were_started
                    )
                    is_other = is_program(name) and None in pair and one_side
                    if self.touches(*pair) and not is_other:
                        yield pair
                continue
            counterpart = earlier[0] if earlier else self._run_before([self.old_name(name)], before)
            if self.touches(counterpart, runs[0]):
                yield counterpart, runs[0]
        for name, runs in old.items():
            if name not in inside or is_script(name) or is_program(name):
                yield from ((run, None) for run in runs if is_script(name) or not {name, *program_of(run)} & are_started)

    def declared(self, names: list[str], before: LaunchFacts, after: LaunchFacts, kind: str | None) -> Pair:
        discovery = self._discovery(NEW, after, kind)
        runs = discovery.together(names)
        if len(runs) > 1:
            raise LaunchChoiceError(names[0], [runs[0].line])
        return self._run_before([*map(self.old_name, names)], before, kind), runs[0]

    def _discovery(self, side: int, facts: LaunchFacts, kind: str | None = None) -> Discovery:
        discovery = Discovery(facts, kind, source=(self.old, self.new)[side])
        discovery.folders = self._folders[side]
        discovery.request.are_named = False
        if self.settings is not None:
            discovery.request.exclude, discovery.request.kinds = self.settings[side].exclude, self.settings[side].kinds
        return discovery

    def _there(self, names: list[str]) -> list[str]:
        """Those of the files that the old side has."""
        return [name for name in names if self.old.is_file(line_of(name)[0])]

    def _run_before(self, names: list[str], facts: LaunchFacts, kind: str | None = None) -> CheckedRun | None:
        """The run of files in their earlier state; None if they did not exist or their kind is unknown."""
        if self._there(names) != names:
            return None
        try:
            return self._discovery(OLD, facts, kind).together(names)[0]
        except UnknownKindError:
            return None


def base_of(asked: str | None, repository: GitRepository) -> tuple[str, str]:
    """(the commit at which the branch left its base, the name of the base as the user knows it)."""
    head = repository.commit("HEAD")
    if head is None:
        raise GitProblem("there is no commit yet, so nothing to compare with")
    if asked == "":
        raise GitProblem("--base is empty: name what to compare with, or leave it out")
    names: tuple[str, ...] = (asked,) if asked else USUAL
    if not asked and os.environ.get(GITHUB):
        names = f"origin/{os.environ[GITHUB]}", os.environ[GITHUB]
    elif not asked and os.environ.get(GITLAB):
        names = (os.environ[GITLAB],)
    for name in names:
        commit = repository.commit(name)
        if commit is None:
            continue
        left_at = repository.merge_base(commit, head)
        if left_at is not None:
            return left_at, name
        if repository.shallow:
            raise GitProblem(f"this clone is too shallow to find where the branch left {name}; fetch the rest: {DEEPER}")
        raise GitProblem(f"HEAD and {name} have no commit in common; `cfglint review OLD NEW` compares folders")
    reason = f"none of {', '.join(names)} is a commit here" if len(names) > 1 else f"{names[0]} is not a commit here"
    if repository.shallow:
        raise GitProblem(f"{reason}; this clone is shallow, fetch the rest: {DEEPER}")
    raise GitProblem(f"{reason}; name what to compare with: --base REV")


def is_for_a_tool(path: str) -> bool:
    """Whether a file specifies versions, or is the configuration of cfglint itself."""
    return may_name_versions(path) or os.path.basename(path) == "cfglint.toml"


def with_runs(names: Iterable[str], source: FileSource) -> set[str]:
    """The files that may be runs of their own: of the programs those that may train."""
    return {name for name in names if not is_program(name) or may_train(bytes_of(source, name))}


def content(path: str) -> bytes | None:
    """The bytes of a file as git stores them, for a link its target; None for a file that cannot be a config."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SIZE:
            return None
        return files.read_bytes(path, root=root_of(path))
    except (OSError, files.FileProblem):
        return None


def bytes_of(source: FileSource, name: str) -> bytes:
    """The bytes of a file; empty if it cannot be read, or is a link out of the project."""
    if source.leads_out(name, name):
        return b""
    try:
        return source.read_bytes(name)
    except files.FileProblem:
        return b""


def here_documents(text: str) -> list[str]:
    """The texts that a script writes inline."""
    return [found[3] for found in HERE.finditer(text)]


def ways(text: str) -> list[str]:
    """The lines of a script that decide which others are run."""
    import re

    lines = (line.strip() for line in text.splitlines())
    deciding = re.compile(r"(?!#|echo\b|printf\b).*?(?:\b(?:if|elif|else|case|while|until|exit|return|break|continue)\b|&&|\|\|)")
    return sorted(filter(deciding.match, lines))


def text_of(source: FileSource, name: str) -> str:
    """The content of a file; empty if it cannot be read, or is a link out of the project."""
    return bytes_of(source, name).decode("utf-8", "replace")


def texts(source: FileSource, names: Iterable[str]) -> dict[str, str]:
    """The contents of files by their names, in order: of equal ones the first is paired first, in every process."""
    return {name: text_of(source, name) for name in sorted(names)}


def by_file(discovery: Discovery, names: list[str]) -> dict[str, list[CheckedRun]]:
    """The runs of files by their first file; a script may have several. Those of files that others may name are the last."""
    found: dict[str, list[CheckedRun]] = {}
    for _, run in discovery.runs_of(discovery.numbered(names, ())):
        found.setdefault(run.documents[0].path, []).append(run)
    return found


def started_by(runs: Iterable[CheckedRun]) -> set[str]:
    """The programs that the launch lines of some runs start."""
    return {path for run in runs if run.launch.line is not None for path in program_of(run)}


def lines_of_launches(found: dict[str, list[CheckedRun]]) -> dict[str, set[int]]:
    lines: dict[str, set[int]] = {}
    for run in (run for runs in found.values() for run in runs):
        if run.launch.line is not None:
            call = run.launch.line.call
            lines.setdefault(os.path.relpath(call.path), set()).add(call.line)
    return lines


def compared_documents(run: CheckedRun) -> set[str]:
    """The files of a run whose settings are compared: those of its configs, and not one that its program makes a plugin of."""
    kinds = {config.kind for config in run.configs}
    return {os.path.relpath(document.path) for document, kind in zip(run.documents, run.kinds, strict=True) if kind in kinds}


def unread_arguments(run: CheckedRun) -> list[str]:
    """A program that is not modelled, or that was not read, and its arguments."""
    line = run.launch.line
    return [word.source for word in (line.program, *line.arguments) if word] if line and (run.unmodelled or run.launch.not_read) else []


def names_of(run: CheckedRun | None) -> set[str]:
    """The files of a run by their names in the branch, including the script of its launch line, the scripts that it sources, and the files
    that the line names.
    """
    if run is None:
        return set()
    line = run.launch.line
    named = [file.path for file in line.files if file.path is not None] if line is not None else []
    composed = (path for config in run.configs for path in config.composed_of)
    return {os.path.relpath(path) for path in (*run.read_paths, *named, *composed)}


# The facts by which two declarations describe different launches.
OF_LAUNCH = ("gpus", "card", "gpu_memory", "num_examples", "target", "strict_keys", "overrides", "expected_numbers", "kind_given")


class DeclaredPair(Record):
    """A declared run with the facts of both sides."""

    run: DeclaredRun
    was: LaunchFacts
    now: LaunchFacts


def declared_runs(branch: Branch, project: Configuration, before: Configuration) -> list[tuple[DeclaredRun, DeclaredRun, Configuration]]:
    """Find the files that differ, and give the declared runs, each with that of the same files on the old side and its configuration.

    One that was not declared there is itself the old one.
    """
    branch.settings = before, project
    branch.compare([file for declared in project.runs for file in declared.files])
    runs: list[tuple[DeclaredRun, DeclaredRun, Configuration]] = []
    for declared in project.runs:
        files = [branch.old_name(os.path.relpath(file)) for file in declared.files]
        twin = next((run for run in before.runs if [os.path.relpath(file) for file in run.files] == files), None)
        runs.append((declared, twin or declared, before if twin else project))
    return runs


def compare(
    branch: Branch, declared: list[DeclaredPair], undeclared: tuple[LaunchFacts, LaunchFacts], stats: ScanStats
) -> Iterator[Comparison]:
    """Compare every changed run: the declared ones, then the other files that changed, with the facts of both sides."""
    taken: set[str] = set()
    for declared_pair in declared:
        try:
            old, new = branch.declared(declared_pair.run.files, declared_pair.was, declared_pair.now, declared_pair.run.kind)
        except LaunchChoiceError:
            continue  # compared as the launch of its script
        except UnknownKindError as error:
            stats.unknown_kind.append(error.path)
            continue
        taken.update(os.path.relpath(document.path) for side in (old, new) if side for document in side.documents)
        differs = any(getattr(declared_pair.was, name) != getattr(declared_pair.now, name) for name in OF_LAUNCH)
        if (branch.touches(old, new) or differs) and not branch.lacks_content(old, new):
            yield branch.compare_run(old, new, differs)
    for pair in branch.undeclared(*undeclared, taken, stats):
        if not branch.lacks_content(*pair):
            yield branch.compare_run(*pair)


def unused_releases(branch: Branch, comparisons: list[Comparison]) -> list[ReleaseChange]:
    """The changed releases that no compared run depends on."""
    used = {change.package for comparison in comparisons for change in comparison.releases}
    return [change for change in stated_changes(branch.dependencies, branch.old, branch.new) if change.package not in used]


def configuration_of(branch: Branch, path: str) -> Configuration:
    """The configuration of the reviewed state; if that state has none, the one of the working tree."""
    if branch.new.is_file(path):
        return settings_file.configuration_of(branch.new.read_bytes(path), path)
    return settings_file.read(path)


def earlier(branch: Branch, project: Configuration) -> Configuration:
    """The configuration of the old side, if that was another one that can be used; else that of the new side."""
    if not project.path or not all(side.is_file(project.path) for side in (branch.old, branch.new)):
        return project
    content = branch.old.read_bytes(project.path)
    if content == branch.new.read_bytes(project.path):
        return project
    try:
        before = settings_file.configuration_of(content, project.path)
        settings_file.refuse_foreign_names(before)
        return before
    except ConfigurationError:
        return project
