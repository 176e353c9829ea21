"""Launch lines and programs become runs: the documents of each with their kinds, and the facts with the launch."""

from __future__ import annotations

import os
from functools import partial

from cfglint.evaluate import Reason, Unknown
from cfglint.findings.diagnostic import WARNING
from cfglint.frameworks import detect, framework, takes_arguments
from cfglint.frameworks import kinds as known_kinds
from cfglint.frameworks.huggingface.fields import FIELDS
from cfglint.frameworks.launch_facts import Launched, LaunchFacts
from cfglint.launch import Launch
from cfglint.launch.command import command_document, further_arguments, not_known, summary
from cfglint.launch.findings import MISSING_FILE, missing_file, offered_gpus, refused_by_parser
from cfglint.launch.kinds import ENGINE, LAUNCH, LAUNCHER, TRAINER, fields_of_class, is_trainer
from cfglint.launch.launcher import launcher_of
from cfglint.launch.line import HOSTFILE, MACHINE, LaunchLine, NamedFile
from cfglint.launch.machine import VISIBLE, Machine
from cfglint.launch.overrides import ARGS, FLAG, Override
from cfglint.launch.program import OF_LAUNCHER, ProgramCall, ProgramFacts
from cfglint.launch.programs.context import Context, with_texts
from cfglint.launch.reader import ScriptEvaluations
from cfglint.launch.scripts import Scripts, read_found, refuse_sourced, same_line
from cfglint.run.consumer import choose_consumer, has_own_arguments, is_strict, parses_command, program_kind, unread
from cfglint.run.paths import BY_HAND
from cfglint.source import files
from cfglint.source.annotations import Any, Container, Mapping, Sequence
from cfglint.source.document import SCALAR, Document, Node
from cfglint.source.edited_source import EditedSource
from cfglint.source.file_source import FileSource
from cfglint.source.python.call import CallDocument
from cfglint.source.record import changed
from cfglint.source.shell.command import CommandDocument, is_to_be_filled_in
from cfglint.source.shell.placed_text import unknown_value
from cfglint.source.shell.reasons import PLACEHOLDER
from cfglint.source.shell.written_config import WrittenConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.batch.nodes import Size
    from cfglint.findings.entries import AlternativeEntry
    from cfglint.launch.programs.built_arguments import BuiltArguments

CONFIG_OPTION = "--config"
ENGINE_FILE = "deepspeed_config"  # the option that `deepspeed.add_config_arguments` adds
ENGINE_CALL = "initialize"  # what builds the engine
BACKWARD = ".backward("  # what a program with an `Accelerator` calls if it does not only evaluate a model
MOST_READERS = 8  # other contents of a script that are remembered
DEVICE_MAP = Reason("program", "the `device_map` of its model")
TRAINED_BY = Reason("program", "whether a Trainer of transformers trains it, which uses all GPUs of one process")


