"""Finds the runs in paths: which files are training configs, of which kind, and which belong together."""

from __future__ import annotations

import os

from cfglint.frameworks import detect, framework, related_tool, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.base import MAYBE, NO_MATCH
from cfglint.run.checked import CheckedRun
from cfglint.run.loaded import LAUNCH
from cfglint.source import files
from cfglint.source.document import MAPPING, SCALAR, Document, Problem
from cfglint.source.errors import CfglintError
from cfglint.source.limits import MAX_SIZE
from cfglint.source.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.project.git_index import TrackedFiles
    from cfglint.project.pinned_versions import Disk, Found
    from cfglint.run.launch_runs import LaunchReader

KIND_TRAINER = "huggingface"
BY_HAND = "--args"  # in place of a path: a run that consists of arguments given with --args
HERE = ""  # the working directory if no path is given; files below it have relative paths
SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".md", ".mk")
MAKEFILES = ("makefile", "gnumakefile")
JSON_EXTENSIONS = (".json", ".jsonc", ".hjson", ".config")
EXTENSIONS = (".yaml", ".yml", *JSON_EXTENSIONS)
PROGRAM = ".py"
WORTHWHILE = 10_000  # up to this many characters a named file is parsed directly; above it pays to import the quick scan,
FEW = 20  # if at most this many files are named
MOST_NAMES = 1000  # keys of an unrecognised file that are compared with the known kinds
OPENED = (("accelerator_config",), ("fsdp_config",), ("accelerate_config",))  # keys whose string is opened as a file, whatever its suffix
SECTIONS = ("training_args", "training_arguments", "trainer_args", "train_args", "TrainingArguments")  # sections of a program's own files
TEMPLATE_MARKS = ("{{", "{%", "${", "$", "__", "<")


class ScanStats:
    """The examined files, by result."""

    __slots__ = (
        "beyond_limits",
        "checked",
        "outside",
        "related_tools",
        "targets",
        "templates",
        "unchosen",
        "unclear",
        "unknown_kind",
        "unreadable",
        "unrecognized",
        "unrecognized_named",
    )

    def __init__(self) -> None:
        self.checked = 0
        self.unrecognized = 0
        self.unrecognized_named: list[tuple[str, list[str]]] = []  # paths of the command line, and the keys in each
        self.templates: list[str] = []  # templates that cannot be parsed
        self.unclear: list[str] = []
        self.related_tools: dict[str, int] = {}
        self.beyond_limits: list[str] = []  # files that exceed a limit of cfglint's own: exit status 2
        self.unreadable: list[str] = []  # paths that could not be opened: exit status 2
        self.unchosen: list[str] = []  # reasons why a declared launch is not exactly one run: exit status 2
        self.unknown_kind: list[str] = []  # files of declared runs whose kind is unknown: exit status 2
        self.outside: dict[str, None] = {}  # versions outside the modelled releases, with the ones used instead
        self.targets: dict[str, list[str]] = {}  # `transformers 4.57.1` -> the files of the repository that give this version

    def count(self, run: CheckedRun) -> None:
        """Count the files of a run, and record the sources of its versions."""
        self.checked += len(run.documents)
        if run.is_unreadable_template:
            self.templates += [document.path for document in run.documents]
        self.beyond_limits += [path for path in run.beyond_limits if path not in self.beyond_limits]
        outside = run.outside
        for package, said_by in run.facts.target_from.items():
            if package not in outside:
                self.give_version(f"{package} {run.facts.target[package]}", str(said_by))
        for package, version in outside.items():
            source = f" ({run.facts.target_from[package]})" if package in run.facts.target_from else ""
            if version and version == run.target[package]:
                self.outside[f"of {package} {version} only the keys are known"] = None
            elif version:
                self.outside[f"{package} {version}{source} is not modelled, {run.target[package]} is checked instead"] = None

    def give_version(self, version: str, source: str) -> None:
        """Count a source of a version, once."""
        sources = self.targets.setdefault(version, [])
        if source not in sources:
            sources.append(source)

    def add(self, other: ScanStats) -> None:
        """Add the counts of further files."""
        self.checked += other.checked
        self.unrecognized += other.unrecognized
        self.unrecognized_named += other.unrecognized_named
        self.templates += other.templates
        self.unclear += other.unclear
        self.beyond_limits += other.beyond_limits
        self.unreadable += other.unreadable
        self.unchosen += other.unchosen
        self.unknown_kind += other.unknown_kind
        for version, sources in other.targets.items():
            for source in sources:
                self.give_version(version, source)
        self.outside.update(other.outside)
        for name, number in other.related_tools.items():
            self.related_tools[name] = self.related_tools.get(name, 0) + number


