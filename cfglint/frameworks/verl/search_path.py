"""The folders in which Hydra finds the config files of a launch: those of the project, and those of the release of verl."""

from __future__ import annotations

import ast
import os
import posixpath

from cfglint.findings.releases import Releases
from cfglint.frameworks.releases._modelled import RELEASES
from cfglint.frameworks.releases.versions import Version, parse_version
from cfglint.frameworks.verl.files import ReleaseFiles
from cfglint.launch import Launch
from cfglint.launch.programs.scopes import dotted, keyword, literal
from cfglint.source.annotations import Any, Sequence
from cfglint.source.document import Document
from cfglint.source.hydra import command_line
from cfglint.source.hydra.defaults_list import CompositionError, DefaultsList
from cfglint.source.hydra.folders import FILE, PACKAGE, ConfigFolder, SearchPath, further_folders
from cfglint.source.project_files import ROOT
from cfglint.source.record import Record
from cfglint.source.shell.placed_text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfglint.source.hydra.defaults_list import Repository

PPO = "verl.trainer.main_ppo"
PRIMARIES = {  # the modules that are modelled -> their primary config
    PPO: "ppo_trainer",
    "verl.trainer.fsdp_sft_trainer": "sft_trainer",
    "verl.trainer.sft_trainer": "sft_trainer_engine",
}
RELEASES_OF_PROGRAMS = {"verl.trainer.fsdp_sft_trainer": Releases((), (0, 7, 1)), "verl.trainer.sft_trainer": Releases((0, 6))}
CONFIG = "config"  # `config_path` of verl's programs, from their own folder
OWN_CONFIG = "verl/trainer/config"


class UnknownFolder(Exception):
    """A folder of config files that is not known, or not in the project."""


class Location(Record):
    """Where the config of a launch is composed from: the primary config's name, the folders, and those of them that are the project's.

    `is_own`: all folders are of the project.
    """

    name: str
    repository: Repository
    folders: list[ConfigFolder]
    is_own: bool


def located(
    launch: Launch, release: Version, name: str, options: Sequence[tuple[str, str | None]], searched: Sequence[Any] | None = None
) -> Location:
    """The location of a launch with these options of Hydra, (flag, value or None if unknown); raises UnknownFolder.

    `searched` are the entries of `hydra.searchpath` if the line sets it; they replace those of the primary config.

    Source: hydra-core 1.3.8 _internal/utils.py (compute_search_path_dir, _run_hydra), _internal/config_loader_impl.py.
    """
    finder = Finder(launch, release)
    (path, name), more = of_copy(launch, name), list[str]()
    for flag, value in options:
        if value is None:
            raise UnknownFolder(flag)
        if flag in command_line.NAMES:
            name = value
        elif flag in command_line.FOLDERS:
            path = value
        elif flag in command_line.MORE_FOLDERS:
            more.append(value)
    first = finder.of_program(path)
    chain: list[Repository] = [first, *(finder.folder(folder) for folder in more)]
    primary = first.load(name)
    if searched is None:
        searched = further_folders(primary) if primary is not None else ()
    chain.extend(finder.entry(str(entry)) for entry in searched)
    is_own = not any(isinstance(repository, ReleaseFiles) for repository in chain)
    return Location(name.removesuffix(".yaml"), SearchPath(chain), finder.folders, is_own)


def of_copy(launch: Launch, name: str) -> tuple[str, str]:
    """The folder and the primary config that `hydra.main` of the project's copy of a program names; those of verl without a copy."""
    tree = launch.parser.scopes[0].module.tree if launch.program_path and launch.parser is not None and launch.parser.scopes else None
    for function in tree.body if tree is not None else ():
        for call in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
            if isinstance(call, ast.Call) and dotted(call.func) == ["hydra", "main"]:
                named = [literal(keyword(call, key)) for key in ("config_path", "config_name")]
                if not all(isinstance(value, str) for value in named):
                    raise UnknownFolder(CONFIG)
                return named[0], named[1].removesuffix(".yaml")
    return CONFIG, name


