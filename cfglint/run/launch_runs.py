"""Builds runs from the launch lines of scripts."""

from __future__ import annotations

import os
from functools import cache, partial

from cfglint.evaluate import Reason
from cfglint.frameworks import detect, framework, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import Launched, LaunchFacts
from cfglint.launch import Launch
from cfglint.launch.arguments import further_arguments, known_words
from cfglint.launch.command import WITHOUT_EFFECT, command_document, not_known, summary
from cfglint.launch.continuations import refused_blanks, refused_joined_words
from cfglint.launch.findings import missing_file, offered_gpus, refused_deepspeed_word, unknown_without_value
from cfglint.launch.kinds import fields_of_class, is_trainer
from cfglint.launch.launch_words import listed_below
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import HOSTFILE, MACHINE, LaunchLine, NamedFile
from cfglint.launch.machine import Machine
from cfglint.launch.overrides import FLAG, Override
from cfglint.launch.program import OF_LAUNCHER, ProgramCall, ProgramFacts
from cfglint.launch.reader import Reader, ScriptEvaluations
from cfglint.run.consumer import choose_consumer, has_own_arguments, has_own_files, is_strict, parses_command, program_kind, unread
from cfglint.run.loaded import LAUNCH
from cfglint.run.paths import BY_HAND, is_program
from cfglint.source import files
from cfglint.source.annotations import Any, Callable, ConfigTable, Container, Mapping, Sequence
from cfglint.source.change import EditRefused
from cfglint.source.document import SCALAR, Document, Node
from cfglint.source.edited_source import EditedSource
from cfglint.source.file_source import FileSource
from cfglint.source.project_files import Project
from cfglint.source.python.call import CallDocument
from cfglint.source.record import changed
from cfglint.source.sections import every_document
from cfglint.source.shell.command import CommandDocument, is_all_of_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.nodes import Size
    from cfglint.launch.programs.context import Context
    from cfglint.launch.programs.finding import Found
    from cfglint.run.program_runs import BuiltArguments
    from cfglint.source.shell.placed_text import Text

CONFIG_OPTION = "--config"
ENGINE = "deepspeed"
ENGINE_CALL = "initialize"  # what builds the engine
MOST_READERS = 8  # maximum number of other contents of a script that are remembered
MOST = 24  # maximum number of launches of one script that are checked; loops are unrolled up to this number
DEVICE_MAP = Reason("program", "the `device_map` of its model")
MOST_SCRIPTS = 64  # scripts whose launch lines are kept


