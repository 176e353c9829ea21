"""Finds the runs in paths: which files are training configs, of which kind, and which belong together."""

from __future__ import annotations

import os

from cfglint.frameworks import ADDED, detect, forks_named_in, framework, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.base import imported
from cfglint.frameworks.launch_facts import Launched, LaunchFacts
from cfglint.launch.kinds import ENGINE, LAUNCH, LAUNCHER, TRAINER
from cfglint.run.checked import CheckedRun
from cfglint.run.documents import FEW, Recognition, References
from cfglint.run.paths import BY_HAND, LaunchChoiceError, Request, ScanStats, Walk, is_program, is_script, line_of
from cfglint.source import CfglintError, files
from cfglint.source.annotations import Callable, Collection, Iterator
from cfglint.source.document import Document, Part
from cfglint.source.file_source import FileSource, missing
from cfglint.source.files import EXTENSIONS
from cfglint.source.shell import is_markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.project.pinned_versions import Repositories
    from cfglint.project.statements.statement import Statement
    from cfglint.run.launched_runs import LaunchedRuns

RESUMES = "resume_from_checkpoint"
TEMPLATE_MARKS = ("{{", "{%", "${", "$", "__", "<")


class Discovery:
    """Finds the runs of the paths of a command line: every file is its own run, with the files that it names."""

    def __init__(
        self, facts: LaunchFacts, kind: str | None = None, section: tuple[str, ...] = (), source: FileSource | None = None
    ) -> None:
        self.facts = facts
        self.source = source or FileSource()
        self.request = Request(kind, section)
        self.walk = Walk(self.source, self.request)
        self.recognition = Recognition(self.source, self.request)
        self.references = References(self.source, facts, self.request.named)
        self.taken: set[str] = set()  # paths of the files that others have named
        self.scripts = False  # whether launch lines or programs may read the examined files
        self.folders: dict[str, dict[str, list[Statement]]] = {}  # the versions in folders, cached for all runs
        self.readers: dict[str, None] = {}  # the files that were not named and may read a named one
        self.mentions: dict[str, Callable[[str], bool]] = {}  # of these pages: whether a block mentions a named file, or one that does
        self.positions: dict[str, tuple[int, str]] = {}  # position and path of named files, by identity, if they are checked in their runs
        self._launched: LaunchedRuns | None = None
        self._repositories: Repositories | None = None

    def runs(self, paths: list[str], readers: Collection[str] | None = None) -> list[CheckedRun]:
        """The runs that the paths mean, in their order: those of the project that read a named file, or those of the files in a folder;
        a file that another one names belongs to that one's run. `readers`: see `numbered`.
        """
        return [run for _, run in sorted(self.runs_of(self.numbered(paths, readers)), key=lambda pair: pair[0])]

    def runs_of(self, numbered: list[tuple[int, str]]) -> Iterator[tuple[int, CheckedRun]]:
        """Yield (position, run) for the files of the paths."""
        waiting: list[tuple[int, CheckedRun]] = []
        for index, run in self.looked_at(numbered):
            if run.unless_named is None:
                self.request.stats.count(run)
                yield index, run
            else:
                waiting.append((index, run))
        taken = self.identities(self.taken)
        for index, run in waiting:
            if run.unless_named is None or not taken or self.source.identity(run.unless_named) not in taken:
                self.request.stats.count(run)
                yield index, run

    def together(self, paths: list[str]) -> list[CheckedRun]:
        """The run that all the paths are: several if a loop or a function starts the same line several times."""
        by_hand = self._by_hand(paths)
        started_by = () if self.request.section else (self._is_read_for_lines, is_program)
        path = next((path for starts in started_by for path in paths if starts(path)), None)
        if by_hand is not None:
            runs = [by_hand]
        elif path is not None:
            runs = [*(self.built_in(path) if is_program(path) else self.launches(path))]
            if path in self.request.stats.unreadable:
                runs = [CheckedRun([self.source.document(line_of(path)[0])], [TRAINER], self.facts)]
            elif len({first.extent if isinstance(first := run.documents[0], Part) else None for run in runs}) != 1:
                raise LaunchChoiceError(path, [run.line for run in runs])
            runs = [self._with_files(run, [other for other in paths if other != path]) for run in runs]
        else:
            try:
                runs = [self._run(*self.references.followed(*self.recognition.declared(paths)), self.facts)]
            except Exception as error:
                runs = [self._failed(paths[0], error)]
        for run in runs:
            self.request.stats.count(run)
        return runs

    def _with_files(self, run: CheckedRun, paths: list[str]) -> CheckedRun:
        """The run with further files that the user adds to it."""
        for document, kind in zip(*self.recognition.declared(paths, run.kinds), strict=True):
            if all(self.source.identity(document.path) != self.source.identity(other.path) for other in run.documents):
                run = CheckedRun([*run.documents, document], [*run.kinds, kind], run.facts)
        return run

    def _is_read_for_lines(self, path: str) -> bool:
        return self.request.reads_lines and is_script(line_of(path)[0])

    def numbered(self, paths: list[str], readers: Collection[str] | None = None) -> list[tuple[int, str]]:
        """(position, file) for the files of the paths, including those in folders, and for the `readers`, which may read a named one: of
        these, only the runs that do count. Without any given they are looked for in the project.
        """
        found = list(enumerate(self._without_tools([*self.walk.files(paths)])))
        if (
            readers != ()
            and self.request.named
            and not (self.request.kind or self.request.section or self.facts.arguments or self.source.texts)
        ):
            self.positions = {
                self.source.identity(line_of(path)[0]): (index, path) for index, path in reversed(found) if path in self.request.named
            }
            known = [path for _, path in found]
            self.readers = dict.fromkeys(self._readers(known) if readers is None else [path for path in readers if path not in known])
            found += [(len(found), path) for path in self.readers]
        self.scripts = any(is_script(line_of(path)[0]) or is_program(path) for _, path in found)
        return found

    def _without_tools(self, paths: list[str]) -> list[str]:
        """The files without those programs that were not named and build no arguments of a trainer, nor import a module of their project
        that does.
        """
        from cfglint.run.quick_scan import content_of, has_marks

        programs = [path for path in paths if is_program(path) and path not in self.request.named] if self.request.are_named else []
        tools = [path for path in programs if not has_marks(content_of(path))]
        if not tools:
            return paths
        from cfglint.run.readers import Imports

        imports = {root: Imports(filter(is_program, self.walk.around(root))) for root in dict.fromkeys(map(self.walk.root_of, tools))}
        useless = {path for path in tools if not imports[self.walk.root_of(path)].lead_to_training(path)}
        return [path for path in paths if path not in useless]

    def _readers(self, known: list[str]) -> list[str]:
        """The files of the projects of the named files that may read one of these; `known` are looked at anyway."""
        named = [path for path in known if path in self.request.named and line_of(path)[1] is None and self.source.is_file(path)]
        left, names = {*map(os.path.abspath, known)}, {*map(os.path.basename, known)}
        every = (path for root in dict.fromkeys(map(self.walk.root_of, named)) for path in self.walk.around(root))
        around = [path for path in every if os.path.basename(path) not in names or os.path.abspath(path) not in left]
        if not around:
            return []
        from cfglint.run.readers import Readers

        readers = Readers(self.source)
        found = self._without_tools([path for path in readers.of(named, around) if self.walk.is_looked_at(path)])
        self.mentions = dict.fromkeys(filter(is_markdown, found), readers.is_mentioned_in)
        return found

    def looked_at(self, numbered: list[tuple[int, str]]) -> Iterator[tuple[int, CheckedRun]]:
        """Yield (position, run) for every training config, without counting it; `taken` are the files that others name.

        Of a file that was not named only the runs that read a named one, at the position of the first of these.
        """
        for index, path in numbered:
            if path not in self.readers:
                yield from ((index, run) for run in self._runs_in(path))
                continue
            counted, self.request.stats = self.request.stats, ScanStats()
            kept: list[tuple[int, CheckedRun]] = []
            try:
                for run in self._runs_in(path):
                    named = [self.positions[identity] for identity in self.identities(run.read_paths) if identity in self.positions]
                    if named:
                        position, run.read_for = min(named)
                        kept.append((position, run))
            finally:
                counted.unchecked.update(self.request.stats.unchecked)
                self.request.stats = counted
            yield from kept

    def _runs_in(self, path: str) -> Iterator[CheckedRun]:
        """The runs of one path; a bug in cfglint becomes a run that reports it, so that the other paths are still checked."""
        try:
            if path.endswith(EXTENSIONS) and not self.facts.arguments:  # neither script nor program
                yield from self._config(path)
                return
            by_hand = self._by_hand([path])
            if by_hand is not None:
                self.taken.update(document.path for document in by_hand.documents[1:] if document.path != path)
                yield by_hand
            elif not self.request.section and self._is_read_for_lines(path):
                yield from self.launches(path)
            elif is_program(path) and not self.request.section:
                for run in self.built_in(path):
                    run.unless_named = path if run.launch.line is None else None
                    yield run
            else:
                yield from self._config(path)
        except Exception as error:
            yield self._failed(path, error)

    def _config(self, path: str) -> Iterator[CheckedRun]:
        """The run of a file that is not a script, if it is a training config."""
        content = self.source.read_if_possible(path)
        text = content[0] if content is not None else ""
        if "\nrun:" in text and self.request.reads_lines:
            from cfglint.launch.skypilot import is_task

            if is_task(path, text):
                yield from self.launches(path)
                return
        if content is not None and self.recognition.is_unrelated(path, text):
            return
        document, kind = self.recognition.look(path, content)
        if kind is None:
            return
        if self.recognition.is_composed(path, text, kind):
            self.recognition.count_unrecognized(path, [])
            return
        documents, kinds = self.references.followed([document], [kind])
        self.taken.update(other.path for other in documents[1:])
        run = self._run(documents, kinds, self.facts)
        is_alone = len(documents) == 1 and path not in self.source.texts
        if self.scripts or (is_alone and (self.request.kind or framework(kind).can_be_referenced)):
            run.unless_named = path
        yield run

    def _failed(self, path: str, error: Exception) -> CheckedRun:
        """The run of a file for which a bug in cfglint ended the discovery, with only the bug; another exception is raised again."""
        if isinstance(error, (CfglintError, MemoryError, OSError)):
            raise error
        name = line_of(path)[0]
        run = CheckedRun([Document(name, "", "json")], [self.request.kind or (LAUNCH if is_script(name) else ENGINE)], self.facts)
        run.configs = []
        run.bugs = [("discovery", error)]
        return run

    @property
    def launched(self) -> LaunchedRuns:
        if self._launched is None:
            from cfglint.run.launched_runs import LaunchedRuns

            self._launched = LaunchedRuns(self.source, self.facts, self.request.named)
            self._launched.scripts.mentions = self.mentions
        return self._launched

    def _launched_by(self, path: str, read: Callable[[], list[Launched] | None]) -> list[Launched] | None:
        """What `read` makes of a script or program; None if there is nothing to read."""
        try:
            return read()
        except files.FileProblem as problem:
            if problem.kind == "unreadable" and path not in self.request.stats.unreadable:
                self.request.stats.unreadable.append(path)
            return None
        finally:
            self.request.stats.unchecked.update(self.launched.scripts.unchecked)
            self.request.stats.foreign.update(self.launched.scripts.outside)

    def _started(self, launches: list[Launched], path: str) -> Iterator[CheckedRun]:
        """The runs that a script or program starts, with the files that their documents name: none of these is a run of its own."""
        from cfglint.source.python.call import CallDocument
        from cfglint.source.sections import every_document

        for launched in launches:
            documents, kinds = self.references.followed(launched.documents, launched.kinds)
            run, call = self._run(documents, kinds, launched.facts), documents[0]
            if isinstance(call, CallDocument) and not framework(kinds[0]).has_class(call.name, run.facts):
                continue
            sources = every_document(documents)
            self.taken.update(document.path for document in documents[isinstance(call, Part) :] if document.path != path)
            read = [source.path for source in sources[len(documents) :]]
            opened = [
                file for document in documents if isinstance(document, CallDocument) for file in document.files if not is_program(file)
            ]
            # An engine's file is known by itself, wherever the program passes what it has.
            read += [file for file in opened if detect(self.source.document(file))[0] != ENGINE]
            self.taken.update(file for file in read if not is_program(file))
            if launched.launch.line is not None and launched.launch.program_path:
                self.taken.add(launched.launch.program_path)
            scripts = self.launched.scripts
            run.incomplete_script = scripts.unchecked[path] if path in scripts.incomplete else ""
            yield run

    def launches(self, path: str) -> Iterator[CheckedRun]:
        """The runs that a script starts, with the files that its lines name."""
        name, only = line_of(path)
        again = path in self.request.named or path == files.TYPED
        launches = self._launched_by(path, lambda: self.launched.runs(name, only, again))
        if launches == [] and not is_program(path):
            if only is not None:
                raise LaunchChoiceError(path, [])
            if path in self.request.named:
                self.recognition.count_unrecognized(path, self.launched.scripts.not_clear(name))
        yield from self._started(launches or [], name)

    def built_in(self, path: str) -> Iterator[CheckedRun]:
        """The runs whose arguments a program builds in code, or that a notebook starts; a program without any is not recognised."""
        from cfglint.run.quick_scan import calls_marks, content_of, has_marks, may_train

        name, only = line_of(path)
        is_named = path in self.request.named
        started = [*self.launches(path)]
        yield from started
        if started and self.source.identity(name) in self.identities(self.taken):  # it starts itself
            return
        if len(self.request.named) > FEW and only is None and not may_train(content_of(name)):
            self.recognition.count_unrecognized(path, [])
            return

        def read() -> list[Launched] | None:
            text, _ = self.source.read(name)
            may_build = is_named or not has_marks(text.encode("utf-8", "replace")) or calls_marks(name, text)
            return self.launched.built_in(name) if may_build else None

        launches = self._launched_by(path, read)
        if launches is None:
            return
        if only is not None:
            calls = ((launch, launch.documents[0]) for launch in launches)
            launches = [each for each, call in calls if isinstance(call, Part) and call.position(call.extent[0])[0] == only]
        if not launches and not started and is_named:
            self.recognition.count_unrecognized(path, [])
        yield from self._started(launches, name)

    def _by_hand(self, paths: list[str]) -> CheckedRun | None:
        """The run of `--args`, with the files of a launcher or the engine, or of a program with these arguments, as if a line had started
        it; None if a file takes the arguments itself.
        """
        if not self.facts.arguments or self.request.section or any(is_script(line_of(path)[0]) for path in paths):
            return None
        from cfglint.run.launched_runs import LaunchedRuns

        text, given = self.facts.arguments, []
        if [path for path in paths if is_program(path)] == paths[:1] and line_of(paths[0])[1] is None:
            import shlex

            if len(paths) > 1:
                return None
            text = f"{shlex.quote(paths[0])} {text}"
        else:
            paths = [path for path in paths if path != BY_HAND]
            loaded = [self.recognition.load(path, self.request.kind) for path in paths]
            kinds = [self.request.kind or self.request.kind_by_pattern(document.path) or detect(document)[0] for document in loaded]
            pairs = [(document, kind) for document, kind in zip(loaded, kinds, strict=True) if kind is not None]
            given = [(document, kind) for document, kind in pairs if kind != LAUNCH and not takes_arguments(kind)]
            if len(given) != len(paths) or any(map(missing, loaded)):
                return None
        launched = LaunchedRuns(self.source, self.facts, self.request.named).by_hand(text, given)
        return self._run(*self.references.followed(launched.documents, launched.kinds), launched.facts) if launched is not None else None

    def identities(self, paths: set[str]) -> set[str]:
        """A common name for all spellings of each file's path."""
        return set(map(self.source.identity, paths))

    def _run(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> CheckedRun:
        facts = self._facts(documents, kinds, facts)
        may_be_template = any(
            any(mark in document.text for mark in TEMPLATE_MARKS) or any(what == "bare string" for _, _, what in document.relaxations)
            for document in documents
        )
        if kinds[0] != LAUNCH and not is_program(documents[0].path) and may_be_template:
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
        if ENGINE in read_by or document.find((ENGINE,))[1] is not None:
            from cfglint.launch.kinds import is_trainer

            packages += [LAUNCHER] if any(map(is_trainer, read_by)) else []  # which determines when the engine takes a step
        # Its config may be written inside a file of another kind, as accelerate's `deepspeed_config` is.
        packages += [ENGINE] if ENGINE not in packages and any(ENGINE in each.text for each in documents) else []
        packages += facts.launch.code.checked_packages if facts.launch.code is not None else ()
        line = facts.launch.line
        packages += [line.launcher] if line is not None and line.problems else []
        for each, kind in zip(documents, kinds, strict=False) if facts.card is None else ():
            facts = facts.on_card(imported(framework(kind).parts["card"])(each) if "card" in framework(kind).parts else None)
        resumes = facts.resume is not None or any(RESUMES in each.text for each in documents)
        packages += ["torch"] if facts.card is not None or resumes else []
        if self.request.kinds and not facts.kind_given and self.request.kind_by_pattern(document.path) is not None:
            facts = facts.replace(kind_given=True)
        texts = [each.text for each in documents]
        if any(key in text for key in ADDED for text in texts):
            program = facts.launch.parser or facts.launch.code
            texts += [program_module.text for program_module in program.modules.known()] if program is not None else []
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
        if self._repositories is None:
            from cfglint.project.pinned_versions import Repositories

            self._repositories = Repositories(self.folders, self.source.disk)
        return self._repositories
