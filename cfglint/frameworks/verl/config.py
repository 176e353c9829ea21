"""The config of a verl launch line: the package's files and the overrides of the line, composed by Hydra's rules; a copy of verl in the
project has its version and checks.
"""

from __future__ import annotations

import functools
import os
import re

from cfglint.batch.nodes import Size
from cfglint.evaluate import Reason, Unknown
from cfglint.findings.rule import KEY, LAUNCH, Finding, Rule
from cfglint.findings.setting import DEFAULT, DERIVED, OVERRIDE, WRITTEN, Setting
from cfglint.frameworks.base import FORK_KEYS, Config
from cfglint.frameworks.launch_facts import LaunchFacts
from cfglint.frameworks.refusal import Refusal
from cfglint.frameworks.releases.versions import Version, is_version, parse_version
from cfglint.frameworks.verl import FRAMEWORK
from cfglint.frameworks.verl.checks import failed
from cfglint.frameworks.verl.search_path import (
    RELEASES_OF_PROGRAMS,
    Location,
    UnknownFolder,
    located,
    of_file,
    options_of,
    own_folder,
    primary_of,
    program_of,
)
from cfglint.frameworks.verl.sizes import ComposedConfig, Sizes
from cfglint.source.annotations import Any, Callable, Collection, ConfigMapping, ConfigValue, Operand, Sequence
from cfglint.source.document import Document, Node
from cfglint.source.hydra import command_line
from cfglint.source.hydra.composition import compose
from cfglint.source.hydra.defaults_list import CompositionError
from cfglint.source.hydra.overrides import ADD, HydraOverride, OverrideError, Sweep, parse_override
from cfglint.source.record import Record
from cfglint.source.root import places_of
from cfglint.source.shell import is_markdown
from cfglint.source.shell.command import CommandDocument, is_all_of_caller, stands_for_more
from cfglint.source.shell.placed_text import UNKNOWN, Text, unknown_value
from cfglint.source.shell.reasons import PLACEHOLDER as OPEN_PLACEHOLDER

ENGINE_WORKERS = "workers/engine_workers.py"
OF_ENGINE_WORKERS = (("VRL018", "AssertionError"), ("VRL025", "AssertionError"))  # their checks, which have no message
# The files of verl that raise what cfglint predicts, in any release.
CHECKING = (
    """
    protocol.py trainer/main_ppo.py trainer/ppo/core_algos.py trainer/ppo/ray_trainer.py trainer/ppo/reward.py
    trainer/ppo/v1/trainer_base.py utils/config.py utils/tensordict_utils.py workers/config/actor.py workers/config/critic.py
    workers/config/optimizer.py workers/config/rollout.py workers/engine/utils.py workers/engine_workers.py workers/fsdp_workers.py
    """
).split()
EXCEPTION = re.compile(r".*\.\.\.: |\b[\w.]*(?:Error|Exception)\b[:(]?")
VARIABLE = re.compile(r"[0-9(){}\[\]'\"=%]+")
JOINED = re.compile(r"[\"']\s*\n\s*f?[\"']")  # a string that continues on the next line
OWN_COPY, OWN_FILES = "of the project", "with further files"  # why the release is not that of a modelled one
OLDEST_CHECKED = (0, 2)  # the first release whose workers compute and check the batch as those of the first modelled one
CHOICES = "VRL011"  # the checks of a value among those that verl accepts
PLACEHOLDER = re.compile(r"=.*(\{[A-Za-z]\w*\}|<[A-Za-z][\w .:-]*>)").search  # what a reader of the page writes a value for
MODE, OUTPUT = "trainer.resume_mode", "trainer.default_local_dir"
MOST_REFUSED = 50  # overrides that are left out one after the other