def is_script(path: str) -> bool:
    """Whether a file is searched for launch lines, by its name."""
    name = path.lower()
    return name.endswith(SCRIPTS) or (name.endswith(MAKEFILES) and os.path.basename(name) in MAKEFILES)


def is_program(path: str) -> bool:
    """Whether a named file is searched for calls that build a trainer's arguments: `train.py`, `train.py:12`."""
    return line_of(path)[0].endswith(PROGRAM)


def has_shebang(text: str) -> bool:
    """Whether the first line of a script names a shell as its interpreter."""
    first = text[:100].partition("\n")[0].strip()
    return first.startswith("#!") and first.rpartition("/")[2].removeprefix("env ").split(" ")[0] in ("bash", "sh", "zsh", "ksh", "dash")


def line_of(path: str) -> tuple[str, int | None]:
    """`train.sh:12` as path and line."""
    name, mark, number = path.rpartition(":")
    return (name, int(number)) if mark and number.isdigit() and len(number) < 8 else (path, None)


class FileSource:
    """The source of files: the disk, with `texts` in place of some files: strings, or raw bytes (standard input).

    `disk` is the source of the files that specify versions, None for the disk itself.
    """

    disk: Disk | None = None

    def __init__(self, texts: Mapping[str, str | bytes] | None = None) -> None:
        self.texts = texts or {}

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self.texts or os.path.isfile(path)

    def is_given(self, path: str) -> bool:
        """Whether the content of a file was passed, so that it is not read from disk."""
        return path in self.texts

    def identity(self, path: str) -> str:
        """A common name for all spellings of a file's path."""
        from cfglint.source.root import resolved

        return resolved(path)

    def root(self, path: str) -> str:
        """The top of the project around a file, relative to the working directory."""
        from cfglint.project.pinned_versions import repository

        return os.path.relpath(repository(path)[-1])

    def read_bytes(self, path: str) -> bytes:
        """The content of a file; raises FileProblem."""
        return files.read_bytes(path)

    def read(self, path: str) -> tuple[str, bool]:
        """Return (content, whether it had a byte order mark); raises FileProblem."""
        given = self.texts.get(path)
        if isinstance(given, str):
            return given, False
        if given is not None:
            return files.decode(path, given), given.startswith(files.BYTE_ORDER_MARK)
        return files.read(path)[:2]

    def document(self, path: str, syntax: str | None = None) -> Document:
        """The document of a file; an error while reading it is among its problems."""
        syntax = syntax or syntax_by_name(path)
        try:
            text, bom = self.read(path)
        except files.FileProblem as problem:
            document = parse(path, problem.text, syntax) if problem.text else Document(path, "", syntax)
            place = min(len(problem.text), problem.offset)
            document.problems[:] = [Problem(place, place, str(problem), problem.kind, problem.exception)]
            return document
        return parse(path, text, syntax, bom)

    def text(self, path: str) -> str | None:
        """The content of a file; None if it cannot be read as text."""
        given = self.texts.get(path)
        try:
            return given if isinstance(given, str) else files.decode(path, self.read_bytes(path) if given is None else given)
        except files.FileProblem:
            return None

    def unrelated_keys(self, path: str, least: int = 0, is_named: bool = True) -> list[str] | None:
        """The top-level keys of a file that is certainly of no kind; None for any other, and for one with fewer than `least`
        characters.

        Empty for a file that was not named on the command line and cannot be parsed.
        """
        text = self.text(path)
        if text is None or not least <= len(text) <= MAX_SIZE:
            return None
        from cfglint.run import quick_scan

        names = quick_scan.unrelated_keys(path, text, syntax_by_name(path), SECTIONS)
        return [] if names is None and not is_named and quick_scan.has_no_known_word(path, text, SECTIONS) else names


def syntax_by_name(path: str) -> str:
    """`json` or `yaml`, by the extension of a file."""
    return "json" if path.lower().endswith(JSON_EXTENSIONS) else "yaml"


