"""The launch lines in the scripts of projects, and the programs that these start with the folders that they import from; each script and
program is read once.
"""

from __future__ import annotations

import os
from functools import cache, partial
from itertools import chain

from cfglint.launch.command import WITHOUT_EFFECT, further_arguments, known_words
from cfglint.launch.launcher import devices_of, launcher_of
from cfglint.launch.line import LaunchLine
from cfglint.launch.machine import Machine
from cfglint.launch.program import ProgramFacts
from cfglint.launch.programs.context import Context, with_texts
from cfglint.launch.programs.objects import PROJECT
from cfglint.launch.reader import Reader, ScriptEvaluations
from cfglint.launch.training import listed_below
from cfglint.source.annotations import Callable, Container, Iterator, Mapping
from cfglint.source.change import EditRefused
from cfglint.source.file_source import FileSource
from cfglint.source.project_files import ROOT, Project
from cfglint.source.record import Record
from cfglint.source.shell.command import is_all_of_caller
from cfglint.source.shell.placed_text import Text

MOST = 24  # launches of one script that are checked; loops are unrolled up to this number
MOST_SCRIPTS = 64  # scripts whose launch lines are kept
MOST_PROGRAMS = 32  # programs whose facts are kept, with the objects that their evaluation has made
SETUP = ("setup.py", "pyproject.toml", "setup.cfg")
MOST_NAMES = 100  # of the names at the top of a project, which may be packages


