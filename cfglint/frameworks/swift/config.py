"""A run of ms-swift: the arguments of its command, and the trainer that it builds."""

from __future__ import annotations

from cfglint.findings.setting import DEFAULT, DERIVED, OVERRIDE, WRITTEN, Setting
from cfglint.frameworks.huggingface import PACKAGE as TRANSFORMERS
from cfglint.frameworks.huggingface.config import TrainerConfig
from cfglint.frameworks.swift import FRAMEWORK
from cfglint.frameworks.swift.arguments import SwiftArguments
from cfglint.frameworks.swift.command_line import FILE_WINS, VISIBLE, command_of, devices_per_process, has_known_options, shown_devices
from cfglint.frameworks.swift.fields import HISTORY, MODELS, TEMPLATES, arguments_of, config_files, exists, libraries
from cfglint.frameworks.swift.parser import INVALID, as_words, parse
from cfglint.frameworks.unknown import Unknown
from cfglint.source.document import SCALAR, Node
from cfglint.source.shell.command import CommandDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from cfglint.frameworks.launch_facts import LaunchFacts
    from cfglint.frameworks.overrides import Override
    from cfglint.frameworks.refusal import Refusal
    from cfglint.frameworks.swift.parser import RefusedWords
    from cfglint.frameworks.versions import Version
    from cfglint.source.document import Document

OWN_LOADER = ("sft", "pt")  # commands whose batches are those of ms-swift's own loader,
OWN_LOADER_TYPES = ("dpo",)  # and kinds of preference training
TUNERS = (
    *("lora", "full", "longlora", "adalora", "llamapro", "adapter", "vera", "boft", "fourierft", "reft", "bone"),
    *("ia3", "lora_llm", "dummy"),  # of its plugins
)