def missing(document: Document) -> bool:
    """Whether the file does not exist or may not be opened: exit status 2."""
    return any(problem.kind == "unreadable" for problem in document.problems)


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
        self.scripts = False  # whether launch lines may name the examined files
        self.others_of_line = 0  # further launches on the requested line
        self._launches: LaunchReader | None = None
        self.folders: dict[str, dict[str, list[Found]]] = {}  # the versions in folders, cached for all runs
        self.exclude: list[str] = []  # patterns of excluded absolute paths
        self.exclude_named = False  # whether named files are excluded, too
        self.own_files: set[str] = set()  # absolute paths of cfglint's own files, which are never configs
        self.kinds: dict[str, str] = {}  # patterns of absolute paths -> kind of these files
        self.named: set[str] = set()  # files named on the command line, not found in a folder
        self.paths_are_named = True  # whether the paths come from the command line, and were not found by cfglint
        self.indexes: dict[str, TrackedFiles] = {}  # the tracked files, by the top of the work tree

    def one(self, paths: list[str]) -> CheckedRun:
        """Load all the paths as one run."""
        by_hand = self._by_hand(paths)
        if by_hand is not None:
            self.stats.count(by_hand)
            return by_hand
        script = next((path for path in paths if is_script(line_of(path)[0]) and self.kind in (None, LAUNCH)), None)
        if script is not None and not self.section:
            return self._launch(script, [path for path in paths if path != script])
        program = next((path for path in paths if is_program(path)), None)
        if program is not None and not self.section:
            return self._launch(program, [path for path in paths if path != program])
        try:
            run = self._run(*self._declared(paths))
        except Exception as error:
            run = self._failed(paths[0], error)
        self.stats.count(run)
        return run

    def each(self, paths: list[str]) -> Iterator[tuple[int, CheckedRun]]:
        """Yield (position, run) for every training config in the paths; a file that another one names belongs to that one's run."""
        perhaps: list[tuple[int, CheckedRun, str]] = []
        for index, run, path in self.looked_at(self.numbered(paths)):
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
        self.scripts = any(is_script(line_of(path)[0]) for _, path in found)
        return found

    def looked_at(self, numbered: list[tuple[int, str]]) -> Iterator[tuple[int, CheckedRun, str | None]]:
        """Yield (position, run, path) for every training config, without counting it.

        The path is set for a run that only counts if no other file names it in the end; `taken` are the named files.
        """
        for index, path in numbered:
            yield from self._guarded(index, path)

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
            elif self.kind in (None, LAUNCH) and not self.section and is_script(line_of(path)[0]):
                yield from ((index, run, None) for run in self.launches(path))
            elif is_program(path) and not self.section:
                yield from ((index, run, None) for run in self.built_in(path))
            else:
                yield from self._runs_of(index, path)
        except Exception as error:
            yield index, self._failed(path, error), None

    def _runs_of(self, index: int, path: str) -> Iterator[tuple[int, CheckedRun, str | None]]:
        """(position, run, path) of a file that is not a script, if it is a training config."""
        document, kind = (None, None) if self._is_unrelated(path) else self._look(path)
        if document is None or kind is None:
            return
        documents, kinds = self._with_references([document], [kind])
        self.taken.update(each.path for each in documents[1:])
        can_be_referenced = len(documents) == 1 and path not in self.source.texts and (self.kind or framework(kind).can_be_referenced)
        yield index, self._run(documents, kinds), path if can_be_referenced or self.scripts else None

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
        from cfglint.run.launch_runs import LaunchReader

        name, only = line_of(path)
        if self._launches is None:
            self._launches = LaunchReader(self.source, self.facts)
        try:
            found = self._launches.runs(name, only, path in self.named)
        except files.FileProblem as problem:
            if problem.kind == "unreadable":
                self.stats.unreadable.append(path)
            return
        if only is not None and not found:
            raise LaunchChoiceError(path, [])
        for each in found:
            documents, kinds = self._with_references(each.documents, each.kinds)
            self.taken.update(document.path for document in documents[1:])
            before, self.facts = self.facts, each.facts
            try:
                yield self._run(documents, kinds)
            finally:
                self.facts = before

    def built_in(self, path: str) -> Iterator[CheckedRun]:
        """The runs whose arguments a program builds in code; a program without any is not recognised."""
        from cfglint.run.launch_runs import LaunchReader

        name, only = line_of(path)
        try:
            found = LaunchReader(self.source, self.facts).built_in(name)
        except files.FileProblem as problem:
            if problem.kind == "unreadable":
                self.stats.unreadable.append(path)
            return
        chosen = [each for each in found if only is None or each.document.position(each.document.extent[0])[0] == only]
        if not chosen:
            self._count_unrecognized(path, [])
        for each in chosen:
            documents, kinds = self._with_references([each.document], [each.kind])
            self.taken.update(document.path for document in documents[1:])
            before, self.facts = self.facts, each.facts(self.facts)
            try:
                yield self._run(documents, kinds)
            finally:
                self.facts = before

    def _by_hand(self, paths: list[str]) -> CheckedRun | None:
        """The run of `--args`, with the files of a launcher or the engine; None if a file takes the arguments itself."""
        if not self.facts.arguments or self.section or any(is_script(line_of(path)[0]) for path in paths):
            return None
        from cfglint.run.launch_runs import LaunchReader

        paths = [path for path in paths if path != BY_HAND]
        loaded = [self._load(path, self.kind) for path in paths]
        kinds = [self.kind or self._kind_by_pattern(each.path) or detect(each)[0] for each in loaded]
        pairs = [(document, kind) for document, kind in zip(loaded, kinds, strict=True) if kind is not None]
        given = [(document, kind) for document, kind in pairs if kind != LAUNCH and not takes_arguments(kind)]
        if len(given) != len(paths) or any(map(missing, loaded)):
            return None
        reader = LaunchReader(self.source, self.facts)
        found = reader.by_hand(self.facts.arguments, given)
        if found is None:
            return None
        documents, kinds_found = self._with_references(found.documents, found.kinds)
        before, self.facts = self.facts, found.facts
        try:
            return self._run(documents, kinds_found)
        finally:
            self.facts = before

    def declared(self, paths: list[str]) -> list[CheckedRun]:
        """The runs of one declaration: several if a loop or a function starts the same line several times."""
        is_launch = self.kind in (None, LAUNCH) and len(paths) == 1 and is_script(line_of(paths[0])[0])
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
            raise LaunchChoiceError(path, [run.documents[0] for run in found])
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
                yield from filter(self._is_looked_at, self._below(path))
            elif (self.paths_are_named and not self.exclude_named) or not is_one_of(path, self.exclude):
                if self.paths_are_named:
                    self.named.add(path)
                yield path

    def _below(self, folder: str) -> Iterator[str]:
        """The files below a folder that the configuration does not exclude, without links that lead out of the project."""
        for entry in files.walk_entries(folder or os.curdir, self._is_tracked, self.stats.unreadable):
            path = entry.path if folder else entry.path.removeprefix(os.curdir + os.sep)
            excluded = is_one_of(path, self.exclude) or (self.own_files and os.path.abspath(path) in self.own_files)
            if not excluded and not (entry.is_symlink() and self._is_foreign(path, path)):
                yield path

    def _is_looked_at(self, path: str) -> bool:
        """Whether a file of a folder may be a config or a script, by its name."""
        return path.lower().endswith(EXTENSIONS) or (self.kind in (None, LAUNCH) and is_script(path))

    def _is_tracked(self, path: str, is_folder: bool) -> bool:
        """Whether git tracks a file that an ignore file excludes; only files with a relevant extension matter."""
        if not is_folder and not path.lower().endswith((*EXTENSIONS, *SCRIPTS)):
            return False
        from cfglint.project.git_index import TrackedFiles
        from cfglint.source.root import top_of

        top = top_of(os.path.dirname(os.path.abspath(path)), ".git")
        if top is None:
            return False
        if top not in self.indexes:
            self.indexes[top] = TrackedFiles(top)
        return self.indexes[top].has(path, is_folder)

    def _is_unrelated(self, path: str) -> bool:
        """Whether a file is certainly of no kind, decided without parsing it; such a file is counted."""
        if self.kind or self.section or self._kind_by_pattern(path) is not None:
            return False
        one_of_few = path in self.named and len(self.named) <= FEW
        names = self.source.unrelated_keys(path, WORTHWHILE if one_of_few else 0, path in self.named)
        if names is None or (one_of_few and not names):
            return False
        self._count_unrecognized(path, names)
        return True

    def _count_unrecognized(self, path: str, names: list[str]) -> None:
        """Count a file of no kind, with its keys if it was named on the command line; files of a branch comparison are not counted."""
        if path in self.named:
            self.stats.unrecognized_named.append((path, names[:MOST_NAMES]))
        elif self.paths_are_named:
            self.stats.unrecognized += 1

    def _look(self, path: str) -> tuple[Document, str | None]:
        document = self._load(path, self.kind)
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
            return self._load(path, kind), kind
        kind, clarity = detect(document)
        if kind is None and not self.section:
            document, kind, clarity = self._look_closer(document, clarity)
        if kind is None:
            self._pass_over(document, clarity)
            return document, None
        if framework(kind).syntax(path) != document.syntax:
            document = self._load(path, kind)
        return document, kind

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
            return document, None, clarity
        if not document.text.strip() or (not document.problems and (root is None or root.kind != SCALAR)):
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
        else:
            self._count_unrecognized(path, [])

    def _load(self, path: str, kind: str | None) -> Document:
        document = self.source.document(path, framework(kind).syntax(path) if kind else None)
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
        return self._with_references(documents, kinds)

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

    def _with_references(self, documents: list[Document], kinds: list[str]) -> tuple[list[Document], list[str]]:
        named = self._named_by_arguments(documents[0], kinds[0])
        same: list[str] = []  # the identities of the documents, computed when a file names another
        for document in [*documents]:  # no framework follows references in a file that is itself referenced
            position = documents.index(document)
            after = position + 1
            for key, name, kind in framework(kinds[position]).references(document):
                if named and not position and key == ("deepspeed",):
                    continue  # the launch line takes precedence
                path = self._locate(name, document.path)
                if path is None:
                    if is_config_name(name) or (key in OPENED and is_in_project(name)):
                        document.missing.append((key, name))
                    continue
                if self._is_foreign(path, document.path):
                    document.outside.append((key, name))
                    continue
                same = same or [self.source.identity(each.path) for each in documents]
                identity = self.source.identity(path)
                known = same.index(identity) if identity in same else None
                if known is None:
                    documents.insert(after, self.source.document(path, framework(kind).syntax(path)))
                    kinds.insert(after, kind)
                    same.insert(after, identity)
                    after += 1
                elif known != position:
                    kinds[known] = kind
        if named and all(self.source.identity(named) != self.source.identity(each.path) for each in documents):
            documents.append(self.source.document(named, framework("deepspeed").syntax(named)))
            kinds.append("deepspeed")
        return documents, kinds

    def _named_by_arguments(self, document: Document, kind: str) -> str:
        """The DeepSpeed file that `--args` passes to the program of a trainer file; empty without one."""
        if not self.facts.arguments or not takes_arguments(kind):
            return ""
        from cfglint.frameworks.overrides import ARGS

        given = [each.texts[0] for each in self.facts.overrides if each.origin == ARGS and each.key == "deepspeed" and len(each.texts) == 1]
        name = given[-1] if given else ""
        return name if name and self.source.is_file(name) and not self._is_foreign(name, document.path) else ""

    def _is_foreign(self, path: str, origin: str) -> bool:
        """Whether a file is outside the project of the file that names it, and was not named on the command line itself."""
        if path in self.named or self.source.is_given(path):
            return False
        from cfglint.source.root import is_inside, root_of

        return not is_inside(path, root_of(origin))

    def _locate(self, name: str, origin: str) -> str | None:
        """The path of a file that another file names: relative to that file, to a parent folder in the project, or to the working
        directory.
        """
        adjacent = files.spelled_like(origin, os.path.normpath(os.path.join(os.path.dirname(origin), name)))
        if self.source.is_file(adjacent):
            return adjacent
        if not os.path.isabs(name):
            from cfglint.source.root import folders_upwards

            for folder in folders_upwards(origin)[1:]:
                path = files.spelled_like(origin, os.path.normpath(os.path.join(folder, name)))
                if self.source.is_file(path):
                    return path
        return name if self.source.is_file(name) else None

    def _run(self, documents: list[Document], kinds: list[str]) -> CheckedRun:
        facts = self._facts(documents[0], kinds)
        if kinds[0] != LAUNCH and not is_program(documents[0].path) and any(map(may_be_template, documents)):
            from cfglint.run.templates import template_run

            found = template_run(documents, kinds, facts)
            if found is not None:
                return found
        return CheckedRun(documents, kinds, facts)

    def _facts(self, document: Document, kinds: list[str]) -> LaunchFacts:
        """The facts with the versions that the file's repository pins, if no target is specified."""
        consumer = getattr(document, "consumer", "")
        read_by = [*kinds, consumer] if consumer in known_kinds() else kinds
        packages = [package for kind in dict.fromkeys(read_by) for package in framework(kind).packages()]
        packages += steps_with(document, read_by)
        facts = self.facts
        if self.kinds and not facts.kind_given and self._kind_by_pattern(document.path) is not None:
            facts = facts.replace(kind_given=True)
        if all(package in facts.target for package in packages):
            return facts
        from cfglint.project.pinned_versions import Repositories

        return Repositories(self.folders, self.source.disk).complete(facts, document.path, packages)


