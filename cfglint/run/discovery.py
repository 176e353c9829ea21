"""Finds the runs in paths: which files are training configs, of which kind, and which belong together."""

from __future__ import annotations

import os

from cfglint.frameworks import ADDED, detect, forks_named_in, framework, related_tool, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.base import MAYBE, NO_MATCH, imported
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.run.checked import CheckedRun
from cfglint.run.loaded import LAUNCH
from cfglint.run.paths import (
    BY_HAND,
    EXTENSIONS,
    HERE,
    PROGRAMS,
    SECTIONS,
    LaunchChoiceError,
    MissingSectionError,
    UnknownKindError,
    is_one_of,
    is_program,
    is_script,
    line_of,
)
from cfglint.run.references import References
from cfglint.run.scan_stats import ScanStats
from cfglint.source import CfglintError, files
from cfglint.source.annotations import Iterator
from cfglint.source.document import MAPPING, SCALAR, Document, Part
from cfglint.source.file_source import FileSource, missing
from cfglint.source.limits import MAX_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.pinned_versions import Repositories
    from cfglint.project.statements.statement import Statement
    from cfglint.run.launch_runs import LaunchReader
    from cfglint.source.folders import Tracked
    from cfglint.source.hydra.groups import ConfigGroups

ENGINE = "deepspeed"
RESUMES = "resume_from_checkpoint"
WORTHWHILE = 10_000  # minimum characters of a named file for the quick scan, whose parsers must be imported
SHORT = 200  # characters of a file that may be the beginning of a longer one
MOST_FILES = 5000  # of a project that are searched for the name of a file
FEW = 20  # named files; with more of them every file is worth the import
MOST_NAMES = 1000  # keys of an unrecognised file that are compared with the known kinds
TYPOGRAPHIC_QUOTES = ("\u201c", "\u201d", "\u2018", "\u2019")  # hjson takes them for letters of a key
TEMPLATE_MARKS = ("{{", "{%", "${", "$", "__", "<")
OF_TRAINERS = ("huggingface", "trl")  # kinds with keys that the own configs of programs have as well
MOST_FOLDERS, MOST_PROGRAMS = 4, 100  # that are looked at for a program that loads a file