class LaunchReader:
    """Finds the launches in the scripts of a project; results are cached per script. `named` are the files of the command line."""

    def __init__(
        self, source: FileSource, facts: LaunchFacts, named: Container[str] = (), evaluations: ScriptEvaluations | None = None
    ) -> None:
        self.source = source
        self.facts = facts
        self.named = named
        self.evaluations = evaluations or ScriptEvaluations()
        if type(source) is FileSource and not source.texts:
            self.evaluations.names = cache(listed_below)
        self.known_lines: dict[tuple[str, str], list[LaunchLine]] = {}
        self.unchecked: dict[str, str] = {}  # scripts of which some launches are not checked, with the reason
        self.incomplete: set[str] = set()  # those of them that have further launch lines
        self.outside: dict[str, None] = {}  # files that scripts or programs name outside of their project, which are not read
        self.roots: dict[str, str] = {}
        self.programs: dict[tuple[str, str, tuple[str, ...], str], ProgramFacts | None] = {}
        self.called: dict[str, list[LaunchLine]] = {}
        self.callers: dict[str, list[tuple[LaunchLine, tuple[str, int]]]] = {}  # launches of called scripts, with script and position
        self.readers: dict[tuple[Any, ...], LaunchReader] = {}
        self.mentions: dict[str, Callable[[str], bool]] = {}  # of pages of which only some blocks count: whether one does
        self.listed: dict[str, set[int]] = {}  # the launches of a script that are runs of the same command, by their positions

    def runs(self, path: str, only: int | None = None, again: bool = True) -> list[Launched]:
        """The runs that a script starts; `only` is the line of the requested one. Raises FileProblem.

        Without `again`, launches in called scripts are left out if those scripts also start them without their caller.
        """
        text, _ = self.source.read(path)
        lines = self.lines(path, text)
        wanted = at_line(lines, only, text) if only is not None else lines
        if not again:
            wanted = [each for each in wanted if each.call.called_from is None or self.is_first(each, (path, lines.index(each)))]
        left = {each.call.start for each in wanted[MOST:]} - {each.call.start for each in wanted[:MOST]}
        if path in self.evaluations.incomplete:
            self.unchecked[path] = "evaluation stopped at the limit of steps, later launches are not checked"
        elif len(wanted) > MOST:
            self.unchecked[path] = f"{MOST} of {len(wanted)} launches checked"
        if path in self.evaluations.incomplete or left:
            self.incomplete.add(path)
        wanted = wanted[:MOST]
        self.listed[path] = {index for index, line in enumerate(lines) if line in wanted} if only is None else set()
        return [run for line in wanted for run in self.runs_of(line, text, lines)]

    def runs_of(self, line: LaunchLine, text: str, lines: list[LaunchLine]) -> list[Launched]:
        """The runs of a line: one, or one for each call of its program that builds a trainer's arguments. Calls in different branches of
        one condition are alternatives of one run, of which those are left out that the arguments of the line exclude.
        """
        first = self.run(line, text, lines)
        program = first.launch.parser
        if first.launch.program is program or program is None or len(program.built) < 2:
            return [first]
        self.note_further(program)
        from cfglint.launch.programs.runs_of_program import groups
        from cfglint.run.program_runs import evaluation_of

        found: list[Launched] = []
        for group in groups(program.built, evaluation_of(program, self.context(line, first.launch))):
            runs = [self.run(line, text, lines, which=which) if which else first for which in group]
            for number, run in enumerate(runs, 1) if len(runs) > 1 else ():
                assert run.launch.entry is not None
                run.launch.alternative = {"number": number, "of": len(runs), "built_at": place_of(run.documents[1])}
                run.launch.entry["alternative"] = run.launch.alternative
            found.extend(runs)
        return found

    def lines(self, path: str, text: str) -> list[LaunchLine]:
        """The launch lines in the content of a script."""
        key = (path, text)
        if key not in self.known_lines:
            machine = Machine(self.facts.gpus, self.facts.nodes, self.facts.here)
            reader = Reader(self.project(path), machine, dict(self.facts.environment), self.evaluations)
            self.known_lines[key] = reader.lines(path, text, self.mentions.get(path))
            if len(self.known_lines) > MOST_SCRIPTS:
                del self.known_lines[next(iter(self.known_lines))]
        return self.known_lines[key]

    def project(self, path: str) -> Project:
        """The files around a script."""
        project = self.source.project(path, self.root(path), self.named)
        project.outside = self.outside
        return project

    def is_first(self, line: LaunchLine, caller: tuple[str, int]) -> bool:
        """Whether neither the called script itself nor another call of it starts this launch, or one that differs in nothing of effect."""
        path = line.call.path
        if path not in self.called:
            self.called[path] = self.lines(path, self.source.content(path) or "")
        if any(same_launch(line, each) for each in self.called[path]):
            return False
        others = self.callers.setdefault(path, [])
        first = next((by for each, by in others if same_launch(line, each)), None)
        if first is None:
            others.append((line, caller))
        return first in (None, caller)

    def root(self, path: str) -> str:
        """The top of the project of a script, as a path relative like those of the files."""
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in self.roots:
            self.roots[folder] = self.source.root(path)
        return self.roots[folder]

    def again(self, line: LaunchLine, lines: list[LaunchLine], text: str, which: int) -> Launched:
        """The run of a line in another version of its script. Raises EditRefused if that starts something else."""
        if line.is_sourced:
            raise EditRefused(sourced_elsewhere(line), line.call.start)
        now = self.lines(line.call.path, text)
        if len(now) != len(lines):
            raise EditRefused("the edited script would start something else", line.call.start)
        return self.run(now[lines.index(line)], text, now, which=which)

    def relaunched(
        self, texts: Mapping[str, str], size: Size | None, line: LaunchLine, text: str, lines: list[LaunchLine], which: int
    ) -> Launched:
        """The run of a line with other contents for some files, on machines of this size. Raises EditRefused if the script then
        starts something else.
        """
        if line.call.path in texts and line.is_sourced and line.call.path not in self.named:
            raise EditRefused(sourced_elsewhere(line), line.call.start)
        reader = self.reader_of(texts, size, line.script_path)
        text = reader.source.content(line.script_path) or text if texts else text
        now = reader.lines(line.script_path, text)
        if len(now) != len(lines):
            raise EditRefused("the edited script would start something else", line.call.start)
        return reader.run(now[lines.index(line)], text, now, which=which)

    def reader_of(self, texts: Mapping[str, str], size: Size | None, script: str) -> LaunchReader:
        """The reader for other contents and other machines, which many launches of a script share."""
        gpus, nodes = (size.processes, size.nodes) if size is not None else (None, self.facts.nodes)
        key = (gpus, nodes, *sorted(texts.items()))
        if key not in self.readers:
            source = EditedSource(self.source, texts) if texts else self.source
            others = any(path != script for path in texts)  # the script may read these
            reader = LaunchReader(source, self.facts.replace(gpus=gpus, nodes=nodes), self.named, None if others else self.evaluations)
            reader.listed, reader.mentions = self.listed, self.mentions
            self.readers[key] = reader
            if len(self.readers) > MOST_READERS:
                del self.readers[next(iter(self.readers))]
        return self.readers[key]

    def run(
        self, line: LaunchLine, text: str, lines: list[LaunchLine], given: Sequence[tuple[Document, str]] = (), which: int = 0
    ) -> Launched:
        """The run of a line, one of the `lines` of its script: its command, then the files that it names.

        `which` selects one of the calls that build the arguments, if the program has several.
        """
        launch, written = self.launch(line, text, lines, which), line
        line, command = line_and_command(launch)
        documents: list[Document] = [command]
        kinds = [LAUNCH]
        for file in line.files:
            self.add(file, launch, documents, kinds)
        for document, kind in given:
            if all(each.path != document.path for each in documents):
                documents.append(document)
                kinds.append(kind)
        if launch.parser is not None:
            launch.parser = self.with_engines(line, launch)
            leave_out_configs_of_program(launch, launch.parser, documents, kinds)
            self.add_files_of_program(line, launch, documents, kinds)
        built = self.built(line, launch, kinds, which)
        if built is not None:
            documents.insert(1, built.document)
            kinds.insert(1, built.kind)
        self.choose_consumer(line, launch, kinds, built)
        leave_out_unread(launch, documents, kinds)
        if launch.is_main:
            for path in framework(launch.consumer).config_files(launch):
                documents.append(self.source.document(path, "yaml"))
                kinds.append(launch.consumer)
        if launch.is_main:
            open_config(line, launch, command)
        launch.not_read = unread(launch, line, built.program if built is not None else None)
        if built is not None and built.kind == LAUNCH:  # the accelerator of a program that parses its arguments itself
            built = None
        unknown_without_value(line, command)
        refused_joined_words(line, command, launch)
        refused_blanks(line, launch)
        refused_deepspeed_word(line, launch)
        launch.flags = launcher_flags(line, command)
        launch.program = launch.code = self.with_trainers(line, launch) if built is None else built.program
        launch.not_known = built.not_known if built is not None else unknown_arguments(launch, command)
        facts = self.launch_facts(line, launch, documents, built)
        facts.again = lambda edited: self.again(written, lines, edited, which)
        if line.launcher != BY_HAND:
            facts.relaunched = lambda texts, size: self.relaunched(texts, size, written, text, lines, which)
        for key, reasons in command.unknown.items():
            line.unsure(f"arguments.{key}", *reasons)
        launch.entry = summary(line, typed(command, facts))
        return Launched(documents, kinds, facts)

    def launch(self, line: LaunchLine, text: str, lines: list[LaunchLine], which: int = 0) -> Launch:
        """The launch of a line, one of the `lines` of its script, with its own copy of the line; whose arguments it has is open."""
        own = line.copy()
        command = command_document(own, text if not line.is_sourced else self.source.content(line.call.path) or "")
        found = self.program_file(line)
        program = self.program(found) if found is not None else None
        launch = Launch(command, own, program, further=further_arguments(line.arguments), machine=line.machine)
        launch.program_path, launch.project = found.path if found is not None else "", self.project(line.call.path)
        command.again = lambda edited: line_and_command(self.again(line, lines, edited, which).launch)[1]
        others = [(index, each.call) for index, each in enumerate(lines) if each.call.start != line.call.start]
        command.siblings = [call for _, call in others]
        listed = self.listed.get(line.script_path, ())
        command.partners = [position for position, (index, _) in enumerate(others) if index in listed]
        return launch

    def add_files_of_program(self, line: LaunchLine, launch: Launch, documents: list[Document], kinds: list[str]) -> None:
        """Add the files that the code of the program of a line names, and match its arguments, if no framework does."""
        from cfglint.launch.programs.arguments import match_arguments

        command, program = launch.command, launch.parser
        assert command is not None
        assert program is not None
        if not parses_command(launch):
            match_arguments(line, command, program)
        for path in self.named_by_program(line, command, program):
            documents.append(self.source.document(path, "json"))
            kinds.append("deepspeed")

    def choose_consumer(self, line: LaunchLine, launch: Launch, kinds: list[str], built: BuiltArguments | None) -> None:
        """Decide whose parser takes the arguments if a program may build them in code and the user may give them with --args."""
        choose_consumer(launch, *line_and_command(launch), kinds, is_built=built is not None)
        if built is not None and built.kind == "deepspeed":
            launch.consumer, launch.is_main, launch.doubts = "deepspeed", False, ()
        if built is not None and built.kind == LAUNCH and built.document.has_loop:
            launch.consumer, launch.is_main, launch.doubts = LAUNCH, False, ()
        if line.launcher == BY_HAND and (self.facts.complete or self.facts.kind_given):
            launch.doubts = ()
        if built is not None and built.kind != LAUNCH:
            launch.doubts += built.doubts

    def built(self, line: LaunchLine, launch: Launch, kinds: list[str], which: int) -> BuiltArguments | None:
        """The arguments that the program of a line builds in code, if no file supplies them."""
        program, found = launch.parser, self.program_file(line)
        if program is None or found is None or not program.built or any(map(takes_arguments, kinds)) or parses_command(launch):
            return None
        from cfglint.run.program_runs import built_arguments, with_engines

        context = self.context(line, launch)

        def reread(texts: Mapping[str, str]) -> ProgramFacts | None:
            from cfglint.launch.programs.context import with_texts

            again = read_found(found, texts)
            return with_engines(again, context.changed(read=with_texts(context.read, texts))) if again is not None else None

        return built_arguments(program, which, reread, context)

    def with_engines(self, line: LaunchLine, launch: Launch) -> ProgramFacts:
        """The facts about the program of a line, with the engines that the words of the line decide."""
        assert launch.parser is not None
        if not launch.parser.engines:
            return launch.parser
        from cfglint.run.program_runs import with_engines

        return with_engines(launch.parser, self.context(line, launch))

    def with_trainers(self, line: LaunchLine, launch: Launch) -> ProgramFacts | None:
        """The facts about the program that gets the arguments of a line, with the trainers that it builds."""
        if launch.parser is None or not launch.parser.arguments:
            return launch.parser
        from cfglint.run.program_runs import with_trainers

        return with_trainers(launch.parser, self.context(line, launch))

    def context(self, line: LaunchLine, launch: Launch) -> Context:
        """The circumstances under which a line starts its program."""
        from cfglint.launch.programs.context import Context

        project = self.project(line.call.path)
        folder = project.real(os.path.normpath(line.folder)) if line.folder is not None else None
        environment = {name: text.value for name, text in line.call.environment.items() if text.value is not None}
        known = [part for word in known_words(line.arguments) for part in parts_of(word)]
        words = tuple(value for value, _ in known)
        folders = (folder,) if folder is not None else ()
        variables = {**dict(self.facts.environment), **environment}
        spelled = tuple(string for _, string in known)
        further = further_arguments([word for word in line.arguments if not is_all_of_caller(word)])  # in a call without arguments
        return Context(words, bool(further), variables, line.processes, project.read, folders, spelled=spelled, exists=project.exists)

    def named_by_program(self, line: LaunchLine, command: CommandDocument, program: ProgramFacts) -> list[str]:
        """The DeepSpeed file that the code of the program names, if the line names none."""
        if line.folder is None or "deepspeed_config" in command.words or any(file.kind == "deepspeed" for file in line.files):
            return []
        project = self.project(line.call.path)
        found = [project.real(os.path.normpath(f"{line.folder}/{name}")) for name in program.config_files if not os.path.isabs(name)]
        return [
            files.spelled_like(line.call.path, os.path.relpath(path)) for path in found[:1] if path is not None and project.is_file(path)
        ]

    def program(self, found: Found) -> ProgramFacts | None:
        """The facts about a program; None if it cannot be parsed."""
        key = found.path, found.package, tuple(found.folders), found.entry
        if key not in self.programs:
            self.programs[key] = read_found(found, {})
        return self.programs[key]

    def program_file(self, line: LaunchLine) -> Found | None:
        """The file of the program of a line, if the project contains it."""
        from cfglint.launch.programs.finding import find

        return find(line, self.project(line.call.path))

    def built_in(self, path: str) -> list[BuiltArguments]:
        """The arguments that a program builds in code, each for a run of its own; the launch is unknown. Raises FileProblem."""
        from cfglint.launch.programs.finding import program_at
        from cfglint.run.program_runs import BuiltArguments, evaluation_of, parsed_arguments

        self.source.read(path)
        found = program_at(path, self.project(path))
        program = self.program(found)
        if program is None:
            self.note_too_large(found)
            return []
        self.note_further(program)
        context = self.context_without_line(path)
        reread = partial(read_found, found)
        parsed = parsed_arguments(program, reread, context)
        if parsed is not None:
            return [parsed]
        if not program.built:
            return []
        from cfglint.launch.programs.runs_of_program import groups

        calls: list[BuiltArguments] = []
        for group in groups(program.built, evaluation_of(program, context)):
            found_here = [BuiltArguments(program, which, reread, context) for which in group]
            for number, each in enumerate(found_here, 1) if len(found_here) > 1 else ():
                each.alternative = {"number": number, "of": len(found_here), "built_at": place_of(each.document)}
            calls += found_here
        return [
            each
            for each in calls
            if each.kind != LAUNCH or (each.document.loop is not None and each.document.loop.loader is not None) or path in self.named
        ]

    def note_further(self, program: ProgramFacts) -> None:
        """Record the calls of a program that become no runs because there are too many."""
        if program.further:
            count = len(program.built)
            self.unchecked[program.path] = f"{count} of {count + program.further} calls that build arguments checked"

    def note_too_large(self, found: Found) -> None:
        """Record a program that was not read although it can be parsed."""
        from cfglint.launch.programs.modules import MOST_MODULES, Modules
        from cfglint.launch.programs.scopes import MOST_SCOPES

        module = Modules([], found.read).module_of(found.path)
        if module is not None and module.tree.body:
            limits = f"more than {MOST_SCOPES} functions or {MOST_MODULES} modules of the project"
            self.unchecked[found.path] = f"not read, because its code uses {limits}"

    def engine_file(self, path: str) -> tuple[Document, LaunchFacts] | None:
        """The DeepSpeed file that a program, which no line starts, gives its only engine, with the facts of the run; None without one."""
        from cfglint.launch.programs.finding import program_at
        from cfglint.run.program_runs import config_of_engine, evaluation_of, loop_of, passed_to_engine

        project = self.project(path)
        program = self.program(program_at(path, project))
        if program is None or program.built or program.arguments:
            return None
        if not any(ENGINE_CALL in module.text for module in program.modules.known()):
            return None
        context = self.context_without_line(path)
        evaluated = evaluation_of(program, context)
        name, is_certain = config_of_engine(evaluated)
        beside = [os.path.normpath(os.path.join(folder, name)) for folder in context.folders] if name else []
        file = next(filter(project.is_file, beside), None)
        if file is None:
            return None
        passed = passed_to_engine(evaluated)
        document = self.source.document(files.spelled_like(path, os.path.relpath(file)), framework(ENGINE).syntax(file))
        doubts = () if is_certain else (Reason("branch", f"a condition of `{path.rpartition('/')[2]}`", "", path),)
        launch = Launch(doubts=doubts, passed=passed, parser=program, loop=loop_of(program, context))
        complete = passed == {} and is_certain
        facts = self.facts.replace(launch=launch, complete=self.facts.complete or complete)
        return document, facts.replace(kind_given=facts.kind_given or is_certain)

    def context_without_line(self, path: str) -> Context:
        """The circumstances of a program that no line starts: no arguments, started from the top of its project or its own folder."""
        from cfglint.launch.programs.context import Context

        project = self.project(path)
        folders = tuple(dict.fromkeys((project.root, os.path.dirname(path) or ".")))
        return Context((), False, dict(self.facts.environment), self.facts.gpus, project.read, folders, exists=project.exists)

    def by_hand(self, text: str, given: list[tuple[Document, str]]) -> Launched | None:
        """The run of arguments given on the command line, with further files; None if they are not one list of words."""
        from cfglint.launch.by_hand import line_by_hand
        from cfglint.launch.overrides import ARGS

        gpus = self.facts.gpus
        for document, kind in given:
            consumer = framework(kind).launched_gpus(document, self.facts.replace(overrides=())) if gpus is None else None
            gpus = consumer[0] if consumer is not None else gpus
        reader = Reader(self.project(BY_HAND), Machine(gpus, self.facts.nodes), dict(self.facts.environment))
        line = line_by_hand(reader, text)
        if line is None:
            return None
        set_by_hand = tuple(each for each in self.facts.overrides if each.origin != ARGS)
        self.facts = self.facts.replace(overrides=set_by_hand, arguments="")
        return self.run(line, text, [line], given)

    def add(self, file: NamedFile, launch: Launch, documents: list[Document], kinds: list[str]) -> None:
        if file.path is None or file.role == HOSTFILE:
            return
        if any(document.path == file.path for document in documents):
            return
        kind = self.kind_of(file, launch)
        if not kind:
            if file.path not in launch.extra_files:
                launch.extra_files += (file.path,)
            return
        documents.append(self.source.document(file.path, framework(kind).syntax(file.path)))
        kinds.append(kind)

    def kind_of(self, file: NamedFile, launch: Launch) -> str:
        """The kind of a named file: by its role and the program's parser, else by its content; empty if all are unknown."""
        if file.kind:
            return file.kind if file.kind in known_kinds() else ""
        if file.role == CONFIG_OPTION and reads_config(launch) and file.path is not None:
            return program_kind(launch)
        if file.path is None or not file.path.lower().endswith((".yaml", ".yml", ".json", ".hjson")):
            return ""
        document = self.source.document(file.path)
        if document.problems:
            return ""
        return detect(document)[0] or ""

    def launch_facts(self, line: LaunchLine, launch: Launch, documents: list[Document], built: BuiltArguments | None = None) -> LaunchFacts:
        """The facts of a launch: its processes, and that its files and arguments are the whole run."""
        launcher, gpus, command = launcher_of(line), line.processes, line_and_command(launch)[1]
        offered_gpus(line, self.facts.gpus, self.facts.gpus_source, self.facts.here)
        launch.sets_rank = launcher.sets_rank
        plain = launcher.is_one_process and line.processes == 1 and not line.srun
        if plain and "deepspeed" not in command.words and not (built is not None and built.document.values.get("deepspeed")):
            from cfglint.launch.machine import visible

            seen = visible(line, Machine(self.facts.gpus, self.facts.nodes), "visible_gpus")
            line.unknown = [each for each in line.unknown if each[0] != "visible_gpus"]
            gpus = seen if seen is None or seen > 0 else 1
            own_loop = any(isinstance(each, ProgramCall) and each.has_loop for each in documents)  # nothing spreads a batch over GPUs then
            if own_loop:
                gpus = 1
            elif gpus != 1 and launch.parser is not None:  # one model on all of them (transformers 5.24.0 trainer.py:459)
                from cfglint.run.program_runs import spreads_model

                spreads = spreads_model(launch.parser, self.context(line, launch))
                launch.spreads = spreads or ""
                gpus = 1 if spreads else gpus if spreads is not None else None
                line.unsure("visible_gpus", *([DEVICE_MAP] if spreads is None else []))
        # DeepSpeed reads the file itself, and its optimizer leaves nothing for the program to pass.
        optimizer = any(document.find(("optimizer",))[1] is not None for document in documents[1:])
        own_parser = launch.consumer == "deepspeed" and has_own_arguments(launch, command) and optimizer
        if launch.consumer == "deepspeed" and launch.parser is not None and launch.parser.evaluations is not None:
            from cfglint.run.program_runs import evaluation_of, loop_of, passed_to_engine

            context = self.context(line, launch)
            launch.passed = passed_to_engine(evaluation_of(launch.parser, context))
            launch.loop = loop_of(launch.parser, context)
            if launch.loop is None:
                launch.not_read += (Reason("program", f"the engine of `{launch.parser.path}`", "the code that makes it is not found"),)
        elif built is None and launch.is_main and is_trainer(launch.consumer) and launch.code is not None and not launch.code.trainer_calls:
            from cfglint.run.program_runs import loop_of

            launch.loop = loop_of(launch.code, self.context(line, launch))
        own_parser = own_parser and not launch.passed
        closed = takes_arguments(launch.consumer) or own_parser or launch.passed == {}
        closed = closed and not any(file.kind == launch.consumer and file.path is None for file in line.files)
        return self.facts.replace(
            launch=launch,
            gpus=gpus,
            gpus_source=f"{line.call.path}:{line.call.line}",
            trainer=self.facts.trainer or (built.trainer if built is not None else None),
            strict_keys=self.facts.strict_keys or (is_strict(launch) if built is None else built.program.complete),
            complete=(closed and not launch.doubts and not launch.further) or (self.facts.complete and not is_fed_by_unread(launch)),
            kind_given=self.facts.kind_given
            or ((launch.is_main or built is not None) and not launch.doubts)
            or own_parser
            or has_own_files(line),
        ).on_card(line.header.requested_card(line.srun) if line.header or line.srun else "")