def are_of_one_line(runs: list[CheckedRun]) -> bool:
    """Whether the same command starts all of these runs, as in a loop."""
    return len({getattr(run.documents[0], "extent", None) for run in runs}) == 1


def steps_with(document: Document, kinds: list[str]) -> list[str]:
    """The package that determines when DeepSpeed's engine takes a step: accelerate, if a Trainer has a DeepSpeed config."""
    trained = any(KIND_TRAINER in (kind, framework(kind).base) for kind in kinds)
    return ["accelerate"] if trained and ("deepspeed" in kinds or document.find(("deepspeed",))[1] is not None) else []


class UnknownKindError(CfglintError):
    """The kind of a file of a run is unknown, and none was specified."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: could not tell the kind of this file; pass --kind {'|'.join(known_kinds())}")
        self.path = path


class LaunchChoiceError(UnknownKindError):
    """A script contains no launch line, or several, but exactly one is required."""

    def __init__(self, path: str, commands: list[Document]) -> None:
        from cfglint.source.shell.command import CommandDocument

        places = [each.launch["line"] if isinstance(each, CommandDocument) else each.position(each.roots[0].start)[0] for each in commands]
        lines = sorted({*places})
        name = line_of(path)[0]
        text = f"{path}: no training launch was found in this script"
        if is_program(path):
            text = f"{path}: this program builds no trainer's arguments in code; name the script that launches it"
        if lines:
            shown = ", ".join(f"{name}:{line}" for line in lines[:10])
            text = f"{path}: {len(commands)} launches; name one of them: {shown}{' ...' if len(lines) > 10 else ''}"
        Exception.__init__(self, text)
        self.path = path


class MissingSectionError(UnknownKindError):
    """A file has no mapping under the key of `--section`."""

    def __init__(self, path: str, section: tuple[str, ...]) -> None:
        Exception.__init__(self, f"{path}: there is no `{'.'.join(section)}` in this file (--section)")
        self.path = path


def is_one_of(path: str, globs: list[str]) -> bool:
    """Whether a path, or a folder that contains it, matches one of some patterns of absolute paths."""
    if not globs:
        return False
    from fnmatch import fnmatch

    path = os.path.abspath(path)
    return any(fnmatch(path, glob) or fnmatch(path, os.path.join(glob, "*")) for glob in globs)


def may_be_template(document: Document) -> bool:
    """Whether a text may hold a placeholder; cheap, for it is asked of every file."""
    if any(what == "bare string" for _, _, what in document.relaxations):
        return True
    return any(mark in document.text for mark in TEMPLATE_MARKS)


def is_config_name(name: str) -> bool:
    """Whether a text names a file that has to lie in the project: a relative path without placeholders and variables."""
    return name[-5:].lower() in (".json", ".yaml", "hjson") and is_in_project(name)


def is_in_project(name: str) -> bool:
    """Whether a text is a relative path without placeholders and variables."""
    return not os.path.isabs(name) and not any(mark in name for mark in "${}<>~")


def in_section(document: Document, section: tuple[str, ...]) -> Document:
    """The document with the mapping under a key as its root; without a root if there is none."""
    from cfglint.source.sections import found

    return found(document, section)