class Discovery:
    """Finds the runs of the paths of a command line: every file is its own run, with the files that it names."""

    def __init__(
        self, facts: LaunchFacts, kind: str | None = None, section: tuple[str, ...] = (), source: FileSource | None = None
    ) -> None:
        self.facts = facts
        self.kind = kind
        self.section = section
        self.source = source or FileSource()
        self.stats = ScanStats()
        self.taken: set[str] = set()  # paths of the files that others have named
        self.scripts = False  # whether launch lines or programs may read the examined files
        self.others_of_line = 0  # further launches on the requested line
        self._launches: LaunchReader | None = None
        self._groups: dict[str, ConfigGroups] = {}  # by the top of their project
        self.folders: dict[str, dict[str, list[Statement]]] = {}  # the versions in folders, cached for all runs
        self._repositories: Repositories | None = None
        self.exclude: list[str] = []  # patterns of excluded absolute paths
        self.exclude_named = False  # whether named files are excluded, too
        self.own_files: set[str] = set()  # absolute paths of cfglint's own files, which are never configs
        self.kinds: dict[str, str] = {}  # patterns of absolute paths -> kind of these files
        self.named: set[str] = set()  # files named on the command line, not found in a folder
        self.references = References(self.source, facts, self.named)
        self.paths_are_named = True  # whether the paths come from the command line, and were not found by cfglint
        self.in_their_runs = False  # whether named files are checked in the runs of the project that read them
        self.readers: set[str] = set()  # the files that were not named and may read a named one
        self.positions: dict[str, tuple[int, str]] = {}  # position and path of named files, by identity, if they are checked in their runs
        self._tracked: Tracked | None = None  # what git tracks of the files that can matter, for all walks

    @property
    def _reads_lines(self) -> bool:
        """Whether scripts are read for launch lines: also for a kind whose config is such a line."""
        return self.kind in (None, LAUNCH) or bool(framework(self.kind or LAUNCH).programs)

    def one(self, paths: list[str]) -> CheckedRun:
        """Load all the paths as one run."""
        by_hand = self._by_hand(paths)
        if by_hand is not None:
            self.stats.count(by_hand)
            return by_hand
        script = next((path for path in paths if is_script(line_of(path)[0]) and self._reads_lines), None)
        if script is not None and not self.section:
            return self._launch(script, [path for path in paths if path != script])
        program = next((path for path in paths if is_program(path)), None)
        if program is not None and not self.section:
            return self._launch(program, [path for path in paths if path != program])
        try:
            run = self._run(*self._declared(paths), self.facts)
        except Exception as error:
            run = self._failed(paths[0], error)
        self.stats.count(run)
        return run

    def each(self, paths: list[str]) -> Iterator[tuple[int, CheckedRun]]:
        """Yield (position, run) for every training config in the paths; a file that another one names belongs to that one's run."""
        return self.each_of(self.numbered(paths))

    def each_of(self, numbered: list[tuple[int, str]]) -> Iterator[tuple[int, CheckedRun]]:
        """`each` for the files of the paths."""
        perhaps: list[tuple[int, CheckedRun, str]] = []
        for index, run, path in self.looked_at(numbered):
            if path is not None:
                perhaps.append((index, run, path))
                continue
            self.stats.count(run)
            yield index, run
        taken = self.identities(self.taken)
        for index, run, path in perhaps:
            if not taken or self.source.identity(path) not in taken:
                self.stats.count(run)
                yield index, run

    def numbered(self, paths: list[str]) -> list[tuple[int, str]]:
        """(position, file) for the files of the paths, including those in folders."""
        found = list(enumerate(self._expanded(paths)))
        if self.in_their_runs and self.named and not (self.kind or self.section or self.facts.arguments or self.source.texts):
            self.positions = {
                self.source.identity(line_of(path)[0]): (index, path) for index, path in reversed(found) if path in self.named
            }
            found += [(len(found), path) for path in self._readers([path for _, path in found])]
        self.scripts = any(is_script(line_of(path)[0]) or is_program(path) for _, path in found)
        return found

    def _readers(self, known: list[str]) -> list[str]:
        """The files of the projects of the named files that may read one of these; `known` are looked at anyway."""
        named = [path for path in known if path in self.named and line_of(path)[1] is None and self.source.is_file(path)]
        roots = dict.fromkeys(map(self.root_of, named))
        left, names = {*map(os.path.abspath, known)}, {*map(os.path.basename, known)}
        around = [
            path for root in roots for path in self.around(root) if os.path.basename(path) not in names or os.path.abspath(path) not in left
        ]
        if not around:
            return []
        from cfglint.run.readers import Readers

        found = [path for path in Readers(self.source).of(named, around) if self.is_looked_at(path)]
        self.readers.update(found)
        return found

    def meant_by(self, path: str) -> list[CheckedRun]:
        """The runs that a path means: those of the project that read the file, or those of a folder."""
        from cfglint.run.readers import without_callers

        self.in_their_runs = True
        return without_callers([run for _, run in self.each([path])])

    def root_of(self, path: str) -> str:
        """The top of the project of a file, spelled like its path."""
        root = self.source.root(path)
        if os.path.isabs(path):
            return os.path.abspath(root)
        return HERE if root == os.curdir and not path.startswith(os.curdir + os.sep) else root

    def looked_at(self, numbered: list[tuple[int, str]]) -> Iterator[tuple[int, CheckedRun, str | None]]:
        """Yield (position, run, path) for every training config, without counting it.

        The path is set for a run that only counts if no other file names it in the end; `taken` are the named files.
        """
        for index, path in numbered:
            yield from self._that_read_named(path) if path in self.readers else self._guarded(index, path)

    def _that_read_named(self, path: str) -> list[tuple[int, CheckedRun, str | None]]:
        """`looked_at` for a file that was not named: only its runs that read a named one, at the position of this."""
        counted, self.stats = self.stats, ScanStats()
        try:
            found = [(self._named_by(run), run, alone) for _, run, alone in self._guarded(0, path)]
        finally:
            counted.unchecked.update(self.stats.unchecked)
            self.stats = counted
        kept = [(*named, run, alone) for named, run, alone in found if named is not None]
        for _, named, run, _ in kept:
            run.read_for = named
        return [(position, run, alone) for position, _, run, alone in kept]

    def _named_by(self, run: CheckedRun) -> tuple[int, str] | None:
        """Position and path of the first named file that a run reads; None if it reads none of them."""
        return min((self.positions[each] for each in self.identities(run.read_paths) if each in self.positions), default=None)

    def _guarded(self, index: int, path: str) -> Iterator[tuple[int, CheckedRun, str | None]]:
        """`looked_at` for one path; a bug in cfglint becomes a run that reports it, so that the other paths are still checked."""
        try:
            if path.endswith(EXTENSIONS) and not self.facts.arguments:  # neither script nor program
                yield from self._runs_of(index, path)
                return
            by_hand = self._by_hand([path])
            if by_hand is not None:
                self.taken.update(each.path for each in by_hand.documents[1:] if each.path != path)
                yield index, by_hand, None
            elif self._reads_lines and not self.section and is_script(line_of(path)[0]):
                yield from ((index, run, None) for run in self.launches(path))
            elif is_program(path) and not self.section:
                yield from ((index, run, path) for run in self.built_in(path))
            else:
                yield from self._runs_of(index, path)
        except Exception as error:
            yield index, self._failed(path, error), None

    def _runs_of(self, index: int, path: str) -> Iterator[tuple[int, CheckedRun, str | None]]:
        """(position, run, path) of a file that is not a script, if it is a training config."""
        content = self.source.read_if_possible(path)
        text = content[0] if content is not None else ""
        document, kind = (None, None) if content is not None and self._is_unrelated(path, text) else self._look(path, content)
        if document is None or kind is None:
            return
        if self._is_composed(path, text, kind):
            self._count_unrecognized(path, [])
            return
        documents, kinds = self.references.followed([document], [kind])
        self.taken.update(each.path for each in documents[1:])
        can_be_referenced = len(documents) == 1 and path not in self.source.texts and (self.kind or framework(kind).can_be_referenced)
        yield index, self._run(documents, kinds, self.facts), path if can_be_referenced or self.scripts else None

    def _is_composed(self, path: str, text: str, kind: str) -> bool:
        """Whether Hydra reads a file, and no parser of a trainer: it has a defaults list, or is an option of a group and was not named."""
        if self.kind or not framework(kind).argument_classes() or self._kind_by_pattern(path) is not None:
            return False
        if path in self.named and "defaults:" not in text:
            return False
        from cfglint.source.hydra.groups import ConfigGroups, groups_of

        if groups_of(path, text):
            return True
        if path in self.named:
            return False
        root = self.source.root(path)
        if root not in self._groups:
            self._groups[root] = ConfigGroups(self.source.project(path, root, self.named))
        return self._groups[root].has_option(path.replace(os.sep, "/"))

    def _failed(self, path: str, error: Exception) -> CheckedRun:
        """The run of a file for which a bug in cfglint ended the discovery: it contains only the bug. Any other exception is raised
        again.
        """
        if isinstance(error, (CfglintError, MemoryError, OSError)):
            raise error
        name = line_of(path)[0]
        run = CheckedRun([Document(name, "", "json")], [self.kind or (LAUNCH if is_script(name) else "deepspeed")], self.facts)
        run.configs = []
        run.bugs = [("discovery", error)]
        return run

    def launches(self, path: str) -> Iterator[CheckedRun]:
        """The runs that a script starts, with the files that its lines name."""
        from cfglint.run.launch_runs import LaunchReader, own_configs

        name, only = line_of(path)
        if self._launches is None:
            self._launches = LaunchReader(self.source, self.facts, self.named)
        try:
            found = self._launches.runs(name, only, path in self.named or path == files.TYPED)
            self.stats.unchecked.update(self._launches.unchecked)
        except files.FileProblem as problem:
            if problem.kind == "unreadable":
                self.stats.unreadable.append(path)
            return
        self.stats.foreign.update(self._launches.outside)
        if not found and not is_program(path):
            if only is not None:
                raise LaunchChoiceError(path, [])
            if path in self.named:
                self._count_unrecognized(path, [])
        for each in found:
            documents, kinds = self.references.followed(each.documents, each.kinds)
            self.taken.update(document.path for document in documents[1:])
            self.taken.update([each.launch.parser.path] if each.launch.parser is not None else ())
            self.taken.update(own_configs(documents))
            run = self._run(documents, kinds, each.facts)
            run.incomplete_script = self._launches.unchecked[name] if name in self._launches.incomplete else ""
            yield run

    def built_in(self, path: str) -> Iterator[CheckedRun]:
        """The runs whose arguments a program builds in code, or that a notebook starts; a program without any is not recognised."""
        from cfglint.run.launch_runs import LaunchReader, own_configs
        from cfglint.run.program_scan import calls_marks

        name, only = line_of(path)
        started = [*self.launches(path)] if name.endswith(PROGRAMS[1]) else []
        yield from started
        if len(self.named) > FEW and only is None and not self._may_build(name):
            self._count_unrecognized(path, [])
            return
        try:
            if path not in self.named and not calls_marks(name, self.source.read(name)[0]):
                return
            reader = LaunchReader(self.source, self.facts, self.named)
            found = reader.built_in(name)
        except files.FileProblem as problem:
            if problem.kind == "unreadable":
                self.stats.unreadable.append(path)
            return
        self.stats.foreign.update(reader.outside)
        self.stats.unchecked.update(reader.unchecked)
        chosen = [each for each in found if only is None or each.document.position(each.document.extent[0])[0] == only]
        engine = reader.engine_file(name) if not found and only is None else None
        if engine is not None:
            documents, kinds = self.references.followed([engine[0]], ["deepspeed"])
            self.taken.update(document.path for document in documents)
            yield self._run(documents, kinds, engine[1])
        elif not chosen and not started and path in self.named:
            self._count_unrecognized(path, [])
        for each in chosen:
            documents, kinds = self.references.followed([each.document], [each.kind])
            run = self._run(documents, kinds, each.facts(self.facts))
            if not framework(each.kind).has_class(each.document.name, run.facts):
                continue
            self.taken.update(document.path for document in documents[1:] if document.path != name)
            self.taken.update(own_configs(documents))
            yield run

    def _by_hand(self, paths: list[str]) -> CheckedRun | None:
        """The run of `--args`, with the files of a launcher or the engine; None if a file takes the arguments itself."""
        if not self.facts.arguments or self.section or any(is_script(line_of(path)[0]) for path in paths):
            return None
        from cfglint.run.launch_runs import LaunchReader

        if [path for path in paths if is_program(path)] == paths[:1] and line_of(paths[0])[1] is None:
            return self._program_by_hand(*paths)
        paths = [path for path in paths if path != BY_HAND]
        loaded = [self._load(path, self.kind) for path in paths]
        kinds = [self.kind or self._kind_by_pattern(each.path) or detect(each)[0] for each in loaded]
        pairs = [(document, kind) for document, kind in zip(loaded, kinds, strict=True) if kind is not None]
        given = [(document, kind) for document, kind in pairs if kind != LAUNCH and not takes_arguments(kind)]
        if len(given) != len(paths) or any(map(missing, loaded)):
            return None
        reader = LaunchReader(self.source, self.facts, self.named)
        found = reader.by_hand(self.facts.arguments, given)
        if found is None:
            return None
        documents, kinds_found = self.references.followed(found.documents, found.kinds)
        return self._run(documents, kinds_found, found.facts)

    def _program_by_hand(self, path: str, *others: str) -> CheckedRun | None:
        """The run of a program with the arguments of `--args`, as if a line had started it."""
        import shlex

        from cfglint.run.launch_runs import LaunchReader

        found = LaunchReader(self.source, self.facts).by_hand(f"{shlex.quote(path)} {self.facts.arguments}", [])
        if found is None or others:
            return None
        documents, kinds = self.references.followed(found.documents, found.kinds)
        return self._run(documents, kinds, found.facts)

    def declared(self, paths: list[str]) -> list[CheckedRun]:
        """The runs of one declaration: several if a loop or a function starts the same line several times."""
        is_launch = self._reads_lines and len(paths) == 1 and is_script(line_of(paths[0])[0])
        if not is_launch or self.facts.arguments or self.section:
            return [self.one(paths)]
        found = list(self.launches(paths[0]))
        if len(found) < 2 or not are_of_one_line(found):
            return [self._chosen(paths[0], found, [])]
        for run in found:
            self.stats.count(run)
        return found

    def _launch(self, path: str, others: list[str]) -> CheckedRun:
        """The one launch of a script or program, or the one at `script:line`, with the further files that the user adds to it."""
        return self._chosen(path, list(self.built_in(path) if is_program(path) else self.launches(path)), others)

    def _chosen(self, path: str, found: list[CheckedRun], others: list[str]) -> CheckedRun:
        if path in self.stats.unreadable:
            document = self.source.document(line_of(path)[0])
            return CheckedRun([document], ["huggingface"], self.facts)
        if len(found) > 1 and are_of_one_line(found):
            self.others_of_line = len(found) - 1
        elif len(found) != 1:
            raise LaunchChoiceError(path, [run.line for run in found])
        run = found[0]
        for other in others:
            document = self._load(other, None)
            if missing(document):
                self.stats.unreadable.append(other)
            kind = self._kind_in_run(document, run.kinds)
            if all(self.source.identity(other) != self.source.identity(each.path) for each in run.documents):
                run = CheckedRun([*run.documents, self._load(other, kind)], [*run.kinds, kind], run.facts)
        self.stats.count(run)
        return run

    def identities(self, paths: set[str]) -> set[str]:
        """A common name for all spellings of each file's path."""
        return set(map(self.source.identity, paths))

    def _expanded(self, paths: list[str]) -> Iterator[str]:
        for path in paths:
            if path == HERE or (os.path.isdir(path) and not self.source.is_file(path)):
                yield from filter(self.is_looked_at, self._below(path, self.stats.unreadable))
            elif (self.paths_are_named and not self.exclude_named) or not is_one_of(path, self.exclude):
                if self.paths_are_named:
                    self.named.add(path)
                elif self._is_foreign_link(line_of(path)[0]):
                    continue
                yield path

    def around(self, root: str, deep: bool = True) -> Iterator[str]:
        """The files of a project that can name another one, up to a limit that is reported; `deep`: those in folders below, too."""
        left = MOST_FILES
        for path in self._below(root, [], deep):
            if not left:
                self.stats.unsearched = MOST_FILES
                return
            if (path.lower().endswith(PROGRAMS) or self.is_looked_at(path)) and not self._is_foreign_program(path):
                left -= 1
                yield path

    def _is_foreign_program(self, path: str) -> bool:
        """Whether a program is a link out of the project."""
        return path.endswith(PROGRAMS) and os.path.islink(path) and self.references.is_foreign(path, path)

    def _below(self, folder: str, unreadable: list[str], deep: bool = True) -> Iterator[str]:
        """The files below a folder that the configuration does not exclude, without links that lead out of the project."""
        from cfglint.source.folders import Tracked, walk_entries

        self._tracked = self._tracked or Tracked()
        for entry in walk_entries(folder or os.curdir, self._tracked, unreadable, deep):
            path = entry.path if folder else entry.path.removeprefix(os.curdir + os.sep)
            excluded = is_one_of(path, self.exclude) or (self.own_files and os.path.abspath(path) in self.own_files)
            if not excluded and not (entry.is_symlink() and self.is_looked_at(path) and self._is_foreign_link(path)):
                yield path

    def _is_foreign_link(self, path: str) -> bool:
        """Whether a file that was not named is a link out of the project; it is counted."""
        if not self.references.is_foreign(path, path):
            return False
        self.stats.foreign[path] = None
        return True

    def is_looked_at(self, path: str) -> bool:
        """Whether a file of a folder may be a config or a script, by its name."""
        if path.endswith(PROGRAMS):
            return self.kind is None and not self.section and self._may_build(path)
        return path.lower().endswith(EXTENSIONS) or (self._reads_lines and is_script(path))

    def _may_build(self, path: str) -> bool:
        """Whether a Python file of a folder may build the arguments of a trainer, by its text."""
        from cfglint.run.program_scan import may_build

        return may_build(path)

    def _is_unrelated(self, path: str, text: str) -> bool:
        """Whether a file is certainly of no kind, decided without parsing it; such a file is counted."""
        if self.kind or self.section or self._kind_by_pattern(path) is not None:
            return False
        one_of_few = path in self.named and len(self.named) <= FEW
        names = self._unrelated_keys(path, text, WORTHWHILE if one_of_few else 0)
        if names is None or (one_of_few and not names):
            return False
        self._count_unrecognized(path, names)
        return True

    def _unrelated_keys(self, path: str, text: str, least: int) -> list[str] | None:
        """The top-level keys of a file that is certainly of no kind; None for any other, and for one with fewer than `least` characters.

        Empty for a file that was not named on the command line and cannot be parsed.
        """
        if not least <= len(text) <= MAX_SIZE:
            return None
        from cfglint.run.quick_scan import unrelated_keys

        is_long = len(text) > SHORT  # else it may be what is left of one
        names = unrelated_keys(path, text, files.syntax_by_name(path), SECTIONS, is_long and path not in self.named)
        return names if names or is_long else None

    def _count_unrecognized(self, path: str, names: list[str]) -> None:
        """Count a file of no kind, with its keys if it was named on the command line; files of a branch comparison are not counted."""
        if path in self.named:
            self.stats.unrecognized_named.append((path, names[:MOST_NAMES]))
        elif self.paths_are_named:
            self.stats.unrecognized += 1

    def _look(self, path: str, content: tuple[str, bool] | None) -> tuple[Document, str | None]:
        document = self._load(path, self.kind, content)
        if missing(document):
            self.stats.unreadable.append(path)
            return document, self.kind
        if self.section and document.root is None and not document.problems:
            if path in self.named:
                raise MissingSectionError(path, self.section)
            self.stats.unrecognized += 1
            return document, None
        if self.kind == LAUNCH and not is_script(path):
            self._pass_over(document, NO_MATCH)
            return document, None
        if self.kind:
            return document, self.kind
        kind = self._kind_by_pattern(path)
        if kind is not None:
            return self._load(path, kind, content), kind
        kind, clarity = detect(document)
        if kind is None and not self.section:
            document, kind, clarity = self._look_closer(document, clarity)
        if kind in OF_TRAINERS and self._is_of_own_program(path):
            kind, clarity = None, NO_MATCH
        if kind is None:
            self._pass_over(document, clarity)
            return document, None
        if framework(kind).syntax(path) != document.syntax:
            document = self._load(path, kind, content)
        return document, kind

    def _is_of_own_program(self, path: str) -> bool:
        """Whether a program beside a file, or in a folder above it, loads it by its name, and trains without a trainer."""
        from cfglint.run.program_scan import loads_itself

        root = self.source.root(path)
        folder, project = os.path.dirname(path) or os.curdir, self.source.project(path, root, self.named)
        for _ in range(MOST_FOLDERS):
            programs = [each for each in project.names(folder) if each.endswith(".py")][:MOST_PROGRAMS]
            texts = (project.read(os.path.join(folder, each)) or "" for each in programs)
            if any(loads_itself(text, os.path.basename(path)) for text in texts):
                return True
            if os.path.normpath(folder) == os.path.normpath(root):
                break
            folder = os.path.normpath(os.path.join(folder, os.pardir))
        return False

    def _kind_by_pattern(self, path: str) -> str | None:
        """The kind that the configuration sets for a file; None if it sets none."""
        return next((kind for glob, kind in self.kinds.items() if is_one_of(path, [glob])), None)

    def _look_closer(self, document: Document, clarity: int) -> tuple[Document, str | None, int]:
        """Examine a document that is not recognised by its top-level keys: by a section of it, or by the keys on the lines of a broken
        file.
        """
        root = document.root
        if not document.problems and root is not None and root.kind == MAPPING:
            for key in SECTIONS:
                if document.find((key,))[1] is not None:
                    section = in_section(document, (key,))
                    kind, clear = detect(section)
                    if kind and framework(kind).argument_classes():
                        return section, kind, clear
            if not any(key.raw.startswith(TYPOGRAPHIC_QUOTES) for key, _ in root.pairs()):
                return document, None, clarity
        elif not document.text.strip() or (not document.problems and (root is None or root.kind != SCALAR)):
            return document, None, clarity
        from cfglint.run.broken import kind_of_text

        kind, clear = kind_of_text(document.path, self._full_text(document), document.syntax)
        return document, kind, max(clarity, clear)

    def _full_text(self, document: Document) -> str:
        """The complete content of a file, even after a byte that is not UTF-8."""
        if not any(problem.kind in ("encoding", "control") for problem in document.problems):
            return document.text
        try:
            return self.source.read_bytes(document.path).decode("utf-8", "replace")
        except files.FileProblem:
            return document.text

    def _pass_over(self, document: Document, clarity: int) -> None:
        """Count a file that is not checked."""
        path = document.path
        if path in self.named:
            from cfglint.run.broken import key_names

            self._count_unrecognized(path, key_names(document))
            return
        name = related_tool(document)
        if name:
            self.stats.related_tools[name] = self.stats.related_tools.get(name, 0) + 1
        elif clarity == MAYBE:
            self.stats.unclear.append(path)
        elif self.paths_are_named and is_remnant(document):
            self.stats.remnants.append(path)
        else:
            self._count_unrecognized(path, [])

    def _load(self, path: str, kind: str | None, content: tuple[str, bool] | None = None) -> Document:
        document = self.source.document(path, framework(kind).syntax(path) if kind else None, content)
        return in_section(document, self.section) if self.section else document

    def _declared(self, paths: list[str]) -> tuple[list[Document], list[str]]:
        documents: list[Document] = []
        kinds: list[str] = []
        for path in paths:
            document = self._load(path, self.kind if not kinds else None)
            if missing(document):
                self.stats.unreadable.append(path)
            elif self.section and document.root is None and not document.problems:
                raise MissingSectionError(path, self.section)
            kind = self._kind_in_run(document, kinds)
            if framework(kind).syntax(path) != document.syntax:
                document = self._load(path, kind)
            documents.append(document)
            kinds.append(kind)
        return self.references.followed(documents, kinds)

    def _kind_in_run(self, document: Document, before: list[str]) -> str:
        if not before and self.kind:
            if self.kind == LAUNCH and not is_script(document.path):
                raise UnknownKindError(document.path)
            return self.kind
        found = detect(document)[0]
        if found:
            return found
        if before:
            return before[0]
        raise UnknownKindError(document.path)

    def _run(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> CheckedRun:
        facts = self._facts(documents, kinds, facts)
        if kinds[0] != LAUNCH and not is_program(documents[0].path) and any(map(may_be_template, documents)):
            from cfglint.run.templates import template_run

            found = template_run(documents, kinds, facts)
            if found is not None:
                return found
        return CheckedRun(documents, kinds, facts)

    def _facts(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> LaunchFacts:
        """The facts with the versions that the repository of the first file states, if no target is specified."""
        document = documents[0]
        consumer = facts.launch.consumer
        read_by = [*kinds, consumer] if consumer in known_kinds() else kinds
        packages = [package for kind in dict.fromkeys(read_by) for package in framework(kind).packages()]
        packages += steps_with(document, read_by)
        packages += nested_in(documents, packages)
        packages += facts.launch.code.checked_packages if facts.launch.code is not None else ()
        for each, kind in zip(documents, kinds, strict=False) if facts.card is None else ():
            facts = facts.on_card(imported(framework(kind).parts["card"])(each) if "card" in framework(kind).parts else None)
        resumes = facts.resume is not None or any(RESUMES in each.text for each in documents)
        packages += ["torch"] if facts.card is not None or resumes else []
        if self.kinds and not facts.kind_given and self._kind_by_pattern(document.path) is not None:
            facts = facts.replace(kind_given=True)
        texts = [each.text for each in documents]
        if any(key in text for key in ADDED for text in texts):
            program = facts.launch.parser or facts.launch.code
            texts += [each.text for each in program.modules.known()] if program is not None else []
            facts = facts.replace(
                forks=(*self.repositories.forks(document.path), *(each for text in texts for each in forks_named_in(text)))
            )
        if all(package in facts.target for package in packages):
            return facts
        if facts.installed:
            from cfglint.project.installed import complete

            facts = complete(facts, document.path, packages)
        script = document.text if kinds[0] == LAUNCH or is_program(document.path) else ""
        return self.repositories.complete(facts, document.path, packages, script)

    @property
    def repositories(self) -> Repositories:
        """The releases that the repositories around the files state."""
        if self._repositories is None:
            from cfglint.project.pinned_versions import Repositories

            self._repositories = Repositories(self.folders, self.source.disk)
        return self._repositories


def are_of_one_line(runs: list[CheckedRun]) -> bool:
    """Whether the same command starts all of these runs, as in a loop."""
    return len({first.extent if isinstance(first := run.documents[0], Part) else None for run in runs}) == 1


def steps_with(document: Document, kinds: list[str]) -> list[str]:
    """The package that determines when DeepSpeed's engine takes a step: accelerate, if a Trainer has a DeepSpeed config."""
    if ENGINE not in kinds and document.find((ENGINE,))[1] is None:
        return []
    from cfglint.launch.kinds import is_trainer

    return ["accelerate"] if any(map(is_trainer, kinds)) else []


def nested_in(documents: list[Document], packages: list[str]) -> list[str]:
    """The package of an engine whose config is written inside a file of another kind, as accelerate's `deepspeed_config` is."""
    return [] if ENGINE in packages or not any(ENGINE in document.text for document in documents) else [ENGINE]


def may_be_template(document: Document) -> bool:
    """Whether a content may contain a placeholder; fast, because it is called for every file."""
    if any(what == "bare string" for _, _, what in document.relaxations):
        return True
    return any(mark in document.text for mark in TEMPLATE_MARKS)


def is_remnant(document: Document) -> bool:
    """Whether a file of no kind has no content, cannot be parsed, or is only a string: it may be what is left of a config."""
    return document.root is None or bool(document.problems) or document.root.kind == SCALAR


def in_section(document: Document, section: tuple[str, ...]) -> Document:
    """The document with the mapping under a key as its root; without a root if there is none."""
    from cfglint.source.sections import found

    return found(document, section)