class Scripts:
    """The launch lines of scripts that start on a `machine`, with variables of the `environment`. `named` are the files of the command
    line, which may lie outside of the project.
    """

    def __init__(
        self,
        source: FileSource,
        machine: Machine,
        environment: Mapping[str, str],
        named: Container[str] = (),
        evaluations: ScriptEvaluations | None = None,
    ) -> None:
        self.source, self.machine, self.environment, self.named = source, machine, environment, named
        self.evaluations = evaluations or ScriptEvaluations()
        if type(source) is FileSource and not source.texts:
            self.evaluations.names = cache(listed_below)
        self.unchecked: dict[str, str] = {}  # scripts and programs that are not checked in full, with the reason
        self.incomplete: set[str] = set()  # the scripts among them that have further launch lines
        self.outside: dict[str, None] = {}  # files that scripts or programs name outside of their project, which are not read
        self.mentions: dict[str, Callable[[str], bool]] = {}  # of pages of which only some blocks count: whether one does
        self.checked: dict[str, set[int]] = {}  # the launches of a script that are runs of the same command, by their positions
        self._lines: dict[tuple[str, str], list[LaunchLine]] = {}
        self._roots: dict[str, str] = {}
        self._programs: dict[tuple[str, str, tuple[str, ...], str], ProgramFacts | None] = {}
        self._called: dict[str, set[tuple[object, ...]]] = {}  # the launches of called scripts without their callers
        self._callers: dict[tuple[object, ...], tuple[str, int]] = {}  # script and position of the first call that starts a launch

    def project(self, path: str) -> Project:
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in self._roots:
            self._roots[folder] = self.source.root(path)  # relative like the paths of the files
        project = self.source.project(path, self._roots[folder], self.named)
        project.outside = self.outside
        return project

    def reader(self, path: str) -> Reader:
        return Reader(self.project(path), self.machine, dict(self.environment), self.evaluations)

    def lines(self, path: str, text: str) -> list[LaunchLine]:
        key = (path, text)
        if key not in self._lines:
            self._lines[key] = self.reader(path).lines(path, text, self.mentions.get(path))
            if len(self._lines) > MOST_SCRIPTS:
                del self._lines[next(iter(self._lines))]
        return self._lines[key]

    def to_check(self, path: str, text: str, only: int | None = None, *, again: bool = True) -> list[LaunchLine]:
        """The launch lines of a script that are checked, as many as the limit allows; `only` is the line of the requested one.

        Without `again`, launches in called scripts are left out if those scripts also start them without their caller.
        """
        lines = self.lines(path, text)
        wanted = lines
        if only is not None:  # those that include the line of the file, or that it starts by calling their script
            wanted = [line for line in lines if line.call.line == only and not line.is_sourced]
            wanted = wanted or [line for line in lines if line.call.called_from == (line.script_path, only)]
            wanted = wanted or [line for line in lines if line.call.line == only and line.call.called_from is None]
            spans = [(line, line.call.start, line.call.end) for line in lines if not line.is_sourced]
            count = partial(text.count, "\n", 0)
            wanted = wanted or [line for line, start, end in spans if count(start) < only <= count(end) + 1]
        if not again:
            wanted = [line for line in wanted if line.call.called_from is None or self.is_first(line, (path, lines.index(line)))]
        checked = wanted[:MOST]
        if path in self.evaluations.incomplete:
            self.unchecked[path] = "evaluation stopped at the limit of steps, later launches are not checked"
        elif len(wanted) > MOST:
            self.unchecked[path] = f"{MOST} of {len(wanted)} launches checked"
        if path in self.evaluations.incomplete or {line.call.start for line in wanted[MOST:]} - {line.call.start for line in checked}:
            self.incomplete.add(path)
        self.checked[path] = {index for index, line in enumerate(lines) if line in checked} if only is None else set()
        return checked

    def is_first(self, line: LaunchLine, caller: tuple[str, int]) -> bool:
        """Whether neither the called script itself nor another call of it starts this launch, or one that differs in nothing of effect."""
        path = line.call.path
        if path not in self._called:
            self._called[path] = {identity_of(other) for other in self.lines(path, self.source.content(path) or "")}
        identity = identity_of(line)
        return identity not in self._called[path] and self._callers.setdefault(identity, caller) == caller

    # -- programs

    def program_of(self, line: LaunchLine) -> Found | None:
        """The program of a line, if it is a Python file of the project."""
        project = self.project(line.call.path)
        name = line.program.value if line.program is not None else None
        if not name:
            return None
        folder = project.real(os.path.normpath(line.folder)) if line.folder is not None else None
        path, package = line.program_path, ""
        # A dotted name, or that of an installed command, tells which program it is, wherever the line starts.
        if line.module and (folder is not None or "." in name or line.entry):
            folders = [*([folder] if folder is not None else ()), project.root, os.path.join(project.root, "src")]
            elsewhere = checkouts(line, name.partition(".")[0], project) if "." in name else ()
            inside, above = name.replace(".", "/"), name.rpartition(".")[0]
            first = "__init__" if line.entry else "__main__"  # an installed command calls a function, which a package itself may have
            ends = ((f"{inside}.py", above), (f"{inside}/{first}.py", name))
            files = ((os.path.normpath(os.path.join(top, end)), of) for top in chain(folders, elsewhere) for end, of in ends)
            path, package = next((file for file in files if project.is_file(file[0])), (None, ""))
        if path is None or not path.endswith(".py"):
            return None
        start = folder if line.module else os.path.dirname(path)
        folders = [each for each in (start, folder, *roots(project, path)) if each is not None]
        return Found(path, package, list(dict.fromkeys(folders)), project.read, line.entry)

    def program_at(self, path: str) -> Found:
        """A program that is started from the top of its project."""
        project = self.project(path)
        folders = [os.path.dirname(path) or ".", *roots(project, path)]
        return Found(path, "", list(dict.fromkeys(folders)), project.read)

    def facts(self, program: Found) -> ProgramFacts | None:
        key = program.path, program.package, tuple(program.folders), program.entry
        if key not in self._programs:
            self._programs[key] = read_found(program, {})
            if len(self._programs) > MOST_PROGRAMS:
                del self._programs[next(iter(self._programs))]
        return self._programs[key]

    def note_further(self, program: ProgramFacts) -> None:
        if program.further:
            count = len(program.built)
            self.unchecked[program.path] = f"{count} of {count + program.further} calls that build arguments checked"

    def note_too_large(self, program: Found) -> None:
        from cfglint.launch.programs.modules import MOST_MODULES, Modules
        from cfglint.launch.programs.scopes import MOST_SCOPES

        module = Modules([], program.read).module_of(program.path)
        if module is not None and module.tree.body:
            limits = f"more than {MOST_SCOPES} functions or {MOST_MODULES} modules of the project"
            self.unchecked[program.path] = f"not read, because its code uses {limits}"

    def not_clear(self, path: str) -> list[str]:
        """The launches of a script that may start a training or not."""
        lines = ((line, line.program.string) for line in self.evaluations.others.get(path, []) if line.program is not None)
        return [f"`{line.launcher} ... {program.removeprefix(f'{ROOT}/')}` (line {line.call.line})" for line, program in lines]

    def context(self, line: LaunchLine) -> Context:
        """The circumstances under which a line starts its program."""
        project = self.project(line.call.path)
        folder = project.real(os.path.normpath(line.folder)) if line.folder is not None else None
        known = [part for word in known_words(line.arguments) for part in parts_of(word)]
        further = further_arguments([word for word in line.arguments if not is_all_of_caller(word)])  # in a call without arguments
        top = f"{PROJECT}{project.root}".removesuffix("/.").rstrip("/")
        words = tuple(value.replace(ROOT, top) if value is not None else None for value, _ in known)
        spelled = tuple(string for _, string in known)
        given = {name: text.value for name, text in line.call.environment.items()}
        variables = {name: value.replace(ROOT, top) for name, value in given.items() if value is not None}
        variables |= launcher_of(line).variables(line)
        environment, folders = {**self.environment, **variables}, (folder,) if folder is not None else ()
        local_gpus = line.processes if line.nodes in (None, 1) else line.gpus_per_node
        context = Context(words, bool(further), environment, line.processes, project.read, folders, spelled=spelled, exists=project.exists)
        return context.changed(local_gpus=local_gpus, devices=devices_of(line, self.machine))

    def context_without_line(self, path: str) -> Context:
        """The circumstances of a program that no line starts: no arguments, started from the top of its project or its own folder."""
        project = self.project(path)
        folders = tuple(dict.fromkeys((project.root, os.path.dirname(path) or ".")))
        gpus, each = self.machine.gpus, self.machine.gpus_per_node
        context = Context((), False, dict(self.environment), gpus, project.read, folders, exists=project.exists)
        return context.changed(local_gpus=each, devices=each)