def is_fed_by_unread(launch: Launch) -> bool:
    """Whether a program gets an engine or the launcher's file, and may pass it anything: it was not read, or accelerate fills "auto"."""
    by_accelerate = launch.loop is not None and launch.line is not None and launch.line.launcher == "accelerate"
    return launch.consumer in ("deepspeed", "accelerate") and (by_accelerate or any(each.what != OF_LAUNCHER for each in launch.not_read))


def parts_of(word: Text) -> list[tuple[str | None, str]]:
    """A word of a line with its value: an option with an unknown value behind `=` is two words, of which only the second is unknown."""
    name, mark, rest = word.string.partition("=")
    if word.value is None and mark and name.startswith("--") and name[2:].replace("-", "_").isidentifier():
        return [(name, name), (None, rest)]
    return [(word.value, word.string)]


def own_configs(documents: list[Document]) -> list[str]:
    """The config files that a program of a run loads itself, and that values of the run come from."""
    return [each.path for each in every_document(documents)[len(documents) :] if not is_program(each.path)]


def line_and_command(launch: Launch) -> tuple[LaunchLine, CommandDocument]:
    assert launch.line is not None
    assert launch.command is not None
    return launch.line, launch.command


def place_of(call: Document) -> str:
    """The place of the call that builds the arguments of a run: `train.py:10`."""
    return f"{call.path}:{call.position(call.roots[0].start)[0]}"