class LaunchedRuns:
    """The runs that the scripts and programs of a project start. `named` are the files of the command line."""

    def __init__(
        self, source: FileSource, facts: LaunchFacts, named: Container[str] = (), evaluations: ScriptEvaluations | None = None
    ) -> None:
        self.source = source
        self.facts = facts
        self.named = named
        self.scripts = Scripts(source, Machine(facts.gpus, facts.nodes, facts.here), dict(facts.environment), named, evaluations)
        self._with_others: dict[tuple[Any, ...], LaunchedRuns] = {}  # by machines and contents, for many launches of a script

    def runs(self, path: str, only: int | None = None, again: bool = True) -> list[Launched]:
        """The runs that a script starts; see `Scripts.to_check`. Raises FileProblem."""
        text, _ = self.source.read(path)
        lines = self.scripts.lines(path, text)
        return [run for line in self.scripts.to_check(path, text, only, again=again) for run in self.runs_of(line, text, lines)]

    def runs_of(self, line: LaunchLine, text: str, lines: list[LaunchLine]) -> list[Launched]:
        """The runs of a line: one, or one for each call of its program that builds a trainer's arguments. Calls in different branches of
        one condition are alternatives of one run, of which those are left out that the arguments of the line exclude.
        """
        first = self.run(line, text, lines)
        program = first.launch.parser
        if first.launch.program is program or program is None or len(program.built) < 2:
            return [first]
        from cfglint.launch.programs.runs_of_program import evaluation_of, groups

        self.scripts.note_further(program)
        launched: list[Launched] = []
        for group in groups(program.built, evaluation_of(program, self.scripts.context(line))):
            runs = [self.run(line, text, lines, which=which) if which else first for which in group]
            for run, alternative in zip(runs, alternatives([run.documents[1] for run in runs]), strict=True) if len(runs) > 1 else ():
                assert run.launch.entry is not None
                run.launch.alternative = run.launch.entry["alternative"] = alternative
            launched.extend(runs)
        return launched

    def again(self, line: LaunchLine, lines: list[LaunchLine], text: str, which: int) -> Launched:
        """The run of a line in another version of its script. Raises EditRefused if that starts something else."""
        refuse_sourced(line)
        now = self.scripts.lines(line.call.path, text)
        return self.run(same_line(line, lines, now), text, now, which=which)

    def relaunched(
        self, texts: Mapping[str, str], size: Size | None, line: LaunchLine, text: str, lines: list[LaunchLine], which: int
    ) -> Launched:
        """The run of a line with other contents for some files, on machines of this size. Raises EditRefused if the script then
        starts something else.
        """
        if line.call.path in texts and line.call.path not in self.named:
            refuse_sourced(line)
        gpus, nodes = (size.processes, size.nodes) if size is not None else (None, self.facts.nodes)
        key = (gpus, nodes, *sorted(texts.items()))
        others = self._with_others.get(key)
        if others is None:
            source = EditedSource(self.source, texts) if texts else self.source
            reads_others = any(path != line.script_path for path in texts)  # the script may read these
            evaluations = None if reads_others else self.scripts.evaluations
            others = LaunchedRuns(source, self.facts.replace(gpus=gpus, nodes=nodes), self.named, evaluations)
            others.scripts.checked, others.scripts.mentions = self.scripts.checked, self.scripts.mentions
            self._with_others[key] = others
            if len(self._with_others) > MOST_READERS:
                del self._with_others[next(iter(self._with_others))]
        text = others.source.content(line.script_path) or text if texts else text
        now = others.scripts.lines(line.script_path, text)
        return others.run(same_line(line, lines, now), text, now, which=which)

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
        launch.extra_files = tuple(file.former for file in line.files if file.former is not None)
        for file in line.files:
            config = self.written_config(file, written, text, lines, which) if file.content is not None else None
            path = config.path if config is not None else file.path
            if path is None or (config is None and (file.role == HOSTFILE or any(each.path == path for each in documents))):
                continue
            kind = self.kind_of(file, launch, config)
            if kind:
                documents.append(config or self.source.document(path, framework(kind).syntax(path)))
                kinds.append(kind)
            elif config is None and path not in launch.extra_files:
                launch.extra_files += (path,)
        for document, kind in given:
            if all(each.path != document.path for each in documents):
                documents.append(document)
                kinds.append(kind)
        if launch.parser is not None and not parses_command(launch):
            if launch.parser.engines or launch.parser.built:
                from cfglint.launch.programs.built_arguments import under_line

                launch.parser = under_line(launch.parser, self.scripts.context(line))
            leave_out_configs_of_program(launch, launch.parser, documents, kinds)
            from cfglint.launch.programs.checks import match_arguments

            match_arguments(line, command, launch.parser)
            named = self.named_by_program(line, command, launch.parser)
            documents += [self.source.document(path, "json") for path in named]
            kinds += [ENGINE] * len(named)
        built = self.built(line, launch, kinds, which)
        if built is not None:
            documents.insert(1, built.document)
            kinds.insert(1, built.kind)
        self.choose_consumer(launch, documents, kinds, built)
        if built is not None and built.kind == LAUNCH:  # the accelerator of a program that parses its arguments itself
            built = None
        refused_by_parser(line, command, launch)
        self.doubt_missing_config(line, launch.parser)
        launch.flags = launcher_flags(line, command)
        facts = self.launch_facts(line, launch, documents, built)
        facts.again = lambda edited: self.again(written, lines, edited, which)
        if line.launcher != BY_HAND:
            facts.relaunched = lambda texts, size: self.relaunched(texts, size, written, text, lines, which)
        for key, unknown in command.unknown.items():
            line.unsure(f"arguments.{key}", *unknown.reasons)
        values = framework(TRAINER).loader(command, facts).read(command).value
        typed = {key: None if isinstance(value, Unknown) else value for key, value in values.items()} if isinstance(values, dict) else {}
        launch.entry = summary(line, typed)
        return Launched(documents, kinds, facts)

    def launch(self, line: LaunchLine, text: str, lines: list[LaunchLine], which: int = 0) -> Launch:
        """The launch of a line, one of the `lines` of its script, with its own copy of the line; whose arguments it has is open."""
        own = line.copy()
        command = command_document(own, text if not line.is_sourced else self.source.content(line.call.path) or "")
        file = self.scripts.program_of(line)
        launch = Launch(command, own, further=further_arguments(line.arguments), machine=line.machine)
        if file is not None and not parses_command(launch):  # else its arguments are known without its code
            launch.parser = self.scripts.facts(file)
        launch.program_path, launch.project = file.path if file is not None else "", self.scripts.project(line.call.path)
        command.again = lambda edited: line_and_command(self.again(line, lines, edited, which).launch)[1]
        others = [(index, each.call) for index, each in enumerate(lines) if each.call.start != line.call.start]
        command.siblings = [call for _, call in others]
        checked = self.scripts.checked.get(line.script_path, ())
        command.partners = [position for position, (index, _) in enumerate(others) if index in checked]
        return launch

    def choose_consumer(self, launch: Launch, documents: list[Document], kinds: list[str], built: BuiltArguments | None) -> None:
        """Decide whose parser takes the arguments if a program may build them in code and the user may give them with --args; only the
        files that it reads stay.
        """
        line, command = line_and_command(launch)
        choose_consumer(launch, line, command, kinds, is_built=built is not None)
        if built is not None and (built.kind == ENGINE or (built.kind == LAUNCH and built.document.has_loop)):
            launch.consumer, launch.is_main, launch.doubts = built.kind, False, ()
        elif ENGINE in kinds and self.trains_itself(launch, line):
            launch.consumer, launch.is_main, launch.doubts = ENGINE, False, ()
            assert launch.parser is not None
            what, why = f"what `{launch.parser.arguments}` checks of the line", "the program trains in a loop of its own"
            launch.not_read += (Reason("program", what, why, line.call.path, line.call.line),)
        if line.launcher == BY_HAND and (self.facts.complete or self.facts.kind_given):
            launch.doubts = ()
        if built is not None and built.kind != LAUNCH:
            launch.doubts += built.doubts
        leave_out_unread(launch, documents, kinds)
        if launch.is_main:
            for path in framework(launch.consumer).config_files(launch):
                documents.append(self.source.document(path, "yaml"))
                kinds.append(launch.consumer)
            open_config(line, launch, command)
        launch.not_read = unread(launch, line, built.program if built is not None else None)

    def trains_itself(self, launch: Launch, line: LaunchLine) -> bool:
        """Whether a program that parses the arguments of a trainer makes none, and has a training loop of its own."""
        program = launch.parser
        if program is None or not program.arguments or program.trainer_calls:
            return False
        from cfglint.launch.programs.built_arguments import loop_of

        loop = loop_of(program, self.scripts.context(line))
        return loop is not None and loop.is_found

    def doubt_missing_config(self, line: LaunchLine, program: ProgramFacts | None) -> None:
        """Make a missing file of DeepSpeed's own option a warning, if the program does not certainly make the engine that opens it."""
        missing = [problem for problem in line.problems if problem.code == MISSING_FILE and problem.key == f"--{ENGINE_FILE}"]
        if not missing:
            return
        from cfglint.launch.programs.runs_of_program import evaluation_of

        engines = evaluation_of(program, self.scripts.context(line)).engines.values() if program is not None else ()
        if not any(call.every and not call.conditions for call in engines):
            line.problems[:] = [changed(each, severity=WARNING) if each in missing else each for each in line.problems]

    def built(self, line: LaunchLine, launch: Launch, kinds: list[str], which: int) -> BuiltArguments | None:
        """The arguments that the program of a line builds in code, if no file supplies them."""
        program, file = launch.parser, self.scripts.program_of(line)
        if program is None or file is None or which >= len(program.built) or any(map(takes_arguments, kinds)) or parses_command(launch):
            return None
        from cfglint.launch.programs.built_arguments import BuiltArguments, under_line

        context = self.scripts.context(line)

        def reread(texts: Mapping[str, str]) -> ProgramFacts | None:
            again = read_found(file, texts)
            return under_line(again, context.changed(read=with_texts(context.read, texts))) if again is not None else None

        return BuiltArguments(program, which, reread, context)

    def named_by_program(self, line: LaunchLine, command: CommandDocument, program: ProgramFacts) -> list[str]:
        """The DeepSpeed file that the code of the program names, if the line names none."""
        if line.folder is None or ENGINE_FILE in command.words or any(file.kind == ENGINE for file in line.files):
            return []
        project = self.scripts.project(line.call.path)
        found = [project.real(os.path.normpath(f"{line.folder}/{name}")) for name in program.config_files if not os.path.isabs(name)]
        return [
            files.spelled_like(line.call.path, os.path.relpath(path)) for path in found[:1] if path is not None and project.is_file(path)
        ]

    def built_in(self, path: str) -> list[Launched]:
        """The runs whose arguments a program builds in code, else that of the engine that it makes; the launch is unknown. Raises
        FileProblem.
        """
        from cfglint.launch.programs.built_arguments import BuiltArguments, of_training, parsed_arguments
        from cfglint.launch.programs.runs_of_program import evaluation_of, groups

        self.source.read(path)
        parsing = (each for each in map(framework, known_kinds()) if each.parses_command)
        if path not in self.named and any(path.replace("\\", "/").endswith(each.scripts) for each in parsing):
            return []  # one of their own programs, which trains with the arguments of a line only
        file = self.scripts.program_at(path)
        program = self.scripts.facts(file)
        if program is None:
            self.scripts.note_too_large(file)
            return []
        self.scripts.note_further(program)
        context, reread = self.scripts.context_without_line(path), partial(read_found, file)
        program = of_training(program, context) if program.parser else program
        parsed = parsed_arguments(program, reread, context)
        calls = [parsed] if parsed is not None else []
        for group in groups(program.built, evaluation_of(program, context)) if program.built and parsed is None else ():
            built_calls = [BuiltArguments(program, which, reread, context) for which in group]
            places = [built.document for built in built_calls]
            for built, alternative in zip(built_calls, alternatives(places), strict=True) if len(places) > 1 else ():
                built.alternative = alternative
            calls += built_calls
        is_training = any(BACKWARD in module.text for module in program.modules.known())
        kept = [built for built in calls if built.kind != LAUNCH or is_training or (built.document.loop and built.document.loop.loader)]
        if not kept:
            return self.engine(path, program, context)
        facts, seen = self.facts, made_visible(program, context) if any(is_trainer(built.kind) for built in kept) else None
        if seen is not None and (facts.gpus is None or facts.gpus > seen):
            facts = facts.replace(gpus=seen, gpus_source=f"`CUDA_VISIBLE_DEVICES` of {path}")
        return [Launched([built.document], [built.kind], facts_without_line(built, facts)) for built in kept]

    def engine(self, path: str, program: ProgramFacts, context: Context) -> list[Launched]:
        """The run of the DeepSpeed file that a program, which no line starts, gives its only engine; none without one."""
        if program.built or program.arguments or not any(ENGINE_CALL in module.text for module in program.modules.known()):
            return []
        from cfglint.launch.programs.built_arguments import config_of_engine, loop_of, passed_to_engine
        from cfglint.launch.programs.runs_of_program import evaluation_of

        evaluated = evaluation_of(program, context)
        name, is_certain = config_of_engine(evaluated)
        beside = [os.path.normpath(os.path.join(folder, name)) for folder in context.folders] if name else []
        file = next(filter(self.scripts.project(path).is_file, beside), None)
        if file is None:
            return []
        passed = passed_to_engine(evaluated)
        document = self.source.document(files.spelled_like(path, os.path.relpath(file)), framework(ENGINE).syntax(file))
        doubts = () if is_certain else (Reason("branch", f"a condition of `{path.rpartition('/')[2]}`", "", path),)
        launch = Launch(doubts=doubts, passed=passed, parser=program, loop=loop_of(program, context))
        complete = self.facts.complete or (passed == {} and is_certain)
        facts = self.facts.replace(launch=launch, complete=complete, kind_given=self.facts.kind_given or is_certain)
        return [Launched([document], [ENGINE], facts)]

    def by_hand(self, text: str, given: list[tuple[Document, str]]) -> Launched | None:
        """The run of arguments given on the command line, with further files; None if they are not one list of words."""
        from cfglint.launch.reader import line_by_hand

        gpus = self.facts.gpus
        for document, kind in given:
            consumer = framework(kind).launched_gpus(document, self.facts.replace(overrides=())) if gpus is None else None
            gpus = consumer[0] if consumer is not None else gpus
        scripts = Scripts(self.source, Machine(gpus, self.facts.nodes), self.scripts.environment, self.named)
        line = line_by_hand(scripts.reader(BY_HAND), text)
        if line is None:
            return None
        set_by_hand = tuple(override for override in self.facts.overrides if override.origin != ARGS)
        self.facts = self.facts.replace(overrides=set_by_hand, arguments="")
        return self.run(line, text, [line], given)

    def written_config(self, file: NamedFile, line: LaunchLine, text: str, lines: list[LaunchLine], which: int) -> WrittenConfig:
        """The config that the script of a line has written when the line reads it."""
        assert file.content is not None
        name, path = file.word.string, next((path for path, _ in file.content.begins), line.call.path)
        script = Document(path, text if path == line.call.path else self.source.content(path) or "", "shell")
        syntax = framework(file.kind).syntax(name) if file.kind in known_kinds() else files.syntax_by_name(name)
        config = WrittenConfig(name, script, file.content, syntax)

        def again(edited: str) -> Document:
            documents = self.again(line, lines, edited, which).documents
            return next((each for each in documents if isinstance(each, WrittenConfig) and each.name == name), config)

        config.again = again
        return config

    def kind_of(self, file: NamedFile, launch: Launch, config: Document | None) -> str:
        """The kind of a named file: by its role and the program's parser, else by its content; empty if all are unknown."""
        if file.kind:
            return file.kind if file.kind in known_kinds() else ""
        if file.role == CONFIG_OPTION and reads_config(launch) and file.is_read:
            return program_kind(launch)
        if config is None:
            if file.path is None or not file.path.lower().endswith(files.EXTENSIONS):
                return ""
            config = self.source.document(file.path)
        return "" if config.problems else detect(config)[0] or ""

    def gpus_of_one_process(self, line: LaunchLine, launch: Launch, documents: list[Document]) -> int | None:
        """The GPUs that the one process of a line spreads its batches over; None if that is not known."""
        from cfglint.launch.machine import visible

        seen = visible(line, Machine(self.facts.gpus, self.facts.nodes), "visible_gpus")
        line.unknown = [each for each in line.unknown if each[0] != "visible_gpus"]
        gpus = made_visible(launch.parser, self.scripts.context(line)) or (seen if seen is None or seen > 0 else 1)
        if gpus == 1 or any(isinstance(document, ProgramCall) and document.has_loop for document in documents):
            return 1  # nothing spreads a batch in a loop of the program's own
        if launch.parser is None:
            if launcher_of(line).is_one_process:
                return gpus
            line.unsure("visible_gpus", TRAINED_BY)
            return None
        from cfglint.launch.programs.built_arguments import spreads_model

        spreads = spreads_model(launch.parser, self.scripts.context(line))  # one model on all of them (transformers 5.24.0 trainer.py:459)
        launch.spreads = spreads or ""
        line.unsure("visible_gpus", *([DEVICE_MAP] if spreads is None else []))
        return 1 if spreads else gpus if spreads is not None else None

    def launch_facts(self, line: LaunchLine, launch: Launch, documents: list[Document], built: BuiltArguments | None = None) -> LaunchFacts:
        """The facts of a launch: its processes, and that its files and arguments are the whole run."""
        launcher, gpus, command = launcher_of(line), line.processes, line_and_command(launch)[1]
        overrides = self.facts.overrides
        launch.program = launch.code = built.program if built is not None else launch.parser
        if built is None and launch.parser is not None and launch.parser.arguments:
            overrides = (*add_program(launch, command, launch.parser, self.scripts.context(line)), *overrides)
        if built is None:  # the important arguments whose final values are unknown, also those that the program sets itself
            program = launch.program
            known = {*FIELDS, *(fields_of_class(program.arguments) if program is not None else ())}
            launch.not_known = not_known(command.unknown, program.changed if program is not None else (), known)
        else:
            launch.not_known = built.not_known
        offered_gpus(line, self.facts.gpus, self.facts.gpus_source, self.facts.here)
        trains = is_trainer(built.kind if built is not None else launch.consumer)
        plain = (launcher.is_one_process or trains) and launcher.starts_simply(line) and line.processes == 1 and not line.srun
        launch.sets_rank = launcher.sets_rank or (False if plain else None)
        if plain and ENGINE not in command.words and not (built is not None and built.document.values.get(ENGINE)):
            gpus = self.gpus_of_one_process(line, launch, documents)
        # DeepSpeed reads the file itself, and its optimizer leaves nothing for the program to pass.
        optimizer = any(document.find(("optimizer",))[1] is not None for document in documents[1:])
        own_parser = launch.consumer == ENGINE and has_own_arguments(launch, command) and optimizer
        if launch.consumer == ENGINE and launch.parser is not None and launch.parser.evaluations is not None:
            from cfglint.launch.programs.built_arguments import loop_of, passed_to_engine
            from cfglint.launch.programs.runs_of_program import evaluation_of

            context = self.scripts.context(line)
            launch.passed = passed_to_engine(evaluation_of(launch.parser, context))
            launch.loop = loop_of(launch.parser, context)
            if launch.loop is None:
                launch.not_read += (Reason("program", f"the engine of `{launch.parser.path}`", "the code that makes it is not found"),)
        elif built is None and is_trainer(launch.consumer) and launch.code is not None and not launch.code.trainer_calls:
            from cfglint.launch.programs.built_arguments import loop_of
            from cfglint.launch.programs.reading import own_training

            launch.loop = loop_of(launch.code, self.scripts.context(line))
            launch.not_read += own_training(launch.code, launch.loop)
        own_parser = own_parser and not launch.passed
        closed = takes_arguments(launch.consumer) or own_parser or launch.passed == {}
        closed = closed and not line.is_submitted and not any(file.kind == launch.consumer and file.path is None for file in line.files)
        # A program that gets an engine or the launcher's file may pass it anything: it was not read, or accelerate fills "auto".
        by_accelerate = launch.loop is not None and line.launcher == LAUNCHER
        is_fed_by_unread = launch.consumer in (ENGINE, LAUNCHER) and (
            by_accelerate or any(reason.what != OF_LAUNCHER for reason in launch.not_read)
        )
        return self.facts.replace(
            launch=launch,
            overrides=overrides,
            gpus=gpus,
            gpus_source=f"{line.call.path}:{line.call.line}",
            trainer=self.facts.trainer or (built.trainer if built is not None else None),
            strict_keys=self.facts.strict_keys or (is_strict(launch) if built is None else built.program.complete),
            complete=(closed and not launch.doubts and not launch.further) or (self.facts.complete and not is_fed_by_unread),
            kind_given=self.facts.kind_given
            or ((launch.is_main or built is not None) and not launch.doubts)
            or own_parser
            or launcher.kind in known_kinds(),
        ).on_card(line.header.requested_card(line.srun) if line.header or line.srun else "")