class OwnCopy:
    """The folder of a copy of verl, that of its `trainer`, `workers` and `version`."""

    def __init__(self, folder: str, read: Callable[[str], str | None]) -> None:
        self.folder = folder
        self._read = read

    @property
    def release(self) -> Version | None:
        text = (self._read(os.path.join(self.folder, "version/version")) or "").strip()
        return parse_version(text) if is_version(text) and "." in text else None

    def raises(self, exception: str) -> bool | None:
        """Whether its code has the message of an exception; None for an exception without one."""
        if exception.startswith("omegaconf."):
            return "ConfigAttributeError" not in exception  # of a key that it may not read
        words = fixed_words(exception) if not exception.startswith(("ZeroDivisionError", "TypeError")) else ""
        return words in self._source if words else None

    def asserts(self, names: list[str]) -> bool | None:
        """False if none of the checks in its code is of two of these keys; None if that does not tell."""
        checks = [line for line in map(str.strip, self._source.splitlines()) if line.startswith("assert ")]
        return None if not checks or any(sum(name in check for name in names) > 1 for check in checks) else False

    def asks_for_null(self, name: str) -> bool:
        return f"{name} is not None" in self._source or f"{name} is None" in self._source

    def has(self, file: str) -> bool:
        return self._read(os.path.join(self.folder, file)) is not None

    def names(self, value: str) -> bool:
        """Whether its code has a string, so that it may accept it as a choice."""
        return f'"{value}"' in self._source or f"'{value}'" in self._source

    @functools.cached_property
    def _source(self) -> str:
        texts = (self._read(os.path.join(self.folder, name)) for name in CHECKING)
        return JOINED.sub("", "\n".join(text for text in texts if text))


def fixed_words(exception: str) -> str:
    """The longest part of a message that has no values in it; empty if there is none."""
    parts = (part.strip() for part in VARIABLE.split(EXCEPTION.sub("", exception)))
    longest = max(parts, key=len)
    return longest if len(longest) >= 10 else ""  # characters by which a message is recognised


class RefusedWord(Record):
    """A word of the line that Hydra refuses: its exception, and the override if it is one; the options, if it names another one."""

    word: Text | None
    exception: str
    override: HydraOverride | None
    text: str
    options: tuple[str, ...] = ()

    @property
    def has_several(self) -> bool:
        return self.override is not None and isinstance(self.override.value, Sweep)