def sourced_elsewhere(line: LaunchLine) -> str:
    """Why a launch in another file than its script is not edited."""
    how = "called script" if line.call.called_from is not None else "sourced file"
    return f"the launch is in a {how} ({line.call.path}:{line.call.line}), whose other users are not known; change it there by hand"


def reads_config(launch: Launch) -> bool:
    """Whether the program's parser itself opens the YAML file of `--config`, and fills a trainer's arguments from it."""
    return launch.parser is not None and launch.parser.opens_config and bool(program_kind(launch))


def leave_out_configs_of_program(launch: Launch, program: ProgramFacts, documents: list[Document], kinds: list[str]) -> None:
    """Leave out the files of a line that look like those of a trainer, if the program builds the trainer's arguments itself, and those of
    an engine whose config it makes itself.
    """
    own = {each.kind for each in program.built} | ({ENGINE} if any(each.opens for each in program.not_read if program.engines) else set())
    if program.arguments or not any(takes_arguments(each) or each == ENGINE for each in own):
        return
    read = [kind == ENGINE if ENGINE in own else takes_arguments(kind) for kind in kinds]
    for place in reversed([place for place, is_own in enumerate(read) if is_own]):
        launch.extra_files += (documents.pop(place).path,)
        kinds.pop(place)


def leave_out_unread(launch: Launch, documents: list[Document], kinds: list[str]) -> None:
    """Leave out the further files of trainers: one parser takes one of them, so they are in no run of this line. The same holds for a
    DeepSpeed file that the program takes by an argument of its own: no trainer reads it.
    """
    own = own_files(launch)
    first = kinds.index(launch.consumer) if not launch.is_main and launch.consumer in kinds[1:] else 0
    for place in reversed(range(1, len(documents))):
        is_read = place == first or not framework(kinds[place]).argument_classes() or isinstance(documents[place], CallDocument)
        if not is_read or documents[place].path in own:
            launch.extra_files += (documents.pop(place).path,)
            kinds.pop(place)


