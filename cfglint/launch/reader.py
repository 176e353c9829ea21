"""Finds the launch lines in scripts, Makefiles, Markdown files and notebooks."""

from __future__ import annotations

import os
from itertools import islice, pairwise

from cfglint.evaluate import Reason
from cfglint.launch import findings
from cfglint.launch.command import SURE, TRAINER_NAMES, behind_dashes, read_arguments
from cfglint.launch.console_scripts import ConsoleScript, console_scripts
from cfglint.launch.launcher import Launcher, is_command, launcher_of, launchers, launchers_by, marks
from cfglint.launch.line import MACHINE, RANKS_OF_SRUN, LaunchLine, NamedFile
from cfglint.launch.machine import VISIBLE, Machine, Surroundings
from cfglint.launch.markdown import BEFORE_A_WORD, as_words, unfilled
from cfglint.launch.slurm import SUBMITTED_FROM, Header, devices_of_step, header, submitted
from cfglint.launch.training import is_not_clear, may_launch, trains
from cfglint.source import files
from cfglint.source.annotations import Any, Callable, Iterable, Sequence
from cfglint.source.budget import Budget
from cfglint.source.files import NOTEBOOK
from cfglint.source.project_files import ROOT, Project
from cfglint.source.shell import MARKDOWN
from cfglint.source.shell.command import ELLIPSES
from cfglint.source.shell.execution import HERE, Suspended, UndecidedFolder
from cfglint.source.shell.interpreter import ShellInterpreter
from cfglint.source.shell.placed_text import Text, TextPart, literal, unknown
from cfglint.source.shell.script import Script
from cfglint.source.shell.started_command import StartedCall
from cfglint.source.shell.tables import listed
from cfglint.source.shell.wrappers import PYTHON, SCRIPTS, command_name, is_python, unwrapped

MPI = ("mpirun", "mpiexec")
PROGRAM = ".py"
MAKEFILES = ("makefile", "gnumakefile")
TASKS = (".yaml", ".yml")  # which SkyPilot runs
LEAST = 3  # characters of the name of a launcher that is looked for anywhere in a script
SOURCING = ("source ", "\n. ", "sbatch ")  # another file may contain the launch
LONGEST = 1_000_000
WORTH_A_LOOK = 1_000  # steps after which the words of a script and of the files that it can reach are looked at
MOST_EVALUATIONS = 32  # scripts, or blocks of a Markdown file, whose effects are kept
SOUGHT = (".py", ".yaml", ".yml", ".json", ".sh")
CONFIG_OPTIONS = listed("config config_file deepspeed_config ds_config deepspeed fsdp_config accelerator_config cfg config_path")
DATA = listed(
    "data dataset train_file valid test_file meta_path annotation eval_ image prompt vocab tokenizer output save "
    "log result corpus input cache feature index doc quer"
)
NAME = "--args"  # the name in reports in place of a script


class NothingToFind(Exception):
    """Raised in a long evaluation if the script cannot start a training."""