def read_found(program: Found, texts: Mapping[str, str]) -> ProgramFacts | None:
    from cfglint.launch.programs.reading import read_program

    read = with_texts(program.read, texts) if texts else program.read
    return read_program(program.path, program.package, program.folders, read, program.entry)


def parts_of(word: Text) -> list[tuple[str | None, str]]:
    """A word of a line with its value: an option with an unknown value behind `=` is two words, of which only the second is unknown."""
    name, mark, rest = word.string.partition("=")
    if word.value is None and mark and name.startswith("--") and name[2:].replace("-", "_").isidentifier():
        return [(name, name), (None, rest)]
    return [(word.value, word.string)]


def identity_of(line: LaunchLine) -> tuple[object, ...]:
    """What two launches that are the same have in common: command, folder and environment, but for `"$@"` and arguments without effect."""
    call = line.call
    environment = sorted((name, text.string) for name, text in call.environment.items())
    names = [argument for argument in line.given or () if argument.name in WITHOUT_EFFECT]
    left = {id(word) for argument in names for word in (argument.word, *argument.texts)}
    words = [(word.string, word.known) for word in call.words if id(word) not in left and not is_all_of_caller(word)]
    return call.path, call.line, call.folder, line.processes, *environment, *words


def same_line(line: LaunchLine, lines: list[LaunchLine], now: list[LaunchLine]) -> LaunchLine:
    """A line, one of `lines`, in another version of its script; raises EditRefused if that starts something else."""
    if len(now) != len(lines):
        raise EditRefused("the edited script would start something else", line.call.start)
    return now[lines.index(line)]


def refuse_sourced(line: LaunchLine) -> None:
    if line.is_sourced:
        place = f"{line.call.path}:{line.call.line}"
        if line.call.called_from is not None:
            remedy = f"`cfglint fix {line.call.path}` changes it for all that call it"
            raise EditRefused(f"the launch is in a called script ({place}); {remedy}", line.call.start)
        raise EditRefused(
            f"the launch is in a sourced file ({place}), whose other users are not known; change it there by hand", line.call.start
        )


class Found(Record):
    """The file of a program, its package if it is run as a module, and the search path of its imports.

    `entry` is the function that a command of the project calls; the module is then imported, and not run itself.
    """

    path: str
    package: str
    folders: list[str]
    read: Callable[[str], str | None]
    entry: str = ""


def roots(project: Project, program: str) -> list[str]:
    """The folders that a program of a project imports from: the packages that it is a part of, the top, and the other packages there."""
    inside = os.path.relpath(os.path.dirname(program) or os.curdir, project.root or os.curdir).split(os.sep)
    depths = range(len(inside), 0, -1) if inside[0] not in (os.curdir, os.pardir) else ()
    around = [os.path.join(project.root, *inside[:depth]) for depth in depths]
    names = [name for name in project.names(project.root) if "." not in name]
    others = [os.path.join(project.root, name) for name in names[:MOST_NAMES]]
    packages = [
        [each for each in folders if any(project.is_file(os.path.join(each, name)) for name in SETUP)] for folders in (around, others)
    ]
    return [folder for each in (*packages[0], project.root, *packages[1]) for folder in (each, os.path.join(each, "src"))]


def checkouts(line: LaunchLine, package: str, project: Project) -> Iterator[str]:
    """The folders above a script, and those in them that are named like a package, also with a version (`verl-0.4.x`): a checkout of it,
    which is installed from there.
    """
    inside = os.path.relpath(os.path.dirname(line.script_path) or os.curdir, project.root or os.curdir)
    parts = [] if inside.split(os.sep, 1)[0] in (os.curdir, os.pardir) else inside.split(os.sep)
    for count in range(len(parts), -1, -1):
        folder = os.path.join(project.root, *parts[:count])
        yield folder
        names = [name for name in project.names(folder) if name.lower().replace("_", "-").startswith(f"{package}-")]
        yield from (os.path.join(folder, each) for each in (package, *sorted(names)))