class SwiftConfig(TrainerConfig):
    """The config of a training command. `refused` are the words that its parser refuses."""

    framework = FRAMEWORK
    sole_consumer = True
    evaluation_assumed = "the evaluation set is that of the arguments"
    seeded_at = "config"

    def __init__(self, documents: list[Document], kinds: list[str], facts: LaunchFacts) -> None:
        self.own_version: Version = facts.version(FRAMEWORK.package, FRAMEWORK.newest)
        facts = facts.replace(target={**libraries(self.own_version), **facts.target})
        self.command = command_of(facts)
        self.known = arguments_of(self.command, self.own_version, facts.version(TRANSFORMERS, ""))
        self.refused: list[RefusedWords] = []
        self._failing: list[Refusal] | None = None
        super().__init__(documents, kinds, facts)

    def _completed(self, values: dict[Any, Any]) -> dict[Any, Any]:
        """The values that the parser makes of the words."""
        document = self.documents[0]
        words = dict(values) if document.is_command else {str(key): as_words(value) for key, value in values.items() if key != "ENV"}
        in_file = () if document.is_command or self.own_version >= FILE_WINS else tuple(words)
        overrides = [each for each in self.facts.overrides if each.key not in in_file]
        words.update((each.key, Unknown(each.unknown) if each.unknown else each.texts) for each in overrides)
        parsed = parse(words, self.known)
        self.refused = parsed.refused
        for override in overrides:
            self.overridden[(override.key,)] = str(override)
            if override.place is not None:
                self.override_places[(override.key,)] = override.place
        for name, option in parsed.options.items():
            if name != option and isinstance(document, CommandDocument):
                document.rename(option, name)
        return parsed.values

    def parsed_arguments(self) -> SwiftArguments:
        """The values of the fields, as ms-swift leaves them."""
        refused = {each.name: Unknown(("the parser refuses it",)) for each in self.refused if each.why == INVALID}
        return SwiftArguments(
            {**self.values, **refused}, self.version, self.known, self.own_version, self.world_size, config_files(self.own_version)
        )

    def override_value(self, override: Override) -> Any:
        """The words of an override; the parser of the command takes them."""
        return override.texts

    def may_have_own_defaults(self) -> bool:
        """No: the defaults are those of ms-swift."""
        return False

    def has_field(self, key: str) -> bool:
        """Whether the command has an argument of this name."""
        return key in self.known

    def lacks_field(self, key: str) -> bool:
        """Whether commands of other releases have an argument of this name, and the targeted one has not."""
        return key not in self.known and exists(key)

    def setting(self, *path: str | int, value: Any = None, because: str = "") -> Setting:
        """The value at a path with its place, and why ms-swift derives it."""
        arguments = getattr(self, "arguments", None)
        reason = arguments.because.get(str(path[0]), "") if isinstance(arguments, SwiftArguments) and len(path) == 1 else ""
        if reason and not self.has(*path):
            found = super().setting(*path, value=value, because=because or reason)
            return (
                Setting(path, value, DERIVED, found.document, found.node, found.key_node, because or reason)
                if found.origin == DEFAULT
                else found
            )
        return super().setting(*path, value=value, because=because)

    def words_setting(self, refused: RefusedWords) -> Setting:
        """The words that the parser refuses, with their place."""
        path, words = (refused.name,), " ".join(refused.words)
        if path in self.override_places:
            document, node = self.override_places[path]
            return Setting(path, words, OVERRIDE, document, node, None, self.overridden[path])
        key, value = self.documents[0].find(path)
        return Setting(path, words, WRITTEN if value is not None else DEFAULT, self.documents[0], value, key)

    def own(self, name: str) -> Any:
        """The value of a field; None if the release does not have it, or if it is unknown."""
        return self.arguments[name] if name in self.known and self.arguments.known(name) else None

    @property
    def is_whole(self) -> bool:
        """Whether all arguments of the command are known."""
        line = self.facts.launch.line
        return not (self.facts.launch.is_open or "config" in self.root) and (line is None or has_known_options(line))

    @property
    def package_files(self) -> Mapping[str, Any]:
        """The config files of the package by the names under which arguments name them."""
        return config_files(self.own_version)

    @property
    def model_types(self) -> Collection[str]:
        """The types of models that the release registers."""
        return HISTORY.fields(MODELS, self.own_version)

    @property
    def templates(self) -> Collection[str]:
        """The templates that the release registers."""
        return HISTORY.fields(TEMPLATES, self.own_version)

    @property
    def tuners(self) -> Collection[str]:
        """The tuners that the release has."""
        return TUNERS

    def is_unreadable(self, name: str, value: str) -> bool:
        """Whether the value of an argument that names a config is known to be neither a name, a file, nor JSON."""
        if value in self.package_files or name in self.files or value.lstrip().startswith(("{", "[")):
            return False
        line = self.facts.launch.line
        named = [each for each in line.files if each.role == f"--{name}"] if line is not None else []
        if named:
            return named[0].path is None and named[0].known and not named[0].outside
        return "/" not in value or (line is not None and line.deepspeed_word is not None and line.deepspeed_word.known)

    @property
    def failing(self) -> list[Refusal]:
        """The checks of ms-swift that fail, in the order in which a run reaches them."""
        if self._failing is None:
            self._failing = FRAMEWORK.failing(self)
        return self._failing

    @property
    def swift(self) -> SwiftArguments:
        """The arguments."""
        assert isinstance(self.arguments, SwiftArguments)
        return self.arguments

    @property
    def devices(self) -> tuple[int, int] | None:
        """(visible GPUs, processes) of a node; None if unknown."""
        return devices_per_process(self.facts)

    @property
    def devices_setting(self) -> Setting:
        """The variable with the visible GPUs, with its place; the command if it is not set in the script."""
        document, line = self.documents[0], self.facts.launch.line
        word = shown_devices(line) if line is not None else None
        if word is None or not isinstance(document, CommandDocument) or word.place is None or word.place[0] != document.path:
            return self.setting()
        start, end = document.within(word.place)
        return Setting((VISIBLE[0],), word.string, WRITTEN, document, Node(SCALAR, start, end, word.string))

    @property
    def is_spread(self) -> bool:
        """Whether a process sees several GPUs, over which the model is spread (`device_map`)."""
        return self.devices is not None and self.devices[0] % self.devices[1] == 0 and self.devices[0] // self.devices[1] > 1

    @property
    def trainer(self) -> str:
        """What is trained: `sft`, `pt`, or the kind of preference training."""
        return str(self.swift.rlhf_type or self.command)

    @property
    def sequence_parallel(self) -> int:
        """The processes that share one sequence."""
        size = self.own("sequence_parallel_size")
        return size if isinstance(size, int) and size > 0 else 1

    @property
    def packs(self) -> bool:
        """Whether samples are packed, so that the number of rows depends on the data."""
        return bool(self.own("packing"))

    @property
    def streams(self) -> bool:
        """Whether the data is streamed, which has no length."""
        return bool(self.own("streaming"))

    @property
    def own_sampler(self) -> bool:
        """Whether the batches are not those of the Trainer's loader."""
        return self.trainer in (*OWN_LOADER, *OWN_LOADER_TYPES, "grpo", "gkd")

    def loaded(self) -> tuple[int | None, Any]:
        """(samples per epoch, samples that one process takes from the loader at a time)."""
        return FRAMEWORK.loaded(self)

    def batches_because(self) -> str:
        """How samples become the batches of one process."""
        return FRAMEWORK.batches_because(self)