class VerlConfig(Config):
    """The composed config. `refused` are the words that Hydra refuses; the rest is composed without them."""

    framework = FRAMEWORK
    chooses_sizes = True
    has_rollout = True  # whether it is the config of reinforcement learning

    def __init__(self, documents: list[Document], facts: LaunchFacts, kinds: Sequence[str] = ()) -> None:
        super().__init__(documents, facts, kinds)
        launch = facts.launch
        self.command = documents[0]
        self.refused: list[RefusedWord] = []
        self.is_open = False  # whether the line has words, or names files, that are not known
        self.is_excerpt = False  # whether a page leaves out overrides, with `...`
        self.location: Location | None = None
        self.copy: OwnCopy | None = None  # the copy of verl in the project that the line runs
        if launch.program_path and launch.project is not None:
            self.copy = OwnCopy(os.path.dirname(os.path.dirname(launch.program_path)), launch.project.read)
        self.primary = primary_of(launch)
        self.words: list[tuple[HydraOverride, Text]] = []
        self.origins: dict[tuple[Any, ...], Operand] = {}
        self.values = self._composed()
        if self.is_open:
            self.refused.clear()
        if self.is_open or (self.copy is not None and not facts.is_known(self.package) and self.package not in facts.outside):
            self.facts = facts.replace(outside={**facts.outside, self.package: OWN_FILES if self.copy is None else OWN_COPY})
        self.tree = ComposedConfig(self.values, self.facts, self.version)
        self.sizes = Sizes(self.tree)

    @property
    def composed_of(self) -> list[str]:
        return [path for folder in self.location.folders for path in folder.documents] if self.location is not None else []

    def _composed(self) -> ConfigMapping:
        facts, launch = self.facts, self.facts.launch
        if not self.command.is_command:
            load_result = self.framework.loader(self.command, facts).read(self.command)
            self.load_problems = [(self.command, problem) for problem in load_result.problems]
        if self.load_problems:
            return {}
        if self.lacks_program:
            self.refused.append(RefusedWord(None, f"No module named {program_of(launch)}", None, ""))
            return {}
        words = launch.line.arguments if launch.line is not None else []
        options, places = command_line.split([word.string for word in words])
        unknown = [words[place] for flag, _, place in options if command_line.refused([flag])]
        if unknown:
            first, *others = [word.string for word in unknown]
            exception = command_line.refused([first, *others])
            self.refused.append(RefusedWord(unknown[0], f"SystemExit: 2 ({exception})", None, first, tuple(others)))
        overrides = [override for place in places for override in self._override(words[place])]
        overrides += [parse_override(f"++{override.key}={override.values[0]}") for override in facts.overrides if override.values]
        try:
            if isinstance(self.command, CommandDocument):
                # the last `hydra.searchpath` of the line counts
                searched = [override.value for override in overrides if override.key == "hydra.searchpath"]
                entries = searched[-1] if searched and isinstance(searched[-1], list) else searched or None
                self.location = located(launch, self.version, self.primary, options_of(words), entries)
            else:
                self.location = of_file(self.command, self.version)
        except UnknownFolder:
            self.is_open = True
        except CompositionError as problem:
            self.refused.append(RefusedWord(None, problem.exception, None, ""))
        if self.location is None or self.is_open:
            return {}
        return self._compose(self.location, overrides)

    def _compose(self, location: Location, overrides: list[HydraOverride], tries: int = MOST_REFUSED) -> ConfigMapping:
        try:
            composed = compose(location.repository, location.name, overrides)
        except CompositionError as problem:
            refused = problem.override
            if refused is None:
                self.refused.append(RefusedWord(None, problem.exception, None, ""))
                return {}
            word = next((word for override, word in self.words if override is refused), None)
            self.refused.append(RefusedWord(word, problem.exception, refused, refused.text, problem.options))
            rest = [override for override in overrides if override is not refused]
            return self._compose(location, rest, tries - 1) if tries > 1 else {}
        self.origins = composed.origins
        return composed.values

    def _override(self, word: Text) -> list[HydraOverride]:
        text = word.string
        if stands_for_more(word):
            self.is_excerpt = True
            return []
        key, mark, _ = text.partition("=")
        if not word.known and (not mark or UNKNOWN in key):
            self.is_open = self.is_open or not is_all_of_caller(word)
            return []
        if word.place is None:
            text = text.replace("=~/", "=/home/", 1)  # how a script's $HOME is written
        unknown = None if word.known else unknown_value([word])
        try:
            override = parse_override(text if word.known else f"{key}=0")
        except OverrideError as problem:
            if not mark or not PLACEHOLDER(text) or not is_markdown(self.documents[0].path):
                self.refused.append(RefusedWord(word, str(problem), None, text))
                return []
            override, unknown = parse_override(f"{key}=0"), Unknown(OPEN_PLACEHOLDER)
        if unknown is not None:
            override.value, override.text = unknown, f"{key}=..."
        self.words.append((override, word))
        return [override]

    @property
    def lacks_program(self) -> bool:
        """Whether the line starts a module that the release does not have.

        Source: verl 0.3.0 to 0.9.1 trainer/ (`fsdp_sft_trainer.py` up to 0.7.0, `sft_trainer.py` from 0.6.0 on).
        """
        releases = RELEASES_OF_PROGRAMS.get(program_of(self.facts.launch))
        return releases is not None and self.version not in releases and not self.facts.launch.program_path

    @property
    def own_size(self) -> Size | None:
        """The GPUs of each node, and the nodes: no launcher starts the workers, and no variable counts them."""
        per_node, nodes = self.sizes.gpus_per_node, self.sizes.nodes
        return Size(per_node, nodes) if per_node is not None and nodes is not None else None

    def is_own_value(self, key: str) -> bool:
        value = self.get(*key.split("."))
        return value is not None and not (isinstance(value, str) and "${" in value)

    @property
    def is_own(self) -> bool:
        return self.location is not None and self.location.is_own

    @property
    def has_read_copy(self) -> bool:
        """Whether the project's copy of verl answers: its files are composed, and its code is compared with the predicted checks."""
        release = self.copy.release if self.copy is not None else None
        return self.is_own and release is not None and release >= OLDEST_CHECKED

    @property
    def answered(self) -> Collection[str]:  # type: ignore[override]
        """verl, if there is a verdict about the project's copy: nothing fails of which its code does not tell."""
        return (self.package,) if self.has_read_copy and all(self.is_raised(refusal) for refusal in self.refusals) else ()

    def unmodelled(self, rule: Rule) -> tuple[Reason, ...]:
        """The release of a copy whose code is not compared with its checks."""
        return () if self.has_read_copy else super().unmodelled(rule)

    def may_build_own_trainer(self) -> bool:
        """Whether another trainer may run; the code of a copy of verl is compared with the checks."""
        return not self.has_read_copy and super().may_build_own_trainer()

    def is_raised(self, failed: Refusal) -> bool | None:
        """Whether verl has a failing check, by the code of the project's copy; None if that does not tell."""
        if self.copy is None or not self.is_own:
            return True
        value = self.value(failed.key)
        if failed.kind == CHOICES and isinstance(value, str) and self.copy.names(value):
            return False
        if (failed.kind, failed.exception) in OF_ENGINE_WORKERS and not self.copy.has(ENGINE_WORKERS):
            return False
        names = [key.rpartition(".")[2] for key in failed.keys]
        if value is None and any(map(self.copy.asks_for_null, names)):
            return False
        return self.copy.raises(failed.exception) if failed.exception != "AssertionError" else self.copy.asserts(names)

    @property
    def may_resume(self) -> bool:
        """Whether the line names a checkpoint, or the folder exists in which verl looks for one by itself."""
        mode, output = self.value(MODE), self.value(OUTPUT)
        if not self.has_rollout:
            return False
        if mode != "auto" or not isinstance(output, str):
            return super().may_resume or mode == "resume_path"
        return super().may_resume or any(map(os.path.isdir, places_of(output, self.documents[0].path)))

    @property
    def other_defaults(self) -> tuple[Reason, ...]:
        """The caller of the script may set what the line does not: the defaults are those of the package's config files."""
        return super().other_defaults if self.facts.launch.further else ()

    def value(self, key: str, default: ConfigValue = None) -> Operand:
        return self.tree.value(key, default)

    @functools.cached_property
    def refusals(self) -> list[Refusal]:
        raised = [refusal for refusal in self.failed() if self.is_raised(refusal) is not False]
        if not self.is_excerpt:
            return raised
        # a page may leave out values that are set
        return [refusal for refusal in raised if all(self.setting(key).origin != DEFAULT for key in refusal.keys)]

    def failed(self) -> list[Refusal]:
        return failed(self.tree, self.sizes)

    def setting(self, *path: str | int, value: object = None, because: str = "") -> Setting:
        """The value at a dotted key with its place: the word of the line or the file of the project, else the default of the release."""
        key = ".".join(map(str, path))
        steps = tuple(key.split("."))
        origin, is_unresolved = self.origins.get(steps), bool(self.tree.problem(steps))
        if isinstance(origin, HydraOverride):
            key_node, node = self.command.find((origin.key,))
            shown = origin.value if is_unresolved or self.tree.is_missing(key) else self.value(key)
            return Setting((key,), shown, OVERRIDE, self.command, node, key_node, place_of(self.command, node))
        if origin is not None and self.location is not None:
            file, inside = origin
            composed = (folder.documents[file] for folder in self.location.folders if file in folder.documents)
            document = next((document for document in self.documents[1:] if document.path == file), next(composed, None))
            if document is not None:
                shown = None if is_unresolved else self.value(key)
                if self.copy is not None and file.startswith(own_folder(self.facts.launch)):  # whose files have the defaults
                    return Setting((key,), shown, DEFAULT, self.command, None, None, f"default of {file}")
                key_node, node = document.find(inside)
                return Setting(inside, shown, WRITTEN, document, node, key_node, place_of(document, node))
        is_known = origin is not None and not is_unresolved and not self.tree.is_missing(key)
        origin_of_value = DERIVED if because else DEFAULT
        shown = self.value(key) if is_known else value
        return Setting((key,), shown, origin_of_value, self.command, None, None, because or f"default of {self.release}")

    @property
    def unknown_overrides(self) -> list[RefusedWord]:
        """The words that set or remove a key, or choose an option, that the release's config does not have."""
        named = [word for word in self.refused if word.override is not None and word.override.sign != ADD and not word.has_several]
        missing = tuple(f"{word.override.key}." for word in named if word.override is not None and word.options)
        return [word for word in named if word.override is None or not word.override.key.startswith(missing)]  # no keys of a missing option

    @property
    def has_stated_release(self) -> bool:
        """Whether the project or the user states the release whose config the line composes."""
        return self.is_own or self.facts.is_known(self.package)

    @property
    def is_for_fork(self) -> bool:
        """Whether the line has many keys that are not in the config of the newest release, and no release is stated."""
        return len(self.unknown_overrides) >= FORK_KEYS and not self.has_stated_release

    def reaches(self, rule: Rule, finding: Finding) -> bool:
        """Whether the config of a finding is that of the line: in a fork only keys and sizes of the line itself are known."""
        return rule.about in (KEY, LAUNCH) or not self.is_for_fork

    def word_setting(self, refused: RefusedWord) -> Setting:
        key = refused.override.key if refused.override is not None else refused.text.partition("=")[0].lstrip("+~-")
        value = refused.override.value if refused.override is not None else None
        key_node, node = self.command.find((key,))
        return Setting((key,), value, OVERRIDE, self.command, node, key_node, place_of(self.command, node))


def place_of(document: Document, node: Node | None) -> str:
    return f"{document.path}:{document.position(node.start)[0]}" if node is not None else document.path