def own_files(launch: Launch) -> set[str]:
    """The DeepSpeed files that a program with a trainer's arguments takes by arguments of its own, and does not hand to its trainer."""
    program, line = launch.parser, launch.line
    if not launch.is_main or program is None or line is None or not program_kind(launch) or "deepspeed" in program.changed:
        return set()
    named = ((file.path, file.role.removeprefix("--")) for file in line.files if file.kind == "deepspeed")
    return {path for path, name in named if path is not None and name in program.fields}


def open_config(line: LaunchLine, launch: Launch, command: CommandDocument) -> None:
    """Mark as unknown what a file may set that the program's parser opens, but that is not in the project; report it as missing."""
    program = launch.parser
    if program is None or "config" not in command.words or not reads_config(launch):
        return
    line.problems.extend(missing_file(line, file) for file in line.files if file.role == CONFIG_OPTION and file.absent)
    command.leave_out("config")
    absent = (Reason("file", f"the config of `{program.path}`", "it is not in the project", line.call.path, line.call.line, opens=True),)
    launch.further += absent
    launch.parser = changed(program, not_read=program.not_read + absent)


def read_found(found: Found, texts: Mapping[str, str]) -> ProgramFacts | None:
    """A program, parsed with other contents for some of its files."""
    from cfglint.launch.programs.context import with_texts
    from cfglint.launch.programs.reading import read_program

    read = with_texts(found.read, texts) if texts else found.read
    return read_program(found.path, found.package, found.folders, read, found.entry)