class ScriptEvaluations:
    """The last evaluated scripts, by path and content, so that a script with many launches is not evaluated again for each of them.

    `incomplete` are the paths of scripts that could not be evaluated to their end.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, int, str], tuple[ShellInterpreter, bool]] = {}
        self.launching: dict[str, bool] = {}  # whether a script with many steps may start a training, by content
        self.names: Callable[[str], dict[str, list[str]] | None] = lambda root: None  # the paths of each file name in a project
        self.incomplete: dict[str, None] = {}
        self.others: dict[str, list[LaunchLine]] = {}  # the lines of a script that may start a training or not, by its path
        self._console_scripts: dict[str, dict[str, ConsoleScript]] = {}  # by the top of a project

    def console_scripts(self, project: Project) -> dict[str, ConsoleScript]:
        if project.root not in self._console_scripts:
            self._console_scripts[project.root] = console_scripts(project)
        return self._console_scripts[project.root]


class Reader:
    """Finds the launch lines in the files of a project. `environment` supplies variables, `machine` sizes that are specified nowhere."""

    def __init__(
        self,
        project: Project,
        machine: Machine | None = None,
        environment: dict[str, str] | None = None,
        evaluations: ScriptEvaluations | None = None,
    ) -> None:
        self.project = project
        self.machine = machine or Machine()
        self.environment = environment or {}
        self.evaluations = evaluations if evaluations is not None else ScriptEvaluations()
        self.console_scripts = self.evaluations.console_scripts(project)
        self.marks = (*marks(LEAST), *SCRIPTS, *self.console_scripts)
        self.budget = Budget()

    def lines(self, path: str, text: str, counts: Callable[[str], bool] | None = None) -> list[LaunchLine]:
        """The launch lines of a file; `path` is relative to the working directory, `counts` tells which blocks of a page do."""
        if path != files.TYPED and not any(mark in text for mark in (*self.marks, *SOURCING)):
            return []
        name = os.path.basename(path).lower()
        if name.endswith(NOTEBOOK):
            from cfglint.launch.cells import scripts

            wanted = (cell_script for cell_script in scripts(path, text) if self.is_of_interest(cell_script.text))
            return [line for cell_script in wanted for line in self.of_script(path, cell_script, cell_script.text)]
        if name.endswith(PROGRAM):
            from cfglint.launch.programs.started_commands import scripts as commands

            started = (each for each in commands(path, text, self.project.read, self.project.exists) if self.is_of_interest(each.text))
            return [line for each in started for line in self.of_script(path, each, each.text)]
        if len(text) > LONGEST:
            self.evaluations.incomplete[path] = None
            return []
        if name.endswith(MARKDOWN):
            from cfglint.launch.markdown import blocks

            shell = (block for block in blocks(text) if self.is_of_interest(block.text) and (counts is None or counts(block.text)))
            return [line for block in shell for line in self.of_script(path, block.script(path), block.text)]
        if name in MAKEFILES or name.endswith(".mk"):
            from cfglint.launch.makefile import recipes

            return [line for recipe in recipes(text) for line in self.of_script(path, recipe.script(path), text)]
        if name.endswith(TASKS):
            from cfglint.launch.skypilot import script

            return self.of_script(path, script(path, text), text)
        return self.of_script(path, Script(path, text, parsed=as_words(text, BEFORE_A_WORD)), text)

    def is_of_interest(self, text: str) -> bool:
        return any(mark in text for mark in self.marks)

    def of_script(self, path: str, script: Script, text: str) -> list[LaunchLine]:
        """The launch lines of one script, started from the folder that contains most of the files that it names."""
        inside = os.path.relpath(os.path.abspath(path), os.path.abspath(self.project.root)).replace(os.sep, "/")
        name = f"{ROOT}/{inside}"
        key = (path, script.offset, script.text)
        evaluated = self.evaluations.known
        if key not in evaluated:
            try:
                evaluated[key] = self.from_best_folder(script, folders_down_to(inside), name, text)
            except NothingToFind:
                return []
            if len(evaluated) > MOST_EVALUATIONS:
                del evaluated[next(iter(evaluated))]
        followed, known = self.evaluations.known[key]
        if not followed.is_complete:
            self.evaluations.incomplete[path] = None
        started = {turn_of(call): call for call in followed.calls}  # equal turns of a loop start one run
        lines = [line for line in (self.line(call, known) for call in started.values()) if line is not None]
        launch_lines = [line for line in lines if line.trains]
        self.evaluations.others[path] = [line for line in lines if is_not_clear(line)]
        if launch_lines:
            head = job_of(path, text)
            written = frozenset(path.rpartition("/")[2] for path in followed.written)
            for line in launch_lines:
                line.script_path, line.sourced, line.header = path, followed.sourced_files, line.call.job or head
                line.written = written
                findings.header_sizes(line, line.header)
                findings.missing_files(line, followed.calls, followed.written)
                if not line.is_on_page:
                    unfilled(line, text)
        return launch_lines

    def from_best_folder(self, script: Script, folders: list[str], name: str, text: str) -> tuple[ShellInterpreter, bool]:
        """(the interpreted script, started from one of the folders, whether any file that it names exists there)."""
        runs = self.runs_from(script, folders, name, text)
        looked_for = {run: reference_counts(run.calls) for run in {*runs.values()}}
        scores = [self.score(looked_for[runs[folder]], folder) + 2 * runs[folder].sources for folder in folders]
        starts = (HERE, folders[0])
        apart = self.folder_apart(name for start, name in looked_for[runs[folders[0]]] if start in starts) if max(scores) == 0 else None
        if apart is not None:
            return self.follow(script, apart, name, text), False
        if len(folders) == 1:
            return runs[folders[0]], True
        alike = {each: looked_for[runs[each]] for each, score in zip(folders, scores, strict=True) if score == max(scores)}
        # The one nearest to the script that has all programs of the first one, else that.
        first, *others = alike
        programs = self.programs(alike[first], first) if others else set()
        best = next((other for other in reversed(others) if programs and self.programs(alike[other], other) >= programs), first)
        for call in runs[best].calls:  # in the place of an undecided start folder
            if call.folder is not None and call.folder.startswith(HERE):
                call.folder = os.path.normpath(best + call.folder[len(HERE) :])
            call.words = [with_start_folder(word, best) for word in call.words]
            call.environment = {key: with_start_folder(value, best) for key, value in call.environment.items()}
            call.configs = {
                os.path.normpath(path.replace(HERE, best, 1)): with_start_folder(value, best) for path, value in call.configs.items()
            }
        return runs[best], max(scores) > 0

    def folder_apart(self, names: Iterable[str]) -> str | None:
        """The only folder of the project that has a program which is named with a folder of its own."""
        sought = dict.fromkeys(name for name in names if name.endswith(".py") and "/" in name)
        with_program = [folder for name in sought for folder in islice(self.project.with_file(name), 2)]
        inside = {os.path.relpath(folder, self.project.root or os.curdir).replace(os.sep, "/") for folder in with_program}
        return os.path.normpath(f"{ROOT}/{inside.pop()}") if len(inside) == 1 else None

    def runs_from(self, script: Script, folders: list[str], name: str, text: str) -> dict[str, ShellInterpreter]:
        """The interpreted script for each start folder; one run serves all folders with the same effect."""
        if len(folders) == 1:
            return {folders[0]: self.follow(script, folders[0], name, text)}
        try:
            return dict.fromkeys(folders, self.follow(script, HERE, name, text, folders))
        except UndecidedFolder as unsettled:
            parts = [self.runs_from(script, group, name, text) for group in unsettled.groups]
        return {folder: run for part in parts for folder, run in part.items()}

    def follow(self, script: Script, folder: str, name: str, text: str, folders: Sequence[str] = ()) -> ShellInterpreter:
        """Interpret a script from a start folder; from `HERE` if it is one of the undecided `folders`.

        Raises NothingToFind, after some steps, for a script that cannot start a training.
        """
        left, spent = self.budget.left, self.budget.spent
        head = job_of(script.path, text)
        job = {**head.environment(), SUBMITTED_FROM: literal(folder)} if head else {}
        variables = {**job, **{key: literal(value) for key, value in self.environment.items()}}
        limit: int | None = WORTH_A_LOOK
        while True:
            interpreter = ShellInterpreter(folder, name, self.project.text, self.project.exists, self.budget)
            interpreter.project, interpreter.folders, interpreter.limit = self.project, folders, limit
            interpreter.submits = submitted
            interpreter.state.variables.update(variables)
            interpreter.state.exported.update(variables)
            interpreter.state.knows_environment = self.machine.here and "BASH_ENV" not in variables
            try:
                interpreter.follow(script)
                return interpreter
            except Suspended:
                if not self.may_launch(script.text):
                    raise NothingToFind from None
            self.budget.left, self.budget.spent, limit = left, spent, None

    def may_launch(self, text: str) -> bool:
        """Whether a script may start a training, by its words and those of the files of the project that it may source or call."""
        known = self.evaluations.launching
        if any(name in text for name in self.console_scripts):
            return True
        if text not in known:
            names = self.evaluations.names(self.project.root)
            known[text] = names is None or may_launch("\n".join([text, *self.environment.values()]), names, self.project.source)
        return known[text]

    def score(self, names: dict[tuple[str, str], int], folder: str) -> int:
        return sum(count * (3 if name.endswith(".py") else 2) for (start, name), count in names.items() if self.has(folder, start, name))

    def programs(self, names: dict[tuple[str, str], int], folder: str) -> set[str]:
        return {name for start, name in names if start.startswith(HERE) and name.endswith(".py") and self.has(folder, start, name)}

    def has(self, folder: str, start: str, name: str) -> bool:
        """Whether a file exists that a command names in a working folder, which may be below the undecided `folder`."""
        here = folder + start[len(HERE) :] if start.startswith(HERE) else start
        return bool(self.project.exists(os.path.normpath(f"{here}/{name}")))

    def line(self, call: StartedCall, known: bool) -> LaunchLine | None:
        wrappers, environment, words = unwrapped(call.words)
        if not words:
            return None
        before = command_name(wrappers[0]) if wrappers else ""
        call.environment = {**call.environment, **(devices_of_step(wrappers) if before == "srun" else {}), **environment}
        devices = call.environment.get(VISIBLE)
        if devices is not None and any(each.strip() in ELLIPSES for each in (devices.value or "").split(",")):
            call.environment = {**call.environment, VISIBLE: unknown(Reason("environment", f"the placeholder `{VISIBLE}={devices.value}`"))}
        words = self.of_checkout(call, words)
        assumed = self.assumed_folder(call, words)
        if assumed is not None:
            call.folder, known = assumed, False
        line = self.launched(call, words)
        if line is None:
            return None
        line.srun = wrappers if before == "srun" else line.srun
        line.mpi = wrappers if before in MPI else []
        line.folder = call.folder
        if any(line.program is blank for blank in call.blanks):
            line.program = None
        launcher = launcher_of(line)
        if launcher.is_one_process and line.srun and line.processes == 1:
            line.processes = None
            line.unsure("processes", RANKS_OF_SRUN)
        if launcher.is_one_process and line.mpi:
            from cfglint.launch.mpi import take_processes

            take_processes(line)
        arguments, alone = read_arguments(line.arguments)
        if not launcher.kind or launcher.refused_words:  # else its parser says what it refuses
            for argument in arguments if line.call.blanks else ():  # they are no words of options that have others
                argument.texts[1:] = [word for word in argument.texts[1:] if not findings.is_stray(word, line)]
        line.given = arguments
        self.name_files(line, arguments, alone)
        line.program_path, module = self.program_files(line)
        if any(word.value in ("--help", "-h") for word in line.arguments):
            return None
        options = {argument.name for argument in (*arguments, *read_arguments(behind_dashes(line.arguments)[1:])[0])}
        line.trains = launcher.always_trains or trains(line, options, self.project.read, module) or self.was_to_train(call, words)
        if not line.trains:
            return line
        for file in line.files:
            self.locate(file, line, known)
        if line.deepspeed_word is not None:
            line.deepspeed_word.known = known and line.folder is not None
        findings.lost_arguments(line)
        findings.syntax_fault(line)
        findings.joined_words(line, arguments)
        findings.behind_program(line, arguments)
        findings.unknown_options(line)
        findings.visible_devices(line)
        findings.unusable_counts(line)
        launcher.check(line)
        findings.named_with_block(line, arguments)
        trainer = sum(argument.name in TRAINER_NAMES for argument in arguments) >= SURE
        findings.missing_values(line, arguments, trainer)
        return line

    def of_checkout(self, call: StartedCall, words: list[Text]) -> list[Text]:
        """Words in which the files that a command names in the checkout of another machine are those of this one.

        It has the program below at least one folder that this one has as well, or is named like this one, or the command is started in it.
        """
        here = os.path.basename(os.path.abspath(self.project.root))
        for name in named_files(words):
            parts = name.split("/")
            if not name.startswith("/") or not name.endswith(".py"):
                continue
            tops = ["/".join(parts[:count]) for count in range(2, len(parts))]
            tops = [top for top in tops if self.project.exists(f"{ROOT}{name[len(top) :]}")]
            top = next((top for top in tops if top.count("/") < len(parts) - 2 or top == call.folder or top.endswith(f"/{here}")), None)
            if top is not None:  # whose place in words that name a file of the project there gets this top
                below = {word: (word.value or "")[len(top) :] for word in words if (word.value or "").startswith(f"{top}/")}
                known = [word for word, rest in below.items() if self.project.exists(f"{ROOT}{rest}")]
                return [Text((TextPart(ROOT), *word[len(top) :].parts)) if word in known else word for word in words]
        return words

    def assumed_folder(self, call: StartedCall, words: list[Text]) -> str | None:
        """The only folder of the project that has most of the program and configs of a command which is started in an unknown folder, or in
        one of another machine (`cd /data/project`); None for a command in a known folder.
        """
        folder = call.folder or ""
        if folder.startswith(ROOT):
            return None
        sought = [name for name in named_files(words) if not name.startswith(("/", "~", "-", "%"))]
        if not sought:
            return None
        script = os.path.relpath(os.path.abspath(call.path), os.path.abspath(self.project.root)).replace(os.sep, "/")
        parts = [each for each in folder.split("/") if each]
        below = [f"{ROOT}/{'/'.join(parts[start:])}" for start in range(len(parts))]
        folders = dict.fromkeys((*folders_down_to(script), *below))
        scores = {each: self.score({(each, name): 1 for name in sought}, each) for each in folders}
        best = [each for each, score in scores.items() if score and score == max(scores.values())]
        alike = [each for each in best if each in below] or best  # has the names of the last folders
        return alike[0] if len(alike) == 1 else self.folder_apart(sought) if not best else None

    def was_to_train(self, call: StartedCall, words: list[Text]) -> bool:
        """Whether a command would start a training if a broken line continuation did not cut off a part of it."""
        if not call.lost:
            return False
        texts = [word for word in (*words, *(text for lost, _ in call.lost for text in lost)) if word.string.strip()]
        line = self.launched(call, texts)
        return line is not None and trains(line, {argument.name for argument in read_arguments(line.arguments)[0]}, self.project.read)

    def launched(self, call: StartedCall, words: list[Text]) -> LaunchLine | None:
        name, rest = command_name(words[0]), words[1:]
        if words[0].options and all(is_python(command_name(literal(option))) for option in words[0].options):
            name = PYTHON  # whichever of several
        if is_python(name) or (name.endswith(".py") and (rest or "/" in words[0].string)):  # without both it is the name of a file
            return self.python(call, rest if is_python(name) else words)
        launcher = launchers_by("commands").get(name)
        if launcher is None:
            script = self.console_scripts.get(name)  # a command that the project installs, which runs its module
            line = self.python(call, [literal("-m"), literal(script.module), *rest]) if script is not None else None
            if line is not None and script is not None:
                line.entry = script.function
            return line
        following = launcher.commands[name]
        if following and (not rest or rest[0].value != following):
            return None
        return self.read(launcher, call, rest[1:] if following else rest)

    def read(self, launcher: Launcher, call: StartedCall, words: list[Text], name: str = "") -> LaunchLine | None:
        line = LaunchLine(call, name or launcher.name)
        return self.of_installed(line) if launcher.read(line, words, self.around(call)) else None

    def of_installed(self, line: LaunchLine) -> LaunchLine:
        """The line of a command that is started by the place where it is installed, as by `torchrun "$(which swift)" sft`."""
        program = line.program
        inner = None if program is None or program.known or line.module else launchers_by("commands").get(command_name(program))
        is_interpreter = launcher_of(line).is_one_process
        if program is None or inner is None or not (is_interpreter or inner.runs_in_ranks):
            return line
        command = self.launched(line.call, [program, *line.arguments])
        if command is None or is_interpreter:
            return command or line
        line.inner, line.launcher, line.module = line.launcher, command.launcher, command.module
        line.program, line.arguments, line.files = command.program, command.arguments, command.files
        return line

    def program_files(self, line: LaunchLine) -> tuple[str | None, str | None]:
        """(the file of a program, that of one which is named as a module): at most one of them."""
        name, around = line.program.value if line.program is not None else None, self.around(line.call)
        if not name:
            return None, None
        return (None, around.path_of(f"{name.replace('.', '/')}{PROGRAM}")) if line.module else (around.path_of(name), None)

    def around(self, call: StartedCall) -> Surroundings:
        return Surroundings(self.project, self.machine, call.folder, call.configs)

    def python(self, call: StartedCall, words: list[Text]) -> LaunchLine | None:
        """Parse `python ...`: a launcher as a module or program, or any other program."""
        line = self.read(launchers()[PYTHON], call, words)
        if line is None:
            return None
        program = line.program.string if line.program is not None else ""
        launcher = launchers_by("modules").get(program) if line.module else launchers_by("scripts").get(program.rpartition("/")[2])
        if launcher is not None:
            module = line.module or launcher.name in launcher.scripts
            return self.read(launcher, call, line.arguments, "" if module else PYTHON)
        # A launcher after a `--` among the arguments of a program that submits jobs.
        words = line.arguments
        at = next((index for index, word in enumerate(words) if word.value == "--"), len(words))
        behind = (index for index in range(at + 1, min(len(words), at + 40)) if is_command(command_name(words[index])))
        start = next(behind, None)
        if start is None:
            return line
        line = self.launched(call, words[start:])
        if line is not None:
            line.is_submitted = True
        return line

    def locate(self, file: NamedFile, line: LaunchLine, known: bool) -> None:
        written = file.word.value
        if written is None:
            line.unsure("files", *file.word.reasons)
            return
        around = self.around(line.call)
        path = around.path_of(written)
        module, colon, _ = written.partition(".py:")
        if colon:  # a word for the function that makes the config (ml_collections/config_flags/config_flags.py)
            path = around.path_of(f"{module}.py")
        file.outside = path is None and around.is_outside(written)
        file.path = files.spelled_like(line.call.path, path) if path is not None else None
        content = around.written(written)
        if content is not None and (path is None or self.project.read(path) != content.value):
            file.path, file.former, file.is_written = None, file.path, True  # what is there now is not what the line reads
            place = content.place
            if place is not None and place[0].endswith(files.CONFIG_ENDS):  # a copy
                file.path = place[0]
            elif content.known:
                file.content = content
        file.known = known and line.folder is not None and not written.startswith(("/", "~"))
        if line.is_on_page and file.role not in findings.REQUIRED:  # the config of an example is often one that the reader writes
            file.known = file.known and around.has_folder_of(written)

    def name_files(self, line: LaunchLine, arguments: list[Any], before: list[Text]) -> None:
        taken = {file.word.string for file in line.files}
        if launcher_of(line).lists_files:
            return
        for word in before:
            if word.string.endswith(files.CONFIG_ENDS) and word.string not in taken:
                line.files.append(NamedFile(word, "positional", ""))
        for argument in arguments:
            name = argument.name
            for index, word in enumerate(argument.texts):
                text = word.string
                ends = text.endswith(files.CONFIG_ENDS)
                if index:
                    if ends and not any(mark in name for mark in DATA):
                        line.files.append(NamedFile(word, f"--{name}[]", ""))
                    continue
                if not ends and name not in CONFIG_OPTIONS:
                    continue
                if name != "deepspeed" and any(mark in name for mark in DATA):
                    continue
                if name == "deepspeed" and not ends and self.around(line.call).path_of(text) is None:
                    line.deepspeed_word = NamedFile(word, "--deepspeed", "deepspeed")
                    continue
                line.files.append(
                    NamedFile(word, f"--{name}", "deepspeed" if name in ("deepspeed", "deepspeed_config", "ds_config") else "")
                )


def job_of(path: str, text: str) -> Header:
    if path.lower().endswith(TASKS):
        from cfglint.launch import skypilot

        return skypilot.header(path, text)
    return header(Script(path, text))


def with_start_folder(text: Text, folder: str) -> Text:
    """A string with the chosen folder in the place of an undecided start folder."""
    if HERE not in text.string:
        return text
    return Text([TextPart(part.text.replace(HERE, folder)) if part.text is not None and HERE in part.text else part for part in text.parts])


def reference_counts(calls: list[StartedCall]) -> dict[tuple[str, str], int]:
    """How many commands, of those that may start a program, refer to each (working folder, file)."""
    found: dict[tuple[str, str], int] = {}
    for call in calls:
        _, _, inner = unwrapped(call.words)
        if call.folder is None or not inner or not is_command(command_name(inner[0])):
            continue
        for name in named(inner[1:], SOUGHT):
            if not name.startswith(("/", "~", "%")):
                found[call.folder, name] = found.get((call.folder, name), 0) + 1
    return found


def named(words: list[Text], ends: tuple[str, ...]) -> set[str]:
    """The files with these endings that the words of a command name."""
    program = next((index for index, word in enumerate(words) if not word.string.startswith("-")), len(words))
    launcher = launchers_by("scripts").get(command_name(words[program])) if program < len(words) else None
    if launcher is not None and launcher.lists_files:
        return {word.string for word in (words[program], *launcher.naming_words(words[program + 1 :])) if word.string.endswith(ends)}
    strings = [string for word in words if (string := word.string).endswith(ends)]
    return {*modules([word.string for word in words]), *(each.rpartition("=")[2] if each.startswith("-") else each for each in strings)}


def turn_of(call: StartedCall) -> tuple[object, ...]:
    """What two turns of a loop that start the same have in common."""
    environment = [(name, text.string) for name, text in call.environment.items()]
    return call.path, call.start, call.called_from, call.folder, *environment, *((word.string, word.known) for word in call.words)


def named_files(words: list[Text]) -> list[str]:
    strings = [word.value.rpartition("=")[2] if word.value.startswith("-") else word.value for word in words if word.value]
    return [*(string for string in strings if string.endswith((".py", *files.CONFIG_ENDS))), *modules(strings)]


def modules(strings: list[str]) -> list[str]:
    """The files of the modules that the words of a command name."""
    return [f"{module.replace('.', '/')}.py" for flag, module in pairwise(strings) if flag == "-m"]


def folders_down_to(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    if ".." in parts:
        return [ROOT]
    return [ROOT + "".join(f"/{part}" for part in parts[:count]) for count in range(len(parts) + 1)]


def line_by_hand(reader: Reader, text: str) -> LaunchLine | None:
    """The launch line with the given arguments, started from the working directory; None if the string is not one list of words."""
    here = os.path.normpath(f"{ROOT}/{os.path.relpath(os.getcwd(), os.path.abspath(reader.project.root))}")
    calls = reader.follow(Script(NAME, text), here, f"{here}/{NAME}", text).calls
    if len(calls) != 1:
        return None
    [call] = calls
    line = LaunchLine(call, NAME)
    line.folder = here
    words = call.words
    first = words[0].value or ""
    if first.endswith(".py"):
        line.program, words = words[0], words[1:]
        line.program_path = reader.around(call).path_of(first)
    line.arguments = words
    line.processes, line.machine = reader.machine.gpus, True
    if line.processes is None:
        line.unsure("processes", MACHINE)
    reader.name_files(line, *read_arguments(words))
    for file in line.files:
        reader.locate(file, line, known=True)
    return line