def add_program(launch: Launch, command: CommandDocument, program: ProgramFacts, context: Context) -> tuple[Override, ...]:
    """Add what a program does with the arguments that its parser fills; returns the values that it gives them in place of the line's."""
    from cfglint.launch.programs.built_arguments import overrides_of, with_trainers

    launch.program = launch.code = with_trainers(program, context)
    launch.not_read += launch.program.not_read[len(program.not_read) :]
    overrides = overrides_of(launch.program)
    command.elsewhere = {override.key: override.argument for override in overrides if override.argument is not None}
    return overrides


def made_visible(program: ProgramFacts | None, context: Context) -> int | None:
    """The number of GPUs that a program itself makes visible; None if it does not, or that is not known."""
    if program is None or program.evaluations is None or not any(VISIBLE in module.text for module in program.modules.known()):
        return None
    from cfglint.launch.programs.built_arguments import visible_gpus

    return visible_gpus(program, context)


def facts_without_line(built: BuiltArguments, facts: LaunchFacts) -> LaunchFacts:
    """The facts of a run with these arguments, whose launch is unknown."""
    not_read = built.program.not_read
    if built.kind == LAUNCH:
        facts = facts.replace(kind_given=facts.kind_given or not built.doubts)
        return facts.replace(
            launch=Launch(parser=built.program, code=built.program, doubts=built.doubts, not_read=not_read, lacks_line=built.lacks_line)
        )
    if built.kind == ENGINE:  # the program may pass an optimizer
        launch = Launch(doubts=built.doubts, passed=built.passed, not_read=not_read, lacks_line=built.lacks_line)
        complete = facts.complete or (built.passed == {} and not built.doubts)
        return facts.replace(kind_given=facts.kind_given or not built.doubts, launch=launch, complete=complete)
    if built.program.spreads and not built.document.values.get(ENGINE):
        facts = facts.replace(gpus=1, gpus_source="`device_map`: one process has all GPUs")
    return facts.replace(
        trainer=facts.trainer or built.trainer,
        launch=Launch(
            program=built.program,
            code=built.program,
            doubts=built.doubts,
            not_known=built.not_known,
            not_read=not_read,
            spreads=built.program.spreads,
            alternative=built.alternative,
            lacks_line=built.lacks_line,
        ),
        strict_keys=facts.strict_keys or built.program.complete,
        kind_given=facts.kind_given or not built.doubts,
        complete=facts.complete or not built.doubts,
    )