def same_launch(line: LaunchLine, other: LaunchLine) -> bool:
    """Whether two launches are the same: one command, from one folder, in one environment, but for `"$@"` and arguments without effect."""
    one, two = line.call, other.call
    if (one.line, one.folder, line.processes, {*one.environment}) != (two.line, two.folder, other.processes, {*two.environment}):
        return False
    words = words_of_effect(line) == words_of_effect(other)
    return words and all(value.string == two.environment[name].string for name, value in one.environment.items())


def words_of_effect(line: LaunchLine) -> list[tuple[str, bool]]:
    """The words of a launch, and whether each is known, without those that may be missing and names, folders and seeds."""
    names = [argument for argument in line.given or () if argument.name in WITHOUT_EFFECT]
    left = {id(word) for argument in names for word in (argument.word, *argument.texts)}
    return [(word.string, word.known) for word in line.call.words if id(word) not in left and not is_all_of_caller(word)]


def launcher_flags(line: LaunchLine, command: CommandDocument) -> tuple[Override, ...]:
    """The flags of a launcher as overrides of its config file, each with its place."""
    found: list[Override] = []
    for key, option, value in launcher_of(line).flags(line):
        word = option.value or option.word
        override = Override(key, [value if value is not None else word.string], FLAG)
        override.unknown = word.reasons
        start, end = command.within(word.place)
        override.place = (command, Node(SCALAR, start, end, word.string))
        if command.text[start:end] == word.string and option.value is not None:
            command.around[tuple(key.split("."))] = override.place[1]
        command.flags.setdefault(key.rpartition(".")[2], option.word.string.partition("=")[0])
        found.append(override)
    if found and "config_file" not in line.options and "num_processes" not in line.options:
        override = Override("num_processes", [str(line.processes)], FLAG)
        override.unknown = () if line.processes is not None else (MACHINE,)
        found.append(override)
    return tuple(found)


