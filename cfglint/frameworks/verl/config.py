"""The config of a verl launch line: the package's files and the overrides of the line, composed by Hydra's rules."""

from __future__ import annotations

import posixpath

from cfglint.findings.setting import DEFAULT, DERIVED, OVERRIDE, Setting
from cfglint.frameworks.base import Config
from cfglint.frameworks.unknown import Unknown
from cfglint.frameworks.verl import FRAMEWORK
from cfglint.frameworks.verl.files import ReleaseFiles
from cfglint.frameworks.verl.sizes import Sizes
from cfglint.frameworks.verl.values import Tree, unknown
from cfglint.source.hydra import command_line
from cfglint.source.hydra.composition import Composed, compose
from cfglint.source.hydra.defaults_list import CompositionError
from cfglint.source.hydra.overrides import Override, OverrideError, parse_override
from cfglint.source.record import Record
from cfglint.source.shell.command import CommandDocument
from cfglint.source.shell.placed_text import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.frameworks.verl.checks import FailedCheck
    from cfglint.source.document import Document, Node
    from cfglint.source.shell.placed_text import Text

PRIMARY = "ppo_trainer"  # the primary config of verl.trainer.main_ppo
OWN_FOLDER = "config"  # a relative `--config-path`, from the folder of the program
OWN_COPY, OWN_FILES = "of the project", "with further files"  # why a config is not composed
MOST_REFUSED = 50  # overrides that are left out one after the other


class RefusedWord(Record):
    """A word of the line that Hydra refuses: its exception, and the override if it is one; the options, if it names another one."""

    word: Text | None
    exception: str
    override: Override | None
    text: str
    options: tuple[str, ...] = ()


class VerlConfig(Config):
    """The composed config. `refused` are the words that Hydra refuses; the rest is composed without them."""

    framework = FRAMEWORK

    def __init__(self, documents: list[Document], facts: LaunchFacts) -> None:
        own_copy = facts.launch.in_project  # most copies in projects have keys of their own
        super().__init__(documents, facts)
        command = documents[0]
        assert isinstance(command, CommandDocument)
        self.command = command
        self.refused: list[RefusedWord] = []
        self.is_open = own_copy  # whether the line has words, or names files, that are not known
        self.words: list[tuple[Override, Text]] = []
        self.origins: dict[tuple[Any, ...], Any] = {}
        self.values = self._composed()
        if self.is_open:
            self.refused.clear()
            self.facts = facts.replace(outside={**facts.outside, self.package: OWN_COPY if own_copy else OWN_FILES})
        self.tree = Tree(self.values, self.facts, self.version)
        self.sizes = Sizes(self.tree)
        self._failing: list[FailedCheck] | None = None

    def _composed(self) -> dict[Any, Any]:
        line = self.facts.launch.line
        words = line.arguments if line is not None else []
        name, overrides = self._read(words, PRIMARY)
        if not name or self.is_open:
            return {}
        files = ReleaseFiles(self.version)
        for _ in range(MOST_REFUSED):
            composed = attempt(files, name, overrides)
            if isinstance(composed, Composed):
                self.origins = composed.origins
                return composed.values
            override = composed.override
            if override is None:
                self.refused.append(RefusedWord(None, composed.exception, None, ""))
                return {}
            self.refused.append(RefusedWord(self.word_of(override), composed.exception, override, override.text, composed.options))
            overrides = [each for each in overrides if each is not override]
        return {}

    def _read(self, words: list[Text], name: str) -> tuple[str, list[Override]]:
        options, places = command_line.split([word.string for word in words])
        for flag, value, place in options:
            word = words[place]
            if flag in command_line.WITH_VALUE:
                name = self._option(flag, value if word.known else None, name)
            elif flag not in command_line.PLAIN:
                exception = f"SystemExit: 2 (error: unrecognized arguments: {word.string})"
                self.refused.append(RefusedWord(word, exception, None, word.string))
        return name, [override for place in places for override in self._override(words[place])]

    def _option(self, flag: str, value: str | None, name: str) -> str:
        if flag in command_line.NAMES and value is not None:
            return value.removesuffix(".yaml")
        if flag in command_line.NAMES or (
            flag in (*command_line.FOLDERS, *command_line.MORE_FOLDERS) and (value is None or posixpath.normpath(value) != OWN_FOLDER)
        ):
            self.is_open = True
        return name

    def _override(self, word: Text) -> list[Override]:
        text = word.string
        key, mark, _ = text.partition("=")
        if not word.known and (not mark or UNKNOWN in key):
            self.is_open = True
            return []
        if word.place is None:
            text = text.replace("=~/", "=/home/", 1)  # how a script's $HOME is written
        try:
            override = parse_override(text if word.known else f"{key}=0")
        except OverrideError as problem:
            self.refused.append(RefusedWord(word, str(problem), None, text))
            return []
        if not word.known:
            override.value = Unknown(word.reasons)
        self.words.append((override, word))
        return [override]

    def word_of(self, override: Override) -> Text | None:
        """The word that is an override."""
        return next((word for each, word in self.words if each is override), None)

    def may_have_own_defaults(self) -> bool:
        """No: the defaults are those of the package's own config files."""
        return False

    def value(self, key: str, default: Any = None) -> Any:
        """The resolved value of a dotted key; see `Tree.value`."""
        return self.tree.value(key, default)

    @property
    def failing(self) -> list[FailedCheck]:
        """The failing checks, in the order in which a run reaches them."""
        if self._failing is None:
            from cfglint.frameworks.verl.checks import failed

            self._failing = failed(self.tree, self.sizes)
        return self._failing

    def unresolved(self) -> tuple[tuple[Any, ...], str] | None:
        """The path and the exception of the first interpolation that cannot be resolved; None if all can."""
        written_first = sorted(self.origins, key=lambda path: not isinstance(self.origins[path], Override))
        return next(((path, problem) for path in written_first if (problem := self.tree.problem(path))), None)

    def setting(self, *path: str | int, value: Any = None, because: str = "") -> Setting:
        """The value at a dotted key with its place: the word of the line, else the default of the release."""
        key = path[0] if len(path) == 1 else ".".join(map(str, path))
        steps = tuple(str(key).split("."))
        origin = self.origins.get(steps)
        if isinstance(origin, Override):
            key_node, node = self.command.find((origin.key,))
            shown = origin.value if self.tree.problem(steps) else self.value(str(key))
            return Setting((str(key),), shown, OVERRIDE, self.command, node, key_node, self.place_name(node))
        is_known = origin is not None and not self.tree.problem(steps) and not self.tree.is_missing(str(key))
        shown = self.value(str(key)) if is_known else value
        return Setting(
            (str(key),), shown, DEFAULT if not because else DERIVED, self.command, None, None, because or f"default of {self.release}"
        )

    def place_name(self, node: Node | None) -> str:
        """The place of a node: `train.sh:3`."""
        return f"{self.command.path}:{self.command.position(node.start)[0]}" if node is not None else self.command.path

    def word_setting(self, refused: RefusedWord) -> Setting:
        """The setting of a word that Hydra refuses."""
        key = refused.override.key if refused.override is not None else refused.text.partition("=")[0].lstrip("+~-")
        value = refused.override.value if refused.override is not None else None
        key_node, node = self.command.find((key,))
        return Setting((key,), value, OVERRIDE, self.command, node, key_node, self.place_name(node))


def attempt(files: ReleaseFiles, name: str, overrides: list[Override]) -> Composed | CompositionError:
    """The composition of a config, or why Hydra refuses it."""
    try:
        return compose(files, name, overrides, unknown)
    except CompositionError as problem:
        return problem