def line_and_command(launch: Launch) -> tuple[LaunchLine, CommandDocument]:
    assert launch.line is not None
    assert launch.command is not None
    return launch.line, launch.command


def alternatives(calls: Sequence[Document]) -> list[AlternativeEntry]:
    """The entries of calls that build the arguments of one run in different branches of a condition, each with its place: `train.py:10`."""
    places = [f"{call.path}:{call.position(call.roots[0].start)[0]}" for call in calls]
    return [{"number": number, "of": len(calls), "built_at": place} for number, place in enumerate(places, 1)]


def reads_config(launch: Launch) -> bool:
    """Whether the program's parser itself opens the YAML file of `--config`, and fills a trainer's arguments from it."""
    return launch.parser is not None and launch.parser.opens_config and bool(program_kind(launch))


def leave_out_configs_of_program(launch: Launch, program: ProgramFacts, documents: list[Document], kinds: list[str]) -> None:
    """Leave out the files of a line that look like those of a trainer, if the program builds the trainer's arguments itself, and those of
    an engine whose config it makes itself.
    """
    own = {built_call.kind for built_call in program.built} | (
        {ENGINE} if any(reason.opens for reason in program.not_read if program.engines) else set()
    )
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
    own: set[str | None] = set()  # the files that it takes by arguments of its own
    program, line = launch.parser, launch.line
    if launch.is_main and program is not None and line is not None and program_kind(launch) and ENGINE not in program.changed:
        own = {file.path for file in line.files if file.kind == ENGINE and file.role.removeprefix("--") in program.fields}
    first = kinds.index(launch.consumer) if not launch.is_main and launch.consumer in kinds[1:] else 0
    for place in reversed(range(1, len(documents))):
        is_read = place == first or not framework(kinds[place]).argument_classes() or isinstance(documents[place], CallDocument)
        if not is_read or documents[place].path in own:
            launch.extra_files += (documents.pop(place).path,)
            kinds.pop(place)


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


def launcher_flags(line: LaunchLine, command: CommandDocument) -> tuple[Override, ...]:
    """The flags of a launcher as overrides of its config file, each with its place."""
    overrides: list[Override] = []
    for key, option, value in launcher_of(line).flags(line):
        word = option.value or option.word
        override = Override(key, [value if value is not None else word.string], FLAG)
        filled_in = Unknown(PLACEHOLDER) if option.value is not None and is_to_be_filled_in(word) else None
        override.unknown = unknown_value([word]) if not word.known else filled_in
        start, end = command.within(word.place)
        override.place = (command, Node(SCALAR, start, end, word.string))
        if command.text[start:end] == word.string and option.value is not None:
            command.around[tuple(key.split("."))] = override.place[1]
        command.flags.setdefault(key.rpartition(".")[2], option.word.string.partition("=")[0])
        overrides.append(override)
    if overrides and "config_file" not in line.options and "num_processes" not in line.options:
        override = Override("num_processes", [str(line.processes)], FLAG)
        override.unknown = Unknown(MACHINE) if line.processes is None else None
        overrides.append(override)
    return tuple(overrides)