def unknown_arguments(launch: Launch, command: CommandDocument) -> tuple[Reason, ...]:
    """The important arguments whose final values are unknown: those of the line, and those that the program sets itself."""
    program = launch.parser
    known = {*FIELDS, *(fields_of_class(program.arguments) if program is not None else ())}
    set_later = program.changed if program is not None else ()
    return not_known(command.unknown, set_later, known)


def typed(command: CommandDocument, facts: LaunchFacts) -> ConfigTable:
    """The arguments with the types that the parser gives them, None for unknown ones."""
    from cfglint.evaluate import Unknown

    values = framework("huggingface").loader(command, facts).read(command).value
    return {key: None if isinstance(value, Unknown) else value for key, value in values.items()} if isinstance(values, dict) else {}


def at_line(lines: list[LaunchLine], number: int, text: str) -> list[LaunchLine]:
    """The launch lines that include a line of the file, or that it starts by calling their script."""
    exact = [line for line in lines if line.call.line == number and not line.is_sourced]
    exact = exact or [line for line in lines if line.call.called_from == (line.script_path, number)]
    exact = exact or [line for line in lines if line.call.line == number and line.call.called_from is None]
    if exact:
        return exact
    found: list[LaunchLine] = []
    for line in (each for each in lines if not each.is_sourced):
        first = text.count("\n", 0, line.call.start) + 1
        last = text.count("\n", 0, line.call.end) + 1
        if first <= number <= last:
            found.append(line)
    return found