def of_file(document: Document, release: Version) -> Location:
    """The location of a config file that is checked without a launch line: itself, then the files of the release."""
    path = os.path.normpath(document.path)
    folder, name = os.path.split(path)
    texts = {path: document.text}
    config_folder = ConfigFolder(folder, texts.get, lambda _: [])
    return Location(name.removesuffix(".yaml"), SearchPath([config_folder, ReleaseFiles(release)]), [config_folder], False)


def options_of(words: Sequence[Text]) -> list[tuple[str, str | None]]:
    """The options of Hydra on a line that say where the config files are: (flag, value, None if it is unknown)."""
    options, _ = command_line.split([word.string for word in words])
    return [(flag, value if words[place].known else None) for flag, value, place in options if flag in command_line.WITH_VALUE]


def named_files(launch: Launch) -> list[str]:
    """The config files of the project that are composed because the options of a line name them, not those of a copy of verl."""
    words = launch.line.arguments if launch.line is not None else []
    options = options_of(words)
    if not options:
        return []
    try:
        location = located(launch, parse_version(RELEASES["verl"]), primary_of(launch), options)
        for _ in DefaultsList(location.repository, []).parts(location.name):
            pass
    except (UnknownFolder, CompositionError):
        return []
    own = own_folder(launch)
    return [path for folder in location.folders for path in folder.documents if not own or not path.startswith(own)]


def primary_of(launch: Launch) -> str:
    return PRIMARIES.get(program_of(launch), PRIMARIES[PPO])


def program_of(launch: Launch) -> str:
    program = launch.line.program if launch.line is not None else None
    return program.string if program is not None else PPO


def own_folder(launch: Launch) -> str:
    """The config folder of the copy of verl that a line runs; empty without one."""
    return os.path.join(os.path.dirname(launch.program_path), CONFIG) if launch.program_path else ""


class Finder(Record):
    launch: Launch
    release: Version
    folders: list[ConfigFolder] = []

    def of_program(self, path: str) -> Repository:
        """The folder of the primary config: from that of the program, unless it is absolute."""
        if path.startswith(ROOT) or posixpath.isabs(path):
            return self.folder(path)
        if self.launch.program_path:
            return self._opened(os.path.normpath(os.path.join(os.path.dirname(self.launch.program_path), path)))
        if posixpath.normpath(path) == CONFIG:
            return ReleaseFiles(self.release)
        raise UnknownFolder(path)

    def entry(self, text: str) -> Repository:
        if text.startswith(PACKAGE):
            if text.removeprefix(PACKAGE).strip("/") != "verl.trainer.config":
                raise UnknownFolder(text)
            # that of the copy of verl in the folder that the program is started in, or at the top of the project
            for top in (f"{ROOT}/{OWN_CONFIG}", OWN_CONFIG):
                try:
                    self.folder(top)
                except UnknownFolder:
                    continue
                return self.folder(top)
            return ReleaseFiles(self.release)
        path = text.removeprefix(FILE)
        try:
            return self.folder(path)
        except UnknownFolder:
            if posixpath.normpath(path).endswith(OWN_CONFIG):  # the script is started from another checkout of verl
                return ReleaseFiles(self.release)
            raise

    def folder(self, path: str) -> Repository:
        """A folder of the project, relative to the one that the program is started in."""
        line, project = self.launch.line, self.launch.project
        if not path.startswith(ROOT) and (posixpath.isabs(path) or line is None or line.folder is None):
            raise UnknownFolder(path)
        place = path if path.startswith(ROOT) or line is None else f"{line.folder}/{path}"
        real = project.real(os.path.normpath(place)) if project is not None else None
        if real is None:
            raise UnknownFolder(path)
        return self._opened(real)

    def _opened(self, place: str) -> ConfigFolder:
        project = self.launch.project
        if project is None or not project.names(place):
            raise UnknownFolder(place)
        config_folder = ConfigFolder(place, project.read, project.names)
        self.folders.append(config_folder)
        return config_folder
